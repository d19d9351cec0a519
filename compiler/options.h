// options.h - what passes read: the settings of the compiler's parts, which are the fields of their
// rows in compose/schema/schema.def and what is derived from these, and what holds for one program.
//
// The job (job/settings.h) reads the keys and derives the rest, once; a pass reads the field where
// it uses it. `grep '(optimizer,' compose/schema/schema.def` lists the fields of a part.
#pragma once
#include <stdio.h>
#include "compiler/plan/plan.h"
#include "compose/schema/fields.h"
#include "ops/ops.h"

// ---- The batch ---------------------------------------------------------------------------------

typedef struct gr_batch_settings {
#define GR_PART batch
#include "compose/schema/fields.def"
  // Derived from them and the number of ranks.
  int global;         // rows of the batch over all ranks
  int rows;           // of a rank in a micro-batch
  int micro_batches;  // of a step; 0 or 1: the step is one program
  // Where training.batch_size is by bucket; of all else these are 0 and NULL.
  double most_bytes;     // its `memory`
  int64_t most_length;   // its `total_length`
  const int *global_of;  // by bucket, once the data are known; `global` is then the mean of steps
  const int *rows_of;    // by bucket; `rows` is then the least
  const int *micro_of;   // by bucket: rows of a micro-batch over all ranks
} gr_batch_settings;

// A rank's rows in a micro-batch of a bucket.
static inline int gr_rows_of(const gr_batch_settings *s, int bucket) {
  return s->rows_of ? s->rows_of[bucket] : s->rows;
}

// ---- The update of weights ---------------------------------------------------------------------

// A group of weights with an update of its own: those whose name matches a shell pattern, and that
// of no earlier group.
typedef struct gr_param_group {
  const char *pattern;
  const char *optimizer;  // the name of its op
  const void *attr;       // the op's attributes; NULL: their defaults
  const void *attr_1d;    // those for weights of at most one dimension; NULL: the same
  double lr;              // factor on the learning rate
  double clip;  // largest norm of the group's gradients, 0: any; < 0: clipped with the others
  gr_loc loc;
} gr_param_group;

// Low-rank adapters of the linear layers whose paths match (model.lora; compiler/model/adapter.c).
typedef struct gr_adapter {
  const char *name;  // in the names of its weights, PATH.NAME.lora_A.weight; "": PATH.lora_A.weight
  gr_texts match;    // patterns of paths of layers
  int64_t rank;
  double alpha, dropout;  // alpha / rank multiplies what it adds
  gr_loc loc;
} gr_adapter;
enum { GR_MAX_ADAPTERS = 16 };
bool gr_is_adapter_weight(const char *name);  // of any adapter, by its name

typedef struct gr_optimizer_settings {
#define GR_PART optimizer
#include "compose/schema/fields.def"
  // Derived from training.optimizer_params, .groups and the keys of single hyper-parameters.
  const void *attr;              // the op's attributes; NULL: their defaults
  const void *attr_1d;           // for weights of at most one dimension; NULL: the same
  const gr_param_group *groups;  // n_groups; the other weights are updated as said above
  int n_groups;
  const char *unread;  // which keys are for other optimizers, as a sentence; or NULL
  // Derived from model.lora.
  const gr_adapter *adapters;  // n_adapters
  int n_adapters;
  gr_texts only;  // patterns of names: no other weight is trained; none: all may be
} gr_optimizer_settings;

// ---- Precision ---------------------------------------------------------------------------------

// A rule of mixed precision: the dtype in which a node computes whose place in the model, place and
// op, or weight matches a shell pattern. The last rule that matches overrides the op's class.
typedef struct gr_precision_rule {
  const char *pattern;
  gr_dtype dtype;
  gr_loc loc;
} gr_precision_rule;
enum { GR_MAX_PRECISION_RULES = 64 };

typedef struct gr_precision_settings {
#define GR_PART precision
#include "compose/schema/fields.def"
  // Derived from them, from training.precision_rules, and from the device.
  gr_dtype dtype;          // of matmuls: GR_F32, GR_BF16 or GR_F16
  gr_dtype teacher_dtype;  // of those of the teacher
  gr_dtype sent;           // in which ranks send the terms of gradients; they are added in f32
  bool tf32;               // gr_plan.tf32
  const gr_precision_rule *rules;  // n_rules
  int n_rules;
  const gr_loss_scale *loss_scale;  // of f16; NULL: the loss is not scaled
} gr_precision_settings;

// ---- Sharding ----------------------------------------------------------------------------------

// A layout rule: the placement, on one mesh axis, of weights whose name matches a shell pattern. A
// dimension that the ranks do not divide is an error if the user gave the rule, and is replicated
// if a strategy did. GR_ANY_DIM chooses the dimension that leaves a rank the fewest bytes, padded
// if necessary.
enum { GR_ANY_DIM = -3 };
typedef struct gr_layout_rule {
  const char *pattern, *axis;
  gr_axis_placement placement;
  bool given;  // by the user: must be possible, and overrides the strategy's rules
  gr_loc loc;  // of a given rule
} gr_layout_rule;

// A shell pattern of FSDP units (a wrapping policy): it matches a block's name, the path of a part
// of the model, or a weight's name. Or a name that the model's file gives to one (`parts:`).
typedef struct gr_wrap {
  const char *pattern;
  gr_loc loc;
} gr_wrap;

// When the backward pass gathers the weights of the next unit (FSDP's backward_prefetch): at their
// first use; before the gradients of the current unit are computed; or after that, before these
// are reduce-scattered.
typedef enum gr_prefetch { GR_PREFETCH_NONE, GR_PREFETCH_PRE, GR_PREFETCH_POST } gr_prefetch;

typedef struct gr_sharding_settings {
#define GR_PART sharding
#include "compose/schema/fields.def"
  // Derived from them, from distributed.mesh, .layout and .fsdp.wrap, and the number of ranks.
  gr_mesh mesh;
  const char *batch_axis[GR_MAX_MESH];  // mesh axes over which the batch is sharded, up to NULL
  int ranks;                            // product of the axis sizes; 0: not known yet
  int data_ranks;   // product over the batch axes: the number of parts of a batch; or 0
  int shards_each;  // virtual shards of a rank (training.numerics=canonical); 0: there are none
  const char *zero_axis;  // mesh axis that optimizer states are sharded over, or NULL
  bool scatter;  // gradients are reduce-scattered to that layout in every micro-step (ZeRO-2)
  const gr_layout_rule *rules;  // of distributed.layout, then of the strategy
  int n_rules, n_given;         // the first n_given are from distributed.layout
  const gr_wrap *wrap;          // n_wrap patterns of FSDP units; NULL: the iterations of repeat:
  int n_wrap;
  gr_prefetch prefetch;
  // Derived by the compiler, from the model's weights (wrap.h).
  size_t replicate_below;  // bytes; smaller weights are sharded only by rules with a dimension
  const gr_map *units;     // paths of FSDP units; NULL: there are none
} gr_sharding_settings;

// The parts that a batch is cut into.
static inline int gr_batch_parts(const gr_sharding_settings *s) {
  return s->data_ranks * (s->shards_each ? s->shards_each : 1);
}

// ---- Memory ------------------------------------------------------------------------------------

// Words in training.recompute that are no patterns.
enum { GR_RECOMPUTE_ELEMENTWISE, GR_RECOMPUTE_SCAN, GR_RECOMPUTE_WORDS };
extern const char *const gr_recompute_words[GR_RECOMPUTE_WORDS];

typedef struct gr_memory_settings {
#define GR_PART memory
#include "compose/schema/fields.def"
  // Derived by the compiler, from the model's parts (wrap.h).
  const gr_map *recomputed;  // paths of parts whose values are computed again; NULL: nothing is
  bool given[GR_RECOMPUTE_WORDS];  // in training.recompute; `recomputed` is then not NULL
} gr_memory_settings;

// ---- A program ---------------------------------------------------------------------------------

// Which part of a training step a program is. With several micro-batches a step is two programs.
typedef enum gr_step_phase {
  GR_PHASE_WHOLE_STEP,
  GR_PHASE_MICRO_BATCH,
  GR_PHASE_UPDATE
} gr_step_phase;

// What a program does with the averages of weights (training.ema_decay).
typedef enum gr_ema_use {
  GR_EMA_NONE,
  GR_EMA_UPDATE,  // lets them follow the weights that it trains
  GR_EMA_READ,    // reads them in place of these weights
  GR_EMA_BEGIN    // sets them to these weights
} gr_ema_use;

// Set by compile.c, which compiles a plan's programs one by one.
typedef struct gr_program_options {
  gr_step_phase phase;
  gr_ema_use ema;              // of the weights of `trained`
  unsigned frozen;             // bit i says that pattern i of training.freezable is frozen
  const char *const *trained;  // n_trained patterns of those that the program trains; none: all
  int n_trained;
  const char *step;  // the name of the counter of the program's updates; NULL: "step"
} gr_program_options;

// What is printed or left out, from the command line and by tests.
typedef struct gr_debug_options {
  const char *dump, *stop_after;  // a pass's name, or NULL; "all" dumps each
  FILE *dump_to;
  const char *const *without;  // n_without passes to leave out
  int n_without;
  size_t coalesce_bytes;  // limit of a coalesced collective; 0: the pass's default
  bool counts;            // gr_notes.passes are filled
  bool draft;             // gr_plan_request.draft
} gr_debug_options;

typedef struct gr_options {
  gr_batch_settings batch;
  gr_optimizer_settings optimizer;
  gr_precision_settings precision;
  gr_sharding_settings sharding;
  gr_memory_settings memory;
  gr_program_options program;
  gr_debug_options debug;
  bool gpu;         // the plan is for GPUs (gr_plan.gpu)
  size_t reserved;  // gr_plan.reserved_bytes
  gr_notes *notes;  // filled by gr_compile; or NULL
} gr_options;
