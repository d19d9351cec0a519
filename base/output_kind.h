// output_kind.h - whether a file that the user names would be replaced by something else.
#pragma once
#include <stdbool.h>
#include <stddef.h>

// Whether a regular file of that name in the folder `dir` is not what a command writes that begins
// with these bytes: one is text and the other is not, or both are texts that begin otherwise.
// false: there is none, it is empty, or it cannot be read.
bool gr_output_is_other_kind(int dir, const char *name, const char *begin, size_t bytes);
