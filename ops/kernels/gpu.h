// gpu.h - how a call of an op runs on a GPU: a list of launches, which op->gpu writes and a device
// (runtime/device/cuda) carries out in order. Nothing here depends on CUDA.
//
// A launch is a kernel of the op's own, or a product or convolution that a vendor's library does.
// Kernels are CUDA C text in NAME.cu beside NAME.c: the build embeds it as gr_cu_NAME, and the
// device compiles it when a run starts. The device puts before each text:
//
//   ops/kernels/prelude.cu     bf16 and f16 storage, conversions, reductions of a warp and a block,
//                              Philox: what kernels share. No toolkit header is included anywhere.
//   #define IN0 float ...      the element types of operands and results: IN0, IN1, ..., OUT0, ...
//   the launch's own defines
//
// Every __global__ function takes, in this order: a pointer for each operand, a pointer for each
// result, `void *scratch` if the call has working memory, and the launch's numbers, each as
// `long long` (gr_gpu_int) or `double` (gr_gpu_real):
//
//   extern "C" __global__ void relu(const IN0 *x, OUT0 *y, long long n)
//
// An op's `gpu` is called when a plan is made, where only its working memory counts, and when a
// program is opened; never while it runs.
#pragma once
#include <stdarg.h>
#include "base/text.h"
#include "ir/op.h"

// A part of the call's memory: operand or result `index`, or its working memory.
typedef enum gr_gpu_space { GR_GPU_NOTHING, GR_GPU_IN, GR_GPU_OUT, GR_GPU_SCRATCH } gr_gpu_space;
typedef struct gr_gpu_ref {
  gr_gpu_space space;
  int index;
  size_t offset;  // bytes
} gr_gpu_ref;

typedef struct gr_gpu_number {
  bool real;
  int64_t i;
  double r;
} gr_gpu_number;

enum { GR_GPU_NUMBERS = 72, GR_GPU_LAUNCHES = 8 };
typedef struct gr_gpu_kernel {
  const char *source;   // CUDA C without the parts above; constant, or of the call's arena
  const char *defines;  // lines "#define NAME VALUE"; NULL: none
  const char *entry;    // the __global__ function
  int64_t blocks;       // the grid has one axis: at least 1, at most 2^31 - 1
  int threads;          // of a block: a multiple of 32, at most 1024
  size_t shared;        // bytes of dynamic shared memory
  bool cooperative;     // all blocks run at once, so that they may wait for each other,
  int64_t barriers;     // so often in one run: for predictions; and the bytes that a block
  int64_t reads;        // reads from its shared memory meanwhile
  int64_t waits;        // how often in one run the threads of its only block do, as a loop's
  bool warps;           // no warp waits for another
  bool of_part;         // launched before each part of the attention that follows it in the call:
                        // its last four numbers are a gr_gpu_attention_part, which the device sets
  size_t declared;      // bytes of shared memory that the text declares; 0: it is not known
  int n_numbers;
  gr_gpu_number number[GR_GPU_NUMBERS];
} gr_gpu_kernel;

// What a library does with a product as it writes it. cuBLASLt's gelu approximates by tanh, which
// is not the gelu of models here, so that only the vector is added before one.
// Of the first three each does what those before it do. The others write sums over k of an operand,
// as it is multiplied, beside the product: of op(a) [m], or of op(b) [n].
typedef enum gr_gpu_epilogue {
  GR_GPU_PLAIN,
  GR_GPU_BIAS,
  GR_GPU_BIAS_RELU,
  GR_GPU_SUMS_OF_A,
  GR_GPU_SUMS_OF_B
} gr_gpu_epilogue;

// c = op(a) op(b), each of `batch` times: row-major matrices, op(a) [m, k], op(b) [k, n], c [m, n],
// accumulated in f32 (f64 for f64). ta, tb: a is stored [k, m], b is stored [n, k].
typedef struct gr_gpu_gemm {
  gr_gpu_ref a, b, c, bias;  // bias: with an epilogue, the vector [n] that it adds, or the sums
  gr_dtype in, out;
  int64_t m, n, k, batch;
  int64_t lda, ldb, ldc;                 // elements from row to row, as stored
  int64_t stride_a, stride_b, stride_c;  // elements from matrix to matrix; 0: the same each time
  bool ta, tb;
  gr_gpu_epilogue epilogue;
} gr_gpu_gemm;

// A convolution over channels-last tensors: x [n, spatial..., c], w [out, kernel..., c / groups],
// and y or gradients. `what` says which of the three is made. Addresses are multiples of 16. A
// device that has no library for it asks for other launches (gr_gpu_call.layers).
typedef enum gr_gpu_conv_kind {
  GR_GPU_CONV,
  GR_GPU_CONV_GRAD_X,
  GR_GPU_CONV_GRAD_W
} gr_gpu_conv_kind;
typedef struct gr_gpu_conv {
  gr_gpu_conv_kind what;
  gr_gpu_ref x, w, y;
  gr_dtype dtype;
  int spatial;  // 1, 2 or 3
  int64_t n, c, out_c, groups;
  int64_t in[3], out[3], kernel[3], stride[3], pad[3], dilation[3];  // `spatial` of each
} gr_gpu_conv;

// A call of attention, or the gradients of its q, k and v: q [n, t, heads, d], k [n, s, heads, d],
// v [n, s, heads, e], y [n, t, heads, e], in f16 or bf16; d and e are multiples of 8, at most 256.
// lse, f32 [n, heads, t], may be absent. keys, i32 [n]: how many keys of each sample count, one or
// more; rows, i32 [n]: t for each sample. Gradients of the keys that do not count are undefined.
// mask, as q, where weights are dropped: 1 for those that are kept, else 0. The device computes the
// call in parts, some samples or heads of one, and `mask` is of the part at hand: a kernel writes
// it before (gr_gpu_kernel.of_part). A device without a library for attention asks for other
// launches, as with convolutions.
typedef enum gr_gpu_place {
  GR_GPU_Q,
  GR_GPU_K,
  GR_GPU_V,
  GR_GPU_Y,
  GR_GPU_LSE,
  GR_GPU_DY,
  GR_GPU_DQ,
  GR_GPU_DK,
  GR_GPU_DV,
  GR_GPU_ROWS,  // GR_GPU_NOTHING, as is GR_GPU_KEYS then: all keys of each sample count
  GR_GPU_KEYS,
  GR_GPU_DELTA,  // of gradients: working memory, f32 [n, heads, t]
  GR_GPU_MASK,   // GR_GPU_NOTHING, or where `room` begins
  GR_GPU_PLACES
} gr_gpu_place;
typedef struct gr_gpu_attention_part {
  int64_t sample, head, samples, heads;  // the first ones, and how many
} gr_gpu_attention_part;
typedef struct gr_gpu_attention {
  gr_gpu_ref arrays[GR_GPU_PLACES];
  gr_gpu_ref room;     // working memory for the library; GR_GPU_NOTHING: what the device has for it
  int64_t room_bytes;  // of that
  gr_dtype dtype;
  bool gradient, causal;
  int64_t n, t, s, heads, d, e;
  double scale, keep;  // keep: what weights are multiplied by that are not dropped; 1 without mask
} gr_gpu_attention;
// Working memory that a device has for a call of a library, whatever the plan says.
enum { GR_GPU_LIBRARY_BYTES = 32 << 20 };
// Elements from row to row of a mask of s keys.
int64_t gr_gpu_mask_pitch(int64_t s);
// Bytes of the mask of so many samples and heads of a call, in multiples of 256; 0: it has none.
int64_t gr_gpu_mask_bytes(const gr_gpu_attention *, int64_t samples, int64_t heads);
// What is kept at least while a library computes so many samples and heads of a call: the mask, and
// of gradients those of the scores, in tiles of 64 by 64.
int64_t gr_gpu_attention_bytes(const gr_gpu_attention *, int64_t samples, int64_t heads);

typedef struct gr_gpu_copy {  // nothing is done if both are one address: a result in place
  gr_gpu_ref target, source;  // source in GR_GPU_NOTHING: the target is set to zeros
  size_t bytes;
} gr_gpu_copy;

typedef enum gr_gpu_kind {
  GR_GPU_KERNEL,
  GR_GPU_GEMM,
  GR_GPU_CONVOLUTION,
  GR_GPU_ATTENTION,
  GR_GPU_COPY
} gr_gpu_kind;
typedef struct gr_gpu_launch {
  gr_gpu_kind kind;
  union {
    gr_gpu_kernel kernel;
    gr_gpu_gemm gemm;
    gr_gpu_conv conv;
    gr_gpu_attention attention;
    gr_gpu_copy copy;
  };
} gr_gpu_launch;

struct gr_gpu_call {
  const gr_op_call *call;
  // Layouts and this rank's coordinates, for ops whose results depend on the place in the global
  // value; its addresses are not set yet. NULL while a plan is made.
  const gr_launch *where;
  // Whether the device's library does the product with that epilogue. NULL while a plan is made: it
  // does. Describing must take the same working memory either way.
  bool (*takes)(void *device, const gr_gpu_gemm *);
  void *device;
  bool layers;      // a library may do GR_GPU_CONVOLUTION or GR_GPU_ATTENTION, one in a call
  int processors;   // streaming multiprocessors of the GPU; 0 while a plan is made, which takes
                    // the most working memory of all
  size_t shared;    // bytes of shared memory that a block can have there; 0 while a plan is made
  gr_arena *arena;  // for generated text; lives as long as the program
  size_t scratch;   // bytes of working memory that the launches need; it is 256-byte aligned
                    // (with an error: that a device may use to run the call in another way)
  int n;
  gr_gpu_launch *launch;  // GR_GPU_LAUNCHES of them
};

// Appends a launch of one of the call's kernels with a grid of enough threads for `items`, and of
// `threads` each; the source is that of the op. The pointer is valid until the next append.
gr_gpu_kernel *gr_gpu_kernel_add(gr_gpu_call *, const char *source, const char *entry,
                                 int64_t items, int threads);
// Appends an integer to the numbers that a kernel is launched with, which follow its addresses.
void gr_gpu_int(gr_gpu_kernel *, int64_t);
// Appends a floating-point number to them.
void gr_gpu_real(gr_gpu_kernel *, double);
// Appends the numbers of GR_GLOBAL (prelude.cu), which say where this rank's part of result k is in
// the global value.
void gr_gpu_global(const gr_gpu_call *, gr_gpu_kernel *, int k);
// The same for a value of type t that is placed as result 0.
void gr_gpu_global_of(const gr_gpu_call *, gr_gpu_kernel *, const gr_type *t);
// Appends "#define NAME VALUE"; the format is that of the value.
void gr_gpu_define(gr_gpu_call *, gr_gpu_kernel *, const char *name, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
// Appends the kernel that is generated for a scalar expression of x0, x1, ... and the numeric
// attributes by name: out[0][i] = formula(in[0][i], in[1][i], ...). Operands and result have equal
// shapes and may have different types; the result may take the memory of an operand of its type.
GR_MUST_USE gr_status gr_gpu_formula(gr_gpu_call *, const char *formula);
// Appends the kernel that is generated from the op's statements (ops/kernels/formula.h), if it has
// a formula for so many operands: GR_ERR_UNSUPPORTED otherwise.
GR_MUST_USE gr_status gr_gpu_statements(gr_gpu_call *);
size_t gr_gpu_statements_scratch(const gr_op_call *);  // the working memory that this asks for
// The type of elements in the text of a kernel: float, bf16, long long, ...
const char *gr_gpu_type(gr_dtype);
// Appends the attributes that a formula can name, as constants of the type W.
void gr_gpu_constants(gr_text *, const gr_op_call *);
// Appends a device function, `name`, that computes an element of an elementwise node from those of
// its operands; all are of the type W, which the text before it has.
void gr_gpu_function(gr_text *, const char *name, const gr_graph *, const gr_node *);
// Appends a product, which a library computes. The description is copied, also below.
void gr_gpu_gemm_add(gr_gpu_call *, const gr_gpu_gemm *);
// Appends a convolution that a library computes. gr_gpu_call.layers says whether there may be one.
void gr_gpu_conv_add(gr_gpu_call *, const gr_gpu_conv *);
// Appends attention that a library computes, likewise.
void gr_gpu_attention_add(gr_gpu_call *, const gr_gpu_attention *);
// Appends a copy of bytes within the call's memory; the two do not overlap.
void gr_gpu_copy_add(gr_gpu_call *, gr_gpu_ref target, gr_gpu_ref source, size_t bytes);

// Describes a call: by op->gpu, or by the op's formula, of an element, of several, or of a row's.
// GR_ERR_UNSUPPORTED if it has neither, in the words of gr_gpu_refuse.
GR_MUST_USE gr_status gr_gpu_describe(gr_gpu_call *);
// The error that the op has no kernel for operands of these types, with its place in the model; for
// an op's `gpu`, too.
GR_MUST_USE gr_status gr_gpu_refuse(const gr_op_call *);
// Whether a GPU can run the call, by kernels or by a library that may be there: the error is that
// of gr_gpu_describe. Of a loop that is no single kernel its body's nodes can nevertheless run.
GR_MUST_USE gr_status gr_gpu_check(const gr_op_call *);
// Bytes of working memory that a call needs: on a CPU what op->scratch says, on a GPU what op->gpu
// says, or 0 for what cannot run there. Collectives stage the same on both.
size_t gr_call_scratch(const gr_op_call *, bool gpu);
// Appends all the text that is compiled for a kernel of the call.
void gr_gpu_source(const gr_gpu_call *, const gr_gpu_kernel *, gr_text *out);
// Appends what of it follows the prelude.
void gr_gpu_own_source(const gr_gpu_call *, const gr_gpu_kernel *, gr_text *out);

// Threads of a block, and of a launch whose threads loop over elements: as many as keep any GPU
// busy.
enum { GR_GPU_BLOCK = 256, GR_GPU_ITEMS = 1 << 19 };
// Threads to launch for a loop over n elements.
static inline int64_t gr_gpu_items(int64_t n) { return n < GR_GPU_ITEMS ? n : GR_GPU_ITEMS; }
// Bytes of a number that kernels compute with: gr_wide<T>.
static inline size_t gr_gpu_wide(gr_dtype d) {
  return d == GR_F64 || d == GR_I32 || d == GR_I64 ? sizeof(double) : sizeof(float);
}

// The text of NAME.cu beside NAME.c: declared in the op's file, made by the build.
#define GR_CU(name) extern const char gr_cu_##name[]
