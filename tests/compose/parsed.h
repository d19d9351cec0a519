// parsed.h - what the override grammar makes of a text, in the form of parse.jsonl: floats as
// {"$float"}, quoted texts {"$quoted"}, mappings {"$map"}, sweeps {"$choice"}, ...
#pragma once
#include "compose/tree/conf.h"

// rule: "override", "key", "package...", or any that is a value's; "refer": an interpolation in the
// tree of record.py, resolved; "yaml": a document, as [its tree, it written as YAML again].
GR_MUST_USE gr_status parsed_rule(gr_arena *, const char *rule, const char *text, gr_conf **out);

void put_text(gr_arena *, gr_conf *map, const char *key, const char *value);  // NULL: null
// Puts a truth value into a mapping, which takes a key once.
void put_bool(gr_arena *, gr_conf *map, const char *key, bool value);
