// yaml_advice.h - after a syntax error: what to do about it, by what libyaml says and what stands
// there, and where to read on.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include "base/status.h"

// The problem and its context in libyaml's words, the line of the problem and the one where its
// context begins. NULL: nothing in particular.
const char *gr_yaml_advice(const char *problem, const char *context, const char *line,
                           const char *first);

// What is wrong with something that begins and does not end, so that its beginning is the place to
// show; NULL where the place of the problem is. at_end: the problem is the end of the file.
const char *gr_yaml_unfinished(const char *problem, const char *context, bool at_end);

// The place of a byte of a text of which a part from a line on (from 0) was read.
gr_loc gr_yaml_place(const char *file, const char *text, size_t line, size_t byte);

// Where reading can go on after one.
const char *gr_yaml_skip(const char *text, size_t lines);
bool gr_yaml_starts_key(const char *line);  // "key:", at the beginning of the line
