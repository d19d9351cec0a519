// identity.c - see identity.h.
#include "runtime/train/identity.h"
#include <string.h>
#include "base/hash.h"
#include "base/json.h"
#include "base/port.h"

enum { MAX_LISTED = 8, MAX_VALUE = 80 };

void gr_identity_hash(const char *identity, char out[GR_IDENTITY_HASH]) {
  snprintf(out, GR_IDENTITY_HASH, "%016llx", (unsigned long long)gr_hash_text(identity));
}

static const gr_json *read(gr_arena *a, const char *text) {
  const gr_json *root;
  gr_json_error why;
  bool ok = gr_json_read(a, text, strlen(text), &root, &why) && root->kind == GR_JSON_OBJECT;
  return ok ? root : NULL;
}

static bool is_data(const char *name) {
  return !strncmp(name, "data.", 5) || !strcmp(name, "samples");
}

static int compare_part(const gr_json *recorded, const gr_json *current, const char *part,
                        bool data, gr_text *out) {
  const gr_json *before = gr_json_get(recorded, part, GR_JSON_OBJECT);
  const gr_json *now = gr_json_get(current, part, GR_JSON_OBJECT);
  bool values = !strcmp(part, "config");  // hashes of contents say nothing to a reader
  int n = 0;
  for (const gr_json *v = now ? now->first : NULL; v && before; v = v->next) {
    const gr_json *w = gr_json_get(before, v->name, GR_JSON_TEXT);
    if (!w || v->kind != GR_JSON_TEXT || !strcmp(w->text, v->text)) continue;
    if (data && !is_data(v->name)) continue;
    if (n++ >= MAX_LISTED) continue;
    const char *comma = out->len ? "; " : "";
    if (values)
      gr_text_printf(out, "%s%s is %.*s, was %.*s", comma, v->name, MAX_VALUE, v->text, MAX_VALUE,
                     w->text);
    else
      gr_text_printf(out, "%s%s has other contents", comma, v->name);
  }
  if (n > MAX_LISTED) gr_text_printf(out, "; and %d more", n - MAX_LISTED);
  return n;
}

int gr_identity_compare(const char *recorded, const char *current, gr_identity_part part,
                        gr_text *out) {
  gr_arena *a = gr_arena_create();
  const gr_json *before = read(a, recorded), *now = read(a, current);
  bool data = part == GR_IDENTITY_DATA;
  int n = before && now ? 0 : -1;
  if (!n && !data) n = compare_part(before, now, "config", false, out);
  if (n >= 0 && part != GR_IDENTITY_CONFIG) n += compare_part(before, now, "contents", data, out);
  gr_arena_destroy(a);
  return n;
}

gr_status gr_identity_read(gr_arena *a, const char *dir, const char **out) {
  const char *path = gr_arena_printf(a, "%s/" GR_IDENTITY_NAME, dir);
  char *text = NULL;
  *out = NULL;
  if (gr_is_file(path)) GR_TRY(gr_file_read(a, path, GR_IDENTITY_BYTES, &text, NULL));
  *out = text;
  return GR_OK;
}

gr_status gr_identity_refuse(const char *place, const char *checkpoint, const char *differences) {
  return gr_hint(
      gr_fail(GR_ERR_CHECKPOINT, GR_NOWHERE, "'%s' has another run: %s", place, differences),
      "another output.dir for a run of its own; checkpoint.resume=%s to go on from %s with what "
      "has "
      "changed; or checkpoint.resume=none to start from the beginning in this folder",
      checkpoint ? checkpoint : "PATH", checkpoint ? "there" : "the checkpoint at PATH");
}

gr_status gr_identity_check(const char *place, const char *checkpoint, const char *recorded,
                            const char *current, gr_identity_part part) {
  gr_arena *a = gr_arena_create();
  gr_text lines = gr_text_make(a);
  int n = gr_identity_compare(recorded, current, part, &lines);
  gr_status s = GR_OK;
  if (n < 0)
    s = gr_hint(gr_fail(GR_ERR_CHECKPOINT, GR_NOWHERE,
                        "'%s' has the identity of a run that cannot be read", place),
                "give this run another output.dir");
  else if (n)
    s = gr_identity_refuse(place, checkpoint, lines.chars);
  return gr_arena_end(a, s);
}
