// standin.h - what the stand-in libraries share. No product code includes this.
#pragma once
#include "tests/gpu/standin/abi.h"

// exec.c
typedef struct {
  const standin_module_t *module;
  const standin_kernel *kernel;
  unsigned grid[3], block[3], dynamic;
  int cooperative;
  void **args;
  const char *memory;  // all addresses of its device
  size_t bytes;
  int watched;  // by races.c
} standin_launch;
// races.c: a kernel's loads and stores of the device's memory are watched.
void races_watch(standin_engine *e, const char *memory, size_t bytes);
int standin_condition(uint64_t loop, unsigned value);      // 0: there is no such loop that runs
void standin_run(const standin_launch *l, uint64_t *rng);  // leaves by standin_die on errors
void standin_where(char *text, size_t size);               // the device thread that runs now

// The driver
void standin_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
// Says what is wrong, and ends the work that runs with that CUresult.
void standin_die(int code, const char *fmt, ...) __attribute__((noreturn, format(printf, 2, 3)));
unsigned standin_random(uint64_t *rng, unsigned n);  // 0 .. n-1; always 0 in plain mode

// For libraries which enqueue work of their own: `poll` is called with a private copy of `arg` when
// stream order allows it; 1: done, 0: ask again, < 0: minus the CUresult that breaks the context.
// Work with the same `chain` runs in the order of the calls.
int standin_enqueue(void *stream, const char *name, int (*poll)(void *arg), const void *arg,
                    size_t bytes, const void *chain);
int standin_pending(const void *chain);    // pieces of its work that are not done
int standin_captured(const void *chain);   // nodes of its work in graphs that are not destroyed
int standin_take(int device, long bytes);  // of its memory, or < 0: gives back; 0: there is no room
int standin_range(const void *p, size_t n, int device,
                  const char *what);  // 0: inside an allocation
// What the work that is put in line next reads or writes, for races.c.
void standin_uses(const void *p, size_t n, int writes);
void standin_lasts(int64_t ns);  // how long the work that is put in line next takes
int standin_failed(void);        // how often something has failed because a test wanted it to
int standin_device(void);        // of the current context, or -1
// The device of a stream; that of the current context for the default stream; -1: it is no stream.
int standin_stream_device(void *stream);
int standin_physical(int device);  // its number among the GPUs of the machine

// What a stand-in of CUPTI is told: of nodes of graphs, and of work that is done, in seconds.
// Within these calls it may call nothing of the driver's. NULL: it has no observer.
typedef struct {
  char kind;      // 'k' kernel, 'c' copy within devices, 'u' upload, 'd' download, 's' memset
  uint64_t node;  // 0: of no graph
  unsigned device;
  int64_t start, end;
  size_t bytes;
  const char *name;
} standin_work;
typedef struct {
  void (*created)(void *graph, void *node, int type);
  void (*cloned)(void *graph, void *original, void *node, int type);
  void (*done)(const standin_work *);
} standin_observer;
// Sets the observer; NULL: there is none.
void standin_observe(const standin_observer *);
// The number of a node of a graph, as CUPTI tells it.
uint64_t standin_node_id(void *node);

// A bf16 as a float.
static inline float standin_bf16(uint16_t h) {
  union {
    uint32_t u;
    float f;
  } v = {.u = (uint32_t)h << 16};
  return v.f;
}
// A float rounded to the nearest bf16, to even; NaN is one NaN.
static inline uint16_t standin_to_bf16(float f) {
  union {
    float f;
    uint32_t u;
  } v = {.f = f};
  if (f != f) return 0x7fff;
  return (uint16_t)((v.u + 0x7fff + ((v.u >> 16) & 1)) >> 16);
}
// An f16 as a float.
static inline float standin_f16(uint16_t h) {
  union {
    uint16_t u;
    _Float16 f;
  } v = {.u = h};
  return (float)v.f;
}
// A float rounded to the nearest f16.
static inline uint16_t standin_to_f16(float f) {
  union {
    _Float16 f;
    uint16_t u;
  } v = {.f = (_Float16)f};
  return v.u;
}
