// show.h - shows how a configuration was composed: defaults tree and list, origins of values,
// differences, the files that a run saves, and completion.
#pragma once
#include "compose/composer.h"

void gr_show_defaults(gr_text *, const gr_composer *);  // a table: config, package, parent
void gr_show_tree(gr_text *, const gr_composer *);      // what includes what

// Finds a key in the tree; GR_ERR_USAGE with the most similar key when there is none.
GR_MUST_USE gr_status gr_show_find(gr_arena *, gr_conf *job, const char *key, gr_conf **out);

// Lists every location that set a key, last first; for a mapping, the last location of each value
// in it. Fails as gr_show_find does.
GR_MUST_USE gr_status gr_show_origin(gr_text *, gr_conf *job, const char *key);
// Writes lines "- key: value  (location)" and "+ key: value  (location)"; false: there is no
// difference.
bool gr_show_diff(gr_text *, const gr_conf *a, const gr_conf *b);

// The contents of .hydra/config.yaml, hydra.yaml and overrides.yaml, in Hydra's format, in the
// arena.
typedef struct gr_saved {
  const char *config, *hydra, *overrides;
} gr_saved;
gr_saved gr_show_saved(gr_arena *, const gr_composed *);  // everything in the arena

// Shell completion of an override: writes the candidates for `word`, one per line: groups and their
// options, keys and their values. Never fails: what cannot be composed is left out.
void gr_show_completion(gr_text *, gr_arena *, const gr_compose_request *, const char *word);
// Completion of a key after the prefix `before` ("--explain=training.l"). Without a path in the
// request only keys of the schema are offered.
void gr_show_keys(gr_text *, gr_arena *, const gr_compose_request *, const char *before,
                  const char *word);
