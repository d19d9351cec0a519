// arena.h - memory that dies together.
//
// Everything the composer and the compiler make lives in an arena and dies with it: no frees,
// so no cleanup paths. Compile-time memory is tens of megabytes; when even that is not there
// the process stops with a message and GR_ARENA_EXIT, the code of GR_ERR_LAUNCH. Training memory is
// gigabytes, comes from the plan, and running out of it is an ordinary gr_status.
#pragma once
#include "base/status.h"

enum { GR_ARENA_EXIT = 69 };
typedef struct gr_arena gr_arena;
gr_arena *gr_arena_create(void);
void gr_arena_destroy(gr_arena *);
// One that is destroyed with `outer`, and not before. Another thread may use it.
gr_arena *gr_arena_within(gr_arena *outer);
size_t gr_arena_bytes(const gr_arena *);  // that it has taken, without those of arenas within it
void *gr_arena_alloc(gr_arena *, size_t bytes);  // zeroed, 16-byte aligned, never NULL
char *gr_arena_printf(gr_arena *, const char *fmt, ...) GR_PRINTF(2, 3);
char *gr_arena_strdup(gr_arena *, const char *);
char *gr_arena_strndup(gr_arena *, const char *, size_t len);
#define GR_NEW(arena, type, n) ((type *)gr_arena_alloc(arena, sizeof(type) * (size_t)(n)))
// Who is told when memory has run out, with the whole message; it does not return. It may not
// allocate. NULL: the message goes to standard error.
void gr_arena_at_end(void (*)(const char *message));
