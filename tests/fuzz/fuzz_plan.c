// fuzz_plan.c - any configuration and any model are planned, or are errors of the user's: an
// internal error is a finding. The input has parts, each after a line "=== NAME": the configuration
// ("config"), the model ("graph") and overrides, one on a line ("arguments"). The data set is a
// manifest of a few recordings, of which planning reads no audio.
#include <ctype.h>
#include "compiler/plan/prove.h"
#include "fuzz.h"
#include "job/job.h"

enum { MAX_ARGUMENTS = 16, MAX_RANKS = 64, MAX_TOKENS = 4096, MAX_SIZE = 1 << 16 };

// ---- Files --------------------------------------------------------------------------

static char folder[] = "/tmp/graphrun-fuzz-XXXXXX";
static const char *const names[] = {"config.yaml", "graph.yaml", "speech.jsonl"};

static void remove_folder(void) {
  char path[sizeof folder + 16];
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    snprintf(path, sizeof path, "%s/%s", folder, names[i]);
    remove(path);
  }
  remove(folder);
}

static void write_file(const char *name, const char *text, size_t len) {
  char path[sizeof folder + 16];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *f = fopen(path, "w");
  HOLDS(f && fwrite(text, 1, len, f) == len);
  HOLDS(!fclose(f));
}

static void make_folder(void) {
  static bool made;
  static const char *const texts[] = {"ABC", "A CAB", "BAD FACE", "A BAD CAB", "FADED", "DEAF"};
  if (made) return;
  made = mkdtemp(folder) != NULL;
  HOLDS(made && !atexit(remove_folder));
  char manifest[2048];
  size_t n = 0;
  for (size_t i = 0; i < 12; i++)
    n += (size_t)snprintf(manifest + n, sizeof manifest - n,
                          "{\"audio_path\": \"%zu.wav\", \"text\": \"%s\", \"duration\": %.1f}\n",
                          i, texts[i % 6], 0.4 + 0.1 * (double)i);
  write_file("speech.jsonl", manifest, n);
}

// A part of the input; an empty text where it has none.
static const char *part_of(gr_arena *a, const char *text, const char *name, const char *otherwise) {
  const char *mark = gr_arena_printf(a, "=== %s\n", name), *part = strstr(text, mark);
  if (!part) return otherwise;
  part += strlen(mark);
  const char *end = strstr(part, "=== ");
  return gr_arena_strndup(a, part, end ? (size_t)(end - part) : strlen(part));
}

// ---- Planning -----------------------------------------------------------------------

static gr_status plan(gr_arena *a, const char *text, gr_job *j) {
  static const char config[] =
      "data: {sample_rate: 8000, buckets: 2, vocab: 'ABCDEF ', features: {mels: 4, n_fft: 256, "
      "window: 200, hop: 80}}\ntraining: {batch_size: 4}\ndistributed: {ranks: 1}\n";
  const char *given[MAX_ARGUMENTS + 3];
  int n = 0;
  char *save = NULL, *lines = gr_arena_strdup(a, part_of(a, text, "arguments", ""));
  for (char *l = strtok_r(lines, "\n", &save); l && n < MAX_ARGUMENTS;
       l = strtok_r(NULL, "\n", &save))
    given[n++] = l;
  given[n++] = gr_arena_printf(a, "model.graph=%s/graph.yaml", folder);
  given[n++] = gr_arena_printf(a, "data.manifest=%s/speech.jsonl", folder);
  const char *yaml = part_of(a, text, "config", config), *graph = part_of(a, text, "graph", "");
  write_file("config.yaml", yaml, strlen(yaml));
  write_file("graph.yaml", graph, strlen(graph));
  gr_args args = {.program = "graphrun",
                  .config = gr_arena_printf(a, "%s/config.yaml", folder),
                  .overrides = given,
                  .n_overrides = n};
  GR_TRY(gr_job_compose(a, &args, j));
  if (j->spec.set.ranks.n > MAX_RANKS) return GR_OK;
  GR_TRY(gr_job_plan(j, j->spec.set.ranks.n ? (int)j->spec.set.ranks.n : 2));
  return gr_plan_prove(j->spec.plan);
}

// The text of a status, with all joined errors.
static char *said(gr_status s) {
  char *text = NULL;
  size_t size;
  FILE *f = open_memstream(&text, &size);
  HOLDS(f);
  gr_status_print(f, s);
  HOLDS(!fclose(f));
  return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  gr_arena *a = gr_arena_create();
  gr_job job = {0};
  gr_log_open(GR_ERROR, 0, 1);
  make_folder();
  gr_status s = plan(a, fuzz_text(a, data, size), &job);
  char *text = said(s);
  bool ours = strstr(text, "this is a bug in graphrun") != NULL;
  if (ours) fputs(text, stderr);
  HOLDS(!ours);
  free(text);
  gr_status_drop(s);
  gr_job_close(&job);
  gr_arena_destroy(a);
  return 0;
}

// ---- Mutation: token by token, so that most of what comes out is still YAML ------------------

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);

typedef struct token {
  size_t offset, len;
  enum { WORD, NUMBER, LINE } kind;
} token;

static uint64_t draw(uint64_t *state, uint64_t below) {  // xorshift64*
  *state ^= *state >> 12, *state ^= *state << 25, *state ^= *state >> 27;
  return *state * UINT64_C(2685821657736338717) % below;
}

static size_t count_while(const char *s, size_t left, const char *more) {
  size_t n = 0;
  while (n < left && s[n] && (isalnum((unsigned char)s[n]) || strchr(more, s[n]))) n++;
  return n;
}

static int read_tokens(const char *s, size_t size, token *out) {
  int n = 0;
  for (size_t i = 0; i < size && n + 1 < MAX_TOKENS;) {
    if (!i || s[i - 1] == '\n') {
      const char *end = memchr(s + i, '\n', size - i);
      out[n++] = (token){i, end ? (size_t)(end - s) - i + 1 : size - i, LINE};
    }
    bool word = isalpha((unsigned char)s[i]) || s[i] == '_' || s[i] == '$';
    bool number = isdigit((unsigned char)s[i]);
    size_t len = word     ? count_while(s + i, size - i, "_$")
                 : number ? count_while(s + i, size - i, ".")
                          : 0;
    if (len) out[n++] = (token){i, len, word ? WORD : NUMBER};
    i += len ? len : 1;
  }
  return n;
}

static const char *some_word(uint64_t *state) {
  static const char *const words[] = {"linear",      "self_attention",
                                      "lmu",         "lstm",
                                      "split_heads", "param",
                                      "scan",        "repeat",
                                      "name",        "share",
                                      "when",        "init",
                                      "train",       "layout",
                                      "dtype",       "axis",
                                      "axes",        "size",
                                      "from",        "by",
                                      "perm",        "shape",
                                      "keep",        "over",
                                      "carry",       "nodes",
                                      "yields",      "next",
                                      "last",        "out",
                                      "in",          "params",
                                      "n",           "t",
                                      "c",           "u",
                                      "f32",         "i32",
                                      "bf16",        "f64",
                                      "zeros",       "normal",
                                      "true",        "false",
                                      "null",        "weight",
                                      "lr",          "step"};
  int n_ops = 0, n_words = sizeof words / sizeof *words;
  while (gr_ops[n_ops]) n_ops++;
  int i = (int)draw(state, (uint64_t)(n_ops + n_words));
  return i < n_ops ? gr_ops[i]->name : words[i - n_ops];
}

static const char *some_number(uint64_t *state) {
  static const char *const numbers[] = {
      "0",      "1",     "2",  "3",   "4",     "5",          "7",          "8",
      "64",     "-1",    "-2", "0.5", "1e-8",  "1e30",       ".nan",       ".inf",
      "1000",   "65536", "n",  "t",   "2 * c", "2147483647", "4294967296", "9223372036854775807",
      "1000000"};
  return numbers[draw(state, sizeof numbers / sizeof *numbers)];
}

// Puts `len` bytes of `with` in place of `cut` bytes at `offset`; the size after it.
static size_t replace(char *s, size_t size, size_t most, size_t offset, size_t cut,
                      const char *with, size_t len) {
  if (size - cut + len > most) return size;
  char *copy = malloc(len + 1);
  HOLDS(copy);
  memcpy(copy, with, len);
  memmove(s + offset + len, s + offset + cut, size - offset - cut);
  memcpy(s + offset, copy, len);
  free(copy);
  return size - cut + len;
}

// A name that the text binds: of an input, or what follows "- ".
static void put_name(gr_text *out, const char *s, const token *tokens, int n, uint64_t *state) {
  static const char *const inputs[] = {"x", "lengths", "targets", "target_lengths"};
  for (int i = 0; i < 60; i++) {
    const token *t = &tokens[draw(state, (uint64_t)n)];
    if (t->kind != WORD || t->offset < 2 || memcmp(s + t->offset - 2, "- ", 2)) continue;
    gr_text_putn(out, s + t->offset, t->len);
    return;
  }
  gr_text_put(out, inputs[draw(state, 4)]);
}

static void put_attribute(gr_text *out, const gr_attr *f, uint64_t *state) {
  static const char *const lists[] = {
      "[0, 2, 1]",  "[1]",       "[2]",     "[0]",     "[1, 2]",     "[-1]",   "[n]", "[n, t, 4]",
      "[n, t * 4]", "[t, n, 4]", "[4, -1]", "[-1, 1]", "[n, 2, -1]", "[0, 1]", "[]"};
  static const char *const types[] = {"f32", "f64", "bf16", "i32"};
  static const char *const sizes[] = {"0", "1", "2", "3", "t", "mels", "n", "4", "2 * t", "-1"};
  gr_text_printf(out, ", %s: ", f->name);
  if (f->kind == GR_ATTR_INTS) {
    gr_text_put(out, lists[draw(state, sizeof lists / sizeof *lists)]);
  } else if (f->kind == GR_ATTR_DTYPE) {
    gr_text_put(out, types[draw(state, 4)]);
  } else if (f->kind == GR_ATTR_BOOL) {
    gr_text_put(out, draw(state, 2) ? "true" : "false");
  } else if (f->kind == GR_ATTR_CHOICE) {
    const char *choice = f->choices;
    for (uint64_t i = draw(state, 4); i && strchr(choice, '|'); i--)
      choice = strchr(choice, '|') + 1;
    gr_text_putn(out, choice, strcspn(choice, "|"));
  } else {
    gr_text_put(out, draw(state, 6) ? sizes[draw(state, sizeof sizes / sizeof *sizes)]
                                    : some_number(state));
  }
}

// Inserts a node after another: an op with its attributes, on existing names.
static size_t insert_node(char *s, size_t size, size_t most, const token *tokens, int n,
                          uint64_t *state) {
  const token *line = NULL;
  size_t indent = 0;
  for (int i = 0; i < 200 && !line; i++) {
    const token *t = &tokens[draw(state, (uint64_t)n)];
    for (indent = 0; t->kind == LINE && indent < t->len && s[t->offset + indent] == ' ';) indent++;
    if (t->kind == LINE && indent + 1 < t->len && !memcmp(s + t->offset + indent, "- ", 2))
      line = t;
  }
  int n_ops = 0;
  while (gr_ops[n_ops]) n_ops++;
  const gr_op *op = gr_ops[draw(state, (uint64_t)n_ops)];
  if (!line || gr_op_is_internal(op)) return size;
  gr_arena *a = gr_arena_create();
  gr_text t = gr_text_make(a);
  gr_text_printf(&t, "%*s- ", (int)indent, "");
  put_name(&t, s, tokens, n, state);
  gr_text_printf(&t, ": {%s: [", op->name);
  int takes = gr_op_operands(op);
  int n_in = takes < 0 ? (int)draw(state, 4) : takes - (op->random && takes > 1);
  for (int i = 0; i < n_in; i++) {
    if (i) gr_text_put(&t, ", ");
    put_name(&t, s, tokens, n, state);
  }
  gr_text_put(&t, "]");
  for (const gr_attr *f = op->attrs; f && f->name; f++)
    if (f->kind < GR_ATTR_STREAM && draw(state, f->default_value ? 3 : 20))
      put_attribute(&t, f, state);
  gr_text_put(&t, "}\n");
  size = replace(s, size, most, line->offset + line->len, 0, t.chars, t.len);
  gr_arena_destroy(a);
  return size;
}

static size_t mutate(char *s, size_t size, size_t most, uint64_t *state) {
  static token tokens[MAX_TOKENS];
  int n = read_tokens(s, size, tokens);
  if (!n) return replace(s, size, most, 0, 0, "=== graph\n", 10);
  const token *t = &tokens[draw(state, (uint64_t)n)], *u = &tokens[draw(state, (uint64_t)n)];
  if (t->kind == LINE && draw(state, 3)) t = &tokens[draw(state, (uint64_t)n)];
  for (int i = 0; i < 50 && u->kind != t->kind; i++) u = &tokens[draw(state, (uint64_t)n)];
  uint64_t how = draw(state, 80);
  if (how >= 30) return insert_node(s, size, most, tokens, n, state);
  const char *with = t->kind == NUMBER ? some_number(state) : some_word(state);
  if (t->kind == LINE && how < 8) return replace(s, size, most, t->offset, t->len, "", 0);
  if (t->kind == LINE)
    return replace(s, size, most, t->offset, how < 16 ? t->len : 0, s + u->offset, u->len);
  if (how == 0) return replace(s, size, most, t->offset, t->len, "[", 1);
  if (how == 1) return replace(s, size, most, t->offset, 0, ", ", 2);
  if (how < 15) return replace(s, size, most, t->offset, t->len, s + u->offset, u->len);
  return replace(s, size, most, t->offset, t->len, with, strlen(with));
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
  uint64_t state = UINT64_C(0x9e3779b97f4a7c15) ^ ((uint64_t)seed << 20 | 1);
  if (most > MAX_SIZE) most = MAX_SIZE;
  for (uint64_t i = 0, times = 1 + draw(&state, 2); i < times; i++)
    size = mutate((char *)data, size, most, &state);
  return size;
}
