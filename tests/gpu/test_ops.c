// test_ops.c - every op on the device cuda against the reference kernels on the CPU: the ops' own
// cases and those of cases.c, in each float type, in place, and as slices of stacks. The two
// ops that only processors have are counted; another without a kernel is a failure.
//
//   test_gpu_ops [TEST [OP,...]]      with ops, of the tests that go through all ops these alone
#include <math.h>
#include "ir/text.h"
#include "ops/comm/collective.h"
#include "ops/kernels/gpu.h"
#include "tests/check.h"
#include "tests/gpu/cases.h"
#include "tests/gpu/fused.h"
#include "tests/gpu/trials.h"

static bool has_place(const gr_op *op) {
  bool any = false;
  for (int k = 0; k < GR_MAX_INPLACE; k++) any |= gr_op_inplace(op, k) >= 0;
  return any;
}

// `only` is a list with commas.
static bool is_wanted(const char *op) {
  size_t n = strlen(op);
  for (const char *p = only; p; p = strchr(p, ','), p = p ? p + 1 : NULL)
    if (!strncmp(p, op, n) && (!p[n] || p[n] == ',')) return true;
  return !only;
}

static void add_all(void (*then)(trial *)) {
  for (const gr_op *const *o = gr_ops; *o; o++) {
    if (!is_wanted((*o)->name) || (*o)->collective || gr_op_has_body(*o)) continue;
    if (tried == IN_PLACE && !has_place(*o)) continue;
    int i = 0;
    for (const gr_case *c = (*o)->cases; c && (c->in[0] || c->attr); c++, i++)
      if (!c->fails) add_case(*o, c, i, then);
  }
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

// On stand-ins half of the cases are tried apart and the others as slices, and with the next order
// of the work the other way around: they take longest.
static bool has_turn(int i) {
  const char *seed = getenv("STANDIN_SEED");
  bool both = !seed || only || (tried != APART && tried != SLICED);
  return both || (i + atoi(seed) / 4) % 2 == (tried == SLICED);
}

static void add_sizes(void) {
  for (const gpu_case *c = gpu_cases; c->op; c++) {
    const gr_op *op = gr_op_find(c->op);
    gr_case call = c->call;
    if (!is_wanted(c->op) || (tried == IN_PLACE && !has_place(op))) continue;
    if (!has_turn((int)(c - gpu_cases))) continue;
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

// Gradients of attention in 16 bits of other numbers, since what rounds depends on them.
static void draws(void) {
  open_device();
  for (const gpu_case *c = gpu_cases; c->op; c++) {
    const gr_op *op = gr_op_find(c->op);
    gr_case call = c->call;
    if (op != &gr_op_attention_grad || !strncmp(call.in[0], "f32", 3)) continue;
    MUST(gpu_case_attr(arena, op, c->attr, &call.attr));
    set_words = c->set;
    for (int draw = 1000; draw < 1012; draw++) set(add(op, &call, draw));
  }
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
// Operands begin at multiples of 16 bytes here, which those of `sliced` do where results do.
static void yielded(void) {
  open_device();
  tried = YIELDED;
  add_all(NULL);
  tried = APART;
  run_all();
}

// ---- Working memory of libraries ----------------------------------------------------------------

static gr_gpu_call describe_attention(const gr_op *op, const char *attrs, const char *text,
                                      const char *lse, bool layers) {
  static gr_op_call call;
  static gr_gpu_launch launch[GR_GPU_LAUNCHES];
  static const void *attr;
  int values = op == &gr_op_attention ? 3 : 5, n = values == 3 ? 3 : 6;
  MUST(gpu_case_attr(arena, op, attrs, &attr));
  call = (gr_op_call){.op = op, .attr = attr, .n_in = n + !!strstr(attrs, "p=")};
  for (int k = 0; k < call.n_in; k++)
    MUST(gr_type_parse(k < values ? text : k < n ? lse : "i32[]", &call.in[k]));
  MUST(gr_op_infer(&call));
  gr_gpu_call g = {.call = &call, .arena = arena, .launch = launch, .layers = layers};
  MUST(gr_gpu_describe(&g));
  return g;
}

// Room for the scores of a few samples where the device's is not enough for all, with and without
// the library.
static void library_rooms(void) {
  static const struct {
    const char *value, *lse;
    int64_t least, most;  // bytes
  } sizes[] = {{"bf16[4,256,4,64]", "f32[4,4,256]", 0, 0},
               {"bf16[16,1024,12,64]", "f32[16,12,1024]", 4 * 25165824, 4 * 25165824 + (2 << 20)},
               {"bf16[2,1500,12,64]", "f32[2,12,1500]", 0, 0},
               {"bf16[16,1500,12,64]", "f32[16,12,1500]", 2 * 56623104, 150 << 20}};
  open_device();
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    size_t unaided = describe_attention(&gr_op_attention_grad, "causal=true", sizes[i].value,
                                        sizes[i].lse, false)
                         .scratch;
    gr_gpu_call g = describe_attention(&gr_op_attention_grad, "causal=true", sizes[i].value,
                                       sizes[i].lse, true);
    const gr_gpu_attention *a = &g.launch[0].attention;
    CHECK(g.n == 1 && g.launch[0].kind == GR_GPU_ATTENTION, "%d launches", g.n);
    CHECK(a->room_bytes >= sizes[i].least && a->room_bytes <= sizes[i].most, "%s: %lld bytes",
          sizes[i].value, (long long)a->room_bytes);
    CHECK((a->room.space == GR_GPU_SCRATCH) == (a->room_bytes > 0), "%s: where", sizes[i].value);
    CHECK(g.scratch == unaided && g.scratch >= a->room.offset + (size_t)a->room_bytes,
          "%s: %zu bytes, %zu without a library", sizes[i].value, g.scratch, unaided);
  }
}

// Room for the masks of a few samples, and of gradients for their scores too, of 2 bytes each.
static void mask_rooms(void) {
  static const struct {
    const gr_op *op;
    const char *value, *lse;
    int64_t least;  // bytes
  } sizes[] = {{&gr_op_attention, "bf16[4,100,4,64]", "", 4 * 4 * 100 * 104 * 2},
               {&gr_op_attention, "bf16[16,1024,12,64]", "", 2 * 25165824},
               {&gr_op_attention_grad, "f16[2,64,4,8]", "f32[2,4,64]", 2 * 4 * 64 * 64 * 4},
               {&gr_op_attention_grad, "bf16[16,1024,12,64]", "f32[16,12,1024]", 4 * 25165824}};
  open_device();
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    size_t unaided =
        describe_attention(sizes[i].op, "p=0.1", sizes[i].value, sizes[i].lse, false).scratch;
    gr_gpu_call g = describe_attention(sizes[i].op, "p=0.1", sizes[i].value, sizes[i].lse, true);
    const gr_gpu_attention *a = &g.launch[1].attention;
    CHECK(g.n == 2 && g.launch[0].kind == GR_GPU_KERNEL && g.launch[0].kernel.of_part &&
              g.launch[1].kind == GR_GPU_ATTENTION,
          "%d launches", g.n);
    CHECK(a->room_bytes >= sizes[i].least && a->room_bytes <= sizes[i].least + (2 << 20),
          "%s: %lld bytes", sizes[i].value, (long long)a->room_bytes);
    CHECK(g.scratch == unaided && g.scratch >= a->room.offset + (size_t)a->room_bytes,
          "%s: %zu bytes, %zu without a library", sizes[i].value, g.scratch, unaided);
  }
}

// The bytes of a call's room that its masks and scores do not take if all of it is one part.
static int64_t left_in_room(const gr_op_call *call) {
  static gr_gpu_launch launch[GR_GPU_LAUNCHES];
  gr_gpu_call g = {.call = call, .arena = arena, .launch = launch, .layers = true};
  MUST(gr_gpu_describe(&g));
  const gr_gpu_attention *a = &launch[1].attention;
  return a->room_bytes - gr_gpu_attention_bytes(a, a->n, a->heads);
}

// So many short heads that their masks and scores need more than the device's own memory for
// libraries. Those of the second fill the room, in which a library needs some bytes more.
static void full_room(void) {
  static const gr_case each[] = {{{"f16[9,7,462,8]", "f16[9,8,462,8]", "f16[9,8,462,8]",
                                   "f16[9,7,462,8]", "f16[9,7,462,8]", "f32[9,462,7]", "i32[]"},
                                  .fill = "nnnnnpi"},
                                 {{"f16[9,7,463,8]", "f16[9,8,463,8]", "f16[9,8,463,8]",
                                   "f16[9,7,463,8]", "f16[9,7,463,8]", "f32[9,463,7]", "i32[]"},
                                  .fill = "nnnnnpi"}};
  static const int64_t left[] = {74752, 0};
  open_device();
  for (int i = 0; i < 2; i++) {
    gr_case c = each[i];
    MUST(gpu_case_attr(arena, &gr_op_attention_grad, "p=0.3 seed=5 stream=7 scale=0.1", &c.attr));
    int64_t got = left_in_room(&add(&gr_op_attention_grad, &c, i)->u.call);
    CHECK(got == left[i], "%lld bytes are left instead of %lld", (long long)got,
          (long long)left[i]);
  }
  run_all();
}

// Head by head the identity: key (or row) j has 1 in column j.
static void set_identity(value *v) {
  const int64_t *dim = v->type.dim, row = dim[2] * dim[3];
  for (int64_t i = 0; i < value_count(v); i++) value_put(v, i, i / row % dim[1] == i % dim[3]);
}

// Result k has zeros where that of the CPU has: of values, or gradients of results, that are the
// identity, it is the weights.
static void check_dropped(trial *t, int k) {
  use *u = &t->u;
  value got = value_make(u->call.out[k]);
  int64_t dropped = 0, other = 0, n = value_count(&got);
  MUST(use_run(u, u->call.op->cpu, NULL));
  MUST(device->ops->download(device, got.data, t->made[k], gr_type_bytes(&got.type)));
  MUST(device->ops->synchronise(device, GR_QUEUE_TRANSFER));
  for (int64_t i = 0; i < n; i++) {
    bool zero = value_get(&got, i) == 0;
    dropped += zero, other += zero != (value_get(&u->out[k], i) == 0);
  }
  CHECK(!other && dropped > n / 5 && dropped < n * 4 / 5,
        "%s drops %lld of %lld weights, %lld other", u->call.op->name, (long long)dropped,
        (long long)n, (long long)other);
  value_free(&got);
}

// A library's attention drops the very weights that the CPU drops, in rows that are padded and not.
static void mask_bits(void) {
  static const gr_case forward[] = {
      {{"bf16[3,33,2,8]", "bf16[3,16,2,8]", "bf16[3,16,2,16]", "i32[]"}, .fill = "nnni"},
      {{"bf16[2,9,4,8]", "bf16[2,13,4,8]", "bf16[2,13,4,16]", "i32[]"}, .fill = "nnni"}};
  static const gr_case back = {{"bf16[2,16,2,8]", "bf16[2,43,2,8]", "bf16[2,43,2,16]",
                                "bf16[2,16,2,16]", "bf16[2,16,2,16]", "f32[2,2,16]", "i32[]"},
                               .fill = "nnnnnpi"};
  open_device();
  for (int i = 0; i < 3; i++) {
    gr_case c = i < 2 ? forward[i] : back;
    const gr_op *op = i < 2 ? &gr_op_attention : &gr_op_attention_grad;
    MUST(gpu_case_attr(arena, op, "p=0.5 seed=9 stream=3 scale=0.1", &c.attr));
    set_identity(&add(op, &c, i)->u.in[i < 2 ? 2 : 4]);
  }
  begin();
  for (int i = 0; i < n_trials; i++) {
    run(&trials[i]);
    check_dropped(&trials[i], i < 2 ? 0 : 2);
    release(&trials[i]);
  }
  end();
}

// Attention with dropout of the second of two ranks, which divide samples or heads.
static void mask_parts(void) {
  open_device();
  for (const gpu_case *c = gpu_cases; c->op; c++) {
    gr_case call = c->call, narrow;
    const gr_op *op = gr_op_find(c->op);
    if (!strstr(c->attr, "p=") || strncmp(c->op, "attention", 9)) continue;
    MUST(gpu_case_attr(arena, op, c->attr, &call.attr));
    if (!strncmp(call.in[0], "f32", 3) && gpu_case_retyped(arena, &call, "bf16", &narrow))
      call = narrow;
    for (int d = 0; d <= 2; d += 2) {
      trial *t = add(op, &call, (int)(c - gpu_cases));
      if (!t) continue;
      t->u.mesh = (gr_mesh){1, {{"ranks", 2}}}, t->u.coord = 1;
      t->u.layout[0].placement[0] = (gr_axis_placement)d;
      set_words = c->set, set(t);
    }
  }
  CHECK(n_trials >= 12, "%d trials", n_trials);
  run_all();
}

// ---- Random numbers of one rank's part ----------------------------------------------------------

// Whether ranks may split dimension d of the result; *rank is how many it has.
static bool may_split(const gr_op *op, const gr_case *c, int d, int *rank) {
  gr_sharding_rule rules[GR_MAX_SHARDING_RULES];
  int n;
  bool may = false;
  use u;
  MUST(use_of_case(&u, op, c, 1));
  MUST(gr_op_sharding_rules(&u.call, rules, &n));
  for (int i = 0; i < n; i++) may |= rules[i].out[0] == d;
  *rank = u.call.out[0].rank;
  use_free(&u);
  return may;
}

// The second of two ranks, for each dimension of the result that they may split.
static void parts(void) {
  open_device();
  for (const gr_op *const *o = gr_ops; *o; o++) {
    int i = 0;
    for (const gr_case *c = (*o)->cases; (*o)->random && (c->in[0] || c->attr); c++, i++)
      for (int d = 0, rank = c->fails ? 0 : 1; d < rank; d++) {
        if (!may_split(*o, c, d, &rank)) continue;
        use *u = &add(*o, c, i)->u;
        u->mesh = (gr_mesh){1, {{"ranks", 2}}};
        u->coord = 1, u->layout[0].placement[0] = (gr_axis_placement)d;
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

static trial *add_wrong(const gr_op *op, int k, int64_t index, double number) {
  trial *t = add(op, op->cases, 0);
  value_put(&t->u.in[k], index, number);
  return t;
}

static bool is_nan(const trial *t, int k, int64_t index) {
  value v = value_make(t->u.call.out[k]);
  MUST(device->ops->download(device, v.data, t->made[k], gr_type_bytes(&v.type)));
  MUST(device->ops->synchronise(device, GR_QUEUE_TRANSFER));
  bool found = isnan(value_get(&v, index));
  value_free(&v);
  return found;
}

static void wrong(void) {
  open_device();
  add_wrong(&gr_op_embedding, 1, 1, 5);  // of a table of 5 rows of 6
  add_wrong(&gr_op_embedding, 1, 1, -1);
  add_wrong(&gr_op_embedding_grad, 1, 1, 5);
  add_wrong(&gr_op_ctc_loss_with_residuals, 1, 8, 20);  // of 20 classes, sample 2 of targets [6, 4]
  add_wrong(&gr_op_ctc_loss_with_residuals, 1, 8, -1);
  add_wrong(&gr_op_ctc_loss_with_residuals, 0, 480, NAN);  // of logits [6, 12, 20]
  add_wrong(&gr_op_cross_entropy, 1, 1, 20);               // of 20 classes
  add_wrong(&gr_op_accuracy, 1, 1, -1);
  add_wrong(&gr_op_scatter_add, 1, 1, -1);   // to the first row of several
  add_wrong(&gr_op_add_rows, 1, 1, 100000);  // to the first matrix
  begin();
  for (int i = 0; i < n_trials; i++) run(&trials[i]);
  for (int i = 0; i < 2; i++) CHECK(is_nan(&trials[i], 0, 6) && !is_nan(&trials[i], 0, 5), "%d", i);
  for (int64_t i = 0; i < 30; i++) CHECK(!is_nan(&trials[2], 0, i), "row %d", (int)i / 6);
  for (int i = 3; i < 6; i++) {
    CHECK(is_nan(&trials[i], 0, 2) && !is_nan(&trials[i], 0, 1), "%d", i);
    CHECK(is_nan(&trials[i], 2, 480) && !is_nan(&trials[i], 2, 479), "%d", i);
  }
  for (int i = 6; i < 8; i++) CHECK(is_nan(&trials[i], 0, 1) && !is_nan(&trials[i], 0, 0), "%d", i);
  for (int i = 8; i < 10; i++) {
    const gr_type *t = trials[i].u.call.out;
    int64_t part = gr_type_count(t) / t->dim[0];
    CHECK(is_nan(&trials[i], 0, 0) && is_nan(&trials[i], 0, part - 1), "%d", i);
    CHECK(!is_nan(&trials[i], 0, part), "%d", i);
  }
  for (int i = 0; i < n_trials; i++) release(&trials[i]);
  end();
}

int main(int argc, char **argv) {
  only = argc > 2 ? argv[2] : NULL;
  if (only)
    return RUN(argc, argv, {"cases", cases}, {"sizes", sizes}, {"in_place", in_place},
               {"sliced", sliced});
  return RUN(argc, argv, {"cases", cases}, {"sizes", sizes}, {"in_place", in_place},
             {"sliced", sliced}, {"yielded", yielded}, {"parts", parts}, {"slices", slices},
             {"wrong", wrong}, {"fused", fused_nodes}, {"fused_placed", fused_placed},
             {"fused_rounds", fused_rounds}, {"fused_leads", fused_leads},
             {"library_rooms", library_rooms}, {"mask_rooms", mask_rooms}, {"full_room", full_room},
             {"mask_bits", mask_bits}, {"mask_parts", mask_parts}, {"draws", draws});
}
