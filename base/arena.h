// arena.h - arena allocator: objects are allocated one by one and freed all together.
//
// Everything the composer and the compiler create is allocated in an arena and freed with it, so
// there are no individual frees and no cleanup paths. Compile-time memory is tens of megabytes; if
// the system cannot provide it, the process exits with a message and GR_ARENA_EXIT, the exit code
// of GR_ERR_LAUNCH. Training memory is gigabytes, is allocated by the plan, and running out of it
// is an ordinary gr_status.
#pragma once
#include "base/status.h"

enum { GR_ARENA_EXIT = 69 };
typedef struct gr_arena gr_arena;
// An arena is used by one thread at a time. Destroying it frees everything allocated in it and
// every arena within it; NULL is allowed. No function here returns NULL.
gr_arena *gr_arena_create(void);
// Frees it; see above.
void gr_arena_destroy(gr_arena *);
// How a function ends that needed an arena: destroys it and returns the status.
GR_MUST_USE gr_status gr_arena_end(gr_arena *, gr_status);
// An arena that is destroyed with `outer` and not before. Another thread than outer's may use it.
gr_arena *gr_arena_within(gr_arena *outer);
size_t gr_arena_bytes(const gr_arena *);  // allocated from the system, without arenas within it
void *gr_arena_alloc(gr_arena *, size_t bytes);  // zeroed, 16-byte aligned
void *gr_arena_take(gr_arena *, size_t bytes);   // not zeroed: for what is written as a whole
// Gives an object, or NULL, of which `used` bytes are written, other room: what is not written may
// be anything. One of 32 MB and more, which has memory of its own, leaves nothing behind; pointers
// to the object as it was are not to be used.
void *gr_arena_resize(gr_arena *, void *, size_t used, size_t bytes);
// Copies of text, NUL-terminated; strndup copies exactly `len` bytes.
char *gr_arena_printf(gr_arena *, const char *fmt, ...) GR_PRINTF(2, 3);
char *gr_arena_strdup(gr_arena *, const char *);  // the whole text
// n texts, one after the other: for long ones, which printf copies letter by letter.
char *gr_arena_join(gr_arena *, const char *const *texts, int n);
char *gr_arena_strndup(gr_arena *, const char *, size_t len);  // `len` bytes of it and a NUL
// A copy of a path without slashes at its end; of "/" it keeps one.
char *gr_path_trimmed(gr_arena *, const char *path);
#define GR_NEW(arena, type, n) ((type *)gr_arena_alloc(arena, sizeof(type) * (size_t)(n)))
#define GR_TAKE(arena, type, n) ((type *)gr_arena_take(arena, sizeof(type) * (size_t)(n)))
// From now on blocks of arenas that end are kept for the next ones, up to so many bytes of all
// threads together; 0 takes back one such call, and with the first of them all blocks that were
// kept are given back. Fresh pages cost several times what clearing them again does.
void gr_arena_keep_blocks(size_t bytes);
// Sets the handler that is called with the complete message when memory is exhausted. It must not
// return and must not allocate. NULL: the message goes to standard error.
void gr_arena_at_end(void (*)(const char *message));
