// queue.c - puts work in line, or into the graph that is being captured.
#define _GNU_SOURCE
#include "tests/gpu/standin/driver.h"

CUresult si_illegal(const char *fn) {  // a call that no capture may see
  for (int i = 0; i < ncaptures; i++) {
    CUgraph g = captures[i];
    int this_thread =
        pthread_equal(g->owner, pthread_self()) && g->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
    int global =
        g->mode == CU_STREAM_CAPTURE_MODE_GLOBAL && thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
    if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED || !(this_thread || global)) continue;
    g->invalid = 1;
    FAIL(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "%s while a stream is being captured", fn);
  }
  return CUDA_SUCCESS;
}

CUresult si_get_stream(CUstream h, struct device *d, CUstream *s) {
  if (h == CU_STREAM_PER_THREAD)
    FAIL(CUDA_ERROR_NOT_SUPPORTED, "the per-thread default stream is not stood in for");
  *s = !h || h == CU_STREAM_LEGACY ? &d->legacy : h;
  NEED(*s, STREAM);
  if ((*s)->dev != d)
    FAIL(CUDA_ERROR_INVALID_CONTEXT, "a stream of device %d used while device %d is current",
         (*s)->dev->ordinal, d->ordinal);
  if ((*s)->capture && (*s)->capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  return CUDA_SUCCESS;
}

CUresult si_enqueue(CUstream s, op *o) {
  struct device *d = s->dev;
  if (s == &d->legacy || s->blocking)
    for (int i = 0; i < nstreams; i++)
      if (streams[i]->capture && streams[i]->dev == d && streams[i]->blocking && s == &d->legacy) {
        streams[i]->capture->invalid = 1;
        FAIL(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
             "work on the default stream while a blocking stream is captured");
      }
  if (s->capture) {
    CUgraph g = s->capture;
    if (g->body && (o->kind == HOST || o->chain))  // a collective
      FAIL((g->invalid = 1, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED),
           "%s in the body of a conditional node", o->name);
    for (int i = 0; i < s->nfront; i++) si_add(&o->deps, &o->ndeps, si_hold(s->front[i]));
    for (int i = g->n - 1; o->chain && i >= 0; i--)
      if (g->node[i]->chain == o->chain) {
        si_depend(o, g->node[i]);
        break;
      }
    o->index = g->n;
    si_add(&g->node, &g->n, o);
    si_tell_created(g, o);
    s->nfront = 0;
    si_add(&s->front, &s->nfront, o);
    return CUDA_SUCCESS;
  }
  si_depend(o, s->last);
  for (int i = 0; i < nstreams && s == &d->legacy; i++)
    if (streams[i]->blocking && streams[i]->dev == d) si_depend(o, streams[i]->last);
  if (s->blocking) si_depend(o, d->legacy.last);
  for (int i = npool - 1; o->chain && i >= 0; i--)
    if (pool[i]->chain == o->chain) {
      si_depend(o, pool[i]);
      break;
    }
  si_place(s, o);
  si_drop(s->last), s->last = si_hold(o);
  si_add(&pool, &npool, o);
  si_some(d, eager);
  return CUDA_SUCCESS;  // errors of the work show later, as on a GPU
}

static _Thread_local int64_t lasts = 50000;
void standin_lasts(int64_t ns) { lasts = ns; }
int standin_enqueue(void *stream, const char *name, int (*poll)(void *), const void *arg,
                    size_t bytes, const void *chain) {
  API;
  CUstream h = stream;
  struct device *d = h && h != CU_STREAM_LEGACY && h->magic == STREAM ? h->dev
                     : si_current()                                   ? si_current()->dev
                                                                      : NULL;
  if (!d || d->error) return (int)(d ? d->error : CUDA_ERROR_INVALID_CONTEXT);
  STREAM_OF(h, s);
  op *o = si_new_op(EXTERN, d, name);
  o->poll = poll, o->chain = chain, o->bytes = bytes;
  o->lasts = lasts, lasts = 50000;
  o->data = memcpy(malloc(bytes), arg, bytes);
  si_take_uses(o);
  return si_enqueue(s, o);
}
int standin_device(void) { return si_current() ? si_current()->dev->ordinal : -1; }
int standin_stream_device(void *stream) {
  CUstream s = stream;
  return !s || s == CU_STREAM_LEGACY ? standin_device() : s->magic == STREAM ? s->dev->ordinal : -1;
}
