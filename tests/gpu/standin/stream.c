// stream.c - the stand-in driver: streams, events and host functions.
#define _GNU_SOURCE
#include "tests/gpu/standin/driver.h"

CUresult cuStreamCreateWithPriority(CUstream *out_s, unsigned flags, int priority) {
  API;
  NEED_CTX(d);
  (void)priority;
  if (!(flags & CU_STREAM_NON_BLOCKING))
    FAIL(CUDA_ERROR_NOT_SUPPORTED,
         "a stream that waits for the default stream, and that for it: nothing would overlap");
  CUstream s = calloc(1, sizeof *s);
  *s = (struct CUstream_st){
      .magic = STREAM, .blocking = !(flags & CU_STREAM_NON_BLOCKING), .dev = d};
  streams = realloc(streams, (size_t)(nstreams + 1) * sizeof *streams);
  d->nstreams++;
  return *out_s = streams[nstreams++] = s, CUDA_SUCCESS;
}
CUresult cuStreamCreate(CUstream *s, unsigned flags) {
  return cuStreamCreateWithPriority(s, flags, 0);
}
CUresult cuStreamDestroy(CUstream s) {
  API;
  NEED(s, STREAM);
  if (s->capture)
    FAIL(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
         "cuStreamDestroy of a stream that is being captured");
  for (int i = 0; i < nstreams; i++)
    if (streams[i] == s) streams[i] = streams[--nstreams];
  s->dev->nstreams--;
  free(s->clock), s->clock = NULL;
  return si_drop(s->last), s->magic = DEAD, CUDA_SUCCESS;  // its work goes on, as on a GPU
}
CUresult cuStreamSynchronize(CUstream h) {
  API;
  NEED_CTX(d);
  STREAM_OF(h, s);
  if (s->capture)
    FAIL((s->capture->invalid = 1, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED),
         "cuStreamSynchronize of a captured stream");
  NOT_IN_CAPTURE;
  return s->last ? si_drain(d, s->last) : CUDA_SUCCESS;
}
CUresult cuStreamQuery(CUstream h) {
  API;
  NEED_CTX(d);
  STREAM_OF(h, s);
  if (s->capture)
    FAIL((s->capture->invalid = 1, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED),
         "cuStreamQuery of a captured stream");
  round_now++;
  si_some(d, 2);
  if (s->last && s->last->state == DONE) si_host_sees(d, s->last);
  return d->error                            ? d->error
         : s->last && s->last->state != DONE ? CUDA_ERROR_NOT_READY
                                             : CUDA_SUCCESS;
}
CUresult cuStreamGetCtx(CUstream s, CUcontext *c) {
  NEED(s, STREAM);
  return *c = &s->dev->ctx, CUDA_SUCCESS;
}
CUresult cuEventCreate(CUevent *e, unsigned flags) {
  API;
  NEED_CTX(d);
  *e = calloc(1, sizeof **e);
  d->nevents++;
  return **e = (struct CUevent_st){.magic = EVENT, .flags = flags, .dev = d}, CUDA_SUCCESS;
}
CUresult cuEventDestroy(CUevent e) {
  API;
  NEED(e, EVENT);
  e->dev->nevents--;
  return si_drop(e->op), e->op = NULL, e->magic = DEAD, CUDA_SUCCESS;
}
CUresult cuEventRecord(CUevent e, CUstream h) {
  API;
  NEED_CTX(d);
  NEED(e, EVENT);
  STREAM_OF(h, s);
  if (e->dev != d)
    FAIL(CUDA_ERROR_INVALID_HANDLE, "event of device %d recorded in a stream of device %d",
         e->dev->ordinal, d->ordinal);
  si_drop(e->op), e->op = NULL, e->capture = s->capture, e->nfront = 0;
  if (s->capture) {
    for (int i = 0; i < s->nfront; i++) si_add(&e->front, &e->nfront, s->front[i]);
    return CUDA_SUCCESS;
  }
  op *o = si_new_op(MARK, d, "event");
  e->op = si_hold(o);
  return si_enqueue(s, o);
}
CUresult cuStreamWaitEvent(CUstream h, CUevent e, unsigned flags) {
  API;
  NEED_CTX(d);
  NEED(e, EVENT);
  STREAM_OF(h, s);
  (void)flags;
  if (e->capture) {
    if (!e->capture->capturing || (s->capture && s->capture != e->capture))
      FAIL(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, "wait on an event of another capture");
    s->capture = e->capture;
    for (int i = 0; i < e->nfront; i++) {
      int have = 0;
      for (int j = 0; j < s->nfront; j++) have |= s->front[j] == e->front[i];
      if (!have) si_add(&s->front, &s->nfront, e->front[i]);
    }
    return CUDA_SUCCESS;
  }
  if (s->capture)
    FAIL((s->capture->invalid = 1, CUDA_ERROR_STREAM_CAPTURE_ISOLATION),
         "captured stream waits on an event recorded outside");
  if (!e->op) standin_say("warning: wait on an event that was never recorded: it orders nothing");
  si_stream_sees(s, e->op);
  if (!e->op || e->op->state == DONE) return CUDA_SUCCESS;
  op *o = si_new_op(MARK, d, "wait");
  si_depend(o, e->op);
  return si_enqueue(s, o);
}
static CUresult event_ready(CUevent e, int wait, const char *fn) {
  NEED_CTX(d);
  NEED(e, EVENT);
  if (e->capture && e->capture->capturing)
    FAIL((e->capture->invalid = 1, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED), "%s of a captured event",
         fn);
  CUresult bad = si_illegal(fn);
  if (bad) return bad;
  if (!e->op) return CUDA_SUCCESS;
  if (wait) return si_drain(e->dev, e->op);
  round_now++;
  si_some(d, 2);
  if (e->op->state == DONE) si_host_sees(e->dev, e->op);
  return e->dev->error ? e->dev->error : e->op->state == DONE ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}
CUresult cuEventSynchronize(CUevent e) {
  API;
  return event_ready(e, 1, __func__);
}
CUresult cuEventQuery(CUevent e) {
  API;
  return event_ready(e, 0, __func__);
}
CUresult cuEventElapsedTime(float *ms, CUevent a, CUevent b) {
  API;
  NEED(a, EVENT);
  NEED(b, EVENT);
  if ((a->flags | b->flags) & CU_EVENT_DISABLE_TIMING || !a->op || !b->op)
    return CUDA_ERROR_INVALID_HANDLE;
  if (a->op->state != DONE || b->op->state != DONE) return CUDA_ERROR_NOT_READY;
  return *ms = (float)(1e-6 * (double)(b->op->time - a->op->time)), CUDA_SUCCESS;
}
CUresult cuLaunchHostFunc(CUstream h, CUhostFn fn, void *data) {
  API;
  NEED_CTX(d);
  STREAM_OF(h, s);
  op *o = si_new_op(HOST, d, "host function");
  o->fn = fn, o->data = data;
  return si_enqueue(s, o);
}
