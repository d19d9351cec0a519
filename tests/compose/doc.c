// doc.c - the table of keys as it is printed: for a terminal, in Markdown and as JSON Schema.
#include "compose/schema/schema.h"
#include "json_read.h"
#include "tests/check.h"
#include "tests/compose/trees.h"

static int lines_of(const char *s) {
  int n = 0;
  for (; *s; s++) n += *s == '\n';
  return n;
}

static bool has(const char *text, const char *part) { return strstr(text, part) != NULL; }

// ---- For a terminal -----------------------------------------------------------------------------

static const char *help_of(gr_arena *a, const char *prefix) {
  gr_text t = gr_text_make(a);
  gr_schema_help(&t, prefix);
  return t.chars ? t.chars : "";
}

static void help(void) {
  gr_arena *a = gr_arena_create();
  const char *lr = help_of(a, "training.lr_");
  int n = 0;
  for (int i = 0; i < gr_schema_count; i++)
    n += !strncmp(gr_schema_keys[i].path, "training.lr_", 12);
  CHECK(n > 0 && lines_of(lr) == 2 * n, "%d lines for %d keys", lines_of(lr), n);
  CHECK(lines_of(help_of(a, "")) == 2 * gr_schema_count, "not two lines for each key");
  SAME(help_of(a, "training.no_such"), "");
  CHECK(has(help_of(a, "model.graph"), "; default: must be given\n"), "%s",
        help_of(a, "model.graph"));
  CHECK(has(help_of(a, "output.dir"), "; default: not set\n") ||
            has(help_of(a, "output.dir"), "; default: null\n"),
        "%s", help_of(a, "output.dir"));
  for (int i = 0; i < gr_schema_count; i++) {
    const gr_schema_key *k = &gr_schema_keys[i];
    const char *said = help_of(a, k->path), *unit = gr_arena_printf(a, " (%s); default: ", k->unit);
    CHECK(has(said, k->doc) && has(said, k->type), "%s lacks its type or line: %s", k->path, said);
    CHECK(!*k->unit || has(said, unit), "%s lacks its unit: %s", k->path, said);
  }
  gr_arena_destroy(a);
}

// ---- Words of a key -----------------------------------------------------------------------------

static void choices(void) {
  gr_arena *a = gr_arena_create();
  const char *words[32];
  const gr_schema_key *strategy = gr_schema_find("distributed.strategy");
  const gr_schema_key mixed = {.type = "int >= 1|bool|small|'null'|null|[word]|string"};
  static const char *const want[] = {"true", "false", "small", "null", "null"};
  int n = gr_schema_choices(a, strategy, words, 32), found = 0;
  for (int i = 0; i < n; i++) found += !strcmp(words[i], "fsdp") || !strcmp(words[i], "zero1");
  CHECK(found == 2, "%d of its words", found);
  n = gr_schema_choices(a, &mixed, words, 32);
  CHECK(n == 5, "%d words", n);
  for (int i = 0; i < n && i < 5; i++) SAME(words[i], want[i]);
  for (int most = 0; most < 6; most++) {  // two places are needed for a type's words
    words[most] = "untouched";
    n = gr_schema_choices(a, &mixed, words, most);
    CHECK(n <= most && !strcmp(words[most], "untouched"), "%d words of at most %d", n, most);
  }
  gr_arena_destroy(a);
}

// ---- In Markdown --------------------------------------------------------------------------------

static int cells_of(const char *row, const char *end) {
  int n = 0;
  for (const char *c = row; c < end; c++) n += *c == '|' && (c == row || c[-1] != '\\');
  return n;
}

static void markdown(void) {
  gr_arena *a = gr_arena_create();
  gr_text t = gr_text_make(a);
  int rows = 0;
  gr_schema_markdown(&t);
  for (const char *row = t.chars, *end; (end = strchr(row, '\n')); row = end + 1) {
    if (*row != '|') continue;
    rows++;
    CHECK(cells_of(row, end) == 6, "not five cells: %.*s", (int)(end - row), row);
  }
  CHECK(rows == gr_schema_count + 2, "%d rows for %d keys", rows, gr_schema_count);
  CHECK(has(t.chars, "| `model.graph` | ") && has(t.chars, " \\| null | "), "no row, or no bar");
  gr_arena_destroy(a);
}

// ---- JSON Schema --------------------------------------------------------------------------------

// The description of a key, through the properties of its sections.
static gr_conf *described(gr_arena *a, gr_conf *schema, const char *path) {
  gr_conf *node = schema;
  while (node && path) {
    const char *dot = strchr(path, '.');
    size_t n = dot ? (size_t)(dot - path) : strlen(path);
    node = gr_conf_member(node, "properties");
    node = node ? gr_conf_member(node, gr_arena_strndup(a, path, n)) : NULL;
    path = dot ? dot + 1 : NULL;
  }
  return node;
}

// The alternatives of a key as text, without those of interpolations, the last.
static const char *alternatives(gr_arena *a, gr_conf *schema, const char *path) {
  gr_conf *any = gr_conf_member(described(a, schema, path), "anyOf");
  return any ? json(a, any) : "";
}

static void json_schema(void) {
  gr_arena *a = gr_arena_create();
  gr_text t = gr_text_make(a);
  gr_schema_json(&t);
  const char *s = t.chars;
  gr_conf *schema = json_read(a, &s);
  CHECK(schema && !*(s + strspn(s, "\n")), "it is no JSON, from here on: %.60s", s ? s : "");
  for (int i = 0; i < gr_schema_count && schema; i++) {
    const gr_schema_key *k = &gr_schema_keys[i];
    gr_conf *key = described(a, schema, k->path);
    CHECK(key && gr_conf_member(key, "anyOf"), "%s is not there", k->path);
    if (!key) continue;
    SAME(gr_conf_member(key, "description")->text, k->doc);
  }
  CHECK(described(a, schema, "defaults") && described(a, schema, "hydra"),
        "no keys of composition");
  static const char *const rows[][2] = {
      {"training.batch_size", "{\"type\": \"integer\", \"minimum\": 1, \"maximum\": "},
      {"training.seed", "\"integer\""},
      {"distributed.strategy", "{\"const\": \"zero1\"}"},
      {"data.validation_fraction", "\"number\", \"minimum\": 0"},
      {"training.ema_decay", "{\"type\": \"null\"}"},
      {"data.table.features", "\"array\""},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const char *said = alternatives(a, schema, rows[i][0]);
    CHECK(has(said, rows[i][1]), "%s: %s lacks %s", rows[i][0], said, rows[i][1]);
    CHECK(has(said, "\"pattern\""), "%s takes no interpolation: %s", rows[i][0], said);
  }
  gr_arena_destroy(a);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"help", help}, {"choices", choices}, {"markdown", markdown},
             {"json_schema", json_schema});
}
