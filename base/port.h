// port.h - platform services: clocks, processors, futexes, memory, directories. #ifdefs on the
// platform are only in port.c. All functions are safe from any thread.
#pragma once
#include <stdatomic.h>
#include "base/status.h"

double gr_seconds(void);         // monotonic clock
double gr_wall_seconds(void);    // since 1970; only for file names and event files
double gr_thread_seconds(void);  // CPU time of the calling thread
int gr_processors(void);         // CPUs this process may run on, at least 1
void gr_pause(void);             // hints to the CPU that this is a spin loop
// Futex wait: sleeps while *word == value, at most `seconds`; wakes spuriously. The word may be in
// memory shared between processes.
void gr_sleep_on(_Atomic uint32_t *, uint32_t value, double seconds);
void gr_wake(_Atomic uint32_t *);  // wakes every thread that sleeps on the word
// State of a process as in /proc/PID/stat: 'R' running, 'S' sleeping, 'T' stopped, ...; 0: it does
// not exist or is a zombie; '?': unknown.
char gr_process_state(int pid);
bool gr_process_is_traced(void);  // whether a debugger has attached to this process
// Allocates uninitialised memory, 64-byte aligned, in huge pages if it is large and the system has
// them: most of the cost of new memory is per page. NULL: out of memory. Release it with free().
void *gr_large_alloc(size_t bytes);
void gr_close_from(int fd);      // closes every descriptor >= fd
size_t gr_resident_bytes(void);  // peak resident memory of this process
// Resident memory now, in bytes: private to this process, pages of files (program and libraries),
// and memory shared with other processes. Zeros if the system does not report them.
typedef struct gr_memory {
  size_t anonymous, files, shared;
} gr_memory;
gr_memory gr_memory_now(void);  // reads /proc each time
// The machine: its name, system and processor as texts ("" where unknown), its memory in bytes.
typedef struct gr_machine {
  char host[128], system[256], processor[128];
  double memory;
  double cache;        // the last cache of a processor, in bytes; 0: not known
  double hertz;        // of a processor now; 0: not known
  char sets[96];       // the sets of instructions of products that it has: "AVX2, FMA"
  int flops_per_tick;  // f32 operations that a core of such a processor does at most; 0: not known
  bool twin;           // two of the processors that the system counts share a core
  double share;        // how many processors the control group grants; 0: no limit is known
} gr_machine;
void gr_machine_read(gr_machine *);  // does not fail
// Creates directories durably: the parent is synced. gr_make_dirs works like `mkdir -p`;
// gr_make_dir creates one level, *made is false if something with that name exists. GR_ERR_IO.
GR_MUST_USE gr_status gr_make_dirs(const char *path);
// One level, of which the parent exists.
GR_MUST_USE gr_status gr_make_dir(const char *path, bool *made);
// Whether a directory or a regular file is at the path; symbolic links are followed.
bool gr_is_dir(const char *path);
bool gr_is_file(const char *path);  // the same for a regular file
