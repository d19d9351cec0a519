// parts.h - reads keys that are more than one value, and derives settings from them, each for one
// part of the program. settings.c calls most of these. Errors are GR_ERR_CONFIG at the value's
// place, and what is made is in the arena.
#pragma once
#include "compiler/model/model.h"
#include "compose/tree/conf.h"
#include "runtime/train/spec.h"

struct gr_job;  // job.h

// ---- texts.c

// Appends a string or the strings of a list, as the schema has found it, to a list in the arena.
void gr_texts_add(gr_arena *, const gr_conf *, gr_texts *);

// ---- optimizer.c: which optimizers exist, and their hyper-parameters, is known from their ops
// (ops/optim/optim.h)

// Tells the schema the valid values of training.optimizer. Called once, before any configuration is
// checked.
void gr_optimizer_register(void);
// Sets the attributes of the optimizer's op: defaults, overridden by the keys that several
// optimizers share (training.betas, eps, momentum, weight_decay), overridden by
// training.optimizer_params. Unknown names and values out of range are reported together. A shared
// key in a file that does not choose the optimizer may be meant for another one: such keys are
// ignored, and `unread` is a sentence that names them, or NULL.
GR_MUST_USE gr_status gr_optimizer_read(gr_arena *, gr_conf *root, gr_optimizer_settings *);
// Sets the hyper-parameter `name` of an optimizer, or with "betas" and a list two of them, in attr.
// *known: the optimizer has it.
GR_MUST_USE gr_status gr_optimizer_set(gr_arena *, const gr_op *, const char *name, gr_conf *value,
                                       void *attr, bool *known);
void gr_optimizer_markdown(gr_text *);                      // for docs/config.md
void gr_optimizer_help(gr_text *, const char *key_prefix);  // for `graphrun config --help`

// ---- batch.c: training.batch_size

// Reads it where it is a mapping: sets most_bytes or most_length.
GR_MUST_USE gr_status gr_batch_read(gr_conf *root, gr_settings *);
// Sets the batch of each bucket then, once the contract is there: what is chosen (spec->batches),
// what has room in most_length, or for most_bytes, before that is searched, the least.
GR_MUST_USE gr_status gr_batch_take(gr_arena *, gr_run_spec *);
// Fails if the smallest batch has fewer samples than there are data-parallel ranks (0: not known),
// or a rank fewer of it than micro-steps.
GR_MUST_USE gr_status gr_batch_check(const gr_run_spec *, int64_t ranks);
// The samples of a batch with micro-steps of the k-th size, as training.batch_is counts them.
int64_t gr_batch_at(const gr_run_spec *, int bucket, int64_t k);
int64_t gr_batch_last(const gr_run_spec *, int bucket);  // the k that has room for all samples
// GR_ERR_CONFIG at the key: "training.batch_size by bucket WHY".
GR_MUST_USE gr_status gr_batch_refuse(const gr_run_spec *, const char *why, const char *hint);
// What a rank allocates for the programs of a bucket, after gr_job_plan.
double gr_batch_bytes(const struct gr_job *, const char *bucket);
// Reads a number of bytes, as in 24GiB. GR_ERR_CONFIG with the name of the key.
GR_MUST_USE gr_status gr_size_read(const gr_conf *, const char *key, double *out);

// ---- groups.c: training.groups and training.decay_biases_and_norms

// Sets groups and attr_1d, after the optimizer is read. lr: training.lr.
GR_MUST_USE gr_status gr_groups_read(gr_arena *, gr_conf *root, double lr, gr_optimizer_settings *);
// Prints a line for each group, and one for the other weights; nothing if all are updated alike.
void gr_groups_print(FILE *, const gr_optimizer_settings *, const gr_plan *);

// ---- lora.c: model.lora

// Reads the adapters, and which weights are trained then.
GR_MUST_USE gr_status gr_lora_read(gr_arena *, gr_conf *root, gr_optimizer_settings *);

// ---- teacher.c: model.teacher

// Reads where the teacher's weights are, and keeps them from being trained. A teacher without
// weights, or without values that are compared, is an error.
GR_MUST_USE gr_status gr_teacher_read(gr_arena *, gr_conf *root, gr_settings *);
// What the model's builder is asked for; params: those of the teacher. *out NULL: there is none.
GR_MUST_USE gr_status gr_teacher_open(gr_arena *, gr_conf *root, const gr_settings *,
                                      gr_model_teacher **out);

// ---- generation.c

// Puts what `generation:` sets, and the tokens of --tokens (0: not given), among the values of the
// parameters that the model's file has. A key that it has no parameter for is an error.
GR_MUST_USE gr_status gr_generation_bind(gr_arena *, gr_conf *root, gr_conf *graph, int64_t tokens,
                                         gr_conf *params);

// ---- precision.c

// Reads training.precision_rules.
GR_MUST_USE gr_status gr_precision_read(gr_arena *, gr_conf *root, gr_precision_settings *);
// Derives the dtypes, once the device is known, and where anything is fp16 the loss scale.
void gr_precision_derive(gr_arena *, gr_conf *root, bool gpu, gr_precision_settings *);
// Whether anything is computed in fp16; known without the device.
bool gr_precision_is_fp16(const gr_precision_settings *);

// ---- sharding.c: distributed.mesh, .strategy, .layout and .fsdp

// Derives the mesh, the batch axes, and the rules of layout. ranks: their number; 0: not known yet.
// enabled: distributed.enabled. Fails if mesh, strategy and number of ranks contradict each other.
GR_MUST_USE gr_status gr_sharding_read(gr_arena *, gr_conf *root, bool enabled, int ranks,
                                       gr_sharding_settings *);

// ---- init_from.c

// Reads the entries of model.init_from or model.teacher.init_from, the key, or the one of a path.
// What patterns match is checked when the weights are loaded.
GR_MUST_USE gr_status gr_init_from_read(gr_arena *, gr_conf *root, const char *key,
                                        gr_init_entry **, int *n);

// ---- other_names.c

// Reads logging.tags and logging.results, further names under which a run writes values.
GR_MUST_USE gr_status gr_other_names_read(gr_arena *, gr_conf *root, gr_outputs_settings *);

// ---- rungs.c

// Reads training.stop_unless, which needs evaluations at the ends of epochs, or a metric of a pass.
GR_MUST_USE gr_status gr_rungs_read(gr_arena *, gr_conf *root, gr_loop_settings *);

// ---- text_metrics.c

// Reads training.text_metrics, with the file of training.spelling.
GR_MUST_USE gr_status gr_text_metrics_read(gr_arena *, gr_conf *root, gr_loop_settings *);

// ---- lookups.c

// Once the plan is made: that what its model looks up in tables is in them. GR_ERR_CONFIG,
// GR_ERR_DATA.
GR_MUST_USE gr_status gr_lookups_check(gr_arena *, const gr_run_spec *);

// ---- phases.c: loop:, and the programs of a run

// Finds the programs that the run needs, and reads its loop: sets programs, n_programs, loop and
// looped of the spec; *out are the same programs for the compiler.
GR_MUST_USE gr_status gr_phases_read(gr_arena *, gr_conf *graph, gr_run_spec *,
                                     const gr_model_program **out);
// Once the plan is made: counts how often each phase runs. Fails where a phase goes over
// minibatches or data that its programs do not have.
GR_MUST_USE gr_status gr_phases_count(gr_run_spec *);
