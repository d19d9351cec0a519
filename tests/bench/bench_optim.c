// bench_optim.c - what the fast kernels of updates take, on one thread, beside copying as many
// bytes as they read and write.   bench_optim [MILLISECONDS for each]
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "ops/ops.h"
#include "ops/optim/optim.h"

enum { MOST = 12, SIZES = 4 };
static const int64_t sizes[SIZES] = {250, 16384, 200000, 6000000};

static const struct {
  const char *op, *operands;  // "." an element, "1" a scalar f32, "i" i32, "d" f64
  double scalar;
} runs[] = {{"sgd", "..111", 0.5},      {"sgd", "..111.", 0.5},         {"adam", "....1i11", 0.5},
            {"adamw", "....1i11", 0.5}, {"adamw", "....1i11dddd", 0.5}, {"lion", "...111", 0.5},
            {"ema", "..d1", 0.999},     {"ema", "..d1", 0.25},          {"accumulate", "..i", 1},
            {"accumulate", "..i", 0}};

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *make(int64_t n, uint32_t seed) {
  float *x = aligned_alloc(64, ((size_t)n * sizeof *x + 127) / 64 * 64);
  if (!x) abort();
  for (int64_t i = 0; i < n; i++) {
    seed = seed * 1664525u + 1013904223u;
    x[i] = (float)(seed >> 8) / 16777216.0f;
  }
  return x;
}

// The scalars of a launch: all are `scalar`, but the number of the step.
static void fill(void *data, char kind, double scalar) {
  if (kind == 'i')
    *(int32_t *)data = scalar == 0 ? 0 : 7;
  else if (kind == 'd')
    *(double *)data = scalar;
  else
    *(float *)data = (float)scalar;
}

typedef struct bench {
  gr_op_call call;
  char attr[256];
  const void *in[MOST];
  void *out[MOST];
  gr_kernel kernel;
} bench;

static void open_bench(bench *b, int index, int64_t n) {
  const char *kinds = runs[index].operands;
  b->call = (gr_op_call){.op = gr_op_find(runs[index].op), .attr = b->attr};
  gr_attr_defaults(b->call.op, b->attr);
  for (int k = 0; kinds[k]; k++, b->call.n_in++) {
    bool each = kinds[k] == '.';
    gr_dtype d = kinds[k] == 'i' ? GR_I32 : kinds[k] == 'd' ? GR_F64 : GR_F32;
    b->call.in[k] = each ? (gr_type){.dtype = d, .rank = 1, .dim = {n}} : (gr_type){.dtype = d};
    b->in[k] = make(each ? n : 16, (uint32_t)k);
    if (!each) fill((void *)b->in[k], kinds[k], runs[index].scalar);
  }
  gr_status s = gr_op_infer(&b->call);
  if (s) fprintf(stderr, "%s\n", gr_status_text(s)), exit(1);
  for (int k = 0; k < b->call.n_out; k++) b->out[k] = make(n, 9);
  b->kernel = gr_op_fast(&b->call);
}

static void close_bench(bench *b) {
  for (int k = 0; k < b->call.n_in; k++) free((void *)b->in[k]);
  for (int k = 0; k < b->call.n_out; k++) free(b->out[k]);
}

static void run_kernel(bench *b) {
  gr_launch l = {.attr = b->attr,
                 .n_in = b->call.n_in,
                 .n_out = b->call.n_out,
                 .in_type = b->call.in,
                 .out_type = b->call.out,
                 .in = b->in,
                 .out = b->out};
  gr_status_drop(b->kernel(&l));
}

// Copies between the same arrays: one read for each write, and what is read more often again.
static void run_copy(bench *b) {
  size_t bytes = gr_type_bytes(&b->call.out[0]);
  for (int k = 0; k < b->call.n_in; k++)
    if (b->call.in[k].rank) memcpy(b->out[k % b->call.n_out], b->in[k], bytes);
}

// Seconds of the fastest run.
static double least(void (*run)(bench *), bench *b, double seconds) {
  double best = 1e9;
  run(b);
  for (double start = now(), last = start; last - start < seconds;) {
    double begin = last;
    run(b);
    last = now();
    if (last - begin < best) best = last - begin;
  }
  return best;
}

static uint64_t hash(const bench *b) {
  uint64_t h = 14695981039346656037u;
  for (int k = 0; k < b->call.n_out; k++) {
    const unsigned char *data = b->out[k];
    for (size_t i = 0; i < gr_type_bytes(&b->call.out[k]); i++) h = (h ^ data[i]) * 1099511628211u;
  }
  return h;
}

int main(int argc, char **argv) {
  double seconds = (argc > 1 ? atof(argv[1]) : 50) * 1e-3;
  printf("op          operands          elements   us a run   of a copy   bytes\n");
  for (size_t i = 0; i < sizeof runs / sizeof *runs; i++)
    for (int s = 0; s < SIZES; s++) {
      bench b;
      open_bench(&b, (int)i, sizes[s]);
      double kernel = least(run_kernel, &b, seconds);
      uint64_t made = hash(&b);
      double copy = least(run_copy, &b, seconds);
      printf("%-11s %-13s %5g %9lld %10.2f %10.2f   %016llx\n", runs[i].op, runs[i].operands,
             runs[i].scalar, (long long)sizes[s], kernel * 1e6, kernel / copy,
             (unsigned long long)made);
      close_bench(&b);
    }
  return 0;
}
