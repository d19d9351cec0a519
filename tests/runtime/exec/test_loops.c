// test_loops.c - scans: carries of every kind against the same numbers written out, loops in loops,
// and that a step allocates nothing.
#include "compiler/plan/prove.h"
#include "ops/loop/scan.h"
#include "tests/runtime/exec/program.h"

// ---- Counting allocations: the linker sends them here -----------------------------------------

void *__real_malloc(size_t);
void *__real_calloc(size_t, size_t);
void *__real_realloc(void *, size_t);
void *__real_aligned_alloc(size_t, size_t);
void *__wrap_malloc(size_t);
void *__wrap_calloc(size_t, size_t);
void *__wrap_realloc(void *, size_t);
void *__wrap_aligned_alloc(size_t, size_t);
static int allocations;
void *__wrap_malloc(size_t n) { return allocations++, __real_malloc(n); }
void *__wrap_calloc(size_t n, size_t m) { return allocations++, __real_calloc(n, m); }
void *__wrap_realloc(void *p, size_t n) { return allocations++, __real_realloc(p, n); }
void *__wrap_aligned_alloc(size_t a, size_t n) { return allocations++, __real_aligned_alloc(a, n); }

// ---- Loops --------------------------------------------------------------------------------------

// h is yielded (the next step reads it in the stack), s is added to (in place), u too but is
// yielded before, d is read after its next is made, e and f take over the same, v is read last of
// all, when values that are made earlier in the step may lie where its next does.
static void write_loop(bench *t, bool reverse, bool with_init) {
  gr_val x = input(t, "x", rows), h0 = input(t, "h0", row), w = input(t, "w", row);
  gr_loop l;
  gr_loop_open(&l, &t->b, T, reverse);
  gr_val xt = gr_loop_seq(&l, x), wt = gr_loop_const(&l, w);
  gr_val h = with_init ? gr_loop_carry(&l, h0, "h") : gr_loop_zero(&l, row, "h");
  gr_val s = gr_loop_zero(&l, row, "s"), d = gr_loop_zero(&l, row, "d");
  gr_val e = gr_loop_zero(&l, row, "e"), f = gr_loop_zero(&l, row, "f");
  gr_val u = gr_loop_zero(&l, row, "u"), v = gr_loop_zero(&l, row, "v");
  gr_val h2 = gr_tanh(&l.b, gr_add(&l.b, gr_mul(&l.b, h, wt), xt));
  gr_val d2 = gr_sub(&l.b, gr_mul(&l.b, xt, wt), gr_scale(&l.b, d, 0.5));
  gr_val both = gr_mul(&l.b, gr_add(&l.b, e, f), gr_add_scalar(&l.b, xt, 0.25));
  gr_val e2 = gr_add(&l.b, both, d2);
  gr_val v2 = gr_sub(&l.b, h2, xt), old = gr_mul(&l.b, gr_add(&l.b, d, v), wt);
  gr_loop_next(&l, u, gr_add(&l.b, u, xt)), gr_loop_next(&l, v, v2);
  gr_loop_next(&l, h, h2), gr_loop_next(&l, s, gr_add(&l.b, s, h2)), gr_loop_next(&l, d, d2);
  gr_loop_next(&l, e, e2), gr_loop_next(&l, f, e2);
  int yields[] = {gr_loop_yield(&l, h2), gr_loop_yield(&l, gr_mul(&l.b, d2, h2)),
                  gr_loop_yield(&l, h2), gr_loop_yield(&l, d),
                  gr_loop_yield(&l, xt), gr_loop_yield(&l, u),
                  gr_loop_yield(&l, old)};
  gr_loop_close(&l);
  static const char *const last[] = {"h", "s", "d", "e", "f", "u", "v"};
  static const char *const stacks[] = {"hs", "dh", "hs again", "ds", "xs", "us", "olds"};
  gr_val carries[] = {h, s, d, e, f, u, v};
  for (int i = 0; i < 7; i++) {
    gr_result(&t->b, last[i], gr_scale(&t->b, gr_loop_last(&l, carries[i]), 1));
    gr_result(&t->b, stacks[i], gr_scale(&t->b, gr_loop_stack(&l, yields[i]), 1));
  }
}

static void check_loop(bench *t, bool reverse, bool with_init) {
  float h[E] = {0}, s[E] = {0}, d[E] = {0}, e[E] = {0}, u[E] = {0}, v[E] = {0};
  float stack[6][T][E];
  const float *x = in(t, "x"), *w = in(t, "w");
  float xs[T][E];
  memcpy(xs, x, sizeof xs);
  if (with_init) memcpy(h, in(t, "h0"), sizeof h);
  for (int i = 0; i < T; i++) {
    int index = reverse ? T - 1 - i : i;
    for (int k = 0; k < E; k++) {
      stack[2][index][k] = d[k], stack[3][index][k] = xs[index][k];
      stack[4][index][k] = u[k], stack[5][index][k] = (d[k] + v[k]) * w[k];
      h[k] = tanhf(h[k] * w[k] + xs[index][k]);
      d[k] = xs[index][k] * w[k] - d[k] * 0.5f;
      e[k] = 2 * e[k] * (xs[index][k] + 0.25f) + d[k];
      s[k] += h[k], u[k] += xs[index][k], v[k] = h[k] - xs[index][k];
      stack[0][index][k] = h[k], stack[1][index][k] = d[k] * h[k];
    }
  }
  step(t);
  expect("h", result(t, "h"), E, h), expect("s", result(t, "s"), E, s);
  expect("d", result(t, "d"), E, d);
  expect("u", result(t, "u"), E, u), expect("v", result(t, "v"), E, v);
  expect("us", result(t, "us"), T * E, stack[4][0]);
  expect("olds", result(t, "olds"), T * E, stack[5][0]);
  expect("e", result(t, "e"), E, e), expect("f", result(t, "f"), E, e);
  expect("hs", result(t, "hs"), T * E, stack[0][0]);
  expect("dh", result(t, "dh"), T * E, stack[1][0]);
  expect("hs again", result(t, "hs again"), T * E, stack[0][0]);
  expect("ds", result(t, "ds"), T * E, stack[2][0]);
  expect("xs", result(t, "xs"), T * E, stack[3][0]);
}

// The same plan on the device that checks addresses, and whose values bytes are.
static void check_on_null(bench *t) {
  extern const gr_device_ops gr_device_null;
  static const float zeros[T * E];
  const gr_graph *g = t->plan->programs[0].frame.g;
  gr_exec_close(t->exec);
  t->opt.device = &gr_device_null;
  MUST(gr_exec_open(t->plan, &t->opt, &t->exec));
  for (uint32_t v = 1; v < g->n_values; v++) {
    if (g->values[v].role != GR_INPUT) continue;
    gr_exec_tensor x = gr_exec_input(t->exec, t->plan->programs, g->values[v].name);
    MUST(gr_exec_write(t->exec, &x, zeros));
  }
  MUST(gr_exec_run(t->exec, t->plan->programs));
}

static void loops(void) {
  for (int kind = 0; kind < 4; kind++) {
    bench t = begin();
    write_loop(&t, kind & 1, kind & 2);
    open_bench(&t);
    for (int i = 0; i < 3; i++) {  // nothing is left of the run before
      fill(in(&t, "x"), T * E, i), fill(in(&t, "h0"), E, 5 + i), fill(in(&t, "w"), E, 9 + i);
      check_loop(&t, kind & 1, kind & 2);
    }
    check_on_null(&t);
    end(&t);
  }
}

// The body's carry of this name.
static int carry_named(const bench *t, const char *name) {
  const gr_plan_frame *f = &t->plan->programs[0].frame;
  int k = 0;
  while (strcmp(gr_at(f->body[0]->g, gr_scan_carry(f->g->nodes[0].attr, k))->name, name)) k++;
  return k;
}

static void plan_loop(bench *t) {
  write_loop(t, false, true);
  MUST(t->b.err);
  gr_compiled c = {.kind = "train", .bucket = "", .g = t->b.g};
  MUST(gr_plan_link(t->arena, &c, 1, &t->plan));
}

static void carries_are_updated_without_copies(void) {
  static const struct {
    const char *name;
    gr_carry_update how;
  } wanted[] = {{"h", GR_CARRY_IN_STACK},        {"s", GR_CARRY_IN_PLACE},
                {"d", GR_CARRY_DOUBLE_BUFFERED}, {"u", GR_CARRY_DOUBLE_BUFFERED},
                {"v", GR_CARRY_DOUBLE_BUFFERED}, {"e", GR_CARRY_COPIED},
                {"f", GR_CARRY_COPIED}};
  bench t = begin();
  plan_loop(&t);
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
    gr_carry_update how = t.plan->programs[0].frame.body[0]->carry[carry_named(&t, wanted[i].name)];
    CHECK(how == wanted[i].how, "%s is %s", wanted[i].name, gr_carry_updates[how]);
  }
  end(&t);
}

// The executor updates a carry as the plan says: if other values reuse the memory of a carry's next
// value, the two buffers cannot swap, but the value can be copied.
static void a_shared_place_is_copied_from(void) {
  bench t = begin();
  plan_loop(&t);
  gr_plan_frame *body = t.plan->programs[0].frame.body[0];
  const gr_graph *g = body->g;
  int k = carry_named(&t, "v");
  uint32_t next = gr_at(g, gr_scan_carry(t.b.g->nodes[0].attr, k))->next.id;
  CHECK(g->nodes[0].op == &gr_op_mul && g->nodes[1].op == &gr_op_add, "another body");
  for (int i = 0; i < 2; i++) body->offset[g->nodes[i].out.id] = body->offset[next];
  gr_status s = gr_plan_prove(t.plan);
  CHECK(s && strstr(gr_status_text(s), "which is still read"), "%s", s ? gr_status_text(s) : "");
  if (s) gr_status_drop(s);
  body->carry[k] = GR_CARRY_COPIED;
  MUST(gr_plan_prove(t.plan));
  MUST(gr_exec_open(t.plan, &t.opt, &t.exec));
  fill(in(&t, "x"), T * E, 3), fill(in(&t, "h0"), E, 8), fill(in(&t, "w"), E, 12);
  check_loop(&t, false, true);
  check_on_null(&t);
  end(&t);
}

// A loop in a loop: for each row of x, h = h * 0.5 + sum over rows z of y of (row * z + h).
static void loops_in_loops(void) {
  bench t = begin();
  gr_val x = input(&t, "x", rows), y = input(&t, "y", rows);
  gr_loop outer, inner;
  gr_loop_open(&outer, &t.b, T, true);
  gr_val xt = gr_loop_seq(&outer, x), ys = gr_loop_const(&outer, y);
  gr_val h = gr_loop_zero(&outer, row, "h");
  gr_loop_open(&inner, &outer.b, T, false);
  gr_val z = gr_loop_seq(&inner, ys), a = gr_loop_zero(&inner, row, "a");
  gr_val more =
      gr_add(&inner.b, gr_mul(&inner.b, gr_loop_const(&inner, xt), z), gr_loop_const(&inner, h));
  gr_loop_next(&inner, a, gr_add(&inner.b, a, more));
  gr_loop_close(&inner);
  gr_val h2 = gr_add(&outer.b, gr_scale(&outer.b, h, 0.5), gr_loop_last(&inner, a));
  gr_loop_next(&outer, h, h2);
  gr_loop_yield(&outer, h2);
  gr_loop_close(&outer);
  gr_result(&t.b, "hs", gr_scale(&t.b, gr_loop_stack(&outer, 0), 1));
  open_bench(&t);
  float xs[T][E], ysum[E] = {0}, want[T][E], hk[E] = {0};
  fill(in(&t, "x"), T * E, 1), fill(in(&t, "y"), T * E, 2);
  memcpy(xs, in(&t, "x"), sizeof xs);
  for (int i = 0; i < T * E; i++) ysum[i % E] += in(&t, "y")[i];
  for (int i = T; i--;)
    for (int k = 0; k < E; k++) want[i][k] = hk[k] = hk[k] * 0.5f + xs[i][k] * ysum[k] + T * hk[k];
  step(&t);
  for (int i = 0; i < T * E; i++) {
    float got = result(&t, "hs")[i], must = want[i / E][i % E];
    CHECK(fabsf(got - must) < 1e-3f * (1 + fabsf(must)), "%d: %g, not %g", i, (double)got,
          (double)must);
  }
  check_on_null(&t);
  end(&t);
}

static void a_step_allocates_nothing(void) {
  bench t = begin();
  write_loop(&t, false, true);
  open_bench(&t);
  int before = allocations;
  CHECK(before > 0, "allocations are not counted");
  for (int i = 0; i < 10; i++) step(&t);
  CHECK(allocations == before, "%d allocations in 10 steps", allocations - before);
  end(&t);
}

// A loop of T steps ends when all elements of a carry are set: i counts its steps. The carry is
// written in place, or makes room for the next one.
static void ends_early(void) {
  for (int kind = 0; kind < 4; kind++) {
    bench t = begin();
    gr_val limit = input(&t, "limit", row);
    gr_loop l;
    gr_loop_open(&l, &t.b, T, false);
    gr_val limits = gr_loop_const(&l, limit);
    gr_val i = gr_loop_zero(&l, row, "i"), done = gr_loop_zero(&l, row, "done");
    gr_val now = gr_add_scalar(&l.b, i, 1), set = gr_less(&l.b, limits, now);
    if (kind & 1) set = gr_max(&l.b, done, set);
    gr_loop_next(&l, i, now), gr_loop_next(&l, done, set);
    l.until = done;
    gr_loop_close(&l);
    gr_result(&t.b, "i", gr_scale(&t.b, gr_loop_last(&l, i), 1));
    open_bench(&t);
    const float last = kind & 2 ? 2.5f : 9, steps = kind & 2 ? 3 : T;
    memcpy(in(&t, "limit"), (const float[E]){0.5f, last, 1.5f}, sizeof(float[E]));
    for (int k = 0; k < 2; k++)
      step(&t), expect("i", result(&t, "i"), E, (float[E]){steps, steps, steps});
    end(&t);
  }
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"loops", loops},
             {"carries_are_updated_without_copies", carries_are_updated_without_copies},
             {"a_shared_place_is_copied_from", a_shared_place_is_copied_from},
             {"loops_in_loops", loops_in_loops},
             {"a_step_allocates_nothing", a_step_allocates_nothing}, {"ends_early", ends_early});
}
