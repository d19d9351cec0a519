// text.h - growing text, and the edit distance behind "did you mean".
#pragma once
#include "base/arena.h"

// Text that grows in an arena. `at` is always a C string.
typedef struct gr_text {
  gr_arena *arena;
  char *at;
  size_t len, cap;
} gr_text;
gr_text gr_text_make(gr_arena *);
void gr_text_put(gr_text *, const char *);
void gr_text_putn(gr_text *, const char *, size_t len);
void gr_text_printf(gr_text *, const char *fmt, ...) GR_PRINTF(2, 3);
// A number in decimal, many times quicker than printf: into a buffer, of which it returns the end
// (a NUL), and appended.
enum { GR_DIGITS = 21 };
char *gr_put_int(char out[GR_DIGITS], int64_t);
void gr_text_put_int(gr_text *, int64_t);

// "s" behind a word of which there are n, but one.
static inline const char *gr_text_s(int64_t n) { return n == 1 ? "" : "s"; }

// Edits (insert, delete, replace, swap of neighbours) that turn a into b; `most` + 1 where it
// would take more (optimal string alignment distance).
int gr_text_distance(const char *a, const char *b, int most);
// The nearest of n names, or NULL when none is near enough to be meant: sections ("training.") that
// both share say nothing, and of what is left about one letter in four may be wrong.
const char *gr_text_nearest(const char *word, const char *const *names, int n);

// UTF-8 (RFC 3629): the bytes of the valid sequence at s, 0 where there is none; its code point;
// and a code point appended.
int gr_utf8_len(const char *s);
uint32_t gr_utf8_code(const char *s, int len);
bool gr_utf8_valid(const char *s);  // all of it
void gr_text_put_code(gr_text *, uint32_t code);

// Text for a terminal or a log, which may be that of a user's file. Control characters could move
// the cursor, forge lines or hide what is there, and so could the characters that turn the
// direction of writing: they, and bytes that are not UTF-8, are written as \x1b or \u009b. A tab
// stays. gr_text_visible writes the first character of s as a C string, and returns its bytes in s.
enum { GR_VISIBLE = 8 };
int gr_text_visible(const char *s, char out[GR_VISIBLE]);
void gr_print_line(FILE *, const char *, size_t len);  // a line end inside is a control character
void gr_print_lines(FILE *, const char *);             // line ends stay
// The same for what is written to a stream: what `begin` gives is printed by `end`. Without memory
// for it, standard output itself.
typedef struct gr_visible_out {
  FILE *stream;
  char *text;
  size_t len;
} gr_visible_out;
FILE *gr_visible_begin(gr_visible_out *);
void gr_visible_end(gr_visible_out *);

// Writes s as a JSON string, quotes included (RFC 8259); invalid UTF-8 becomes U+FFFD.
void gr_text_json(gr_text *, const char *s);
// Writes a double the shortest way that reads back the same, always recognisable as a float
// ("1.0", "1e-05", "NaN", "Infinity"), as Python's json does.
void gr_text_json_float(gr_text *, double);

// The whole of a regular file (base/file.h), NUL-terminated, in the arena. Fails with GR_ERR_IO,
// also where it has more than `most` bytes.
GR_MUST_USE gr_status gr_file_read(gr_arena *, const char *path, size_t most, char **out,
                                   size_t *out_len);
