// test_ops.c - every op on the device cuda against the reference kernels on the CPU: the ops' own
// cases and those of cases.c, in each float type, in place, and as slices of stacks. What has no
// kernel yet is counted.
//
//   test_gpu_ops [TEST [OP]]
#include <math.h>
#include "base/arena.h"
#include "ops/comm/collective.h"
#include "ops/kernels/gpu.h"
#include "runtime/device/device.h"
#include "tests/check.h"
#include "tests/gpu/cases.h"
#include "tests/ops/bench.h"

// Where values are: in memory of their own; or results in operands, if the op allows that; or each
// in the second slice of a stack, which may begin between multiples of 16 bytes.
typedef enum way { APART, IN_PLACE, SLICED } way;
static const char *const way_names[] = {"", " in place", " sliced"};

// A case, with a block of the device's memory for each operand and result: what a kernel touches
// beside them is found.
typedef struct trial {
  use u;
  int at_case;
  way way;
  bool refused;
  gr_device_kernel kernel;
  gr_launch where;
  gr_device_block in[GR_MAX_ARGS], out[GR_MAX_ARGS], scratch;
  void *made[GR_MAX_ARGS];  // the results
} trial;

static const char *only;  // one op, or NULL
static gr_device *device;
static trial *trials;
static int n_trials, refused;
static way tried = APART;  // of the trials that are added
static gr_arena *arena;    // of attributes and types

static void open_device(void) {
  n_trials = refused = 0;
  arena = gr_arena_create();
  const gr_device_ops *kind;
  MUST(gr_device_find("cuda", GR_NOWHERE, &kind));
  if (!gr_device_count(kind)) SKIP("there is no GPU, and no stand-in");
  MUST(kind->open(&(gr_device_options){.threads = 1, .ranks = 1}, &device));
}

static gr_device_block block_of(size_t bytes) {
  gr_device_block b;
  MUST(device->ops->allocate(device, bytes, NULL, &b));
  return b;
}

static void choose(trial *t) {
  use *u = &t->u;
  t->where = (gr_launch){.attr = u->call.attr,
                         .n_in = u->call.n_in,
                         .n_out = u->call.n_out,
                         .in_type = u->call.in,
                         .out_type = u->call.out,
                         .out_layout = u->layout,
                         .mesh = &u->mesh,
                         .coord = &u->coord};
  gr_status s = device->ops->kernel(device, &u->call, &t->where, &t->kernel);
  t->refused = gr_status_code(s) == GR_ERR_UNSUPPORTED;
  refused += t->refused;
  if (t->refused)
    gr_status_drop(s);
  else
    MUST(s);
}

static trial *add(const gr_op *op, const gr_case *c, int at_case) {
  use u;
  gr_status s = use_of_case(&u, op, c, (uint64_t)at_case);
  gr_status_drop(s);  // not of that type
  if (s) return use_free(&u), NULL;
  trials = realloc(trials, sizeof *trials * (size_t)(n_trials + 1));
  trials[n_trials] = (trial){.u = u, .at_case = at_case, .way = tried};
  return &trials[n_trials++];
}

// Products of f64 are not stood in for.
static bool runs_as(const gr_op *op, const char *dtype) {
  return strcmp(dtype, "f64") || strcmp(op->name, "matmul");
}

static void add_case(const gr_op *op, const gr_case *c, int at_case, void (*then)(trial *)) {
  static const char *const dtypes[] = {"f64", "bf16", "f16"};
  gr_case other;
  trial *t = add(op, c, at_case);
  CHECK(t, "%s case %d: inference fails", op->name, at_case);
  if (t && then) then(t);
  for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
    if (!gpu_case_retyped(arena, c, dtypes[d], &other) || !runs_as(op, dtypes[d])) continue;
    t = add(op, &other, at_case);
    if (t && then) then(t);
  }
}

static bool has_place(const gr_op *op) {
  bool any = false;
  for (int k = 0; k < GR_MAX_INPLACE; k++) any |= gr_op_inplace(op, k) >= 0;
  return any;
}

static void add_all(void (*then)(trial *)) {
  for (const gr_op *const *o = gr_ops; *o; o++) {
    if ((only && strcmp(only, (*o)->name)) || (*o)->collective || gr_op_has_body(*o)) continue;
    if (tried == IN_PLACE && !has_place(*o)) continue;
    int i = 0;
    for (const gr_case *c = (*o)->cases; c && (c->in[0] || c->attr); c++, i++)
      if (!c->fails) add_case(*o, c, i, then);
  }
}

// Memory for a value; at: its first element.
static gr_device_block place(const trial *t, const gr_type *type, void **at) {
  size_t bytes = gr_type_bytes(type);
  gr_device_block b = block_of(t->way == SLICED ? 3 * bytes : bytes);
  *at = (char *)b.at + (t->way == SLICED ? bytes : 0);
  return b;
}

// Memory for a result: a slice follows it, so that every byte beyond its end is seen.
static gr_device_block place_result(const trial *t, const gr_type *type, void **at) {
  size_t bytes = gr_type_bytes(type);
  gr_device_block b = t->way == SLICED ? place(t, type, at) : block_of(2 * bytes);
  if (t->way != SLICED) *at = b.at;
  MUST(device->ops->fill(device, b.at, 0xff, b.bytes));
  return b;
}

// The operand whose memory result k takes, or -1.
static int taken(const trial *t, int k) {
  int i = t->way == IN_PLACE ? gr_op_inplace(t->u.call.op, k) : -1;
  bool fits = i >= 0 && i < t->u.call.n_in &&
              gr_type_bytes(&t->u.call.in[i]) == gr_type_bytes(&t->u.call.out[k]);
  return fits ? i : -1;
}

static void place_all(trial *t, void **in) {
  use *u = &t->u;
  for (int k = 0; k < u->call.n_in; k++) {
    t->in[k] = place(t, &u->call.in[k], &in[k]);
    MUST(device->ops->upload(device, in[k], u->in[k].data, gr_type_bytes(&u->call.in[k])));
  }
  for (int k = 0; k < u->call.n_out; k++) {
    int i = taken(t, k);
    if (i >= 0) t->made[k] = in[i];
    if (i >= 0) continue;
    t->out[k] = place_result(t, &u->call.out[k], &t->made[k]);
  }
}

static void run(trial *t) {
  void *in[GR_MAX_ARGS] = {0};
  place_all(t, in);
  t->scratch = block_of(gr_call_scratch(&t->u.call, true));
  gr_launch l = t->where;
  l.in = (const void *const *)in, l.out = t->made, l.scratch = t->scratch.at;
  l.context = t->kernel.context;
  MUST(device->ops->record(device, GR_QUEUE_TRANSFER, GR_EVENT_TRANSFERRED));
  MUST(device->ops->wait(device, GR_QUEUE_COMPUTE, GR_EVENT_TRANSFERRED));
  MUST(t->kernel.run(&l));
  MUST(device->ops->record(device, GR_QUEUE_COMPUTE, GR_EVENT_COMPUTED));
  MUST(device->ops->wait(device, GR_QUEUE_TRANSFER, GR_EVENT_COMPUTED));
}

static void release(trial *t) {
  for (int k = 0; k < t->u.call.n_in; k++) device->ops->free(device, &t->in[k]);
  for (int k = 0; k < t->u.call.n_out; k++)
    if (taken(t, k) < 0) device->ops->free(device, &t->out[k]);
  device->ops->free(device, &t->scratch);
}

// f32 differs in the order of sums and in the functions of the library; 16 bits round in other
// places.
static double near_of(const use *u) {
  bool narrow = false;
  for (int k = 0; k < u->call.n_out; k++) narrow |= gr_dtypes[u->call.out[k].dtype].size == 2;
  for (int k = 0; k < u->call.n_in; k++) narrow |= gr_dtypes[u->call.in[k].dtype].size == 2;
  return narrow ? 4e-2 : 1e-4;
}

// Checks that the slices beside those of the results are what they were.
static void check_neighbours(trial *t) {
  for (int k = 0; k < t->u.call.n_out; k++) {
    size_t bytes = gr_type_bytes(&t->u.call.out[k]), all = (t->way == SLICED ? 3 : 2) * bytes;
    size_t from = t->way == SLICED ? bytes : 0, bad = 0;
    if (taken(t, k) >= 0) continue;
    unsigned char *slices = malloc(all);
    MUST(device->ops->download(device, slices, t->out[k].at, all));
    MUST(device->ops->synchronise(device, GR_QUEUE_TRANSFER));
    for (size_t i = 0; i < all; i++) bad += (i < from || i >= from + bytes) && slices[i] != 0xff;
    CHECK(!bad, "%s case %d writes %zu bytes beside result %d", t->u.call.op->name, t->at_case, bad,
          k);
    free(slices);
  }
}

static void compare(trial *t) {
  use *u = &t->u, got = t->u;
  MUST(use_run(u, u->call.op->cpu, NULL));
  memset(got.out, 0, sizeof got.out);
  for (int k = 0; k < u->call.n_out; k++) {
    got.out[k] = value_make(u->call.out[k]);
    MUST(
        device->ops->download(device, got.out[k].data, t->made[k], gr_type_bytes(&u->call.out[k])));
  }
  MUST(device->ops->synchronise(device, GR_QUEUE_TRANSFER));
  for (int k = 0; k < u->call.n_out; k++) {
    int64_t at;
    double far = worst(&got.out[k], &u->out[k], &at);
    CHECK(far <= near_of(u), "%s case %d%s, result %d, number %lld: off by %.3g: %g instead of %g",
          u->call.op->name, t->at_case, way_names[t->way], k, (long long)at, far,
          value_get(&got.out[k], at), value_get(&u->out[k], at));
  }
  values_free(got.out, GR_MAX_ARGS);
}

static void list_refused(void) {
  const gr_op *last = NULL;
  printf("%d of %d cases ran; without a kernel:", n_trials - refused, n_trials);
  for (int i = 0; i < n_trials; i++) {
    if (trials[i].refused && trials[i].u.call.op != last) printf(" %s", trials[i].u.call.op->name);
    if (trials[i].refused) last = trials[i].u.call.op;
  }
  printf("\n");
}

static void begin(void) {
  for (int i = 0; i < n_trials; i++) choose(&trials[i]);
  MUST(device->ops->ready(device));
}

static void end(void) {
  for (int i = 0; i < n_trials; i++) use_free(&trials[i].u);
  device->ops->close(device);
  gr_arena_destroy(arena);
}

static void run_all(void) {
  begin();
  for (int i = 0; i < n_trials; i++) {
    if (trials[i].refused) continue;
    run(&trials[i]);
    compare(&trials[i]);
    check_neighbours(&trials[i]);
    release(&trials[i]);
  }
  list_refused();
  end();
}

static void cases(void) {
  open_device();
  add_all(NULL);
  run_all();
}

// ---- Other sizes ------------------------------------------------------------------------------

static const char *set_words;

static void set(trial *t) {
  for (const char *p = set_words; p && *p; p += strcspn(p, " "), p += *p == ' ') {
    int k = 0, to = 0;
    CHECK(sscanf(p, "%d=%d", &k, &to) == 2, "'%s' of %s", p, t->u.call.op->name);
    for (int64_t i = 0; i < value_count(&t->u.in[k]); i++) value_put(&t->u.in[k], i, to);
  }
}

static void add_sizes(void) {
  for (const gpu_case *c = gpu_cases; c->op; c++) {
    const gr_op *op = gr_op_find(c->op);
    gr_case call = c->call;
    if ((only && strcmp(only, c->op) != 0) || (tried == IN_PLACE && !has_place(op))) continue;
    MUST(gpu_case_attr(arena, op, c->attr, &call.attr));
    set_words = c->set;
    add_case(op, &call, (int)(c - gpu_cases), set);
  }
}

static void sizes(void) {
  open_device();
  add_sizes();
  run_all();
}

static void try_as(way w) {
  open_device();
  tried = w;
  add_all(NULL);
  add_sizes();
  tried = APART;
  run_all();
}
static void in_place(void) { try_as(IN_PLACE); }
static void sliced(void) { try_as(SLICED); }

// ---- Random numbers of one rank's part ----------------------------------------------------------

// The second of two ranks, for each dimension of the result that they may split.
static void parts(void) {
  open_device();
  for (const gr_op *const *o = gr_ops; *o; o++) {
    int i = 0;
    for (const gr_case *c = (*o)->cases; (*o)->random && (c->in[0] || c->attr); c++, i++)
      for (int d = 0, rank = c->fails ? 0 : 1; d < rank; d++) {
        use *u = &add(*o, c, i)->u;
        rank = u->call.out[0].rank;
        u->mesh = (gr_mesh){1, {{"ranks", 2}}};
        u->coord = 1, u->layout[0].at[0] = (gr_axis_placement)d;
      }
  }
  run_all();
}

// Each rank's slice of a value that they divide unevenly; the last one's is empty.
static void slices(void) {
  static const struct {
    gr_case call;
    const char *attr;
  } of[] = {{{{"f32[9,5]"}}, "mesh_axis=0 ranks=6 dim=[0]"},
            {{{"f32[3,7,4]"}}, "mesh_axis=0 ranks=4 dim=[1]"},
            {{{"bf16[3,16,8]"}}, "mesh_axis=0 ranks=2 dim=[1]"}};
  open_device();
  for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
    gr_case call = of[i].call;
    MUST(gpu_case_attr(arena, &gr_op_shard_slice, of[i].attr, &call.attr));
    const struct gr_coll *a = call.attr;
    for (int rank = 0; rank < a->ranks; rank++)
      add(&gr_op_shard_slice, &call, (int)i)->u.coord = rank;
  }
  run_all();
}

// ---- Wrong data: a kernel cannot fail, so its results are not numbers ---------------------------

static trial *add_wrong(const gr_op *op, int k, int64_t at, double number) {
  trial *t = add(op, op->cases, 0);
  value_put(&t->u.in[k], at, number);
  return t;
}

static bool is_nan(const trial *t, int k, int64_t at) {
  value v = value_make(t->u.call.out[k]);
  MUST(device->ops->download(device, v.data, t->made[k], gr_type_bytes(&v.type)));
  MUST(device->ops->synchronise(device, GR_QUEUE_TRANSFER));
  bool is = isnan(value_get(&v, at));
  value_free(&v);
  return is;
}

static void wrong(void) {
  open_device();
  add_wrong(&gr_op_embedding, 1, 1, 5);  // of a table of 5 rows of 6
  add_wrong(&gr_op_embedding, 1, 1, -1);
  add_wrong(&gr_op_embedding_grad, 1, 1, 5);
  add_wrong(&gr_op_ctc_loss_with_residuals, 1, 4, 20);  // of 20 classes, sample 1 of targets [6, 4]
  add_wrong(&gr_op_ctc_loss_with_residuals, 1, 4, -1);
  add_wrong(&gr_op_ctc_loss_with_residuals, 0, 300, NAN);  // of logits [6, 12, 20]
  add_wrong(&gr_op_cross_entropy, 1, 1, 20);               // of 20 classes
  add_wrong(&gr_op_accuracy, 1, 1, -1);
  begin();
  for (int i = 0; i < n_trials; i++) run(&trials[i]);
  for (int i = 0; i < 2; i++) CHECK(is_nan(&trials[i], 0, 6) && !is_nan(&trials[i], 0, 5), "%d", i);
  for (int64_t i = 0; i < 30; i++) CHECK(!is_nan(&trials[2], 0, i), "row %d", (int)i / 6);
  for (int i = 3; i < 6; i++) {
    CHECK(is_nan(&trials[i], 0, 1) && !is_nan(&trials[i], 0, 0), "%d", i);
    CHECK(is_nan(&trials[i], 2, 240) && !is_nan(&trials[i], 2, 239), "%d", i);
  }
  for (int i = 6; i < 8; i++) CHECK(is_nan(&trials[i], 0, 1) && !is_nan(&trials[i], 0, 0), "%d", i);
  for (int i = 0; i < n_trials; i++) release(&trials[i]);
  end();
}

int main(int argc, char **argv) {
  only = argc > 2 ? argv[2] : NULL;
  return RUN(argc, argv, {"cases", cases}, {"sizes", sizes}, {"in_place", in_place},
             {"sliced", sliced}, {"parts", parts}, {"slices", slices}, {"wrong", wrong});
}
