// optimizer.h - the optimizer that a configuration asks for, and its hyper-parameters. Which
// optimizers there are and what they take say their ops (ops/optim/optim.h).
#pragma once
#include "compose/tree/conf.h"

// Makes training.optimizer take the names of the optimizers there are. Once, before any
// configuration is checked.
void gr_optimizer_register(void);

// The attributes of training.optimizer's op: their defaults, then what the keys of training that
// several optimizers share say (betas, eps, momentum, weight_decay), and then
// training.optimizer_params. Errors, all at once: names that it does not have, and values out of
// range. A shared key in a file that does not choose the optimizer may be there for another one:
// such keys are ignored, and *unread is a sentence that names them, or NULL. Both are in the arena.
GR_MUST_USE gr_status gr_optimizer_read(gr_arena *, gr_conf *root, const void **out,
                                        const char **unread);

void gr_optimizer_markdown(gr_text *);                      // for docs/config.md
void gr_optimizer_help(gr_text *, const char *key_prefix);  // for `graphrun config --help`
