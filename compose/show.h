// show.h - what a composition was made of, for people: trees, lists, origins, differences, the
// files that a run keeps, completion.
#pragma once
#include "compose/composer.h"

void gr_show_defaults(gr_text *, const gr_composer *);  // a table: config, package, parent
void gr_show_tree(gr_text *, const gr_composer *);      // what includes what

// A key of the tree, or an error with the nearest one there is.
GR_MUST_USE gr_status gr_show_find(gr_arena *, gr_conf *job, const char *key, gr_conf **out);

// Every place that set a key, last first; of a mapping, the last place of each value below.
GR_MUST_USE gr_status gr_show_origin(gr_text *, gr_conf *job, const char *key);
// Lines "- key: value  (place)" and "+ key: value  (place)"; true when there are any.
bool gr_show_diff(gr_text *, const gr_conf *a, const gr_conf *b);

// The texts of .hydra/config.yaml, hydra.yaml and overrides.yaml, as Hydra reads them.
typedef struct gr_saved {
  const char *config, *hydra, *overrides;
} gr_saved;
gr_saved gr_show_saved(gr_arena *, const gr_composed *);

// What may stand where the word being typed is, one on a line: groups and their options, keys
// and their values. Never fails: what cannot be composed is left out.
void gr_show_completion(gr_text *, gr_arena *, const gr_compose_request *, const char *word);
// The same where a key alone is wanted, after `before`: "--explain=training.l". Without a path in
// the request only the schema's.
void gr_show_keys(gr_text *, gr_arena *, const gr_compose_request *, const char *before,
                  const char *word);
