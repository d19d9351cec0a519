// traced.c - the CPU as if its memory were out of the host's reach, with a count of what is done.
#include "tests/docs/traced.h"

static gr_status open(const gr_device_options *o, gr_device **out) {
  extern const gr_device_ops gr_device_traced;
  GR_TRY(gr_host_open(&gr_device_traced, o, sizeof(traced_device), out));
  (*out)->limits.host_memory = false;  // so that states and answers are downloaded to be read
  (*out)->limits.bytes = 64 << 20;     // a plan that needs more is refused
  return GR_OK;
}

static gr_status upload(gr_device *d, void *to, const void *source, size_t bytes) {
  ((traced_device *)d)->uploaded += bytes;
  return gr_host_copy(d, to, source, bytes);
}

static gr_status download(gr_device *d, void *to, const void *source, size_t bytes) {
  ((traced_device *)d)->downloaded += bytes;
  return gr_host_copy(d, to, source, bytes);
}

static gr_status node(gr_device *d, const gr_graph *g, uint32_t i, const gr_launch *l) {
  (void)g, (void)i, (void)l;  // the node, its op, its place in the model, its addresses
  ((traced_device *)d)->nodes++;
  return GR_OK;
}

static void report(const gr_device *d, gr_text *t) {
  const traced_device *traced = (const traced_device *)d;
  gr_text_printf(t, "%llu nodes, %llu bytes uploaded, %llu downloaded, %llu collectives",
                 (unsigned long long)traced->nodes, (unsigned long long)traced->uploaded,
                 (unsigned long long)traced->downloaded, (unsigned long long)traced->collectives);
}

const gr_device_ops gr_device_traced = {
    .name = "traced",
    .alias = "counting",  // device=counting means it as well
    .doc = "the CPU, counting",
    .collectives = "traced",  // of traced_collectives.c
    .open = open,
    .close = gr_host_close,
    .allocate = gr_host_allocate,
    .free = gr_host_free,
    .upload = upload,
    .download = download,
    .copy = gr_host_copy,
    .fill = gr_host_fill,
    .record = gr_host_record,
    .wait = gr_host_wait,
    .synchronise = gr_host_synchronise,
    .kernel = gr_host_kernel,
    .node = node,
    .report = report,
};
