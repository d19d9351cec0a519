// doc.c - prints the table of keys: for the terminal, as Markdown and as JSON Schema.
#include <math.h>
#include <string.h>
#include "compose/schema/schema.h"

int gr_schema_choices(gr_arena *a, const gr_schema_key *k, const char **out, int most) {
  int n = 0;
  for (const gr_schema_type *t = gr_schema_type_read(a, k->type); t && n + 1 < most; t = t->next) {
    if (t->kind == GR_SCHEMA_WORD) out[n++] = t->word;
    if (t->kind == GR_SCHEMA_BOOL) out[n++] = "true", out[n++] = "false";
    if (t->kind == GR_SCHEMA_NULL) out[n++] = "null";
  }
  return n;
}

static const char *default_text(const gr_schema_key *k) {
  if (!strcmp(k->default_value, "???")) return "must be given";
  return *k->default_value ? k->default_value : "not set";
}

void gr_schema_help(gr_text *t, const char *prefix) {
  for (int i = 0; i < gr_schema_count; i++) {
    const gr_schema_key *k = &gr_schema_keys[i];
    if (strncmp(k->path, prefix, strlen(prefix))) continue;
    gr_text_printf(t, "%-34s %s\n    %s%s%s%s; default: %s\n", k->path, k->type, k->doc,
                   *k->unit ? " (" : "", k->unit, *k->unit ? ")" : "", default_text(k));
  }
}

static void put_cell(gr_text *t, const char *s) {
  for (; *s; s++) {
    if (*s == '|') gr_text_put(t, "\\");
    gr_text_putn(t, s, 1);
  }
}

static void put_row(gr_text *t, const gr_schema_key *k) {
  gr_text_printf(t, "| `%s` | ", k->path);
  put_cell(t, k->type);
  gr_text_put(t, " | ");
  put_cell(t, default_text(k));
  gr_text_printf(t, " | %s | ", k->unit);
  put_cell(t, k->doc);
  gr_text_put(t, " |\n");
}

void gr_schema_markdown(gr_text *t) {
  gr_text_put(
      t,
      "# Configuration keys\n\n"
      "Written by `graphrun config --help --markdown` from `compose/schema/schema.def`. A key that "
      "is not here is an error.\n\n"
      "| key | type | default | unit | meaning |\n|---|---|---|---|---|\n");
  for (int i = 0; i < gr_schema_count; i++) put_row(t, &gr_schema_keys[i]);
}

// ---- JSON Schema -----------------------------------------------------------------

static void put_type(gr_text *t, const gr_schema_type *type);

static void put_integer(gr_text *t, const gr_schema_type *type) {
  gr_text_printf(t, "{\"type\": \"integer\", \"minimum\": %lld, \"maximum\": %lld}",
                 (long long)type->min, (long long)type->max);
}

static void put_number(gr_text *t, const gr_schema_type *type) {
  gr_text_put(t, "{\"type\": \"number\"");
  if (isfinite(type->least))
    gr_text_printf(t, ", \"%s\": %g", type->open_least ? "exclusiveMinimum" : "minimum",
                   type->least);
  if (isfinite(type->most))
    gr_text_printf(t, ", \"%s\": %g", type->open_most ? "exclusiveMaximum" : "maximum", type->most);
  gr_text_put(t, "}");
}

static void put_one(gr_text *t, const gr_schema_type *type) {
  switch (type->kind) {
    case GR_SCHEMA_INT:
      put_integer(t, type);
      return;
    case GR_SCHEMA_FLOAT:
      put_number(t, type);
      return;
    case GR_SCHEMA_BOOL:
      gr_text_put(t, "{\"type\": \"boolean\"}");
      return;
    case GR_SCHEMA_NULL:
      gr_text_put(t, "{\"type\": \"null\"}");
      return;
    case GR_SCHEMA_MAP:
      gr_text_put(t, "{\"type\": \"object\"}");
      return;
    case GR_SCHEMA_WORD:
      gr_text_printf(
          t, strcmp(type->word, "null") ? "{\"const\": \"%s\"}" : "{\"enum\": [\"%s\", null]}",
          type->word);
      return;
    case GR_SCHEMA_LIST:
      gr_text_put(t, "{\"type\": \"array\", \"items\": ");
      put_type(t, type->item);
      if (type->length)
        gr_text_printf(t, ", \"minItems\": %d, \"maxItems\": %d", type->length, type->length);
      gr_text_put(t, "}");
      return;
    case GR_SCHEMA_ANY:
      gr_text_put(t, "{}");
      return;
    default:
      gr_text_put(t, "{\"type\": \"string\"}");
  }
}

// Any value may be an interpolation, or ??? for a value that another file gives.
#define INTERPOLATION "\"pattern\": \"\\\\$\\\\{|^\\\\?\\\\?\\\\?$\""
static void put_type(gr_text *t, const gr_schema_type *type) {
  gr_text_put(t, "{\"anyOf\": [");
  for (; type; type = type->next) {
    put_one(t, type);
    gr_text_put(t, ", ");
  }
  gr_text_put(t, "{\"type\": \"string\", " INTERPOLATION "}]}");
}

static void put_key(gr_text *t, const gr_schema_key *k, int depth) {
  gr_text type = gr_text_make(t->arena);
  gr_text_printf(t, "%*s\"%s\": {\"description\": ", depth * 2, "",
                 strrchr(k->path, '.') ? strrchr(k->path, '.') + 1 : k->path);
  gr_text_json(t, k->doc);
  gr_conf *default_value = NULL;
  gr_status s = gr_schema_default(t->arena, k, &default_value);
  if (!s && default_value) {
    gr_text_put(t, ", \"default\": ");
    gr_conf_json(t, default_value, 0);
  }
  gr_status_drop(s);
  put_type(&type, gr_schema_type_read(t->arena, k->type));
  gr_text_put(t, ", ");
  gr_text_put(t, type.chars + 1);
}

// Writes the keys from index i on that are in the section; returns the index of the first that is
// not.
static int put_section(gr_text *t, int i, const char *section, int depth) {
  size_t n = strlen(section);
  bool first = true;
  gr_text_put(t, "{\"type\": [\"object\", \"string\"], " INTERPOLATION
                 ", \"additionalProperties\": false, \"properties\": {\n");
  while (i < gr_schema_count && !strncmp(gr_schema_keys[i].path, section, n)) {
    const char *rest = gr_schema_keys[i].path + n, *dot = strchr(rest, '.');
    if (!first) gr_text_put(t, ",\n");
    first = false;
    if (!dot) {
      put_key(t, &gr_schema_keys[i++], depth + 1);
      continue;
    }
    const char *inner =
        gr_arena_strndup(t->arena, gr_schema_keys[i].path, n + (size_t)(dot - rest) + 1);
    gr_text_printf(t, "%*s\"%.*s\": ", depth * 2 + 2, "", (int)(dot - rest), rest);
    i = put_section(t, i, inner, depth + 1);
  }
  gr_text_printf(t, "\n%*s}}", depth * 2, "");
  return i;
}

// The keys that every file may contain besides the schema's: those of composition.
static const char composition[] =
    "\n  \"defaults\": {\"description\": \"the files this one builds on: 'name', '/group/name', "
    "'group: option', 'override group: option', '_self_'\", \"type\": \"array\", \"items\": "
    "{\"anyOf\": [{\"type\": \"string\"}, {\"type\": \"object\", \"minProperties\": 1, "
    "\"maxProperties\": 1, \"additionalProperties\": {\"anyOf\": [{\"type\": \"string\"}, "
    "{\"type\": "
    "\"null\"}, {\"type\": \"array\", \"items\": {\"type\": \"string\"}}]}}]}},\n"
    "  \"hydra\": {\"description\": \"Hydra's own node: run.dir, sweep.dir, sweep.subdir, "
    "sweeper, searchpath, output_subdir\", \"type\": \"object\"},";

void gr_schema_json(gr_text *t) {
  static const char head[] =
      "{\"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n"
      "\"title\": \"graphrun configuration\",\n"
      "\"$comment\": \"written by graphrun config --schema\", ";
  static const char opening[] =
      "\"type\": \"object\", \"additionalProperties\": false, \"properties\": {";
  gr_text body = gr_text_make(t->arena);
  put_section(&body, 0, "", 0);
  gr_text_printf(t, "%s%s%s%s\n", head, opening, composition,
                 strstr(body.chars, "\"properties\": {") + strlen("\"properties\": {"));
}
