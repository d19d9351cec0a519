// plan.h - what a rank runs: programs over shared states, and the address of every value. It is the
// compiler's last product and the only one that the runtime reads.
//
// A rank has two blocks of memory. `states` holds the states, which persist from step to step and
// have the same offset in every program. `arena` holds everything else, and every program reuses it
// from the start. Inputs, results, temporaries, working memory and the bodies of loops are all in
// one of the two: nothing is allocated after the plan has been opened. On GPUs there is a third:
// in `uploads` inputs have a second place, which is written while a program runs, whatever that
// program does in the arena. And with training.offload there is `host`, in pinned host memory,
// which kernels of the GPU read and write over the link: its states are as others, behind them in
// the numbering of offsets.
//
// Every rank has the same plan: offsets, sizes and the order of nodes do not depend on the rank. A
// plan is immutable, lives in one arena with all it points to, and is proved (prove.h) before it is
// opened, so the runtime relies on it without further checks.
#pragma once
#include "ir/op.h"

// Patterns of weights that hooks may freeze: there is a program for each combination.
enum { GR_MAX_FREEZABLE = 4 };

typedef struct gr_plan_state {
  const char *name;
  gr_kind kind;
  gr_type type;    // of one rank's slice, padding included
  gr_type global;  // of the whole tensor
  gr_layout layout;
  size_t offset, bytes;  // in the block of states; from gr_plan.state_bytes on in that of the host
  bool trained;          // a weight that some program updates
  bool host;             // it is in host memory (training.offload)
  const char *copies;    // the state that it starts as, also where weights are read; or NULL
} gr_plan_state;

enum { GR_PLAN_ALIGN = 64 };  // bytes, a cache line: every offset of a plan is a multiple

// How a carry of a scan is updated from one step to the next: chosen by carry.c, proved by
// prove_carry.c, and carried out by runtime/exec/loop.c.
typedef enum gr_carry_update {
  GR_CARRY_UNCHANGED,        // its next value is itself
  GR_CARRY_IN_STACK,         // its next value is a yield, which the next step reads from the stack
  GR_CARRY_IN_PLACE,         // its next value overwrites it, after its last read
  GR_CARRY_DOUBLE_BUFFERED,  // its next value has a buffer of its own; the two swap each step
  GR_CARRY_COPIED,           // its next value is copied over it when a step ends
  GR_CARRY_COUNT,
} gr_carry_update;
extern const char *const gr_carry_updates[GR_CARRY_COUNT];  // names, "double-buffered"

// The memory of one graph: a program's, or the body of a scan. The frame of a body describes one
// block inside the arena, which every step of the loop reuses. Only values that are computed and
// used within a step are in that block. Leaves of the body are read from the memory of the scan's
// operands, carries are in the memory of the scan's results, and a yield is written directly to its
// place in the stack (`stacked`).
typedef struct gr_plan_frame gr_plan_frame;
struct gr_plan_frame {
  const gr_graph *g;
  bool gpu;             // the working memory is what GPU kernels need, not CPU kernels
  uint64_t graph_hash;  // gr_graph_hash(g), with its bodies; 0 in a body, and of a draft
  // By node: how many nodes, from this one on, may run at once, because none reads or overwrites
  // what another of them writes; 1: it alone; 0: it is in the group of an earlier one. NULL in a
  // body.
  uint32_t *group_size;
  size_t *offset;          // by value, in bytes: into the arena, the states, or the body's block
  bool *in_states;         // by value: `offset` is into the block of states
  size_t *scratch;         // by node: offset of gr_call_scratch bytes, in the block of temporaries
  size_t *body_at;         // by node: offset of the body's block in this frame's
  gr_plan_frame **body;    // by node; NULL: it is not a scan
  int *stacked;            // of a body, by value: 1 + the yield in whose stack it is written, or 0
  int n_carry;             // of a body
  gr_carry_update *carry;  // n_carry of them
  uint32_t *state_of;      // by value: 1 + index into plan.states, or 0
  size_t *upload;          // by value: offset of an input (gr_plan_uploads) in the block of uploads
  size_t upload_bytes;     // of all of them
  size_t bytes;            // size of the arena or of the body's block
  size_t lower_bound;      // bytes live at the worst node: no assignment can need less
  uint32_t peak_node;      // that node
};

// What the compiler reports about a program; the runtime does not read it.
typedef struct gr_pass_note {
  const char *pass;
  uint32_t nodes, in_loops, collectives;  // counts after the pass; in_loops: in bodies
  double calls, bytes;  // kernels run by one run of the program, and what they read and write
} gr_pass_note;
enum { GR_MAX_PASSES = 32 };
// A part of the model that the backward pass computes again: what is not kept of it, and the
// operations for that; of all ranks, and without what loops keep.
typedef struct gr_recomputed {
  const char *path;
  double bytes, flops;
} gr_recomputed;
// A ctc_loss of the data's texts: how many frames the model leaves of a sample (alignment.h).
typedef struct gr_alignment {
  gr_loc loc;
  bool leaves_out;  // a text that does not fit them has no part in the loss; else it is infinite
  int32_t longest, room;  // frames of the longest samples, and of the logits
  int32_t *frames;        // [longest + 1], by the length of a sample
} gr_alignment;
// An embedding of parts of x (lookups.h): the rows of its table, and which columns of x it reads.
typedef struct gr_lookup {
  gr_loc loc;
  int64_t rows;
  int32_t *columns;  // n of them, ascending
  int n;
} gr_lookup;
enum { GR_MAX_ALIGNMENTS = 4, GR_MAX_LOOKUPS = 64 };
typedef struct gr_notes {
  gr_arena *arena;  // holds the notes: the graphs between passes are freed
  gr_pass_note passes[GR_MAX_PASSES];
  int n_passes;
  const char **unused;  // weights that the loss does not depend on
  uint32_t n_unused;
  const char **confined;  // weights that another optimizer would allow to be sharded further
  uint32_t n_confined;
  uint64_t precision_rules;  // those that match a node, one bit each
  const gr_node **dead;      // nodes on which no loss, result or state depends
  uint32_t n_dead;
  const gr_node **mixed;  // nodes that mix rows of the batch, and those that pad it (mixed_rows.h)
  uint32_t n_mixed;
  gr_alignment *aligned;  // n_aligned, at most GR_MAX_ALIGNMENTS, of a program that trains
  int n_aligned;
  gr_lookup *lookups;  // n_lookups, at most GR_MAX_LOOKUPS
  int n_lookups;
  gr_recomputed *recomputed;  // n_recomputed, in the order of options.memory.recomputed
  uint32_t n_recomputed;
} gr_notes;

typedef struct gr_program {
  const char *name;     // "init", "train.t300", "eval.t300", "rollout", "report"
  const char *kind;     // without the bucket; with micro-batches "train.micro" and "train.update"
  const char *bucket;   // "t300", or ""
  bool trains;          // it computes gradients
  unsigned frozen;      // bit i: the i-th pattern of training.freezable is frozen
  unsigned freezable;   // the same of the patterns that match weights that it trains
  int64_t minibatches;  // of a pass over the rows that it selects from; 0: it selects none
  int64_t minibatch_rows;
  gr_plan_frame frame;
  gr_notes notes;
} gr_program;

typedef struct gr_plan {
  gr_mesh mesh;
  gr_plan_state *states;
  uint32_t n_states;
  gr_program *programs;
  uint32_t n_programs;
  bool gpu;                         // made for GPUs: only the working memory of calls differs
  bool tf32;                        // made for GPUs, which compute products of f32 in TF32
  size_t state_bytes, arena_bytes;  // on one rank; the arena is as large as the largest program's
  size_t upload_bytes;              // of the block of uploads, for the largest program's; 0: none
  size_t host_bytes;                // of states in host memory; 0: there are none
  size_t reserved_bytes;            // that the device takes for itself, beside these blocks
  uint64_t hash;                    // of all of the above; ranks compare it before step 0
} gr_plan;

// Bytes of all blocks of the device on one rank.
static inline size_t gr_plan_bytes(const gr_plan *p) {
  return p->state_bytes + p->arena_bytes + p->upload_bytes;
}
// Where offsets of states end.
static inline size_t gr_plan_states_end(const gr_plan *p) { return p->state_bytes + p->host_bytes; }
// Whether a value is a state, or its next value, in host memory.
static inline bool gr_plan_in_host(const gr_plan *p, const gr_plan_frame *f, uint32_t v) {
  return f->in_states[v] && f->offset[v] >= p->state_bytes;
}
// Whether a value is an input that has a second place. Single numbers have none: they are known
// when their program is about to run, and take no time.
static inline bool gr_plan_uploads(const gr_plan_frame *f, uint32_t v) {
  return f->upload && f->g->values[v].role == GR_INPUT && f->g->values[v].type.rank;
}
// The program of a kind ("train", "eval") for a bucket; NULL: the plan has none.
const gr_program *gr_plan_find(const gr_plan *, const char *kind, const char *bucket);
// The kind of a program that trains, with what is frozen in it: "train.frozen(encoder.*)".
const char *gr_frozen_kind(gr_arena *, const char *name, const char *const *freezable, int n,
                           unsigned frozen);
// The number of parameters (elements of weights) of the whole model; *trained: of those that
// training updates.
int64_t gr_plan_parameters(const gr_plan *, int64_t *trained);
// The name of an axis of several ranks that no program has a collective over: these ranks do the
// same work, because nothing is split over them. NULL: there is none.
const char *gr_plan_idle_axis(const gr_plan *);

// In a model with a teacher: whether the name of a state, of a place in the model or of a metric is
// the teacher's: "teacher.PATH", or "teacher" (compiler/model/teacher.c).
bool gr_is_of_teacher(const char *name);
// The metrics that a training program has then: what its loss is mixed of.
#define GR_TEACHER_KL "teacher.kl"
#define GR_TEACHER_HARD_LOSS "teacher.hard_loss"
