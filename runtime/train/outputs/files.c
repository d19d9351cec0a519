// files.c - see files.h.
#include "runtime/train/outputs/files.h"
#include <string.h>
#include "base/output.h"
#include "runtime/report/report.h"
#include "runtime/train/identity.h"

static gr_status write_bytes(const char *dir, const char *name, const void *data, size_t bytes) {
  return gr_report_dir_hint(gr_output_write(dir, name, data, bytes));
}

static gr_status write_file(const char *dir, const char *name, const char *text) {
  return write_bytes(dir, name, text, strlen(text));
}

// These keys only say whether a run resumes, and where its files are.
static bool about_going_on(const char *key) {
  return !strcmp(key, "output.dir") || !strcmp(key, "checkpoint.resume");
}

static const char *value_text(gr_arena *a, const gr_conf *c) {
  gr_text t = gr_text_make(a);
  if (c) gr_conf_json(&t, c, 0);
  return c ? t.chars : "not given";
}

static void put_change(gr_text *out, const gr_conf *recorded, const gr_conf *current) {
  const char *key = gr_conf_path(out->arena, recorded ? recorded : current);
  const char *before = value_text(out->arena, recorded), *now = value_text(out->arena, current);
  if (!about_going_on(key) && strcmp(before, now))
    gr_text_printf(out, "  %s: %s, was %s\n", key, now, before);
}

// A mapping that only one of the two has is listed key by key. NULL: the key is absent.
static void put_changes(gr_text *out, const gr_conf *recorded, const gr_conf *current) {
  bool maps =
      (!recorded || recorded->kind == GR_CONF_MAP) && (!current || current->kind == GR_CONF_MAP);
  if (!maps) {
    put_change(out, recorded, current);
    return;
  }
  for (int i = 0; recorded && i < recorded->n; i++) {
    int index = current ? gr_conf_index(current, recorded->keys[i]) : -1;
    put_changes(out, recorded->items[i], index < 0 ? NULL : current->items[index]);
  }
  for (int i = 0; current && i < current->n; i++)
    if (!recorded || gr_conf_index(recorded, current->keys[i]) < 0)
      put_changes(out, NULL, current->items[i]);
}

// The previous run has written its configuration two folders above its checkpoint, or in this
// folder. NULL: neither has one.
static gr_conf *read_config(gr_arena *a, const char *dir, const char *checkpoint) {
  gr_conf *before = NULL;
  const char *path = gr_arena_printf(a, "%s/../../.hydra/config.yaml", checkpoint);
  if (!gr_is_file(path)) path = gr_arena_printf(a, "%s/.hydra/config.yaml", dir);
  gr_status_drop(gr_is_file(path) ? gr_conf_read(a, path, &before) : GR_OK);
  return before && before->kind == GR_CONF_MAP ? before : NULL;
}

// Appends keys that are a part of a run's identity and that both have, with other values. A version
// that had no identities did not know all keys of today.
static void put_counting(const gr_rank *r, gr_text *out, const gr_conf *recorded,
                         const gr_conf *current) {
  for (int i = 0; recorded->kind == GR_CONF_MAP && current->kind == GR_CONF_MAP && i < recorded->n;
       i++) {
    int index = gr_conf_index(current, recorded->keys[i]);
    if (index >= 0) put_counting(r, out, recorded->items[i], current->items[index]);
  }
  const char *key = gr_conf_path(out->arena, recorded);
  if ((recorded->kind == GR_CONF_MAP && current->kind == GR_CONF_MAP) || r->spec->is_neutral(key))
    return;
  const char *before = value_text(out->arena, recorded), *now = value_text(out->arena, current);
  if (strcmp(before, now))
    gr_text_printf(out, "%s%s is %s, was %s", out->len ? "; " : "", key, now, before);
}

gr_status gr_run_check_recorded(const gr_rank *r, const char *dir, const char *checkpoint) {
  gr_arena *a = gr_arena_create();
  const gr_conf *before = read_config(a, dir, checkpoint);
  gr_text other = gr_text_make(a);
  if (before && r->spec->written && r->spec->is_neutral)
    put_counting(r, &other, before, r->spec->written);
  return gr_arena_end(a,
                      other.len ? gr_identity_refuse(checkpoint, checkpoint, other.chars) : GR_OK);
}

void gr_run_log_config_changes(const gr_rank *r, const char *dir, const char *checkpoint) {
  gr_arena *a = gr_arena_create();
  const gr_conf *before = read_config(a, dir, checkpoint);
  gr_text lines = gr_text_make(a);
  if (before) put_changes(&lines, before, r->spec->written);
  if (lines.len) gr_log(GR_INFO, "the configuration is not that of the run before:");
  for (char *line = lines.chars, *end; (end = strchr(line, '\n')); line = end + 1)
    gr_log(GR_INFO, "%.*s", (int)(end - line), line);
  gr_arena_destroy(a);
}

static const char *in_config_dir(gr_rank *r, const char *name) {
  return gr_arena_printf(r->arena, "%s/%s", r->spec->config_dir, name);
}

// Writes the files in Hydra's layout, so that its tools can read them, the data's metadata, such as
// the names of classes, the tokenizer, the plan, and the model, so that later edits of their files
// do not affect this run's weights.
gr_status gr_run_save_config(gr_rank *r, const char *dir) {
  const gr_run_spec *s = r->spec;
  gr_text data = gr_text_make(r->arena);
  if (r->rank) return GR_OK;
  if (s->identity) GR_TRY(write_file(dir, GR_IDENTITY_NAME, s->identity));
  if (!s->config_dir) return GR_OK;
  gr_dataset_json(s->data, &data);
  GR_TRY(write_file(dir, "data.json", data.chars));
  const gr_tokenizer *t = gr_dataset_tokenizer(s->data);
  if (t) GR_TRY(write_bytes(dir, t->file, t->bytes, t->n_bytes));
  if (s->model_yaml) GR_TRY(write_file(dir, "model.yaml", s->model_yaml));
  if (s->about_json) GR_TRY(write_file(dir, "about.json", s->about_json));
  if (s->plan_json) GR_TRY(write_file(dir, "plan.json", s->plan_json));
  if (s->plan_svg) GR_TRY(write_file(dir, "plan.svg", s->plan_svg));
  GR_TRY(gr_make_dirs(gr_arena_printf(r->arena, "%s/%s", dir, s->config_dir)));
  GR_TRY(write_file(dir, in_config_dir(r, "config.yaml"), s->config_yaml));
  GR_TRY(write_file(dir, in_config_dir(r, "hydra.yaml"), s->hydra_yaml));
  return write_file(dir, in_config_dir(r, "overrides.yaml"), s->overrides_yaml);
}
