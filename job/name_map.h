// name_map.h - a file of names: what another program calls the weights of a model.
//
//   names: [{"THEIRS.*": "OURS.*"}, {UNUSED: null}]     as `rename` of model.init_from
//   config: {KEY: VALUE}    its config.json, in which ${model.params.NAME}, ${data.NAME} and
//                           ${weights.NAME[AXIS]} are a run's
#pragma once
#include "compose/tree/conf.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/train/settings.h"

typedef struct gr_name_map {
  gr_pattern *items;  // n, the first that matches decides
  int n;
  gr_conf *config;  // NULL: there is none
} gr_name_map;

// Reads a file of names. GR_ERR_CONFIG at the place of what is wrong. All in the arena.
GR_MUST_USE gr_status gr_name_map_read(gr_arena *, const char *path, gr_name_map *out);
// Reads a list of mappings from names to others, to lists of them, or to null; errors call it
// `what`.
GR_MUST_USE gr_status gr_name_map_read_list(gr_arena *, const gr_conf *list, const char *what,
                                            gr_pattern **out, int *n);
// The text of config.json for a checkpoint of the run in the folder `run`, by the file's `config:`.
// model.params are those of the run and of its model's file, and data what its data.json has. In
// the arena.
GR_MUST_USE gr_status gr_name_map_config(gr_arena *, const gr_name_map *, const char *run,
                                         const gr_checkpoint *, gr_text *out);
