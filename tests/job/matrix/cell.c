// cell.c - see cell.h.
#include "tests/job/matrix/cell.h"
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/comm/comm.h"
#include "runtime/device/host.h"
#include "runtime/exec/exec.h"
#include "tests/on_host.h"

enum { BATCH = 48, FEATURES = 24, CLASSES = 5 };

const char *cell_name(const cell *c, char out[CELL_NAME]) {
  snprintf(out, CELL_NAME, "%s %s %s, %d rank%s, accumulate %d, recompute %s", c->model,
           c->strategy, c->precision, c->ranks, c->ranks > 1 ? "s" : "", c->accumulate,
           c->recompute ? "on" : "off");
  return out;
}

static void must(gr_status s) {
  if (!s) return;
  gr_status_print(stderr, s);
  exit(1);
}

// ---- The device: the CPU, with what is allocated counted and guarded --------------------------

enum { GUARD = 4096, PATTERN = 0xA5, BLOCKS = 2 };

// The thread of a rank opens its device.
static _Thread_local struct blocks {
  gr_device_block block[BLOCKS];  // states, values
  int n;
} blocks;

static gr_status allocate(gr_device *d, size_t bytes, gr_comm *shared, gr_device_block *out) {
  GR_TRY(gr_host_allocate(d, bytes + GUARD, shared, out));
  out->bytes = bytes;
  // Values are undefined until they are written, and what is beyond a block never is.
  memset((char *)out->address + (blocks.n ? 0 : bytes), PATTERN, GUARD + (blocks.n ? bytes : 0));
  blocks.block[blocks.n++] = *out;
  return GR_OK;
}

static gr_status open_counted(const gr_device_options *, gr_device **);
static const gr_device_ops counted = {
    .name = "counted",
    .doc = "the CPU, with guards behind its blocks",
    .open = open_counted,
    .close = gr_host_close,
    .allocate = allocate,
    .free = gr_host_free,
    .upload = gr_host_copy,
    .download = gr_host_copy,
    .copy = gr_host_copy,
    .fill = gr_host_fill,
    .record = gr_host_record,
    .wait = gr_host_wait,
    .synchronise = gr_host_synchronise,
    .time_as = gr_host_time_as,
    .timings = gr_host_timings,
    .failed = gr_host_failed,
    .kernel = gr_host_kernel,
};

static gr_status open_counted(const gr_device_options *o, gr_device **out) {
  blocks.n = 0;
  return gr_host_open(&counted, o, sizeof(gr_host_device), out);
}

// The bytes of a block up to the last that is not as it was.
static size_t written(const gr_device_block *b, size_t beyond) {
  const unsigned char *p = b->address;
  size_t n = b->bytes + beyond;
  while (n && p[n - 1] == PATTERN) n--;
  return n;
}

// ---- Communicators that count what is sent ------------------------------------------------------

typedef struct counting {
  gr_comm base;
  gr_comm *inner;
  gr_comm_vtable ops;
  double sent;  // bytes, by ring algorithms
} counting;

// The formulas of traffic.h, applied to what is sent instead of what is planned.
static gr_status run_counted(gr_comm *c, gr_collective kind, gr_dtype d, int n,
                             const gr_comm_piece *piece) {
  counting *of = (counting *)c;
  double count = 0, ranks = c->ranks;
  for (int i = 0; i < n; i++) count += (double)piece[i].count;
  double slice = count * (double)gr_type_bytes(&(gr_type){.dtype = d});
  if (kind == GR_ALL_REDUCE) of->sent += 2 * (ranks - 1) / ranks * slice;
  if (kind == GR_ALL_GATHER || kind == GR_REDUCE_SCATTER) of->sent += (ranks - 1) * slice;
  of->inner->tree = c->tree;
  return of->inner->ops->run(of->inner, kind, d, n, piece);
}

static gr_status alloc_counted(gr_comm *c, size_t bytes, void **out) {
  gr_comm *inner = ((counting *)c)->inner;
  return inner->ops->alloc_shared(inner, bytes, out);
}

static gr_status check_counted(gr_comm *c) {
  gr_comm *inner = ((counting *)c)->inner;
  return inner->ops->check(inner);
}

static void abort_counted(gr_comm *c, const char *why) {
  gr_comm *inner = ((counting *)c)->inner;
  inner->ops->abort(inner, why);
}

static gr_comm *count_comm(counting *c, gr_comm *inner) {
  if (!inner) return NULL;
  *c = (counting){.base = *inner, .inner = inner, .ops = *inner->ops};
  c->ops.run = run_counted, c->ops.alloc_shared = alloc_counted;
  c->ops.check = check_counted, c->ops.abort = abort_counted;
  c->base.ops = &c->ops;
  return &c->base;
}

// ---- A rank -------------------------------------------------------------------------------------

typedef struct member {
  const cell *cell;
  const gr_run_spec *spec;
  gr_comm *world;
  gr_exec *exec;
  counting axes[GR_MAX_MESH];
  double loss[CELL_STEPS];
  size_t allocated, touched;
  bool inside;
} member;

// The rank's number among those that share the batch.
static int share_of(const member *m) {
  const gr_sharding_settings *s = &m->spec->set.options.sharding;
  const gr_mesh *mesh = &m->spec->plan->mesh;
  int share = 0;
  for (int a = 0; a < mesh->n_axes; a++)
    for (int i = 0; s->batch_axis[i]; i++)
      if (!strcmp(mesh->axis[a].name, s->batch_axis[i]))
        share = share * mesh->axis[a].size + gr_mesh_coord(mesh, m->world->rank, a);
  return share;
}

static void put(const member *m, const gr_program *p, const char *name, int64_t i, double value) {
  gr_type t;
  void *data = input_on_host(m->exec, p, name, &t);
  if (data) gr_put(data, t.dtype, i, value);
}

// The rows of a micro-step of all ranks follow each other, so that they are the same samples on any
// number of ranks. Two samples weigh nothing, as padding does.
static void fill(const member *m, const gr_program *p, int step, int micro) {
  const gr_batch_settings *b = &m->spec->set.options.batch;
  for (int i = 0; i < b->rows; i++) {
    int sample = micro * (BATCH / m->cell->accumulate) + share_of(m) * b->rows + i;
    for (int c = 0; c < FEATURES; c++)
      put(m, p, "x", i * FEATURES + c,
          sin(1.0 + 7 * step + 3 * sample + c * c) + (c % CLASSES == sample % CLASSES));
    put(m, p, "y", i, sample % CLASSES);
    put(m, p, "weight", i, sample % 24 != 23);
  }
  put(m, p, "micro", 0, micro);
  put(m, p, "lr", 0, m->spec->set.loop.scaled_lr);
}

static double scalar(const member *m, const gr_program *p, const char *name) {
  gr_type t;
  const void *data = result_on_host(m->exec, p, name, &t);
  return data ? gr_get(data, t.dtype, 0) : (double)NAN;
}

static const gr_program *find(const member *m, const char *kind) {
  const gr_plan *p = m->spec->plan;
  for (uint32_t i = 0; i < p->n_programs; i++)
    if (!strcmp(p->programs[i].kind, kind)) return &p->programs[i];
  return NULL;
}

static void train(member *m) {
  const gr_program *step = find(m, "train"), *micro = find(m, "train.micro"),
                   *last = step ? step : find(m, "train.update");
  for (int i = 0; i < CELL_STEPS; i++) {
    for (int k = 0; k < m->cell->accumulate; k++) {
      fill(m, step ? step : micro, i, k);
      must(gr_exec_run(m->exec, step ? step : micro));
    }
    if (!step) {
      put(m, last, "lr", 0, m->spec->set.loop.scaled_lr);
      must(gr_exec_run(m->exec, last));
    }
    m->loss[i] = scalar(m, last, "metric.loss.sum") / scalar(m, last, "metric.loss.weight");
  }
}

static void *run_rank(void *arg) {
  member *m = arg;
  const gr_plan *plan = m->spec->plan;
  gr_comm *axes[GR_MAX_MESH] = {0}, *counted_axes[GR_MAX_MESH] = {0};
  must(gr_comm_mesh(m->world, &plan->mesh, axes));
  for (int a = 0; a < plan->mesh.n_axes; a++) counted_axes[a] = count_comm(&m->axes[a], axes[a]);
  gr_exec_options o = {.device = &counted,
                       .threads = 1,
                       .plain = m->cell->plain,
                       .comm = counted_axes,
                       .rank = m->world->rank};
  must(gr_exec_open(plan, &o, &m->exec));
  must(gr_exec_run(m->exec, find(m, "init")));
  for (int a = 0; a < plan->mesh.n_axes; a++) m->axes[a].sent = 0;
  train(m);
  m->allocated = blocks.block[0].bytes + blocks.block[1].bytes;
  m->touched = written(&blocks.block[1], 0);
  m->inside = blocks.n == BLOCKS;
  for (int i = 0; i < blocks.n; i++)
    m->inside &= written(&blocks.block[i], GUARD) <= blocks.block[i].bytes;
  gr_exec_close(m->exec);
  gr_comm_mesh_close(axes, &plan->mesh);
  return NULL;
}

// ---- All of them --------------------------------------------------------------------------------

static const char *mesh_of(gr_arena *a, const cell *c) {
  int n = c->ranks, two = n == 4 ? 2 : 1;  // 4 ranks are 2 x 2, others one row
  if (!strcmp(c->strategy, "hsdp"))
    return gr_arena_printf(a, "distributed.mesh={replicate: %d, shard: %d}", two, n / two);
  if (!strcmp(c->strategy, "fsdp_tp"))
    return gr_arena_printf(a, "distributed.mesh={dp: %d, tp: %d}", two, n / two);
  return "distributed.mesh=null";
}

// Of a model whose blocks do not say how tp splits them.
static const char *layout_of(const cell *c) {
  bool has_tp = !strcmp(c->strategy, "tp") || !strcmp(c->strategy, "fsdp_tp");
  if (strcmp(c->model, "cnn") || !has_tp) return "distributed.layout=[]";
  return "distributed.layout=[{match: 'layers.0.*', tp: S0}, {match: layers.1.conv.weight, tp: "
         "S1}]";
}

static gr_status plan(const cell *c, cell_run *out) {
  static const gr_command command = {.name = "plan", .plans = true, .kind = GR_RUN_TRAIN};
  gr_arena *a = gr_arena_create();
  const char *overrides[] = {
      gr_arena_printf(a, "model.graph=%s/tests/job/matrix/%s.yaml", GR_SOURCE_DIR, c->model),
      gr_arena_printf(a, "distributed.strategy=%s", c->strategy),
      gr_arena_printf(a, "training.precision=%s", c->precision),
      gr_arena_printf(a, "training.accumulate=%d", c->accumulate),
      c->recompute ? "training.recompute=[repeat]" : "training.recompute=[]",
      mesh_of(a, c),
      layout_of(c)};
  gr_args args = {.program = "graphrun",
                  .command = &command,
                  .config = GR_SOURCE_DIR "/tests/job/matrix/run.yaml",
                  .overrides = overrides,
                  .n_overrides = sizeof overrides / sizeof *overrides,
                  .ranks = c->ranks};
  gr_status s = gr_job_compose(a, &args, &out->job);
  out->job.arena = a, out->job.compilers = 1;
  if (!s) s = gr_job_plan(&out->job, c->ranks);
  if (!s) out->figures = gr_job_count(&out->job, NULL, 0);
  return s;
}

static void take(const cell *c, const member *m, cell_run *out) {
  memcpy(out->loss, m[0].loss, sizeof out->loss);
  out->allocated = m[0].allocated, out->touched = m[0].touched;
  out->alike = out->inside = true;
  for (int r = 0; r < c->ranks; r++) {
    out->alike &= !memcmp(m[r].loss, m[0].loss, sizeof out->loss);
    out->inside &= m[r].inside && m[r].allocated == m[0].allocated;
  }
  for (int a = 0; a < GR_MAX_MESH; a++) out->sent[a] = m[0].axes[a].sent / CELL_STEPS;
}

gr_status cell_train(const cell *c, cell_run *out) {
  static member m[CELL_RANKS];
  pthread_t thread[CELL_RANKS];
  gr_loopback *all;
  *out = (cell_run){0};
  GR_TRY(plan(c, out));
  must(gr_loopback_create(c->ranks, 600, &all));
  for (int r = 0; r < c->ranks; r++) {
    m[r] = (member){.cell = c, .spec = &out->job.spec, .world = gr_loopback_comm(all, r)};
    pthread_create(&thread[r], NULL, run_rank, &m[r]);
  }
  for (int r = 0; r < c->ranks; r++) pthread_join(thread[r], NULL);
  gr_loopback_destroy(all);
  take(c, m, out);
  return GR_OK;
}

void cell_close(cell_run *r) {
  gr_arena *a = r->job.arena;
  gr_job_close(&r->job);
  gr_arena_destroy(a);
  r->job.arena = NULL;
}
