// config_flags.c - the table of options of `graphrun config`. See config_flags.h.
#include "cli/config_flags.h"

const gr_config_flag gr_config_flags[GR_CONFIG_FLAGS] = {
    {"--json", NULL, "as JSON: keys in order, floats stay floats",
     offsetof(gr_config_options, json)},
    {"--resolve", NULL, "with interpolations replaced by their values",
     offsetof(gr_config_options, resolve)},
    {"--raw", NULL, "composition alone: no schema, no defaults", offsetof(gr_config_options, raw)},
    {"--hydra", NULL, "the hydra node instead", offsetof(gr_config_options, hydra)},
    {"--package", "KEY", "only the part below KEY", offsetof(gr_config_options, package)},
    {"--explain", "KEY", "every location that sets KEY, the last first",
     offsetof(gr_config_options, explain)},
    {"--defaults", NULL, "the files of the configuration, in merge order",
     offsetof(gr_config_options, defaults)},
    {"--tree", NULL, "the files of the configuration, as a tree",
     offsetof(gr_config_options, tree)},
    {"--diff", "CONFIG", "what differs from another configuration",
     offsetof(gr_config_options, diff)},
    {"--schema", NULL, "the JSON Schema of configurations, for editors",
     offsetof(gr_config_options, schema)},
    {"--config-dir", "DIR", "searches another folder for configurations", 0},
    {"--config-name", "NAME", "the configuration NAME.yaml, as with Hydra",
     offsetof(gr_config_options, config_name)},
    {"--config-path", "DIR", "of --config-name: the folder that has it",
     offsetof(gr_config_options, config_path)},
    {"--cfg", "PART", "job, as without it; hydra: the hydra node; all: both",
     offsetof(gr_config_options, cfg)},
    {"--multirun", NULL, "arguments may be sweeps (key=1,2); with --dry-run lists the runs",
     offsetof(gr_config_options, multirun)},
    {"--dry-run", NULL, "lists the runs of a sweep and composes each",
     offsetof(gr_config_options, dry_run)},
    {"--completion", "SHELL", "a script for bash, zsh or fish",
     offsetof(gr_config_options, completion)},
    {"--complete", "LINE", "candidates for the last word of a command line",
     offsetof(gr_config_options, complete)},
    {"--help", NULL, "this help; with a key or section, the keys that start with it",
     offsetof(gr_config_options, help)},
    {"--markdown", NULL, "with --help: all keys as docs/config.md",
     offsetof(gr_config_options, markdown)},
};

bool gr_config_flag_at(int i, gr_flag *out) {
  if (i < GR_CONFIG_FLAGS) {
    const gr_config_flag *f = &gr_config_flags[i];
    *out = (gr_flag){f->name, f->value, f->doc};
  }
  return i < GR_CONFIG_FLAGS;
}
