// chips.h - the devices that plans are predicted for, and the links between them: a row of
// chips.def each, whose links a description of a cluster may replace.
#pragma once
#include "base/base.h"
#include "ir/op.h"
#include "ops/kernels/gemm.h"

// What one thread of a CPU does in a second (predict_cpu.c), by work: operations of products, whose
// operands are f32, bf16, or f16, which is converted, and elements of everything else; elements
// that are converted; bytes that are moved, 0: not known, and the bytes of a call from which on
// that limits it, of the last cache; bytes that come from beyond the caches near the thread, 0: not
// known. And the seconds of a call, and those of a step beside its calls.
typedef struct gr_cpu_rates {
  double of[GR_EFFORTS], in_bf16[GR_PRODUCTS], converted[GR_PRODUCTS];
  double conversion, moved, cache, fetched, call_gap, step_gap;
} gr_cpu_rates;
// The bytes that calls read and write one after the other, from which on the caches near a thread
// do not keep them until they are next used.
enum { GR_NEAR_CACHE = 1 << 20 };

// One direction of what connects a device to others: bytes a second, and the seconds of a message.
typedef struct gr_link {
  double bandwidth, latency;
} gr_link;

typedef struct gr_cluster {
  double per_node, nodes;   // devices of a machine, and machines; 0: as many as are asked for
  double memory;            // bytes of a device; 0: not known
  gr_link within, between;  // devices of one machine, and of two
  double gap;               // seconds of a collective beyond those of its bytes and messages
} gr_cluster;

typedef struct gr_chip {
  const char *name, *word;        // "H100", and "h100" of --device
  const char *device;             // the key `device` of its plans
  const char *source;             // of its figures
  int processors;                 // streaming multiprocessors of a GPU
  double bandwidth;               // bytes a second of its memory
  double f64, f32, tf32, narrow;  // operations a second: f32 is outside the tensor cores
  double host;                    // bytes a second of the link to host memory, in one direction
  const gr_cpu_rates *cpu;        // of one thread, in place of these rates; NULL: it is a GPU
  gr_cluster cluster;             // that it is usually in
} gr_chip;

extern const gr_chip gr_chips[];                // ends with an entry without a name
const gr_chip *gr_chip_find(const char *word);  // by its word; NULL: there is none

// A chip in a cluster, of which a time is predicted.
typedef struct gr_target {
  const gr_chip *chip;
  const char *source;  // of its figures
  gr_cluster cluster;
  gr_cpu_rates cpu;  // of a CPU, and its unit
  gr_bf16_unit unit;
} gr_target;
gr_target gr_target_of(const gr_chip *);  // in its usual cluster, with AVX512-BF16
// The seconds of a collective in which each of `ranks` ranks, `stride` apart, sends so many bytes,
// to all of them in so many passes: 2 of an all_reduce, else 1.
double gr_link_seconds(const gr_cluster *, int ranks, int stride, double sent, int passes);
// What a call does on a CPU (predict_cpu.c).
gr_efforts gr_cpu_efforts(const gr_op_call *);
