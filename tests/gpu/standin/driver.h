// driver.h - what the files of the stand-in driver share.
#pragma once
#if GR_HAVE_CUDA
#include <cuda.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/gpu/standin/standin.h"

// Of a device's memory: what a module takes, and a node of an executable graph.
enum { MODULE_BYTES = 8192, NODE_BYTES = 1024 };
enum { MAX_DEVICES = 16, PAGE = 4096, LANES = 64 };
struct use {  // of memory, by a library
  const void *p;
  size_t n;
  int writes;
};
struct sizes {  // of each GPU
  const char *name;
  int sm, processors;  // sm: the compute capability
  int sm_smem, block_smem, cache, sm_threads, sm_blocks;
};
extern struct sizes sizes;
#define ADDRESSES ((size_t)64 << 30)  // of a device; TSan leaves no room for more
enum { CTX = 0x43545801, STREAM, EVENT, GRAPH, EXEC, MODULE, FUNC, DEAD };
enum kind { MARK, COPY, SET, KERNEL, HOST, EXTERN, LOOP };
enum state { PENDING, RUNNING, DONE };

typedef struct CUgraphNode_st op;  // one piece of work; in a graph: the template of one
struct CUgraphNode_st {
  enum kind kind;
  enum state state;
  int refs, index, ndeps, needed;
  unsigned round;  // the round in which it said that it cannot go on yet
  op **deps;
  struct device *dev;
  pthread_t owner;
  int64_t ready, time;  // ns of the device's clock: when it may begin, and when it ended
  uint64_t id, clone;   // of a node: its own number, and that of its copy in an executable graph
  int hidden;           // no work of its own
  int64_t lasts;        // EXTERN: ns
  char *dst, *src;
  size_t n, rows, dst_pitch, src_pitch;  // COPY: rows of n bytes each
  unsigned value, width;
  standin_launch launch;
  CUhostFn fn;
  int (*poll)(void *);
  void *data;  // HOST: the caller's; otherwise owned: bytes of arguments or of a staged copy
  size_t bytes;
  const void *chain;
  const char *name;
  unsigned *clock;  // races.c: of each lane the last piece that precedes this; NULL: not asked for
  uint32_t epoch;   // its own lane and place there; 0: none yet
  struct use *uses;
  int nuses;
  CUgraph body;   // LOOP: repeated
  uint64_t loop;  // while the condition of this number is not 0
};
struct CUctx_st {
  int magic;
  struct device *dev;
};
struct CUstream_st {
  int magic, blocking;
  struct device *dev;
  op *last;
  unsigned *clock;  // of events that were over when the stream was to wait for them
  CUgraph capture;
  op **front;
  int nfront;
};
struct CUevent_st {
  int magic;
  unsigned flags;
  struct device *dev;
  op *op;
  CUgraph capture;
  op **front;
  int nfront;
};
struct CUgraph_st {
  int magic, refs, capturing, invalid;
  CUstreamCaptureMode mode;
  pthread_t owner;
  CUstream origin;
  op **node;
  int n, instances;
  int body;  // it is that of a loop
};
struct CUgraphExec_st {
  int magic;
  CUgraph graph;
  op *last;
};
struct CUmod_st {
  int magic, fd;
  struct device *dev;
  void *so;
  const standin_module_t *m;
  CUfunction *func;
  int nfunc;
};
struct CUfunc_st {
  int magic, max_dynamic;
  CUmodule module;
  const standin_kernel *k;
};

struct device {
  struct CUctx_st ctx;
  struct CUstream_st legacy;
  int ordinal, retained;
  int key, open;  // key: protects its memory; 0: none does, and its pages are open or closed
  int physical;   // its number among those of the machine
  uint64_t rng;
  unsigned peers;
  CUresult error;
  size_t used, total;
  // What it has and has not destroyed: that of an ended program is a leak.
  int nevents, nstreams, nexecs, nmodules, npinned;
  char *next, *end;
};
typedef struct {
  char *p, *page;
  size_t n, mapped;
  struct device *dev, *owner;
  int live, id;
} block;  // dev NULL: pinned host

extern struct device devices[MAX_DEVICES];
extern int ndevices, plain, eager, inited;
extern double limit_s;
extern block *blocks;
extern int nblocks;
extern op **pool;  // all work that is not done
extern int npool;
extern unsigned round_now, activity;
extern CUstream *streams;
extern int nstreams;
extern CUgraph *captures;
extern int ncaptures;
extern CUgraph *graphs;  // all that were captured and are not destroyed, nor their instances
extern int ngraphs;
extern pthread_mutex_t big;
extern _Thread_local CUcontext stack[8];
extern _Thread_local int depth, in_callback;
extern _Thread_local CUstreamCaptureMode thread_mode;

// core.c
int64_t si_clock(void);  // ns, monotonic
double si_now(void);     // the same in s
// Takes the lock of the driver, for API.
int si_lock(void);
// Gives it back; called when API's variable goes.
void si_unlock(int *unused);
// The current context of this thread, or NULL.
CUcontext si_current(void);
int si_fails(const char *what);  // whether a test wants this call to fail
// guard.c
// Chooses how memory is closed to the program, when the devices are known: STANDIN_GUARD.
void si_guard(int how);
// Pages of a device can be used from now on, by this thread at once. 0, or -1: there is no memory.
int si_map(struct device *d, char *page, size_t mapped);
// The new pages of si_map are as those of their device.
void si_mapped(struct device *d, char *page, size_t mapped);
// Nobody can use pages any more, and their contents are gone.
void si_unmap(char *page, size_t mapped);
// Opens the memory of a device to this thread (by pages: to all), or closes it, if it is guarded.
void si_protect(struct device *d, int open);
// Closes the memory of all GPUs to the program, and to the kernels of `kept` but for itself and the
// peers that it sees (bits).
void si_close_all(const struct device *kept, unsigned peers);
// fault.c
int si_guarded(op *o, int *code);  // what si_do_op returned; *code: of the fault that ended it
// The allocation that has an address, or whose guard page has it, also one that is freed; NULL:
// there is none.
block *si_find(const void *p);
int si_range(const void *p, size_t n, int device, const char *what);  // standin_range, in a call
// Writes what is at an address, for messages, and returns the text.
const char *si_describe(const char *p, char *text, size_t size);
// Handles the signals of faults from now on.
void si_catch_faults(void);
// work.c
op *si_new_op(enum kind k, struct device *d, const char *name);
// Gives a reference to a piece of work back; NULL is fine.
void si_drop(op *o);
// Takes a reference to it.
op *si_hold(op *o);
// How many bytes a copy or a fill writes; 0: it is none.
size_t si_bytes(const op *o);
int si_do_op(op *o);  // 1: done, 0: ask again, < 0: minus the CUresult
// Appends it to a list, which takes the reference.
void si_add(op ***list, int *n, op *o);
// Lets o wait for another piece of work; NULL: for none.
void si_depend(op *o, op *on);
// Points the arguments of a launch into its own bytes.
void si_bind_args(op *o);
// A piece of work like a node of a graph, without what the node waits for.
op *si_copy_op(op *o);
// Whether nothing was written beside an allocation.
int si_canary(const block *b);
// Runs work until the target is done, which it drops, or with NULL all of the device; the device's
// error.
CUresult si_drain(struct device *d, op *target);
// Runs some work that is not waited for yet, with a chance of one in `one_in`; 0: none.
void si_some(struct device *d, int one_in);
// The body of a thread that runs work after a long while.
void *si_background(void *unused);
// races.c
int si_races(void);  // whether they are looked for
// One piece of work has waited for another.
void si_sees(op *o, const op *before);
// The host has waited for a piece of work, or with NULL for all of a device.
void si_host_sees(struct device *d, const op *done);
// All that is put in line in a stream from now on waits for a piece of work.
void si_stream_sees(CUstream s, const op *done);
// Gives a piece its place after all that it has seen; s: the stream that it is put in line in, or
// NULL.
void si_place(CUstream s, op *o);
// Lets a piece have what was announced by standin_uses().
void si_take_uses(op *o);
// Before a piece of work runs: it touches what is known of it; a race is an error of the work.
void si_accesses(op *o);
// timeline.c
void si_after(op *o, const op *on);  // it begins when that has ended
// When it begins, in ns of the device's clock.
int64_t si_begins(const op *o);
// How long it takes, in ns.
int64_t si_lasts(const op *o);
// Tells the observer of a node.
void si_tell_created(CUgraph g, op *node);
void si_tell_cloned(CUgraph g);  // an executable graph has copies of its nodes
// Tells the observer of work that has ended, with when it began.
void si_tell_done(const op *o, int64_t start);
// loop.c
void si_run_loop(op *o);
void si_begin_loops(CUgraph g);  // gives the conditions of a graph's loops their default values
// Gives a reference to a graph back, and frees it with the last.
void si_drop_graph(CUgraph g);
// queue.c
CUresult si_illegal(const char *fn);
// The stream of a handle, also of the default stream's; an error if it is of another device or its
// capture is invalid.
CUresult si_get_stream(CUstream h, struct device *d, CUstream *s);
// Puts work in line, or into the graph that the stream captures; takes the reference.
CUresult si_enqueue(CUstream s, op *o);

#define FAIL(code, ...) return standin_say(__VA_ARGS__), (code)
#define API __attribute__((cleanup(si_unlock), unused)) int locked = si_lock()
#define NEED_CURRENT(d)                                                                          \
  if (!inited) FAIL(CUDA_ERROR_NOT_INITIALIZED, "%s before cuInit", __func__);                   \
  if (!si_current()) FAIL(CUDA_ERROR_INVALID_CONTEXT, "%s without a current context", __func__); \
  struct device *d = si_current()->dev;                                                          \
  if (d->error) return d->error
// A test may ask for a failure of each call that it counts.
#define MAY_FAIL \
  if (si_fails("call")) return CUDA_ERROR_UNKNOWN
#define NEED_CTX(d) \
  NEED_CURRENT(d);  \
  MAY_FAIL
#define NEED(h, m)                                           \
  if (!(h) || (h)->magic != (m))                             \
  FAIL(CUDA_ERROR_INVALID_HANDLE, "%s: %s handle", __func__, \
       (h) && (h)->magic == DEAD ? "destroyed" : "bad")
#define NOT_IN_CAPTURE                    \
  do {                                    \
    CUresult bad_ = si_illegal(__func__); \
    if (bad_) return bad_;                \
  } while (0)
#define STREAM_OF(h, s)                      \
  CUstream s;                                \
  do {                                       \
    CUresult bad_ = si_get_stream(h, d, &s); \
    if (bad_) return bad_;                   \
  } while (0)
#endif
