// paths.h - resolves the paths of input files in a configuration.
//
// A relative path is searched in the current folder, then in the folder of the configuration file
// that names it, then in the folders above that: configs/a.yaml and configs/b/c.yaml may name
// graphs/d.yaml and can be used from any folder. Output paths (output.dir, checkpoint.dir) are
// relative to the current folder.
#pragma once
#include "job/kept.h"

// Replaces the value of each key that names an input file by the path that was found. A file that
// is not found is an error at the value's location, with the code of the key's area (GR_ERR_DATA,
// ...). kept: the configuration is a run's, whose files are where that run found them; or NULL.
// planned: data and weights need not be there.
GR_MUST_USE gr_status gr_paths_find(gr_arena *, const gr_kept_run *kept, bool planned, gr_conf *);
// A path in the same folder whose last name is spelt nearly so; NULL: none.
const char *gr_paths_nearest(gr_arena *, const char *path);
// GR_ERR_CONFIG: there is no such file, with the nearest name there is.
GR_MUST_USE gr_status gr_paths_no_config(gr_arena *, const char *path);
