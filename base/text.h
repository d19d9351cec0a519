// text.h - string builder, edit distance for "did you mean", UTF-8, and output escaping.
#pragma once
#include "base/arena.h"

// A string that grows in an arena. `chars` is always NUL-terminated; it moves when the string
// grows, and is valid as long as the arena.
typedef struct gr_text {
  gr_arena *arena;
  char *chars;
  size_t len, cap;
} gr_text;
// An empty string in the arena, and the functions that append to it.
gr_text gr_text_make(gr_arena *);
void gr_text_put(gr_text *, const char *);               // a C string
void gr_text_putn(gr_text *, const char *, size_t len);  // `len` bytes, which may contain NUL
void gr_text_printf(gr_text *, const char *fmt, ...) GR_PRINTF(2, 3);  // as printf formats
// A number in decimal, many times faster than printf. gr_put_int writes to a buffer and returns its
// end (the NUL); gr_text_put_int appends.
enum { GR_DIGITS = 21 };                         // the longest int64_t, its sign and the NUL
char *gr_put_int(char out[GR_DIGITS], int64_t);  // returns its end
void gr_text_put_int(gr_text *, int64_t);        // appends it

bool gr_text_same(const char *, const char *);  // each may be NULL, which is the same as NULL only

// The plural "s" of a noun counted n times: "" for one.
static inline const char *gr_text_s(int64_t n) { return n == 1 ? "" : "s"; }

// Optimal string alignment distance (insertions, deletions, replacements, swaps of neighbours)
// between a and b in bytes, or most + 1 if it is larger than `most` or a string exceeds 64 bytes.
int gr_text_distance(const char *a, const char *b, int most);
// The name closest to `word`, for "did you mean"; NULL if none is close. A common prefix of
// sections ("training.") does not count; about one letter in four of the rest may differ.
const char *gr_text_nearest(const char *word, const char *const *names, int n);

// Adds the hint which name is that one, "did you mean 'lr'?", if one is close.
GR_MUST_USE gr_status gr_hint_near(gr_status, const char *word, const char *const *names, int n);
// Adds the hint BEFORE, the names with commas between them, AFTER.
GR_MUST_USE gr_status gr_hint_names(gr_status, const char *before, const char *const *names, int n,
                                    const char *after);
// "a, b, c", in the arena.
const char *gr_text_names(gr_arena *, const char *const *names, int n);

// UTF-8 (RFC 3629). gr_utf8_len returns the length in bytes of the valid sequence at s, 0 if there
// is none; gr_utf8_code decodes a valid sequence of that length; gr_utf8_valid checks a whole
// string; gr_utf8_after what is before `end` of a longer one, and returns what follows the valid
// sequences that begin there: `end`, or a byte or more behind it, where all is valid.
// gr_text_put_code encodes a code point and appends it.
int gr_utf8_len(const char *s);
uint32_t gr_utf8_code(const char *s, int len);                 // of a valid sequence only
bool gr_utf8_valid(const char *s);                             // all of it
const char *gr_utf8_after(const char *text, const char *end);  // NUL-terminated
void gr_text_put_code(gr_text *, uint32_t code);               // at most U+10FFFF

// Escapes text of user files for a terminal or a log. Control characters could move the cursor,
// forge lines or hide text, and so could the characters that change the writing direction: they,
// and bytes that are not UTF-8, are written as \x1b or \u009b. A tab is kept. gr_text_visible
// writes the first character of s to `out` as a C string and returns its length in s.
enum { GR_VISIBLE = 8 };
int gr_text_visible(const char *s, char out[GR_VISIBLE]);  // returns bytes read of s
void gr_print_line(FILE *, const char *, size_t len);      // escapes line ends too
void gr_print_lines(FILE *, const char *);                 // keeps line ends
// The same for code that writes to a stream: write to the stream that `begin` returns, then `end`
// prints it escaped on standard output and frees it. If memory is exhausted the stream is standard
// output itself, unescaped.
typedef struct gr_visible_out {
  FILE *stream;
  char *text;
  size_t len;
} gr_visible_out;
FILE *gr_visible_begin(gr_visible_out *);  // not closed by the caller
void gr_visible_end(gr_visible_out *);     // prints and frees

// Appends s as a JSON string with its quotes (RFC 8259); invalid UTF-8 becomes U+FFFD. NULL: null.
void gr_text_json(gr_text *, const char *s);
// Appends the ", " before a member or an item, but behind { and [, behind a blank, which begins a
// line, and at the beginning of the text.
void gr_text_json_next(gr_text *);
// The same for one that begins a line: a comma, if it is not the first, and `space`, "\n  ".
void gr_text_json_line(gr_text *, const char *space);
// Appends gr_text_json_next and the name of a member: `"name": `.
void gr_text_json_key(gr_text *, const char *name);
void gr_text_json_member(gr_text *, const char *name, const char *s);  // and a string
void gr_text_json_texts(gr_text *, const char *const *, int n);        // a list of strings
// Appends bytes in Base64 (RFC 4648, section 4), without quotes.
void gr_text_base64(gr_text *, const unsigned char *bytes, size_t n);
// Appends the shortest decimal that parses back to the same double, always recognisable as a float
// ("1.0", "1e-05", "NaN", "Infinity"): the format of Python's json module. Not for JSON, which has
// no such words.
void gr_text_put_float(gr_text *, double);
// Appends a number of JSON, in that format. All JSON is written with it: one that is not finite is
// the string "NaN", "Infinity" or "-Infinity", as in the JSON of protocol buffers, which
// gr_json_get takes for a number.
void gr_text_json_float(gr_text *, double);
void gr_text_json_rounded(gr_text *, double, int digits);  // of `digits` significant digits
void gr_text_json_known(gr_text *, double);                // NaN, which is not known: null

bool gr_ends_in(const char *s, const char *end);  // its last characters are those

// Reads a whole regular file (base/file.h) into the arena, NUL-terminated; out_len may be NULL.
// Fails with GR_ERR_IO if it cannot be read or has more than `most` bytes.
GR_MUST_USE gr_status gr_file_read(gr_arena *, const char *path, size_t most, char **out,
                                   size_t *out_len);
// The names in a folder but "." and "..", in the order of their bytes, and how many; NULL and 0:
// errno says why it cannot be read.
const char **gr_list_dir(gr_arena *, const char *path, int *n);
