// test_matrix.c - the matrix of models x strategies x precisions x ranks x micro-steps x recompute:
// every cell trains for a few steps on ranks that are threads, or is refused by a sentence. Of each
// that trains
//   the losses are those of one rank in fp32 by reference kernels, within a tolerance
//   recompute changes no bit of them
//   the bytes taken from the device are those planned, and nothing beyond them is written
//   the bytes that are sent are those planned, and no more than the textbook's (book.c)
//
//   test_matrix covering     every model x strategy x number of ranks, with every pair of the rest
//   test_matrix all          every cell
#include <math.h>
#include <string.h>
#include "tests/check.h"
#include "tests/job/matrix/cell.h"

static const char *const models[] = {"mlp", "transformer", "cnn", "lstm", "lmu"};
static const char *const strategies[] = {"ddp",  "dp",   "zero1", "zero2",
                                         "fsdp", "hsdp", "tp",    "fsdp_tp"};
static const char *const precisions[] = {"fp32", "bf16"};
static const int micro_steps[] = {1, 4};
enum { MODELS = 5, STRATEGIES = 8, RANKS = 4, CELLS = MODELS * STRATEGIES * 2 * RANKS * 2 * 2 };

// The largest relative difference of a loss from the reference's. In fp32 another order of sums, in
// bf16 its 8 bits, of which a few steps add up.
static const double tolerances[] = {2e-6, 2e-2};

// What is refused, whatever the precision, the micro-steps and recompute.
static const struct refusal {
  const char *model, *strategy;
  int ranks;
  const char *why;
} refusals[] = {{"transformer", "tp", 3, "the mesh axis tp must divide heads"},
                {"transformer", "fsdp_tp", 3, "the mesh axis tp must divide heads"}};
enum { REFUSALS = sizeof refusals / sizeof *refusals };

// The losses of a model on one rank. Those of a CNN and an LSTM are of the same micro-steps: batch
// norm has the statistics of each, and dropout its own masks.
typedef struct reference {
  double loss[2][CELL_STEPS];  // by index of micro_steps
} reference;

static reference refer(const char *model) {
  reference out;
  bool apart = !strcmp(model, "cnn") || !strcmp(model, "lstm");
  for (int a = 0; a < 2; a++) {
    cell c = {.model = model,
              .strategy = "ddp",
              .precision = "fp32",
              .ranks = 1,
              .accumulate = apart ? micro_steps[a] : 1,
              .plain = true};
    cell_run r;
    MUST(cell_train(&c, &r));
    memcpy(out.loss[a], r.loss, sizeof r.loss);
    cell_close(&r);
  }
  CHECK(out.loss[0][CELL_STEPS - 1] < out.loss[0][0], "%s: the loss does not fall", model);
  return out;
}

// ---- A cell -------------------------------------------------------------------------------------

typedef struct counts {
  int trained, refused, of_refusal[REFUSALS];
} counts;

static void check_losses(const char *name, const cell_run *r, const double *want, double most) {
  double worst = 0;
  for (int i = 0; i < CELL_STEPS; i++) worst = check_worse(worst, fabs(r->loss[i] / want[i] - 1));
  CHECK(worst <= most, "%s: losses differ by %g, more than %g", name, worst, most);
  CHECK(r->alike, "%s: ranks have other losses", name);
}

// Some of the working memory need not be written: that of kernels for their largest calls.
static void check_memory(const char *name, const cell_run *r) {
  const gr_plan *p = r->figures->plan;
  CHECK(
      (double)r->allocated == r->figures->bytes && r->allocated == p->state_bytes + p->arena_bytes,
      "%s: %zu bytes are allocated, %.0f are planned", name, r->allocated, r->figures->bytes);
  CHECK(r->inside, "%s: a block is written beyond its end", name);
  CHECK((double)r->touched > 0.9 * (double)p->arena_bytes,
        "%s: %zu of %zu bytes of values are used", name, r->touched, p->arena_bytes);
}

// Bytes that a rank sends over an axis in a step of training, by the plan.
static double planned(const cell_run *r, int axis) {
  double sum = 0;
  for (uint32_t i = 0; i < r->figures->plan->n_programs; i++) {
    const gr_program_figures *p = &r->figures->programs[i];
    if (!strncmp(p->program->kind, "train", 5)) sum += p->runs * p->by_axis[axis].sent;
  }
  return sum;
}

static void check_sent(const char *name, const cell *c, const cell_run *r) {
  const gr_mesh *m = &r->figures->plan->mesh;
  for (int a = 0; a < m->n_axes; a++) {
    double plan = planned(r, a), most = cell_book(c, r, a);
    CHECK(fabs(r->sent[a] - plan) < 1e-6 * plan + 1e-6, "%s: %.0f bytes over %s, planned are %.0f",
          name, r->sent[a], m->axis[a].name, plan);
    CHECK(r->sent[a] <= most, "%s: %.0f bytes over %s, by the book %.0f", name, r->sent[a],
          m->axis[a].name, most);
    CHECK(r->sent[a] >= most / 3, "%s: %.0f bytes over %s are too few for %.0f", name, r->sent[a],
          m->axis[a].name, most);
  }
}

static int refusal_of(const cell *c) {
  for (int i = 0; i < REFUSALS; i++)
    if (!strcmp(refusals[i].model, c->model) && !strcmp(refusals[i].strategy, c->strategy) &&
        refusals[i].ranks == c->ranks)
      return i;
  return -1;
}

// Runs a cell; its losses in loss, unless it is refused: false.
static bool check_cell(const cell *c, const double *want, double most, double *loss, counts *n) {
  char name[CELL_NAME];
  cell_run r;
  int expected = refusal_of(c);
  gr_status s = cell_train(c, &r);
  cell_name(c, name);
  if (s || expected >= 0) {
    CHECK(s && expected >= 0 && strstr(gr_status_text(s), refusals[expected].why), "%s: %s", name,
          s ? gr_status_text(s) : "is not refused");
    n->refused++;
    if (expected >= 0) n->of_refusal[expected]++;
  } else {
    check_losses(name, &r, want, most);
    check_memory(name, &r);
    check_sent(name, c, &r);
    n->trained++;
  }
  memcpy(loss, r.loss, sizeof r.loss);
  bool trained = !s;
  gr_status_drop(s);
  cell_close(&r);
  return trained;
}

// ---- All of them --------------------------------------------------------------------------------

// Whether the cell is of the subset: one of precision, micro-steps and recompute for each of the
// others, so that every value of each meets every value of any other.
static bool covers(int model, int strategy, int ranks, int precision, int micro, int recompute) {
  int k = (model + strategy + ranks) % 4;
  return precision == k / 2 && micro == k % 2 && recompute == (k / 2 ^ k % 2);
}

// Both ways to recompute, which give the same bits.
static void check_both(const int index[4], const reference *want, bool all, counts *n) {
  double loss[2][CELL_STEPS];
  char name[CELL_NAME];
  cell c = {.model = models[index[0]],
            .strategy = strategies[index[1]],
            .precision = precisions[index[2]],
            .ranks = index[3] / 2 + 1,
            .accumulate = micro_steps[index[3] % 2]};
  int trained = 0;
  for (int r = 0; r < 2; r++) {
    c.recompute = r;
    if (all || covers(index[0], index[1], index[3] / 2, index[2], index[3] % 2, r))
      trained += check_cell(&c, want->loss[index[3] % 2], tolerances[index[2]], loss[r], n);
  }
  CHECK(trained < 2 || !memcmp(loss[0], loss[1], sizeof *loss), "%s: other losses than without",
        cell_name(&c, name));
}

static counts check_cells(bool all) {
  counts n = {0};
  for (int m = 0; m < MODELS; m++) {
    reference want = refer(models[m]);
    for (int s = 0; s < STRATEGIES; s++)
      for (int p = 0; p < 2; p++)
        for (int k = 0; k < 2 * RANKS; k++) check_both((int[]){m, s, p, k}, &want, all, &n);
  }
  printf("  %d cells trained, %d refused\n", n.trained, n.refused);
  return n;
}

static void covering(void) {
  counts n = check_cells(false);
  CHECK(n.trained + n.refused == MODELS * STRATEGIES * RANKS, "%d cells", n.trained + n.refused);
  CHECK(n.refused == REFUSALS, "%d are refused", n.refused);
}

static void every_cell(void) {
  counts n = check_cells(true);
  CHECK(n.trained == CELLS - 8 * REFUSALS && n.refused == 8 * REFUSALS,
        "of %d cells %d are trained and %d refused", CELLS, n.trained, n.refused);
  for (int i = 0; i < REFUSALS; i++)
    CHECK(n.of_refusal[i] == 8, "%d cells of %s are refused", n.of_refusal[i], refusals[i].model);
}

int main(int argc, char **argv) {
  gr_settings_register();
  return RUN(argc, argv, {"covering", covering}, {"all", every_cell});
}
