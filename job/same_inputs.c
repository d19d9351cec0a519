// same_inputs.c - see same_inputs.h.
#include "job/same_inputs.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/file.h"
#include "base/stop.h"
#include "compose/tree/pack.h"

enum { HEAD = 1 << 20, SIZED = 100000 };  // bytes that are hashed; recordings that are compared

// The error of the first rank that differs from rank 0; all ranks know which rank that is.
static gr_status another(gr_comm *world, int odd, gr_loc loc, const char *what, const char *here,
                         const char *first) {
  if (odd != world->rank)
    return gr_fail(GR_ERR_RANK, GR_NOWHERE, "rank %d has %s than rank 0", odd, what);
  return gr_hint(gr_fail(GR_ERR_LAUNCH, loc, "rank %d has %s than rank 0: here %s, there %s", odd,
                         what, here, first),
                 "every rank must see the same files and data");
}

// Broadcasts rank 0's string to all ranks.
static gr_status share_text(gr_arena *a, gr_comm *world, gr_text t, const char **out) {
  size_t n = t.len + 1;
  GR_TRY(gr_comm_share(world, a, &t.chars, &n));
  *out = t.chars;
  return GR_OK;
}

// ---- The configuration ------------------------------------------------------------------------

// The command line, then the configuration.
static void pack(gr_text *t, const gr_job *j) {
  char count[16];
  snprintf(count, sizeof count, "%d", j->args.argc);
  gr_text_putn(t, count, strlen(count) + 1);
  for (int i = 0; i < j->args.argc; i++)
    gr_text_putn(t, j->args.argv[i], strlen(j->args.argv[i]) + 1);
  gr_conf_pack(t, j->spec.conf);
}

static gr_status unpack(gr_job *j, char *bytes, size_t n, gr_conf **conf) {
  char *cursor = bytes;
  int argc = atoi(cursor);
  char **argv = GR_NEW(j->arena, char *, argc + 1);
  cursor += strlen(cursor) + 1;
  for (int i = 0; i < argc; i++, cursor += strlen(cursor) + 1) argv[i] = cursor;
  const gr_command *const *commands = j->args.commands, *c = gr_args_command(commands, argc, argv);
  GR_TRY(gr_args_parse(j->arena, commands, c, argc, argv, gr_args_first(c, argc, argv), &j->args));
  return gr_conf_unpack(j->arena, cursor, n - (size_t)(cursor - bytes), conf);
}

// The result of an interpolation may be a secret from the environment, so it is not printed.
static const char *value_text(gr_arena *a, const gr_conf *c, bool secret) {
  gr_text t = gr_text_make(a);
  if (!c) return "not set";
  if (secret) return "another value";
  gr_conf_json(&t, c, 0);
  return t.chars;
}

static void report_difference(gr_arena *a, const gr_conf *local, const gr_conf *first) {
  bool secret = local && local->raw;
  gr_log(
      GR_WARN,
      "this rank was started with another configuration than rank 0: %s is %s here and %s there; "
      "all ranks use that of rank 0",
      gr_conf_path(a, local ? local : first), value_text(a, local, secret),
      value_text(a, first, secret));
}

// The first of the ranks that were started with another configuration reports it.
static gr_status compare_config(gr_job *j, gr_comm *world, const gr_conf *conf, gr_status status) {
  const gr_conf *local = NULL, *first = NULL;
  bool differs = !status && gr_conf_differs(j->spec.conf, conf, &local, &first);
  int odd;
  gr_status s = gr_comm_compare(world, differs || status, &odd);
  if (!s && odd == world->rank && differs) report_difference(j->arena, local, first);
  if (!s && odd == world->rank && status)
    gr_log(GR_WARN, "this rank uses rank 0's configuration, since it cannot compose its own: %s",
           gr_status_text(status));
  gr_status_drop(status);
  return s;
}

// Ends this rank if rank 0 has no configuration to share, or communication has failed.
static gr_status without_config(gr_comm *world, gr_status composed, gr_status broken) {
  if (world->rank == 0) return gr_also(composed, broken);
  gr_status_drop(composed);
  return broken ? broken
                : gr_fail(GR_ERR_RANK, GR_NOWHERE, "rank 0 could not compose the configuration");
}

gr_status gr_same_config(gr_job *j, gr_comm *world, gr_status composed) {
  gr_text t = gr_text_make(j->arena);
  if (world->rank == 0 && !composed) pack(&t, j);
  size_t n = t.len;
  gr_conf *conf = j->spec.conf;
  gr_status s = gr_comm_share(world, j->arena, &t.chars, &n);
  if (s || !n) return without_config(world, composed, s);
  s = gr_comm_all_ok(world, world->rank ? unpack(j, t.chars, n, &conf) : GR_OK);
  if (s) {
    gr_status_drop(composed);
    return s;
  }
  GR_TRY(compare_config(j, world, conf, composed));
  return gr_comm_all_ok(world, world->rank ? gr_job_take(j, conf) : GR_OK);
}

// ---- Files --------------------------------------------------------------------------------------

// Hashes a file's size and contents, or the manifest of a checkpoint's folder. Only the head of a
// large file is hashed, in which a file of weights lists its tensors.
static uint64_t hash_file(gr_arena *a, const char *path, int64_t *size) {
  struct stat st;
  if (gr_is_dir(path)) path = gr_arena_printf(a, "%s/manifest.json", path);
  FILE *f;
  gr_status_drop(gr_file_stream(path, GR_ERR_IO, &f));
  char *head = gr_arena_alloc(a, HEAD);
  size_t n = f ? fread(head, 1, HEAD, f) : 0;
  *size = f && !fstat(fileno(f), &st) ? (int64_t)st.st_size : -1;
  if (f) fclose(f);
  return gr_hash_bytes(gr_hash_bytes(GR_HASH_START, size, sizeof *size), head, n);
}

static gr_status compare_file(gr_job *j, gr_comm *world, const char *key, const char *path) {
  gr_arena *a = gr_arena_create();
  gr_text here = gr_text_make(j->arena);
  int64_t size;
  int odd;
  uint64_t hash = hash_file(a, path, &size);
  gr_arena_destroy(a);
  GR_TRY(gr_comm_compare(world, hash, &odd));
  if (odd < 0) return GR_OK;
  if (size < 0)
    gr_text_put(&here, "it cannot be read");
  else
    gr_text_printf(&here, "%lld bytes with hash %016llx", (long long)size,
                   (unsigned long long)hash);
  const char *first, *what = gr_arena_printf(j->arena, "another %s '%s'", key, path);
  GR_TRY(share_text(j->arena, world, here, &first));
  const gr_conf *place = gr_conf_find(j->spec.conf, key);
  return another(world, odd, place ? place->loc : GR_NOWHERE, what, here.chars, first);
}

gr_status gr_same_files(gr_job *j, gr_comm *world) {
  const gr_settings *s = &j->spec.set;
  GR_TRY(compare_file(j, world, "model.graph", s->model.graph));
  for (int i = 0; i < s->hooks.paths.n; i++)
    GR_TRY(compare_file(j, world, "hooks", s->hooks.scripts[i].path));
  for (int i = 0; i < s->model.n_init_from; i++)
    GR_TRY(compare_file(j, world, "model.init_from", s->model.init_from[i].path));
  if (s->model.teacher_graph)
    GR_TRY(compare_file(j, world, "model.teacher.graph", s->model.teacher_graph));
  for (int i = 0; i < s->model.n_teacher_init_from; i++)
    GR_TRY(compare_file(j, world, "model.teacher.init_from", s->model.teacher_init_from[i].path));
  // A list of symbols is not a file on any rank.
  static const char *const keys[] = {"data.speech.vocab", "data.tokenizer"};
  for (int i = 0; i < 2; i++) {
    const gr_conf *c = gr_conf_find(j->spec.conf, keys[i]);
    if (c && c->kind == GR_CONF_TEXT) GR_TRY(compare_file(j, world, keys[i], c->text));
  }
  return GR_OK;
}

// ---- Data ---------------------------------------------------------------------------------------

typedef struct prints {
  uint64_t *items;
  uint32_t n;
  uint64_t all;
} prints;

// In a large data set only some recordings, evenly spread, are compared by size.
static prints take_prints(gr_job *j) {
  prints p = {.n = gr_dataset_samples(j->spec.data)};
  uint32_t apart = p.n / SIZED + 1;
  p.items = GR_NEW(j->arena, uint64_t, p.n + 1);
  for (uint32_t i = 0; i < p.n && !gr_stop_due(); i++)
    p.items[i] = gr_dataset_fingerprint(j->spec.data, i, i % apart == 0);
  p.all = gr_hash_bytes(GR_HASH_START, p.items, sizeof *p.items * p.n);
  return p;
}

static const char *describe(gr_job *j, uint32_t i) {
  gr_text t = gr_text_make(j->arena);
  if (i >= gr_dataset_samples(j->spec.data)) return "no more samples";
  gr_dataset_describe(j->spec.data, i, &t);
  return t.chars;
}

// The rank that differs finds its first sample that is not rank 0's; rank 0 then reports its own.
static gr_status name_sample(gr_job *j, gr_comm *world, const prints *local, int odd) {
  char *bytes = (char *)local->items;
  size_t n = sizeof *local->items * local->n;
  GR_TRY(gr_comm_share(world, j->arena, &bytes, &n));
  const uint64_t *first = (const uint64_t *)(const void *)bytes;
  int32_t i = 0, common = 0;
  while ((size_t)i < n / sizeof *first && (uint32_t)i < local->n && local->items[i] == first[i])
    i++;
  if (world->rank != odd) i = 0;
  GR_TRY(gr_comm_run(world, GR_ALL_REDUCE, GR_I32, 1, &i, &common));
  const char *here = describe(j, (uint32_t)common), *there;
  gr_text t = gr_text_make(j->arena);
  gr_text_put(&t, here);
  GR_TRY(share_text(j->arena, world, t, &there));
  gr_loc loc = GR_NOWHERE;
  if ((uint32_t)common < local->n) loc = gr_dataset_place(j->spec.data, (uint32_t)common);
  return another(world, odd, loc, "other data", here, there);
}

uint64_t gr_job_data_hash(gr_job *j) { return take_prints(j).all; }

gr_status gr_same_data(gr_job *j, gr_comm *world) {
  prints local = take_prints(j);
  int odd;
  GR_TRY(gr_comm_all_ok(world, gr_stop_check()));
  GR_TRY(gr_comm_compare(world, local.all, &odd));
  return odd < 0 ? GR_OK : name_sample(j, world, &local, odd);
}
