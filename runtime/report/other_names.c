// other_names.c - see other_names.h.
#include "runtime/report/other_names.h"
#include <string.h>
#include "base/json.h"

static const gr_json *member(const gr_json *object, const char *name, size_t len) {
  const gr_json *m = object && object->kind == GR_JSON_OBJECT ? object->first : NULL;
  while (m && (strlen(m->name) != len || strncmp(m->name, name, len))) m = m->next;
  return m;
}

// A member whose name is the path, or the rest of the path in the member that begins it: names of
// metrics have dots.
static const gr_json *find(const gr_json *object, const char *path) {
  size_t len = strlen(path);
  const gr_json *found = member(object, path, len);
  if (found) return found;
  const char *dot = strchr(path, '.');
  const gr_json *in = dot ? member(object, path, (size_t)(dot - path)) : NULL;
  return in ? find(in, dot + 1) : NULL;
}

static void put_value(const gr_json *v, gr_text *out) {
  if (v)
    gr_json_put(out, v);
  else
    gr_text_put(out, "null");
}

// Whether an object has another member that begins as the name does, up to its dot: a name among
// names of its kind, such as those of validation, is expected.
static bool has_others(const gr_json *object, const char *name) {
  size_t n = strcspn(name, ".") + 1;
  const gr_json *m = object && object->kind == GR_JSON_OBJECT ? object->first : NULL;
  while (m && (n > strlen(name) || strncmp(m->name, name, n))) m = m->next;
  return m;
}

// False: no row has the value, and rows have others of its kind.
static bool put_history(const gr_json *rows, const char *name, gr_text *out) {
  bool any = false, others = false;
  const char *between = "";
  gr_text_put(out, "[");
  for (const gr_json *row = rows->first; row; row = row->next, between = ", ") {
    const gr_json *v = member(row, name, strlen(name));
    any |= v != NULL, others |= has_others(row, name);
    gr_text_put(out, between);
    put_value(v, out);
  }
  gr_text_put(out, "]");
  return any || !others;
}

static bool put_one(const gr_json *all, const char *of, gr_text *out) {
  static const char history[] = "history.";
  const gr_json *rows = all ? gr_json_get(all, "history", GR_JSON_ARRAY) : NULL;
  if (rows && !strncmp(of, history, strlen(history)))
    return put_history(rows, of + strlen(history), out);
  const gr_json *v = find(all, of);
  const char *dot = strchr(of, '.');
  const gr_json *in = dot && all ? member(all, of, (size_t)(dot - of)) : NULL;
  put_value(v, out);
  return v || !has_others(in, dot ? dot + 1 : "");
}

const char *gr_other_names_put(gr_arena *a, const gr_other_names *names, gr_text *json) {
  const gr_json *all;
  gr_json_error why;
  const char *missing = NULL;
  if (!names->n) return NULL;
  const char *whole = gr_arena_printf(a, "%s\n}", json->chars);
  (void)gr_json_read(a, whole, strlen(whole), &all, &why);  // it cannot be read: all are null
  for (int i = 0; i < names->n; i++) {
    gr_text_json_line(json, "\n ");
    gr_text_json_key(json, names->items[i].name);
    if (!put_one(all, names->items[i].of, json) && !missing) missing = names->items[i].of;
  }
  return missing;
}
