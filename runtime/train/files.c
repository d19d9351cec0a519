// files.c - the folder of a run, and the configuration in it. See run.h.
#include <string.h>
#include <time.h>
#include "base/output.h"
#include "runtime/launch/launch.h"
#include "runtime/train/identity.h"
#include "runtime/train/run.h"

// Seconds to wait until a run that was killed, or was orphaned and is saving, releases its folder.
double gr_run_patience(const gr_run *r) {
  double most = r->me.spec->set.timeout / 2;
  return most < 10 ? most : 10;
}

// ---- The folder -------------------------------------------------------------------------------

// outputs/DATE/TIME if neither output.dir nor hydra.run.dir is set. A number is appended to a name
// that exists already, so that every run has its own folder.
static gr_status make_new(char *dir, size_t size) {
  char stamp[64];
  time_t now = (time_t)gr_wall_seconds();
  struct tm local;
  strftime(stamp, sizeof stamp, "outputs/%Y-%m-%d", localtime_r(&now, &local));
  GR_TRY(gr_make_dirs(stamp));
  strftime(stamp, sizeof stamp, "outputs/%Y-%m-%d/%H-%M-%S", &local);
  snprintf(dir, size, "%s", stamp);
  bool made = false;
  GR_TRY(gr_make_dir(dir, &made));
  for (int i = 2; !made; i++) {
    snprintf(dir, size, "%s-%d", stamp, i);
    GR_TRY(gr_make_dir(dir, &made));
  }
  return GR_OK;
}

static gr_status make_dir(gr_run *r, char *dir, size_t size) {
  const char *given = r->me.spec->set.dir ? r->me.spec->set.dir : r->me.spec->run_dir;
  if (given) snprintf(dir, size, "%s", given);
  GR_TRY(gr_hint(given ? gr_make_dirs(dir) : make_new(dir, size),
                 "output.dir=FOLDER is where a run puts its files"));
  gr_lock_spec lock = {.dir = dir, .file = ".run.lock", .seconds = gr_run_patience(r)};
  return gr_hint(gr_lock_take(&lock, &r->lock),
                 "wait for its end or stop it, or give this run another output.dir");
}

// Ranks on other machines, or with another working directory, write their shards of checkpoints to
// the same folder.
static gr_status check_seen(const char *dir) {
  if (gr_is_dir(dir)) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_IO, GR_NOWHERE,
                         "the folder of the run, '%s', which rank 0 has made, is not there", dir),
                 "output.dir must name a folder that all ranks share, by the same path");
}

void gr_run_set_resume_hint(const gr_run *r, bool saved) {
  char hint[2048] = "this run had not written a checkpoint yet: start it again";
  if (r->me.rank || !r->dir) return;
  if (saved)
    snprintf(hint, sizeof hint,
             "go on from the last checkpoint with: checkpoint.resume=auto output.dir=%s", r->dir);
  gr_launch_set_resume_hint(hint);
}

gr_status gr_run_open_dir(gr_run *r) {
  char dir[1024] = "";
  bool all_ok;
  gr_status s = r->me.rank == 0 ? make_dir(r, dir, sizeof dir) : GR_OK;
  gr_status t = gr_run_all_ok(&r->me, !s, &all_ok);
  if (s || t) return gr_also(s, t);
  if (!all_ok) return gr_fail(GR_ERR_RANK, GR_NOWHERE, "rank 0 could not make its folder");
  GR_TRY(gr_run_broadcast_text(&r->me, dir, sizeof dir));
  GR_TRY(gr_comm_all_ok(r->me.world, check_seen(dir)));
  r->dir = gr_arena_strdup(r->me.arena, dir);
  return GR_OK;
}

gr_status gr_run_open_log(gr_run *r) {
  if (r->me.rank == 0) GR_TRY(gr_report_open_log(r->dir, &r->log));
  if (r->me.rank == 0) gr_launch_set_log(gr_arena_printf(r->me.arena, "%s/run.log", r->dir));
  gr_run_set_resume_hint(r, false);
  return GR_OK;
}

// ---- The configuration ------------------------------------------------------------------------

static gr_status write_file(gr_run *r, const char *name, const char *text) {
  return gr_hint(gr_output_write(r->dir, name, text, strlen(text)),
                 "free space, or choose another folder: output.dir");
}

// These keys only say whether a run resumes, and where its files are.
static bool about_going_on(const char *key) {
  return !strcmp(key, "output.dir") || !strcmp(key, "checkpoint.resume");
}

static const char *value_text(gr_arena *a, const gr_conf *c) {
  gr_text t = gr_text_make(a);
  if (c) gr_conf_json(&t, c, 0);
  return c ? t.at : "not given";
}

static void put_change(gr_text *out, const gr_conf *was, const gr_conf *is) {
  const char *key = gr_conf_path(out->arena, was ? was : is);
  const char *before = value_text(out->arena, was), *now = value_text(out->arena, is);
  if (!about_going_on(key) && strcmp(before, now))
    gr_text_printf(out, "  %s: %s, was %s\n", key, now, before);
}

// A mapping that only one of the two has is listed key by key. NULL: the key is absent.
static void put_changes(gr_text *out, const gr_conf *was, const gr_conf *is) {
  bool maps = (!was || was->kind == GR_CONF_MAP) && (!is || is->kind == GR_CONF_MAP);
  if (!maps) {
    put_change(out, was, is);
    return;
  }
  for (int i = 0; was && i < was->n; i++) {
    int at = is ? gr_conf_index(is, was->keys[i]) : -1;
    put_changes(out, was->items[i], at < 0 ? NULL : is->items[at]);
  }
  for (int i = 0; is && i < is->n; i++)
    if (!was || gr_conf_index(was, is->keys[i]) < 0) put_changes(out, NULL, is->items[i]);
}

// The previous run has written its configuration two folders above its checkpoint, or in this
// folder. NULL: neither has one.
static gr_conf *read_config(gr_run *r, gr_arena *a, const char *checkpoint) {
  gr_conf *before = NULL;
  const char *path = gr_arena_printf(a, "%s/../../.hydra/config.yaml", checkpoint);
  if (!gr_is_file(path)) path = gr_arena_printf(a, "%s/.hydra/config.yaml", r->dir);
  gr_status_drop(gr_is_file(path) ? gr_conf_read(a, path, &before) : GR_OK);
  return before && before->kind == GR_CONF_MAP ? before : NULL;
}

// Appends keys that are a part of a run's identity and that both have, with other values. A version
// that had no identities did not know all keys of today.
static void put_counting(const gr_run *r, gr_text *out, const gr_conf *was, const gr_conf *is) {
  for (int i = 0; was->kind == GR_CONF_MAP && is->kind == GR_CONF_MAP && i < was->n; i++) {
    int at = gr_conf_index(is, was->keys[i]);
    if (at >= 0) put_counting(r, out, was->items[i], is->items[at]);
  }
  const char *key = gr_conf_path(out->arena, was);
  if ((was->kind == GR_CONF_MAP && is->kind == GR_CONF_MAP) || r->me.spec->is_neutral(key)) return;
  const char *before = value_text(out->arena, was), *now = value_text(out->arena, is);
  if (strcmp(before, now))
    gr_text_printf(out, "%s%s is %s, was %s", out->len ? "; " : "", key, now, before);
}

gr_status gr_run_check_recorded(gr_run *r, const char *checkpoint) {
  gr_arena *a = gr_arena_create();
  const gr_conf *before = read_config(r, a, checkpoint);
  gr_text other = gr_text_make(a);
  if (before && r->me.spec->written && r->me.spec->is_neutral)
    put_counting(r, &other, before, r->me.spec->written);
  gr_status s = other.len ? gr_identity_refuse(checkpoint, checkpoint, other.at) : GR_OK;
  gr_arena_destroy(a);
  return s;
}

void gr_run_log_config_changes(gr_run *r, const char *checkpoint) {
  gr_arena *a = gr_arena_create();
  const gr_conf *before = read_config(r, a, checkpoint);
  gr_text lines = gr_text_make(a);
  if (before) put_changes(&lines, before, r->me.spec->written);
  if (lines.len) gr_log(GR_INFO, "the configuration is not that of the run before:");
  for (char *line = lines.at, *end; (end = strchr(line, '\n')); line = end + 1)
    gr_log(GR_INFO, "%.*s", (int)(end - line), line);
  gr_arena_destroy(a);
}

static const char *in_config_dir(gr_run *r, const char *name) {
  return gr_arena_printf(r->me.arena, "%s/%s", r->me.spec->config_dir, name);
}

// Writes the files in Hydra's layout, so that its tools can read them, the data's metadata, such as
// the names of classes, the plan, and the model, so that later edits of its file do not affect this
// run's weights.
gr_status gr_run_save_config(gr_run *r) {
  const gr_run_spec *s = r->me.spec;
  gr_text data = gr_text_make(r->me.arena);
  if (r->me.rank) return GR_OK;
  if (s->identity) GR_TRY(write_file(r, GR_IDENTITY_NAME, s->identity));
  if (!s->config_dir) return GR_OK;
  gr_dataset_json(s->data, &data);
  GR_TRY(write_file(r, "data.json", data.at));
  if (s->model_yaml) GR_TRY(write_file(r, "model.yaml", s->model_yaml));
  if (s->about_json) GR_TRY(write_file(r, "about.json", s->about_json));
  if (s->plan_json) GR_TRY(write_file(r, "plan.json", s->plan_json));
  GR_TRY(gr_make_dirs(gr_arena_printf(r->me.arena, "%s/%s", r->dir, s->config_dir)));
  GR_TRY(write_file(r, in_config_dir(r, "config.yaml"), s->config_yaml));
  GR_TRY(write_file(r, in_config_dir(r, "hydra.yaml"), s->hydra_yaml));
  return write_file(r, in_config_dir(r, "overrides.yaml"), s->overrides_yaml);
}
