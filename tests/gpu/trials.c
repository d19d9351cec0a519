// trials.c - see trials.h.
#include "tests/gpu/trials.h"
#include <math.h>
#include "ops/kernels/gpu.h"
#include "ops/ops.h"
#include "tests/check.h"
#include "tests/gpu/cases.h"
#include "tests/gpu/rounding.h"

static const char *const way_names[] = {"", " in place", " sliced", " yielded"};
const char *only;
gr_device *device;
trial *trials;
int n_trials;
way tried = APART;
gr_arena *arena;
static int refused;

void open_device(void) {
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
  t->refused = gr_status_code(s) == GR_ERR_UNSUPPORTED && u->call.op->cpu_only;
  refused += t->refused;
  if (t->refused)
    gr_status_drop(s);
  else
    MUST(s);
}

trial *add(const gr_op *op, const gr_case *c, int at_case) {
  use u;
  gr_status s = use_of_case(&u, op, c, (uint64_t)at_case);
  gr_status_drop(s);  // not of that type
  if (s) return use_free(&u), NULL;
  trials = realloc(trials, sizeof *trials * (size_t)(n_trials + 1));
  trials[n_trials] = (trial){.u = u, .at_case = at_case, .way = tried};
  return &trials[n_trials++];
}

// Whether a word of TRIAL_TYPES has the type: of "f64/f16" each case has one, in turn.
static bool has_type(const char *word, size_t bytes, const char *dtype, int turn) {
  int types = 1;
  for (size_t i = 0; i < bytes; i++) types += word[i] == '/';
  for (int skip = turn % types; skip; skip--) word += strcspn(word, "/") + 1;
  size_t n = strcspn(word, "/ ");
  return n == strlen(dtype) && !strncmp(word, dtype, n);
}

// Whether TRIAL_TYPES, words with spaces between them, has the type; without it, all types beside
// f32 are tried. What is yielded is f32, as each kernel looks at addresses alike in all types.
static bool is_tried(const char *dtype, int turn) {
  if (tried == YIELDED) return false;
  const char *types = getenv("TRIAL_TYPES");
  for (const char *word = types; word && *word; word += strspn(word, " ")) {
    size_t n = strcspn(word, " ");
    if (has_type(word, n, dtype, turn)) return true;
    word += n;
  }
  return !types;
}

void add_case(const gr_op *op, const gr_case *c, int at_case, void (*then)(trial *)) {
  static const char *const dtypes[] = {"f64", "bf16", "f16"};
  static int n_cases;
  int turn = n_cases++;
  gr_case other;
  trial *t = add(op, c, at_case);
  CHECK(t, "%s case %d: inference fails", op->name, at_case);
  if (t && then) then(t);
  for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
    if (!is_tried(dtypes[d], turn)) continue;
    if (!gpu_case_retyped(arena, c, dtypes[d], &other)) continue;
    t = add(op, &other, at_case);
    if (t && then) then(t);
  }
}

// Memory for a value; at: its first element.
static gr_device_block place(const trial *t, const gr_type *type, void **address) {
  size_t bytes = gr_type_bytes(type);
  gr_device_block b = block_of(t->way == SLICED ? 3 * bytes : bytes);
  *address = (char *)b.address + (t->way == SLICED ? bytes : 0);
  return b;
}

// Bytes of a result's block before it.
static size_t before(const trial *t, const gr_type *type) {
  return t->way == SLICED || t->way == YIELDED ? gr_type_bytes(type) : 0;
}

// Memory for a result: as much follows it, so that every byte beyond its end is seen.
static gr_device_block place_result(const trial *t, const gr_type *type, void **address) {
  gr_device_block b = block_of(before(t, type) + 2 * gr_type_bytes(type));
  *address = (char *)b.address + before(t, type);
  MUST(device->ops->fill(device, b.address, 0xff, b.bytes));
  return b;
}

// The operand whose memory result k takes, or -1.
static int taken(const trial *t, int k) {
  int i = t->way == IN_PLACE ? gr_op_inplace(t->u.call.op, k) : -1;
  bool fits = i >= 0 && i < t->u.call.n_in &&
              (t->u.call.op->inplace_each
                   ? gr_type_same(&t->u.call.in[i], &t->u.call.out[k])
                   : gr_type_bytes(&t->u.call.in[i]) == gr_type_bytes(&t->u.call.out[k]));
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

void run(trial *t) {
  void *in[GR_MAX_ARGS] = {0};
  place_all(t, in);
  t->scratch = block_of(gr_call_scratch(&t->u.call, true));
  gr_launch l = t->where;
  l.in = (const void *const *)in, l.out = t->made, l.scratch = t->scratch.address;
  l.context = t->kernel.context;
  MUST(device->ops->record(device, GR_QUEUE_TRANSFER, GR_EVENT_TRANSFERRED));
  MUST(device->ops->wait(device, GR_QUEUE_COMPUTE, GR_EVENT_TRANSFERRED));
  MUST(t->kernel.run(&l));
  MUST(device->ops->record(device, GR_QUEUE_COMPUTE, GR_EVENT_COMPUTED));
  MUST(device->ops->wait(device, GR_QUEUE_TRANSFER, GR_EVENT_COMPUTED));
}

void release(trial *t) {
  for (int k = 0; k < t->u.call.n_in; k++) device->ops->free(device, &t->in[k]);
  for (int k = 0; k < t->u.call.n_out; k++)
    if (taken(t, k) < 0) device->ops->free(device, &t->out[k]);
  device->ops->free(device, &t->scratch);
}

// f32 differs in the order of sums and in the functions of the library. 16 bits are rounded where
// the CPU rounds, to the number beside it at most, but by fused nodes, which round in other places.
static double near_of(const use *u) {
  bool bf16 = false, f16 = false, single = u->call.out[0].dtype != GR_F64;
  for (int k = 0; k < u->call.n_out + u->call.n_in; k++) {
    gr_dtype d = (k < u->call.n_out ? u->call.out[k] : u->call.in[k - u->call.n_out]).dtype;
    bf16 |= d == GR_BF16, f16 |= d == GR_F16, single |= k >= u->call.n_out && d == GR_F32;
  }
  if (u->call.op == &gr_op_fused) return 4e-2;
  return bf16 ? 1e-2 : f16 ? 2e-3 : single ? 1e-4 : 1e-9;
}

// Checks that what is beside the results is what it was.
static void check_neighbours(trial *t) {
  for (int k = 0; k < t->u.call.n_out; k++) {
    size_t bytes = gr_type_bytes(&t->u.call.out[k]), first = before(t, &t->u.call.out[k]), bad = 0;
    size_t all = first + 2 * bytes;
    if (taken(t, k) >= 0) continue;
    unsigned char *slices = malloc(all);
    MUST(device->ops->download(device, slices, t->out[k].address, all));
    MUST(device->ops->synchronise(device, GR_QUEUE_TRANSFER));
    for (size_t i = 0; i < all; i++) bad += (i < first || i >= first + bytes) && slices[i] != 0xff;
    CHECK(!bad, "%s case %d writes %zu bytes beside result %d", t->u.call.op->name, t->at_case, bad,
          k);
    free(slices);
  }
}

static void check_near(const trial *t, int k, const value *got) {
  const use *u = &t->u;
  int64_t worst_at;
  double far = worst(got, &u->out[k], &worst_at);
  CHECK(far <= near_of(u), "%s case %d%s, result %d, number %lld: off by %.3g: %g instead of %g",
        u->call.op->name, t->at_case, way_names[t->way], k, (long long)worst_at, far,
        value_get(got, worst_at), value_get(&u->out[k], worst_at));
}

static void check_gradients(const trial *t, const value *got) {
  const use *u = &t->u;
  value error[3];
  gradient_errors(u, error);
  for (int k = 0; k < 3; k++)
    for (int64_t i = 0; i < value_count(&got[k]); i++) {
      double a = value_get(&got[k], i), b = value_get(&u->out[k], i),
             most = value_get(&error[k], i);
      CHECK(fabs(a - b) <= most, "%s case %d%s, result %d, number %lld: %g instead of %g +- %.3g",
            u->call.op->name, t->at_case, way_names[t->way], k, (long long)i, a, b, most);
    }
  values_free(error, 3);
}

static void compare(trial *t) {
  use *u = &t->u;
  value got[GR_MAX_ARGS] = {0};
  MUST(use_run(u, u->call.op->cpu, NULL));
  for (int k = 0; k < u->call.n_out; k++) {
    got[k] = value_make(u->call.out[k]);
    MUST(device->ops->download(device, got[k].data, t->made[k], gr_type_bytes(&u->call.out[k])));
  }
  MUST(device->ops->synchronise(device, GR_QUEUE_TRANSFER));
  if (has_gradient_errors(u)) check_gradients(t, got);
  for (int k = 0; k < u->call.n_out && !has_gradient_errors(u); k++) check_near(t, k, &got[k]);
  values_free(got, GR_MAX_ARGS);
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

void begin(void) {
  for (int i = 0; i < n_trials; i++) choose(&trials[i]);
  MUST(device->ops->ready(device));
}

void end(void) {
  for (int i = 0; i < n_trials; i++) use_free(&trials[i].u);
  device->ops->close(device);
  gr_arena_destroy(arena);
}

void run_all(void) {
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
