// parts.h - what the files of the CUDA device share.
#pragma once
#if GR_HAVE_CUDA
#include "ops/kernels/gpu.h"
#include "runtime/device/cuda.h"
#include "runtime/device/cuda/library.h"

typedef struct gr_cuda gr_cuda;

// ---- Pinned memory through which uploads and downloads pass (staging.c) ----------------------
// A ring of slots. A slot is filled piece by piece, and used again when what was put in line with
// it is done.
enum { GR_STAGING_SLOTS = 4, GR_STAGING_BYTES = 8 << 20, GR_STAGING_LANDINGS = 64 };
typedef struct gr_landing {  // a downloaded piece that the host's memory has not got yet
  void *to;
  const char *source;
  size_t bytes;
} gr_landing;
typedef struct gr_slot {
  char *memory;
  size_t used;
  bool busy;  // work that uses it is in line, before `done`
  CUevent done;
  gr_landing landing[GR_STAGING_LANDINGS];
  int n_landings;
} gr_slot;
typedef struct gr_staging {
  gr_slot slot[GR_STAGING_SLOTS];
  int now;
} gr_staging;
GR_MUST_USE gr_status gr_staging_open(gr_cuda *);
void gr_staging_close(gr_cuda *);
GR_MUST_USE gr_status gr_staging_upload(gr_cuda *, CUdeviceptr to, const char *source,
                                        size_t bytes);
GR_MUST_USE gr_status gr_staging_download(gr_cuda *, char *to, CUdeviceptr source, size_t bytes);
// After the transfer queue's work is done: brings downloads to where they belong.
void gr_staging_land(gr_cuda *);

// The host waits for an event, or for all of a queue, and watches communicators meanwhile (wait.c).
GR_MUST_USE gr_status gr_cuda_wait(gr_cuda *, CUevent);
GR_MUST_USE gr_status gr_cuda_wait_queue(gr_cuda *, gr_queue);

// ---- Compiled sources (compile.c, cache.c) ----------------------------------------------------
// A source that kernels of this device are from; compiled code is shared by the process's devices.
typedef struct gr_unit gr_unit;
struct gr_unit {
  gr_unit *next;
  uint64_t key[2];  // of source, options, versions, architecture
  const char *source;
  const gr_op *op;  // the first call that needed it
  gr_loc loc;
  char *code;  // a cubin, or PTX where the compiler does not know the architecture
  size_t bytes;
  bool cached;  // it was on disk
  CUmodule module;
};
// The compiler's options for the device; unloads all modules.
GR_MUST_USE gr_status gr_units_open(gr_cuda *);
void gr_units_close(gr_cuda *);
void gr_units_report(const gr_cuda *, gr_text *);
// Finds or adds the unit of a source; `text` is copied.
GR_MUST_USE gr_status gr_unit_add(gr_cuda *, const char *text, const gr_op_call *, gr_unit **out);
// Compiles and loads all units that are not loaded yet, several at a time.
GR_MUST_USE gr_status gr_units_build(gr_cuda *);
// Reads code of that key from the disk, into memory of malloc; false: it is not there, or damaged.
bool gr_kernel_cache_read(const uint64_t key[2], char **out, size_t *out_bytes);
void gr_kernel_cache_write(const uint64_t key[2], const char *code, size_t bytes);

// ---- Matrix products (gemm.c) -------------------------------------------------------------------
typedef struct gr_product gr_product;
void gr_products_close(gr_cuda *);
// Finds out what the library does; called once.
GR_MUST_USE gr_status gr_products_probe(gr_cuda *);
// gr_gpu_call.takes of a gr_cuda.
bool gr_product_takes(void *, const gr_gpu_gemm *);
GR_MUST_USE gr_status gr_product_open(gr_cuda *, const gr_gpu_gemm *, gr_product **out);
// Puts the product in line; addresses are those of the call.
GR_MUST_USE gr_status gr_product_run(gr_cuda *, gr_product *, const gr_launch *);

// ---- Convolutions by cuDNN (cudnn.c) ------------------------------------------------------------
typedef struct gr_convolution gr_convolution;
// GR_ERR_UNSUPPORTED: there is no cuDNN, or no algorithm for it, and the op's own kernel is to run.
GR_MUST_USE gr_status gr_convolution_open(gr_cuda *, const gr_gpu_conv *, gr_convolution **out);
GR_MUST_USE gr_status gr_convolution_run(gr_cuda *, gr_convolution *, const gr_launch *);
void gr_convolutions_close(gr_cuda *);
void gr_convolutions_report(const gr_cuda *, gr_text *);

// ---- Attention by cuDNN (cudnn_attention.c) -----------------------------------------------------
typedef struct gr_fused gr_fused;
// As of convolutions. They are closed before cuDNN's handle, which gr_convolutions_close closes.
GR_MUST_USE gr_status gr_fused_open(gr_cuda *, const gr_gpu_attention *, gr_fused **out);
GR_MUST_USE gr_status gr_fused_run(gr_cuda *, gr_fused *, const gr_launch *);
void gr_fused_close(gr_cuda *);
void gr_fused_report(const gr_cuda *, gr_text *);
// Whether cuDNN is there; the first time it loads it. If not, says once why kernels of graphrun's
// own run instead of it for `which`.
bool gr_cudnn_is_there(gr_cuda *, const char *which);
void gr_cudnn_own_kernels(gr_cuda *, const char *which, gr_status why);

// ---- Launches (call.c) --------------------------------------------------------------------------
typedef struct gr_step gr_step;
GR_MUST_USE gr_status gr_cuda_kernel(gr_device *, const gr_op_call *, const gr_launch *where,
                                     gr_device_kernel *out);
GR_MUST_USE gr_status gr_cuda_ready(gr_device *);
// One launch of a described call. scratch: its kernels are given the call's working memory.
GR_MUST_USE gr_status gr_step_open(gr_cuda *, const gr_gpu_call *, const gr_gpu_launch *,
                                   gr_step **out);
GR_MUST_USE gr_status gr_step_run(gr_cuda *, gr_step *, const gr_launch *, bool scratch);
// A kernel of other text and other parameters than the call's.
GR_MUST_USE gr_status gr_step_open_kernel(gr_cuda *, const gr_gpu_call *, const gr_gpu_kernel *,
                                          const char *text, gr_step **out);
GR_MUST_USE gr_status gr_step_launch(gr_cuda *, const gr_step *, void **args);
// The address of a part of a call's memory.
static inline CUdeviceptr gr_ref_address(gr_gpu_ref r, const gr_launch *l) {
  const void *base = r.space == GR_GPU_IN        ? l->in[r.index]
                     : r.space == GR_GPU_OUT     ? l->out[r.index]
                     : r.space == GR_GPU_SCRATCH ? l->scratch
                                                 : NULL;
  return base ? (CUdeviceptr)base + r.offset : 0;
}

// ---- Names for profilers (nvtx.c) --------------------------------------------------------------
bool gr_nvtx_wanted(void);  // there is a profiler
void gr_nvtx_mark(gr_device *, const char *name);

// ---- Times of captured programs (cupti.c) ------------------------------------------------------
typedef struct gr_node_tag {
  uint64_t node;  // not 0
  void *of;       // as of gr_device_timing
  bool first;
  bool counts;  // it runs once in a launch of its graph
} gr_node_tag;
typedef struct gr_node_tags {
  gr_node_tag *slots;
  size_t n, n_slots;
} gr_node_tags;
// tags.c. Without memory a tag is left out, and the records of the node are of no program's.
const gr_node_tag *gr_tag_find(const gr_node_tags *, uint64_t node);  // NULL: it has none
void gr_tag_put(gr_node_tags *, gr_node_tag);
void gr_tags_free(gr_node_tags *);
typedef struct gr_cuda_times {
  bool on;
  struct gr_cuda *next;  // of the process's devices that are measured
  // What is enqueued is of `of`, and whether it is the first.
  void *of;
  bool fresh;
  bool capturing;   // a program, so that what is enqueued becomes nodes
  CUgraph graph;    // of that program; NULL: not known yet
  uint64_t pieces;  // its kernels, copies and fills, without those of loops that repeat
  gr_node_tags tags;
  gr_device_timing *taken;  // n of them; there is room for more
  size_t n, room;
  uint32_t context;       // as CUPTI numbers it
  uint64_t began;         // by CUPTI's clock
  int64_t epoch;          // nanoseconds from gr_wall_seconds' 0 to CUPTI's
  int64_t launched, due;  // pieces that ran, and those of them that are not taken yet
  int64_t missing;
  uint64_t untimed;
} gr_cuda_times;
// Whether programs can be measured; if not, says once why, and who does it instead.
bool gr_cuda_times_open(gr_cuda *, const gr_device_options *);
void gr_cuda_times_close(gr_cuda *);
GR_MUST_USE gr_status gr_cuda_time(gr_device *, bool on);
void gr_cuda_time_as(gr_device *, void *of);
GR_MUST_USE gr_status gr_cuda_timings(gr_device *, void (*take)(void *, const gr_device_timing *),
                                      void *arg);
void gr_captured_forget(gr_cuda *);  // the programs that were captured to be measured
// Around the capture of a program that will be measured. The second gives its pieces.
void gr_cuda_times_capture(gr_cuda *);
uint64_t gr_cuda_times_captured(gr_cuda *);
void gr_cuda_times_launched(gr_cuda *, uint64_t pieces);

// ---- Joined launches (join.c) ------------------------------------------------------------------
typedef struct gr_table gr_table;
GR_MUST_USE gr_status gr_cuda_kernels(gr_device *, int n, const gr_op_call *,
                                      const gr_launch *const *launches, gr_device_kernel *out);
void gr_tables_close(gr_cuda *);

// ---- Captured programs (graph.c) ---------------------------------------------------------------
typedef struct gr_captured gr_captured;
struct gr_captured {
  gr_captured *next;
  const gr_graph *g;
  CUgraphExec exec;   // NULL: not captured
  CUgraphExec timed;  // the same, captured while it is measured (cupti.c)
  uint64_t pieces;    // of `timed`
  bool direct;        // it is too large, and will not be
  size_t nodes;       // 0: it was not captured
};
GR_MUST_USE gr_status gr_cuda_run(gr_device *, const gr_graph *, gr_status (*issue)(void *),
                                  void *arg);
gr_device_timed gr_cuda_timed(gr_device *, const gr_graph *);
void gr_captured_close(gr_cuda *);
void gr_captured_report(const gr_cuda *, gr_text *);

// ---- Loops whose body is put in line once (repeat.c) --------------------------------------------
enum { GR_CUDA_LOOPS = 3 };  // within each other; those within are put in line step by step
GR_MUST_USE gr_status gr_cuda_loop_open(gr_device *, const gr_op_call *);
GR_MUST_USE gr_status gr_cuda_loop_ready(gr_cuda *);
GR_MUST_USE gr_status gr_cuda_loop(gr_device *, const gr_device_loop *);
void gr_cuda_loop_close(gr_cuda *);
typedef struct gr_cuda_loops {
  gr_unit *unit;  // NULL: there are none
  CUfunction copy, next, end;
  CUstream stream[GR_CUDA_LOOPS];  // for capturing bodies
  int depth;                       // of the body that is being captured
} gr_cuda_loops;

struct gr_cuda {
  gr_device base;
  CUdevice device;
  CUcontext context;
  char name[128];
  int index, arch;  // arch: 90 is compute capability 9.0
  int processors;   // streaming multiprocessors
  int shared;       // bytes of shared memory that a block can have
  CUstream stream[GR_QUEUE_COUNT];
  CUevent event[GR_EVENT_COUNT];
  gr_staging staging;
  gr_arena *arena;
  gr_unit *units;
  gr_step *pending;  // kernels whose unit is not loaded yet
  gr_table *tables;  // of joined kernels
  char *options[8];  // of the compiler
  int n_options;
  bool virtual;        // compile to PTX
  uint64_t toolchain;  // hash of the compiler's version and options
  gr_product *products;
  bool relu_keeps_nan;  // in an epilogue
  bool tf32;            // products of f32 are computed in TF32
  cublasLtHandle_t lt;
  gr_convolution *convolutions;
  gr_fused *fused;  // attention by cuDNN
#if GR_HAVE_CUDNN
  cudnnHandle_t dnn;
  bool dnn_tried, dnn_refused;  // it was looked for; that it lacks something was said
#endif
  CUdeviceptr workspace;  // of cuBLASLt and cuDNN, whose work is on one queue
  bool graphs;            // programs are captured
  gr_captured *captured;
  bool capturing;
  gr_cuda_loops loop;
  gr_cuda_times times;
  gr_status (*watch)(void *, double waited);  // called while the host waits; NULL: not
  void *watch_arg;
  uint64_t launches;  // so far: a difference is the size of a program
  uint64_t replays;
};
// The device of a table; every gr_device that this module opened is one.
static inline gr_cuda *gr_cuda_of(gr_device *d) { return (gr_cuda *)d; }
#endif
