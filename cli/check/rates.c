// rates.c - how fast this machine computes and copies. See findings.h.
//
// Each is the best of a part of a second, beside a ceiling that an idle machine comes near to: of
// products what the cores do at the clock that the system states; of copies, the same in the
// processors' own caches.
#include <stdlib.h>
#include <string.h>
#include "cli/check/findings.h"
#include "ops/kernels/cpu.h"
#include "ops/kernels/gemm.h"
#include "runtime/device/threads.h"

enum { SIDE = 1024, MOVED = 64 << 20, CACHED = 64 << 10 };
static const double duration = 0.2;  // seconds
static const double little = 0.1;    // of a ceiling, below which a rate shows

void gr_found_rate(gr_findings *f, const char *name, double rate, const char *unit,
                   double ceiling) {
  static const char again[] = "other programs may be at work: `top` shows them; check again later";
  bool known = ceiling > 0;
  gr_found_number(
      f, name, gr_limits_if(known && rate < little * ceiling), again, rate, unit,
      known ? gr_arena_printf(f->arena, ", %.0f%% of %.1f", 100 * rate / ceiling, ceiling / 1e9)
            : "");
}

// ---- Products, copies ---------------------------------------------------------------------------

typedef struct work {
  gr_launch launch;  // its context: the threads
  char *memory;      // of 2 MOVED bytes
  int64_t copied;    // bytes; 0: a product
} work;

static void multiply_or_copy(const work *w) {
  enum { MATRIX = SIDE * SIDE * sizeof(float) };
  gr_gemm g = gr_gemm_dense(false, false, SIDE, SIDE, SIDE);
  char *m = w->memory;
  g.scratch = m + 3 * MATRIX;
  if (w->copied)
    gr_copy_rows(&w->launch, m + MOVED, w->copied, m, w->copied, w->copied, 1);
  else
    gr_gemm_run(&w->launch, &g, (float *)m, (float *)(m + MATRIX), (float *)(m + 2 * MATRIX));
}

// The seconds of the best of those that begin within the duration.
static double best_of(work *w, int64_t copied) {
  double begun = gr_seconds(), best = 1e9;
  w->copied = copied;
  for (double start; (start = gr_seconds()) - begun < duration || best == 1e9;) {
    multiply_or_copy(w);
    if (gr_seconds() - start < best) best = gr_seconds() - start;
  }
  return best;
}

// Returns the rate of copies.
static double find_alone(gr_findings *f, work *w, int threads) {
  gr_machine m;
  int64_t cached = (int64_t)threads * CACHED < MOVED ? threads * CACHED : MOVED;
  gr_machine_read(&m);
  gr_found_rate(f, "matrix product", 2.0 * SIDE * SIDE * SIDE / best_of(w, 0), "FLOP/s",
                m.hertz * m.flops_per_tick * threads / (1 + m.twin));
  double rate = MOVED / best_of(w, MOVED);
  gr_found_rate(f, "memory copy", rate, "B/s", (double)cached / best_of(w, cached));
  return rate;
}

static double find_rates(gr_findings *f) {
  int threads = gr_processors();
  double copies = 0;
  gr_cpu *cpu = NULL;
  gr_status s = gr_gemm_open();
  s = s ? s : gr_cpu_create(threads, false, &cpu);
  work w = {.launch.context = cpu, .memory = s ? NULL : gr_large_alloc(2 * (size_t)MOVED)};
  if (!s && !w.memory)
    s = gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no memory for %d MB", 2 * MOVED >> 20);
  if (!s) memset(w.memory, 0, 2 * (size_t)MOVED), copies = find_alone(f, &w, threads);
  if (s) gr_found_error(f, "matrix product", "end other programs, or `ulimit -v unlimited`", s);
  free(w.memory);
  gr_cpu_destroy(cpu);
  return copies;
}

void gr_check_rates(gr_findings *f) {
  f->section = "rates";
  f->copies = find_rates(f);
}
