// wait.c - the host waits for a queue or an event, and watches communicators meanwhile. See
// parts.h.
#include <time.h>
#include "base/port.h"
#include "runtime/device/cuda/parts.h"

static CUresult query_stream(void *stream) { return gr_cu.cuStreamQuery(stream); }

static CUresult query_event(void *event) { return gr_cu.cuEventQuery(event); }

// A collective whose peer has died never ends, and one that failed may end without results: its
// communicator is asked while the host waits, and once more at the end. The longer it takes, the
// less often the driver is asked.
static gr_status wait_watched(gr_cuda *c, CUresult (*query)(void *), void *of) {
  double begun = gr_seconds();
  for (;;) {
    CUresult r = query(of);
    double waited = gr_seconds() - begun, pause = waited / 16;
    if (r != CUDA_SUCCESS && r != CUDA_ERROR_NOT_READY) return gr_driver_failed(r, "waiting");
    GR_TRY(c->watch(c->watch_arg, r ? waited : 0));
    if (r == CUDA_SUCCESS) return GR_OK;
    pause = pause < 20e-6 ? 20e-6 : pause > 500e-6 ? 500e-6 : pause;
    nanosleep(&(struct timespec){.tv_nsec = (long)(pause * 1e9)}, NULL);
  }
}

gr_status gr_cuda_wait(gr_cuda *c, CUevent e) {
  if (c->watch) return wait_watched(c, query_event, e);
  CU_TRY(cuEventSynchronize(e));
  return GR_OK;
}

gr_status gr_cuda_wait_queue(gr_cuda *c, gr_queue q) {
  if (c->watch) return wait_watched(c, query_stream, c->stream[q]);
  CU_TRY(cuStreamSynchronize(c->stream[q]));
  return GR_OK;
}
