// choices.h - which option of a group was chosen, overridden or deleted, and by whom: the part
// of defaults lists that remembers. Internal to defaults.c.
#pragma once
#include "compose/hydra/defaults.h"

GR_MUST_USE gr_status gr_choices_from_arguments(gr_defaults *, const gr_override *, int n);
// An "override" entry of a list; the first registration of a key wins.
void gr_choices_override(gr_defaults *, const char *config, const gr_default *);
// Gives the entry the option that overrides it, if any.
void gr_choices_apply(gr_defaults *, gr_default *);
bool gr_choices_deleted(gr_defaults *, const gr_default *);
// Remembers the option; an error when the group has another one already.
GR_MUST_USE gr_status gr_choices_record(gr_defaults *, const gr_default *);

// What interpolations in a list may see, and the entry with its value put in.
gr_conf *gr_choices_known(gr_defaults *, gr_default *const *list, int n, bool self_added);
GR_MUST_USE gr_status gr_choices_resolve(gr_defaults *, gr_default *, gr_conf *known);

GR_MUST_USE gr_status gr_choices_missing(gr_defaults *, const gr_default_node *);
GR_MUST_USE gr_status gr_choices_not_found(gr_defaults *, const gr_default_node *);
GR_MUST_USE gr_status gr_choices_all_used(const gr_defaults *);
