// new_edit.h - changes lines of a configuration's text that `graphrun new` writes, and keeps their
// comments. A key is the first of its name, at any depth; without it the text stays as it is.
#pragma once
#include "base/base.h"

// The configuration with another value of a key, and its comment, which is about the key.
const char *gr_new_set(gr_arena *, const char *yaml, const char *key, const char *value);
// The same with a line after that of a key, as deep as it.
const char *gr_new_add(gr_arena *, const char *yaml, const char *after, const char *line);
// The same without the line of a key.
const char *gr_new_drop(gr_arena *, const char *yaml, const char *key);
// A text in double quotes, with escapes.
const char *gr_new_quoted(gr_arena *, const char *text);
