// tensors.c - the inputs, results and states of a plan, which the host writes and reads between
// runs of programs. See exec.h.
//
// `computed` and `transferred` tell whether there is anything to wait for, so that a sequence of
// transfers waits once.
#include <string.h>
#include "runtime/exec/exec.h"
#include "runtime/exec/parts.h"

static gr_exec_tensor find(const gr_exec *e, const gr_program *p, gr_val v) {
  if (!gr_is(v)) return (gr_exec_tensor){0};
  gr_type type = gr_at(p->frame.g, v)->type;
  return (gr_exec_tensor){gr_exec_address(e, &p->frame, e->work, v.id), type, gr_type_bytes(&type)};
}

// Where the device has no such queue, inputs are written in their own place.
gr_exec_tensor gr_exec_input(const gr_exec *e, const gr_program *p, const char *name) {
  gr_val v = gr_graph_leaf(p->frame.g, GR_INPUT, name);
  gr_exec_tensor t = find(e, p, v);
  if (!gr_exec_uploads_ahead(e) || !t.address || !gr_plan_uploads(&p->frame, v.id)) return t;
  t.upload = e->uploads + p->frame.upload[v.id];
  t.program = (uint32_t)(p - e->plan->programs) + 1;
  return t;
}

gr_exec_tensor gr_exec_result(const gr_exec *e, const gr_program *p, const char *name) {
  return find(e, p, gr_graph_result(p->frame.g, name));
}

gr_exec_tensor gr_exec_state(const gr_exec *e, const gr_plan_state *s) {
  char *address = s->host ? e->host + (s->offset - e->plan->state_bytes) : e->states + s->offset;
  return (gr_exec_tensor){address, s->type, gr_type_bytes(&s->type)};
}

static gr_status begin_transfer(gr_exec *e) {
  gr_device *d = e->device;
  if (e->computed) GR_TRY(d->ops->wait(d, GR_QUEUE_TRANSFER, GR_EVENT_COMPUTED));
  e->computed = false, e->transferred = true;
  return GR_OK;
}

static gr_status write_ahead(gr_exec *e, const gr_exec_tensor *t, const void *source) {
  gr_device *d = e->device;
  uint32_t i = 0;
  if (e->ahead_of != t->program) e->n_ahead = 0;
  if (e->taken) GR_TRY(d->ops->wait(d, GR_QUEUE_AHEAD, GR_EVENT_TAKEN));
  e->ahead_of = t->program, e->taken = false;
  while (i < e->n_ahead && e->ahead[i].to != t->address) i++;
  e->ahead[i] = (gr_exec_copy){t->address, t->upload, t->bytes};
  e->n_ahead += i == e->n_ahead;
  return d->ops->upload_ahead(d, t->upload, source, t->bytes);
}

gr_status gr_exec_write(gr_exec *e, const gr_exec_tensor *t, const void *source) {
  if (t->upload) return write_ahead(e, t, source);
  if (gr_exec_in_host(e, t->address)) {
    GR_TRY(e->device->ops->synchronise(e->device, GR_QUEUE_COMPUTE));
    memcpy(t->address, source, t->bytes);
    return GR_OK;
  }
  GR_TRY(begin_transfer(e));
  return e->device->ops->upload(e->device, t->address, source, t->bytes);
}

bool gr_exec_uploads_ahead(const gr_exec *e) { return e->uploads && e->device->ops->upload_ahead; }

bool gr_exec_is_ahead(const gr_exec *e, const gr_program *p) {
  return e->ahead_of == p - e->plan->programs + 1;
}

gr_status gr_exec_read(gr_exec *e, const gr_exec_tensor *t, void *to) {
  if (gr_exec_in_host(e, t->address)) {
    GR_TRY(e->device->ops->synchronise(e->device, GR_QUEUE_COMPUTE));
    memcpy(to, t->address, t->bytes);
    return GR_OK;
  }
  GR_TRY(begin_transfer(e));
  return e->device->ops->download(e->device, to, t->address, t->bytes);
}

gr_status gr_exec_wait(gr_exec *e) {
  return e->device->ops->synchronise(e->device, GR_QUEUE_TRANSFER);
}

size_t gr_exec_staging(const gr_exec *e, const gr_exec_tensor *t) {
  return e->device->limits.host_memory ? 0 : t->bytes;
}

gr_status gr_exec_view(gr_exec *e, const gr_exec_tensor *t, void *staging, const void **out) {
  *out = t->address;
  if (e->device->limits.host_memory)
    return e->device->ops->synchronise(e->device, GR_QUEUE_COMPUTE);
  *out = staging;
  GR_TRY(gr_exec_read(e, t, staging));
  return gr_exec_wait(e);
}

void *gr_exec_target(const gr_exec *e, const gr_exec_tensor *t, void *staging) {
  return e->device->limits.host_memory ? t->address : staging;
}

gr_status gr_exec_store(gr_exec *e, const gr_exec_tensor *t, const void *source) {
  if (source == t->address) return GR_OK;
  GR_TRY(gr_exec_write(e, t, source));
  return gr_exec_wait(e);
}
