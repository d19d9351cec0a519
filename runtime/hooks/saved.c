// saved.c - the scripts' states and files as a text for checkpoints, and back. See hooks.h.
//
// The text is JSON. A table is an array of [key, value] pairs in key order, and each byte of a
// string is the character of that number (256 for 0), so that every Lua value that is data is
// restored exactly. Names of scripts are such strings, too.
#include <stdlib.h>
#include <string.h>
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "runtime/checkpoint/limits.h"
#include "runtime/hooks/process.h"

enum { NUL = 256 };
// All states are one text scalar of a checkpoint, together with the names of scripts and files.
_Static_assert(GR_HOOK_STATE_BYTES <= GR_CHECKPOINT_TEXT / 2, "a checkpoint must hold all states");

// ---- Writing ------------------------------------------------------------------------------------

static void put_value(gr_text *t, gr_wire *w);

static void put_string(gr_text *t, const char *text, size_t len) {
  gr_text_put(t, "\"");
  for (size_t i = 0; i < len; i++) {
    unsigned c = (unsigned char)text[i];
    if (c >= 32 && c < 127 && c != '"' && c != '\\')
      gr_text_putn(t, text + i, 1);
    else
      gr_text_printf(t, "\\u%04x", c ? c : NUL);
  }
  gr_text_put(t, "\"");
}

typedef struct entry {  // of a table: its key, and where key and value begin in the message
  enum { NUMBER, STRING, BOOLEAN } kind;
  long double number;  // every integer and every float; of booleans, 1 or 0
  const char *text;
  size_t len, key, value;
} entry;

static entry read_entry(gr_wire *w) {
  size_t len;
  entry e = {.key = w->next};
  gr_wire_tag tag = gr_wire_next(w);
  if (tag == GR_WIRE_TEXT)
    e.kind = STRING, e.text = gr_wire_bytes(w, &e.len);
  else if (tag == GR_WIRE_INT)
    e.number = (long double)gr_wire_int(w);
  else if (tag == GR_WIRE_FLOAT)
    e.number = (long double)gr_wire_float(w);
  else
    e.kind = BOOLEAN, e.number = gr_wire_bool(w);
  e.value = w->next;
  gr_wire_value(w, &len);
  return e;
}

// The order of gr_sandbox_sorted_keys: numbers, text, booleans.
static int compare_keys(const void *left, const void *right) {
  const entry *a = left, *b = right;
  if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
  if (a->kind != STRING) return (a->number > b->number) - (a->number < b->number);
  int order = memcmp(a->text, b->text, a->len < b->len ? a->len : b->len);
  return order ? order : (a->len > b->len) - (a->len < b->len);
}

// Keys are sorted, so that equal states give equal text.
static void put_table(gr_text *t, gr_wire *w) {
  gr_wire_table(w);
  size_t begin = w->next, n = 0;
  for (; !gr_wire_end(w); n++) read_entry(w);
  size_t end = w->next;
  entry *entries = GR_NEW(t->arena, entry, n + 1);
  w->next = begin;
  for (size_t i = 0; i < n; i++) entries[i] = read_entry(w);
  qsort(entries, n, sizeof *entries, compare_keys);
  gr_text_put(t, "[");
  for (size_t i = 0; i < n; i++) {
    gr_text_put(t, i ? ",[" : "[");
    w->next = entries[i].key;
    put_value(t, w);
    gr_text_put(t, ",");
    w->next = entries[i].value;
    put_value(t, w);
    gr_text_put(t, "]");
  }
  gr_text_put(t, "]");
  w->next = end;
}

static void put_value(gr_text *t, gr_wire *w) {
  size_t len;
  gr_wire_tag tag = gr_wire_next(w);
  if (tag == GR_WIRE_TABLE) {
    put_table(t, w);
  } else if (tag == GR_WIRE_TEXT) {
    const char *text = gr_wire_bytes(w, &len);
    put_string(t, text, len);
  } else if (tag == GR_WIRE_INT) {
    gr_text_put_int(t, gr_wire_int(w));
  } else if (tag == GR_WIRE_FLOAT) {
    gr_text_put_float(t, gr_wire_float(w));
  } else {
    gr_text_put(t, gr_wire_bool(w) ? "true" : "false");
  }
}

static void put_script(gr_text *t, const gr_script *s) {
  gr_wire state = {.bytes = s->state.bytes, .len = s->state.len};
  put_string(t, s->name, strlen(s->name));
  gr_text_put(t, ",");
  if (state.len)
    put_table(t, &state);
  else
    gr_text_put(t, "[]");
}

gr_status gr_hooks_save(gr_hooks *h, gr_arena *a, char **out) {
  gr_text t = gr_text_make(a);
  gr_text_put(&t, "{\"scripts\":[");
  for (int i = 0; i < h->spec.n_scripts; i++) {
    gr_text_put(&t, i ? ",[" : "[");
    put_script(&t, &h->scripts[i]);
    gr_text_put(&t, "]");
  }
  gr_text_put(&t, "],\"files\":[");
  for (const gr_hook_file *f = h->files; f; f = f->next)
    gr_text_printf(&t, "%s[\"%s\",%lld]", f == h->files ? "" : ",", f->name, (long long)f->bytes);
  gr_text_put(&t, "]}");
  *out = t.chars;
  return GR_OK;
}

// ---- Reading ------------------------------------------------------------------------------------

// The bytes of a string, followed by a NUL.
static char *read_string(gr_arena *a, const char *text, size_t *out_len) {
  char *bytes = gr_arena_alloc(a, strlen(text) + 1);
  size_t len = 0;
  for (int n; *text && (n = gr_utf8_len(text)) > 0; text += n) {
    uint32_t c = gr_utf8_code(text, n);
    bytes[len++] = (char)(c == NUL ? 0 : c);
  }
  bytes[len] = 0;
  *out_len = len;
  return bytes;
}

static bool is_key(const gr_json *v) {
  return v->kind != GR_JSON_ARRAY && v->kind != GR_JSON_NULL && v->f == v->f;
}

// Appends a value to a message. False: it is none that put_value has written.
static bool take_value(gr_arena *a, const gr_json *v, gr_wire *out) {
  size_t len;
  if (v->kind == GR_JSON_BOOL) {
    gr_wire_put_bool(out, v->i != 0);
  } else if (v->kind == GR_JSON_INT) {
    gr_wire_put_int(out, v->i);
  } else if (v->kind == GR_JSON_FLOAT) {
    gr_wire_put_float(out, v->f);
  } else if (v->kind == GR_JSON_TEXT) {
    const char *bytes = read_string(a, v->text, &len);
    gr_wire_put_bytes(out, bytes, len);
  } else if (v->kind == GR_JSON_ARRAY) {
    gr_wire_put_table(out);
    for (const gr_json *pair = v->first; pair; pair = pair->next)
      if (pair->kind != GR_JSON_ARRAY || pair->n != 2 || !is_key(pair->first) ||
          !take_value(a, pair->first, out) || !take_value(a, pair->first->next, out))
        return false;
    gr_wire_put_end(out);
  } else {
    return false;
  }
  return true;
}

static gr_status damaged(void) {
  return gr_fail(GR_ERR_CHECKPOINT, GR_NOWHERE, "the saved state of hooks is damaged");
}

// Assigns the saved states to scripts by file name; scripts of the same name get theirs in order.
static gr_status assign(gr_hooks *h, gr_arena *a, const gr_json *list, const gr_json **of_script) {
  for (const gr_json *v = list->first; v; v = v->next) {
    if (v->kind != GR_JSON_ARRAY || v->n != 2 || v->first->kind != GR_JSON_TEXT ||
        v->first->next->kind != GR_JSON_ARRAY)
      return damaged();
    size_t len;
    const char *name = read_string(a, v->first->text, &len);
    int i = 0;
    while (i < h->spec.n_scripts && (of_script[i] || strcmp(h->scripts[i].name, name))) i++;
    if (i < h->spec.n_scripts)
      of_script[i] = v->first->next;
    else
      gr_log(GR_WARN, "the checkpoint has a state of hook '%.200s', which this run does not have",
             name);
  }
  return GR_OK;
}

static gr_status restore_states(gr_hooks *h, gr_arena *a, const gr_json *list) {
  const gr_json **of_script = GR_NEW(a, const gr_json *, h->spec.n_scripts + 1);
  GR_TRY(gr_hooks_restart(h));
  if (!h->spec.n_scripts) return GR_OK;
  if (!list) return damaged();
  GR_TRY(assign(h, a, list, of_script));
  gr_wire_begin(&h->out, GR_WIRE_STATES);
  for (int i = 0; i < h->spec.n_scripts; i++)
    if (!of_script[i])
      gr_wire_put_text(&h->out, NULL);
    else if (!take_value(a, of_script[i], &h->out))
      return damaged();
  GR_TRY(gr_hooks_ask(h, &h->scripts[0], -1));
  for (int i = 0; i < h->spec.n_scripts; i++) GR_TRY(gr_hooks_keep_state(h, &h->scripts[i].state));
  return GR_OK;
}

static gr_status restore_files(gr_hooks *h, const gr_json *files) {
  for (const gr_json *v = files->first; v; v = v->next) {
    const gr_json *name = v->first;
    bool pair = v->kind == GR_JSON_ARRAY && v->n == 2 && name->kind == GR_JSON_TEXT &&
                name->next->kind == GR_JSON_INT;
    if (pair && name->next->i >= 0) GR_TRY(gr_hooks_continue_file(h, name->text, name->next->i));
  }
  return GR_OK;
}

gr_status gr_hooks_restore(gr_hooks *h, const char *text) {
  gr_arena *a = gr_arena_create();
  const gr_json *root;
  gr_json_error why;
  bool ok = gr_json_read(a, text, strlen(text), &root, &why);
  const gr_json *files = ok ? gr_json_get(root, "files", GR_JSON_ARRAY) : NULL;
  gr_status e =
      files ? restore_states(h, a, gr_json_get(root, "scripts", GR_JSON_ARRAY)) : damaged();
  if (!e) e = restore_files(h, files);
  return gr_arena_end(a, e);
}
