// other_names.h - further names under which values are written, such as those that the tools of a
// team expect.
#pragma once
#include "base/text.h"

// Of event files: a tag, and the tag of the value that is written under it, too. Of
// training_results.json: a member, and what has its value (gr_other_names_put).
typedef struct gr_other_name {
  const char *name, *of;
} gr_other_name;

typedef struct gr_other_names {
  const gr_other_name *items;
  int n;
} gr_other_names;

// Appends members to `json`, an object that lacks its closing brace. `of` is another member;
// metrics.NAME, tables.NAME; history.NAME, the list of a value of all rows; config.KEY. A value
// that is not there is null. Returns the first such `of` whose like there are, so that it may be
// misspelt; or NULL.
const char *gr_other_names_put(gr_arena *, const gr_other_names *, gr_text *json);
