// scan_block.h - what the files share that write the kernel of a loop in one block, or one for each
// part of the rows: scan_block.c
// describes the body and decides, scan_block_places.c divides the memory, scan_block_text.c writes
// the text.
#pragma once
#include "base/text.h"
#include "ops/kernels/gpu.h"
#include "ops/loop/scan.h"
#include "ops/ops.h"

enum { GR_BLOCK_THREADS = 256 };

// A loop of the kernel: the op's own, or one in the body of another.
typedef struct gr_block_frame gr_block_frame;
struct gr_block_frame {
  const gr_scan *s;
  const gr_graph *g;    // its body
  int depth;            // of loops around it; of which number its variables are
  gr_op_call *node;     // by node of the body
  gr_gpu_call *call;    // by node: described; nothing is launched for a loop
  gr_block_frame **in;  // by node: the loop that it is, or NULL
  int *level;           // by node: of its first launch; of one level are those that need not wait
  int levels;
  const char **address;          // by value: the C text of its address in a step
  const char **in_at, **out_at;  // by operand and result: the address of all steps
  bool *read;                    // by value: something reads it
  bool *last_read;               // by carry: something reads its last value
  // Times, of which one ends where the block's threads wait: when the loop begins and has ended;
  // by level: the first and the last of it, after the loops in it.
  int begin, end, *first, *last;
  int *home;  // by value: 1 + its own place, or of a carry's next value that of two; 0: none
  int *work;  // by node: the same of its working memory
};

// A part of the memory of a block, from one time to another.
typedef struct gr_block_place {
  size_t bytes;
  int first, last, order;  // order: of the text
  size_t memory, shared;   // offsets: in working memory, and 1 + that in shared memory, or 0
} gr_block_place;

// The functions that kernels of the body have become, each in a namespace.
typedef struct gr_block_function {
  const char *text;
  int threads;
  int called;  // the number of the level, over all, in which it was called last
} gr_block_function;
enum { GR_BLOCK_FUNCTIONS = 256 };

typedef struct gr_block_writer {
  gr_gpu_call *c;
  gr_arena *arena;
  gr_block_frame *frame;
  // Blocks, each of which has a part of the rows, and of which axis of a value of the body; NULL:
  // one block has all.
  int64_t parts;
  gr_axis_placement *lay;
  gr_text functions, text;
  gr_block_function function[GR_BLOCK_FUNCTIONS];
  int n_functions, level;  // level: the number of levels that are written
  // Bytes: of shared memory for values, used and at most, and what kernels declare beside it; of
  // working memory, if it has all places; of the zeros with which carries begin.
  size_t shared, most_shared, declared, scratch, zeros;
  gr_block_place *place;  // the first: of the zeros, if there are some
  int n_places, cap_places;
  size_t *sums;  // by carry that adds up something of all rows: 1 + where a block's sum is, in
                 // bytes of its working memory, or 0
  // Of all steps: launches that there would be, waits of the block's threads, and bytes that they
  // read.
  double launches, waits, reads;
  int calls;        // in the text
  const char *why;  // it is no kernel
} gr_block_writer;

// Describes a loop as a kernel of blocks that do not wait for each other, with the loop's working
// memory in `scratch` so far: GR_ERR_UNSUPPORTED with the reason if it is none.
GR_MUST_USE gr_status gr_scan_block(gr_gpu_call *);
// The bytes that the threads of one block would read to run a node of a graph; less than 0: they
// cannot. launches: how many it has by itself that are no copies.
double gr_scan_block_reads(gr_arena *, const gr_graph *, const gr_node *, int *launches);
// The yield that a value of the body is; -1: none.
int gr_block_yield_of(const gr_block_frame *, gr_val);
// Whether a value of the body is the next one of a carry.
bool gr_block_is_next(const gr_block_frame *, gr_val);
// The carry to whose last value a loop of one step writes its next one; -1: it has a place.
int gr_block_written_at_once(const gr_block_frame *, gr_val);
// Finds a place for each value that is written, and for the working memory of nodes.
void gr_block_find_places(gr_block_writer *);
// Writes the kernel, "loop", from the described frames.
void gr_block_write_kernel(gr_block_writer *);
// Adds the kernel that adds up what each block has left of a carry's sum, if there is one.
void gr_block_add_sums(gr_block_writer *);
