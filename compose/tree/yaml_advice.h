// yaml_advice.h - hints for YAML syntax errors, and where to continue reading after one.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include "base/status.h"

// A hint for an error: `problem` and `context` are libyaml's messages, `line` and `first` the lines
// of the problem and of the context's beginning. NULL: no hint.
const char *gr_yaml_advice(const char *problem, const char *context, const char *line,
                           const char *first);

// The message for something that is begun and never ended, whose beginning is then the location to
// report; NULL: report the location of the problem. at_end: the problem is the end of the file.
const char *gr_yaml_unfinished(const char *problem, const char *context, bool at_end);

// The location of byte `byte` of a text that begins at line `line` (from 0) of the file.
gr_loc gr_yaml_place(const char *file, const char *text, size_t line, size_t byte);

const char *gr_yaml_skip(const char *text, size_t lines);  // the text after so many lines
bool gr_yaml_starts_key(const char *line);  // whether it is "key:" without indentation
