// config_flags.c - see config_flags.h.
#include "cli/config_flags.h"

const gr_config_flag gr_config_flags[GR_CONFIG_FLAGS] = {
    {"--json", NULL, "as JSON: keys in order, floats stay floats",
     offsetof(gr_config_options, json)},
    {"--resolve", NULL, "with interpolations replaced by their values",
     offsetof(gr_config_options, resolve)},
    {"--raw", NULL, "composition alone: no schema, no defaults", offsetof(gr_config_options, raw)},
    {"--hydra", NULL, "the hydra node instead", offsetof(gr_config_options, hydra)},
    {"--package", "KEY", "only what is below KEY", offsetof(gr_config_options, package)},
    {"--explain", "KEY", "every place that set KEY, the last first",
     offsetof(gr_config_options, explain)},
    {"--defaults", NULL, "the files that take part, in order of merging",
     offsetof(gr_config_options, defaults)},
    {"--tree", NULL, "the files that take part, as a tree", offsetof(gr_config_options, tree)},
    {"--diff", "CONFIG", "what differs from another configuration",
     offsetof(gr_config_options, diff)},
    {"--schema", NULL, "the JSON Schema of configurations, for editors",
     offsetof(gr_config_options, schema)},
    {"--config-dir", "DIR", "searches another folder for configurations", 0},
    {"--multirun", NULL, "arguments may be sweeps (key=1,2); with --dry-run lists the runs",
     offsetof(gr_config_options, multirun)},
    {"--dry-run", NULL, "lists the runs of a sweep and composes each",
     offsetof(gr_config_options, dry_run)},
    {"--completion", "SHELL", "a script for bash, zsh or fish",
     offsetof(gr_config_options, completion)},
    {"--complete", "LINE", "what may come next on a command line",
     offsetof(gr_config_options, complete)},
    {"--help", NULL, "this; with a key or section, the keys that start so",
     offsetof(gr_config_options, help)},
    {"--markdown", NULL, "with --help: all keys as docs/config.md",
     offsetof(gr_config_options, markdown)},
};

bool gr_config_flag_at(int i, gr_flag *out) {
  if (i < GR_CONFIG_FLAGS) *out = (gr_flag){gr_config_flags[i].name, gr_config_flags[i].value};
  return i < GR_CONFIG_FLAGS;
}
