// optimizer.h - reads training.optimizer and its hyper-parameters. Which optimizers exist, and
// their hyper-parameters, is known from their ops (ops/optim/optim.h).
#pragma once
#include "compiler/options.h"
#include "compose/tree/conf.h"
#include "ir/op.h"

// Tells the schema the valid values of training.optimizer. Called once, before any configuration is
// checked.
void gr_optimizer_register(void);

// Sets the attributes of the optimizer's op: defaults, overridden by the keys that several
// optimizers share (training.betas, eps, momentum, weight_decay), overridden by
// training.optimizer_params. Unknown names and values out of range are reported together. A shared
// key in a file that does not choose the optimizer may be meant for another one: such keys are
// ignored, and `unread` is a sentence that names them, or NULL. Both are in the arena.
GR_MUST_USE gr_status gr_optimizer_read(gr_arena *, gr_conf *root, gr_optimizer_settings *);

// Sets the hyper-parameter `name` of an optimizer, or with "betas" and a list two of them, in attr.
// *known: the optimizer has it.
GR_MUST_USE gr_status gr_optimizer_set(gr_arena *, const gr_op *, const char *name, gr_conf *value,
                                       void *attr, bool *known);

void gr_optimizer_markdown(gr_text *);                      // for docs/config.md
void gr_optimizer_help(gr_text *, const char *key_prefix);  // for `graphrun config --help`
