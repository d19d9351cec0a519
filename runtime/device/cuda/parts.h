// parts.h - what the files of the CUDA device share.
#pragma once
#if GR_HAVE_CUDA
#include "ops/kernels/gpu.h"
#include "runtime/device/cuda.h"
#include "runtime/device/cuda/library.h"

typedef struct gr_cuda gr_cuda;

// ---- Pinned memory through which uploads and downloads pass (staging.c) ----------------------
// A ring of slots. A slot is filled piece by piece, and used again when what was put in line with
// it is done. Uploads ahead of a program have a ring of their own, of two slots that each have room
// for all of its inputs, so that the host waits for none that the program before it does not need.
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
  int n_slots, now;
  size_t bytes;  // of a slot
  gr_queue queue;
} gr_staging;
// Allocates n slots of `bytes` for a queue's copies. GR_ERR_LAUNCH.
GR_MUST_USE gr_status gr_staging_open(gr_staging *, gr_queue, int n, size_t bytes);
// Frees the slots, also those of a ring that could not be opened. The queue is idle.
void gr_staging_close(gr_staging *);
// Enqueues copies of `source`, which may change when it returns, on the ring's queue; waits where
// no slot is free.
GR_MUST_USE gr_status gr_staging_upload(gr_cuda *, gr_staging *, CUdeviceptr to, const char *source,
                                        size_t bytes);
// What is put in line from now on is in the next slot.
GR_MUST_USE gr_status gr_staging_turn(gr_cuda *, gr_staging *);
// Enqueues copies to slots; `to` gets the bytes by gr_staging_land, or before, where a slot is used
// again.
GR_MUST_USE gr_status gr_staging_download(gr_cuda *, char *to, CUdeviceptr source, size_t bytes);
// After the transfer queue's work is done: brings downloads to where they belong.
void gr_staging_land(gr_cuda *);

// The host waits for an event, and watches communicators meanwhile (wait.c), whose error ends it.
GR_MUST_USE gr_status gr_cuda_wait(gr_cuda *, CUevent);
// The host waits for all work of a queue, likewise.
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
// Sets the compiler's options for the device, and the hash that is a part of keys.
GR_MUST_USE gr_status gr_units_open(gr_cuda *);
// Unloads all modules.
void gr_units_close(gr_cuda *);
// Appends how many sources there are, and how many of them were on disk.
void gr_units_report(const gr_cuda *, gr_text *);
// Finds or adds the unit of a source; `text` is copied.
GR_MUST_USE gr_status gr_unit_add(gr_cuda *, const char *text, const gr_op_call *, gr_unit **out);
// Compiles and loads all units that are not loaded yet, several at a time.
GR_MUST_USE gr_status gr_units_build(gr_cuda *);
// Reads code of that key from the disk, into memory of malloc; false: it is not there, or damaged,
// which is logged.
bool gr_kernel_cache_read(const uint64_t key[2], char **out, size_t *out_bytes);
// Claims a key among the processes that share the folder, until it is released, so that one of them
// makes its code; waits for it so long at most. False: another one has it still. True as well where
// the folder or its file system has no locks: then each makes it. *claim: to be released, even so.
bool gr_kernel_cache_claim(const uint64_t key[2], double seconds, int *claim);
void gr_kernel_cache_release(int claim);  // ends what gr_kernel_cache_claim has begun; -1: nothing
// Writes code of that key to the disk. Best effort: errors are dropped, and of ranks that write the
// same file at once the last one stays.
void gr_kernel_cache_write(const uint64_t key[2], const char *code, size_t bytes);

// ---- Matrix products (gemm.c) -------------------------------------------------------------------
// An algorithm is chosen for the alignment that the addresses have. Those of a plan are 64-byte
// aligned; slices in a loop are aligned as their size is.
enum { GR_PRODUCT_ALIGNED, GR_PRODUCT_UNALIGNED, GR_PRODUCT_CLASSES };
enum { GR_PRODUCT_ALGORITHMS = 8 };  // that the library is asked for
typedef struct gr_product gr_product;
struct gr_product {
  gr_product *next;
  gr_gpu_gemm gemm;
  cublasLtMatmulDesc_t desc;
  cublasLtMatrixLayout_t a, b, c;  // as cuBLASLt names them: a is gemm.b
  cublasLtMatmulHeuristicResult_t chosen[GR_PRODUCT_CLASSES];
  bool known[GR_PRODUCT_CLASSES];
};
typedef struct gr_operands {
  CUdeviceptr a, b, c, bias;  // of a gr_gpu_gemm
} gr_operands;
// Frees the descriptions of all products.
void gr_products_close(gr_cuda *);
// Finds out what the library does; called once.
GR_MUST_USE gr_status gr_products_probe(gr_cuda *);
// gr_gpu_call.takes of a gr_cuda.
bool gr_product_takes(void *, const gr_gpu_gemm *);
// Chooses the library's algorithm for a product, which belongs to the device also when it fails.
// GR_ERR_UNSUPPORTED: there is none.
GR_MUST_USE gr_status gr_product_open(gr_cuda *, const gr_gpu_gemm *, gr_product **out);
// Puts the product in line; addresses are those of the call.
GR_MUST_USE gr_status gr_product_run(gr_cuda *, gr_product *, const gr_launch *);
// The algorithms, at most *n, that the library has for operands of a class, in its own order.
// GR_ERR_UNSUPPORTED: there is none.
GR_MUST_USE gr_status gr_product_algorithms(gr_cuda *, gr_product *, int class,
                                            cublasLtMatmulHeuristicResult_t *out, int *n);
// Puts a product of such operands in line, by that algorithm.
GR_MUST_USE gr_status gr_product_multiply(gr_cuda *, const gr_product *, const gr_operands *,
                                          const cublasLtMatmulHeuristicResult_t *);

// ---- Algorithms by their time (tune.c) ----------------------------------------------------------
// gr_device_ops.tune: the fastest of the library's algorithms for aligned operands of each product.
GR_MUST_USE gr_status gr_products_tune(gr_device *, gr_comm *world);
// Appends how many products have an algorithm that was timed; nothing, if none does.
void gr_products_report(const gr_cuda *, gr_text *);

// ---- What cuDNN proposes, on all ranks (chosen.c) -----------------------------------------------
typedef struct gr_proposal {  // the same on two ranks: they compute the same bits
  int64_t version;            // of cuDNN; 0: it runs by kernels of graphrun's own
  int64_t number;             // of those that its heuristics gave, from 1
  int64_t algorithm;          // of a convolution
  int64_t samples, heads;     // of a part of attention
} gr_proposal;
typedef struct gr_chosen gr_chosen;
struct gr_chosen {
  gr_chosen *next;
  const gr_op *op;
  gr_loc loc;
  gr_proposal by;
};
// Adds a call that cuDNN may run; zeros are its proposal until one is taken.
gr_chosen *gr_chosen_add(gr_cuda *, const gr_op_call *);
// Counts a proposal of that number that fails when it is tried, and logs the first of the device.
// Borrows the status.
void gr_chosen_refused(gr_cuda *, const gr_chosen *, int64_t number, gr_status why);
// Appends how many failed; nothing, if none did.
void gr_chosen_report(const gr_cuda *, gr_text *);
// gr_device_ops.agree: ranks whose GPUs are of one kind have taken the same proposals.
GR_MUST_USE gr_status gr_cuda_agree(gr_device *, gr_comm *world);

// ---- Convolutions by cuDNN (cudnn.c) ------------------------------------------------------------
typedef struct gr_convolution gr_convolution;
// GR_ERR_UNSUPPORTED: there is no cuDNN, or no algorithm for it, and the op's own kernel is to run.
// Where the addresses of the call are known, an algorithm has run once, or another is taken.
// Sets what is chosen.
GR_MUST_USE gr_status gr_convolution_open(gr_cuda *, const gr_gpu_conv *, const gr_launch *where,
                                          gr_chosen *, gr_convolution **out);
// Puts the convolution in line; addresses are those of the call.
GR_MUST_USE gr_status gr_convolution_run(gr_cuda *, gr_convolution *, const gr_launch *);
// Frees the descriptions of all convolutions, and cuDNN's handle.
void gr_convolutions_close(gr_cuda *);
// Appends how many convolutions run by cuDNN; nothing, if none does.
void gr_convolutions_report(const gr_cuda *, gr_text *);

// ---- Attention by cuDNN (cudnn_attention.c) -----------------------------------------------------
typedef struct gr_fused gr_fused;
// As of convolutions. They are closed before cuDNN's handle, which gr_convolutions_close closes.
GR_MUST_USE gr_status gr_fused_open(gr_cuda *, const gr_gpu_attention *, const gr_launch *where,
                                    gr_chosen *, gr_fused **out);
// The part that follows a part of the call, or for one of zeros the first; false: it was the last.
// Working memory has room for one.
bool gr_fused_next(const gr_fused *, gr_gpu_attention_part *);
// Puts a part of the call in line, after its mask if it has one.
GR_MUST_USE gr_status gr_fused_run(gr_cuda *, gr_fused *, const gr_gpu_attention_part *,
                                   const gr_launch *);
// Frees the graphs and plans of all calls.
void gr_fused_close(gr_cuda *);
// Appends how many calls of attention run by cuDNN; nothing, if none does.
void gr_fused_report(const gr_cuda *, gr_text *);
// Whether cuDNN is there; loads it the first time. If not, logs once why kernels of graphrun's
// own run instead of it for `which`.
bool gr_cudnn_is_there(gr_cuda *, const char *which);
// Logs, once for the device, why kernels of graphrun's own run for `which`; frees the status.
void gr_cudnn_own_kernels(gr_cuda *, const char *which, gr_status why);

// ---- Launches (call.c) --------------------------------------------------------------------------
typedef struct gr_step gr_step;
// gr_device_ops.kernel: opens the launches of a call. Its kernels are compiled by gr_cuda_ready.
GR_MUST_USE gr_status gr_cuda_kernel(gr_device *, const gr_op_call *, const gr_launch *where,
                                     gr_device_kernel *out);
// gr_device_ops.ready: compiles and loads all sources, and resolves the kernels. An error names
// kernel and op, with its place in the model.
GR_MUST_USE gr_status gr_cuda_ready(gr_device *);
// One launch of a described call. scratch: its kernels are given the call's working memory.
GR_MUST_USE gr_status gr_step_open(gr_cuda *, const gr_gpu_call *, const gr_gpu_launch *,
                                   gr_step **out);
// Puts one launch in line; addresses are those of the call.
GR_MUST_USE gr_status gr_step_run(gr_cuda *, gr_step *, const gr_launch *, bool scratch);
// Opens a launch of a kernel of other text and other parameters than the call's.
GR_MUST_USE gr_status gr_step_open_kernel(gr_cuda *, const gr_gpu_call *, const gr_gpu_kernel *,
                                          const char *text, gr_step **out);
// Puts such a kernel in line with its parameters, in the order of the text.
GR_MUST_USE gr_status gr_step_launch(gr_cuda *, const gr_step *, void **args);
// The address of a part of a call's memory; 0: it is not known yet.
static inline CUdeviceptr gr_ref_address(gr_gpu_ref r, const gr_launch *l) {
  const void *base = r.space == GR_GPU_IN && l->in     ? l->in[r.index]
                     : r.space == GR_GPU_OUT && l->out ? l->out[r.index]
                     : r.space == GR_GPU_SCRATCH       ? l->scratch
                                                       : NULL;
  return base ? (CUdeviceptr)base + r.offset : 0;
}

// ---- Names for profilers (nvtx.c) --------------------------------------------------------------
bool gr_nvtx_wanted(void);  // there is a profiler
// gr_device_ops.mark: begins a range of that name in the profiler; NULL ends the last one.
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
// ---- tags.c
const gr_node_tag *gr_tag_find(const gr_node_tags *, uint64_t node);  // NULL: it has none
// Adds the tag of a node, or replaces it. Without memory it is left out, and the records of the
// node are of no program's.
void gr_tag_put(gr_node_tags *, gr_node_tag);
// Frees the tags; there are none then.
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
// Ends measuring, if it was begun.
void gr_cuda_times_close(gr_cuda *);
// gr_device_ops.time: begins or ends measuring, after all that was enqueued.
GR_MUST_USE gr_status gr_cuda_time(gr_device *, bool on);
// gr_device_ops.time_as: work that is enqueued from now on is measured as `of`'s; NULL ends that.
void gr_cuda_time_as(gr_device *, void *of);
// gr_device_ops.timings: waits for all that was enqueued, and calls `take` for what was measured
// since the last call.
GR_MUST_USE gr_status gr_cuda_timings(gr_device *, void (*take)(void *, const gr_device_timing *),
                                      void *arg);
void gr_captured_forget(gr_cuda *);  // the programs that were captured to be measured
// Begins the capture of a program that will be measured.
void gr_cuda_times_capture(gr_cuda *);
// Ends that capture; the program's pieces, without those of loops that repeat.
uint64_t gr_cuda_times_captured(gr_cuda *);
// Such a program, of so many pieces, has been launched.
void gr_cuda_times_launched(gr_cuda *, uint64_t pieces);

// ---- Joined launches (join.c) ------------------------------------------------------------------
typedef struct gr_table gr_table;
// gr_device_ops.kernels: one kernel for n calls that run the same code, each in blocks of its own.
GR_MUST_USE gr_status gr_cuda_kernels(gr_device *, int n, const gr_op_call *,
                                      const gr_launch *const *launches, gr_device_kernel *out);
// Frees the tables of joined kernels.
void gr_tables_close(gr_cuda *);

// ---- Captured programs (graph.c) ---------------------------------------------------------------
// A program, as a graph of CUDA.
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
// gr_device_ops.run: the first time it calls `issue`, then captures what that enqueues, and
// launches the capture from then on.
GR_MUST_USE gr_status gr_cuda_run(gr_device *, const gr_graph *, gr_status (*issue)(void *),
                                  void *arg);
// gr_device_ops.timed: captured programs are measured, those not captured yet from their next run
// on, and others by the host.
gr_device_timed gr_cuda_timed(gr_device *, const gr_graph *);
// Destroys all captured programs.
void gr_captured_close(gr_cuda *);
// Appends how many programs were captured, of how many nodes, and how often they were launched.
void gr_captured_report(const gr_cuda *, gr_text *);

// ---- Loops whose body is put in line once (repeat.c) --------------------------------------------
enum { GR_CUDA_LOOPS = 3 };  // within each other; those within are put in line step by step
// gr_device_ops.loop_open: adds the source of the kernels that repeat a body, and the queues to
// capture it, once for the device.
GR_MUST_USE gr_status gr_cuda_loop_open(gr_device *, const gr_op_call *);
// Resolves those kernels, when their source is loaded. Does nothing without loops.
GR_MUST_USE gr_status gr_cuda_loop_ready(gr_cuda *);
// gr_device_ops.loop: enqueues a loop, in a capture as one node that repeats its body where CUDA
// can (from 13.0 on), else step by step.
GR_MUST_USE gr_status gr_cuda_loop(gr_device *, const gr_device_loop *);
// Destroys the queues.
void gr_cuda_loop_close(gr_cuda *);
typedef struct gr_cuda_loops {
  gr_unit *unit;  // NULL: there are none
  CUfunction copy, next, end;
  CUstream stream[GR_CUDA_LOOPS];  // for capturing bodies
  int depth;                       // of the body that is being captured
} gr_cuda_loops;

// Who takes memory of the device: what the plan has, working memory included, and the others.
typedef enum gr_taker {
  GR_TAKER_PLAN,
  GR_TAKER_CUBLASLT,
  GR_TAKER_CUDNN,
  GR_TAKER_NCCL,
  GR_TAKER_KERNELS,
  GR_TAKER_PROGRAMS,
  GR_TAKERS
} gr_taker;
// What is gone of its free memory since the last call is that one's; other processes' count, too.
GR_MUST_USE gr_status gr_cuda_taken(gr_cuda *, gr_taker);
// Appends what the plan does not have, library by library.
void gr_cuda_taken_report(const gr_cuda *, gr_text *);

struct gr_cuda {
  gr_device base;
  size_t taken[GR_TAKERS], left;  // bytes
  CUdevice device;
  CUcontext context;
  char name[128];
  int index, arch;  // arch: 90 is compute capability 9.0
  int processors;   // streaming multiprocessors
  int shared;       // bytes of shared memory that a block can have
  CUstream stream[GR_QUEUE_COUNT];
  CUevent event[GR_EVENT_COUNT];
  gr_staging staging, ahead;
  gr_arena *arena;
  gr_unit *units;
  gr_step *pending;  // kernels whose unit is not loaded yet
  gr_table *tables;  // of joined kernels
  char *options[8];  // of the compiler
  int n_options;
  bool virtual;        // compile to PTX
  uint64_t toolchain;  // hash of the compiler's version and options
  gr_product *products;
  struct {
    // Choices of this rank that were timed now, or before; its products that have one, that have an
    // algorithm other than the library's own choice, and that have no choice. And algorithms that
    // failed when they were to be timed.
    int timed, cached, products, other, untaken, failed;
  } tuned;
  bool relu_keeps_nan;  // in an epilogue
  bool tf32;            // products of f32 are computed in TF32
  cublasLtHandle_t lt;
  gr_convolution *convolutions;
  gr_fused *fused;    // attention by cuDNN
  gr_chosen *chosen;  // n_chosen calls of both, the last one first
  int64_t n_chosen;
  int refused;                // proposals that failed when they were tried,
  const char *first_refused;  // and what was logged of the first
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
