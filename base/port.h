// port.h - the platform: clocks, processors, directories. The only place for #ifdefs on it.
#pragma once
#include <stdatomic.h>
#include "base/status.h"

double gr_seconds(void);         // monotonic
double gr_wall_seconds(void);    // since 1970, for file names and event files only
double gr_thread_seconds(void);  // of a processor, that the calling thread has used
int gr_processors(void);         // that this process may use
void gr_pause(void);             // tells the processor that this is a waiting loop
// Sleeps while the word is `value`, at most so long; it may lie in memory that processes share.
void gr_sleep_on(_Atomic uint32_t *, uint32_t value, double seconds);
void gr_wake(_Atomic uint32_t *);  // all who sleep on it
// What the system says of a process: 'R' running, 'S' sleeping, 'T' stopped, ...; 0 when it is
// gone or only waits to be reaped.
char gr_process_state(int pid);
// Memory for something large, not cleared, at a multiple of 64; in huge pages where the system has
// them, since most of what new memory costs is by page. NULL: there is none. The caller frees it.
void *gr_large_alloc(size_t bytes);
void gr_close_from(int fd);      // every open file from this number on
size_t gr_resident_bytes(void);  // peak resident memory of this process
// What is resident now, in bytes: memory of this process's own, pages of files (its program and
// libraries), and memory shared with other processes. Zeros where the system does not say.
typedef struct gr_memory {
  size_t own, files, shared;
} gr_memory;
gr_memory gr_memory_now(void);
GR_MUST_USE gr_status gr_make_dirs(const char *path);  // like mkdir -p, and durable
// One level; *made is false where something of that name is there.
GR_MUST_USE gr_status gr_make_dir(const char *path, bool *made);
bool gr_is_dir(const char *path);
bool gr_is_file(const char *path);
