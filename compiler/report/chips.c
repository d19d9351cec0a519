// chips.c - see chips.h.
#include "compiler/report/chips.h"
#include <math.h>
#include <string.h>

// Seconds beyond what the bytes of a collective take, and of a message between two devices of a
// machine and of two: estimates.
#define GAP 15e-6
#define WITHIN 1e-6
#define BETWEEN 5e-6

// One thread of a Zen 4 core (AVX-512, AVX512-BF16): products, conversions and functions by
// tests/bench/bench_precision, the rest by `graphrun check --calibrate` on a Zen core with AVX2.
// The gradient of three axes' kernels is taken to be as fast as what it is of: on another processor
// with AVX-512 it was faster by a fifth.
static const gr_cpu_rates zen4 = {.of = {[GR_EFFORT_MATMUL] = 110e9,
                                         [GR_EFFORT_PACKED] = 110e9,
                                         [GR_EFFORT_ATTENTION] = 95e9,
                                         [GR_EFFORT_CONV] = 95e9,
                                         [GR_EFFORT_CONV3] = 95e9,
                                         [GR_EFFORT_CONV3_GRAD] = 95e9,
                                         [GR_EFFORT_ELEMENT] = 7e9,
                                         [GR_EFFORT_MOVE] = 8e9,
                                         [GR_EFFORT_PERMUTE] = 1.6e9,
                                         [GR_EFFORT_CHANNEL] = 3.3e9,
                                         [GR_EFFORT_ROW] = 1.1e9,
                                         [GR_EFFORT_FUNCTION] = 1.2e9,
                                         [GR_EFFORT_LONG_FUNCTION] = 0.5e9,
                                         [GR_EFFORT_RANDOM] = 0.8e9,
                                         [GR_EFFORT_UPDATE] = 1.5e9,
                                         [GR_EFFORT_SERIAL] = 0.25e9,
                                         [GR_EFFORT_DROPPED] = 0.4e9},
                                  .in_bf16 = {0, 205e9, 226e9, 95e9, 95e9, 95e9, 95e9},
                                  .converted = {0, 110e9, 70e9, 95e9, 95e9, 95e9, 95e9},
                                  .conversion = 1 / 0.06e-9,
                                  .call_gap = 0.1e-6,
                                  .step_gap = 30e-6};

const gr_chip gr_chips[] = {
#define GR_CHIP(name_, word_, memory_, processors_, bandwidth_, f64_, f32_, tf32_, narrow_, host_, \
                within_, between_, source_)                                                        \
  {.name = name_,                                                                                  \
   .word = word_,                                                                                  \
   .device = "cuda",                                                                               \
   .source = source_,                                                                              \
   .processors = processors_,                                                                      \
   .bandwidth = bandwidth_,                                                                        \
   .f64 = f64_,                                                                                    \
   .f32 = f32_,                                                                                    \
   .tf32 = tf32_,                                                                                  \
   .narrow = narrow_,                                                                              \
   .host = host_,                                                                                  \
   .cluster = {8, 0, memory_, {within_, WITHIN}, {between_, BETWEEN}, GAP}},
#include "compiler/report/chips.def"
#undef GR_CHIP
    {.name = "CPU",
     .word = "cpu",
     .device = "cpu",
     .source = "one thread of a Zen core a rank, by tests/bench/bench_precision and "
               "check --calibrate; links estimated",
     .processors = 1,
     .cpu = &zen4,
     .cluster = {16, 0, 0, {5e9, WITHIN}, {1.25e9, 25e-6}, GAP}},
    {0}};

const gr_chip *gr_chip_find(const char *word) {
  for (const gr_chip *c = gr_chips; c->name; c++)
    if (!strcmp(c->word, word)) return c;
  return NULL;
}

gr_target gr_target_of(const gr_chip *c) {
  gr_target t = {c, c->source, c->cluster, .unit = GR_BF16_AVX512};
  if (c->cpu) t.cpu = *c->cpu;
  return t;
}

// Messages go along a tree (Sanders, Speck, Traff, 2009), within machines and between them; bytes
// go through the links of all of a machine's devices that take part.
double gr_link_seconds(const gr_cluster *c, int ranks, int stride, double sent, int passes) {
  double inside = fmin(ranks, fmax(1, floor(c->per_node / stride)));
  double nodes = ceil(ranks / inside), bandwidth = c->within.bandwidth;
  if (nodes > 1) bandwidth = fmin(inside > 1 ? bandwidth : INFINITY, inside * c->between.bandwidth);
  double messages = c->within.latency * ceil(log2(inside)) + c->between.latency * ceil(log2(nodes));
  return c->gap + sent / bandwidth + passes * messages;
}
