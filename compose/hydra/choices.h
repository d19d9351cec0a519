// choices.h - the chosen, overridden and deleted options of groups while defaults lists are
// expanded. Internal to walk.c.
#pragma once
#include "compose/hydra/defaults.h"

// Takes the arguments that concern groups (group=option, +group=option, ~group) and sorts the
// others into d->values.
GR_MUST_USE gr_status gr_choices_from_arguments(gr_defaults *, const gr_override *, int n);
// Registers an "override" entry of a defaults list; the first registration of a key wins.
void gr_choices_override(gr_defaults *, const char *config, const gr_default *);
// Replaces the entry's option by the one that overrides it, if any.
void gr_choices_apply(gr_defaults *, gr_default *);
bool gr_choices_deleted(gr_defaults *, const gr_default *);  // whether ~group deletes the entry
// Records the entry's option; an error when the group has a different one already.
GR_MUST_USE gr_status gr_choices_record(gr_defaults *, const gr_default *, bool there);

// The choices that interpolations in a defaults list may refer to, as a map; gr_choices_resolve
// replaces the interpolation in an entry by its value.
gr_conf *gr_choices_known(gr_defaults *, gr_default *const *list, int n, bool self_added);
// An error if it is no text.
GR_MUST_USE gr_status gr_choices_resolve(gr_defaults *, gr_default *, gr_conf *known);

// Errors, with the include chain and the options that exist: for an entry whose option is ???, for
// one whose config does not exist, and for overrides that matched no entry (GR_OK: all did).
GR_MUST_USE gr_status gr_choices_missing(gr_defaults *, const gr_default_node *);
// Its config does not exist.
GR_MUST_USE gr_status gr_choices_not_found(gr_defaults *, const gr_default_node *);
GR_MUST_USE gr_status gr_choices_all_used(const gr_defaults *);  // of all overrides
