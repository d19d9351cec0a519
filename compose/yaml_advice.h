// yaml_advice.h - after a syntax error: what to do about it, by what libyaml says and what stands
// there, and where to read on.
#pragma once
#include <stdbool.h>
#include <stddef.h>

// The problem and its context in libyaml's words, the line of the problem and the one where its
// context begins. NULL: nothing in particular.
const char *gr_yaml_advice(const char *problem, const char *context, const char *line,
                           const char *first);

// Where reading can go on after one.
const char *gr_yaml_skip(const char *text, size_t lines);
bool gr_yaml_starts_key(const char *line);  // "key:", at the beginning of the line
