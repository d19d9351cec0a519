// driver.h - what the files of the stand-in driver share.
#pragma once
#if GR_HAVE_CUDA
#include <cuda.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/gpu/standin/standin.h"

enum { MAX_DEVICES = 16, PAGE = 4096 };
struct sizes {  // of each GPU
  const char *name;
  int sm, processors;  // sm: the compute capability
  int sm_smem, block_smem, cache;
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
  char *dst, *src;
  size_t n;
  unsigned value, width;
  standin_launch launch;
  CUhostFn fn;
  int (*poll)(void *);
  void *data;  // HOST: the caller's; otherwise owned: bytes of arguments or of a staged copy
  size_t bytes;
  const void *chain;
  const char *name;
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
  int ordinal, retained, open;
  int physical;  // its number among those of the machine
  uint64_t rng;
  unsigned peers;
  CUresult error;
  size_t used, total;
  char *next, *end;
};
typedef struct {
  char *p, *page;
  size_t n, mapped;
  struct device *dev;
  int live, id;
} block;  // dev NULL: pinned host

extern struct device devices[MAX_DEVICES];
extern int ndevices, plain, guard_pages, eager, inited;
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
void si_protect(struct device *d, int open);
int si_lock(void);
void si_unlock(int *unused);
CUcontext si_current(void);
int si_fails(const char *what);  // whether a test wants this call to fail
// fault.c
int si_guarded(op *o, int *code);  // what si_do_op returned; *code: of the fault that ended it
block *si_find(const void *p);
const char *si_describe(const char *p, char *text, size_t size);
void si_catch_faults(void);
// work.c
op *si_new_op(enum kind k, struct device *d, const char *name);
void si_drop(op *o);
op *si_hold(op *o);
int si_do_op(op *o);  // 1: done, 0: ask again, < 0: minus the CUresult
void si_add(op ***list, int *n, op *o);
void si_depend(op *o, op *on);
void si_bind_args(op *o);
op *si_copy_op(op *o);
int si_canary(const block *b);
CUresult si_drain(struct device *d, op *target);
void si_some(struct device *d, int one_in);
void *si_background(void *unused);
// timeline.c
void si_after(op *o, const op *on);  // it begins when that has ended
int64_t si_begins(const op *o);
int64_t si_lasts(const op *o);
void si_tell_created(CUgraph g, op *node);
void si_tell_cloned(CUgraph g);  // an executable graph has copies of its nodes
void si_tell_done(const op *o, int64_t from);
// loop.c
void si_run_loop(op *o);
void si_begin_loops(CUgraph g);  // gives the conditions of a graph's loops their default values
void si_drop_graph(CUgraph g);
// queue.c
CUresult si_illegal(const char *fn);
CUresult si_get_stream(CUstream h, struct device *d, CUstream *s);
CUresult si_enqueue(CUstream s, op *o);

#define FAIL(code, ...) return standin_say(__VA_ARGS__), (code)
#define API __attribute__((cleanup(si_unlock), unused)) int locked = si_lock()
#define NEED_CTX(d)                                                                              \
  if (!inited) FAIL(CUDA_ERROR_NOT_INITIALIZED, "%s before cuInit", __func__);                   \
  if (!si_current()) FAIL(CUDA_ERROR_INVALID_CONTEXT, "%s without a current context", __func__); \
  struct device *d = si_current()->dev;                                                          \
  if (d->error) return d->error
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
