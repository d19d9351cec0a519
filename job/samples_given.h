// samples_given.h - a file or folder of samples in the place of a configuration.
#pragma once
#include "base/base.h"

// GR_ERR_USAGE if the path is, by its ending, a file of samples, or if it is a folder: the hint
// says how a configuration names it. `command` is that of the command line ("train", "data").
// GR_OK: the path may be that of a configuration.
GR_MUST_USE gr_status gr_samples_given(const char *command, const char *path);
// How the command is called with a configuration: "graphrun plan CONFIG.yaml".
const char *gr_samples_call(const char *command);
enum { GR_SAMPLES_KEY = 64 };
// The key that names such a file ("data.table.path"). False: it is no file of samples by its
// ending, or one that a list names.
bool gr_samples_key(const char *path, char key[GR_SAMPLES_KEY]);
