// device.c - the list of devices. See device.h.
#include "runtime/device/device.h"
#include <string.h>
#include "ops/ops.h"

#define GR_DEVICE(name) extern const gr_device_ops gr_device_##name;
#include "runtime/device/devices.def"
#undef GR_DEVICE

#define GR_DEVICE(name) &gr_device_##name,
const gr_device_ops *const gr_devices[] = {
#include "runtime/device/devices.def"
    NULL};
#undef GR_DEVICE

int gr_device_count(const gr_device_ops *d) { return d->count ? d->count() : 0; }

gr_queue gr_device_queue(const gr_device *d, const gr_op *op) {
  if (d->limits.beside && op == &gr_op_fetch) return GR_QUEUE_FETCH;
  if (!d->limits.beside || !op->collective) return GR_QUEUE_COMPUTE;
  return op == &gr_op_all_gather && !d->limits.one_queue ? GR_QUEUE_GATHER : GR_QUEUE_REDUCE;
}

static gr_status unknown(const char *name, gr_loc loc) {
  char known[256] = "auto";
  for (const gr_device_ops *const *d = gr_devices; *d; d++)
    snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s, %s",
             (*d)->alias ? ", " : "", (*d)->alias ? (*d)->alias : "", (*d)->name);
  return gr_hint(gr_fail(GR_ERR_CONFIG, loc, "there is no device '%s'", name),
                 "device is one of %s", known);
}

static bool is_automatic(const char *name) { return !strcmp(name, "auto"); }

const gr_device_ops *gr_device_failing(const char *name) {
  for (const gr_device_ops *const *d = gr_devices; *d && is_automatic(name); d++)
    if ((*d)->fails && (*d)->fails()) return *d;
  return NULL;
}

static bool is_there(const gr_device_ops *d) { return gr_device_count(d) > 0; }
static bool seems_there(const gr_device_ops *d) {
  return d->seems_there ? d->seems_there() : is_there(d);
}

static bool is_called(const gr_device_ops *d, const char *name) {
  return !strcmp(d->name, name) || (d->alias && !strcmp(d->alias, name));
}

static gr_status find(const char *name, gr_loc loc, bool (*fits)(const gr_device_ops *),
                      const gr_device_ops **out) {
  bool automatic = is_automatic(name);
  *out = NULL;
  for (const gr_device_ops *const *d = gr_devices; *d && !*out; d++)
    if (automatic ? fits(*d) : is_called(*d, name)) *out = *d;
  if (automatic && !*out) *out = &gr_device_cpu;
  return *out ? GR_OK : unknown(name, loc);
}

gr_status gr_device_find(const char *name, gr_loc loc, const gr_device_ops **out) {
  return find(name, loc, is_there, out);
}

gr_status gr_device_guess(const char *name, gr_loc loc, const gr_device_ops **out) {
  return find(name, loc, seems_there, out);
}

gr_status gr_device_refuse(const gr_device_ops *d, const gr_op_call *call) {
  char type[96];
  bool typed = call->n_in > 0;
  return gr_hint(gr_fail(GR_ERR_UNSUPPORTED, call->loc,
                         "op '%s' has no kernel for the device '%s'%s%s", call->op->name, d->name,
                         typed ? " on " : "", typed ? gr_type_text(&call->in[0], type) : ""),
                 "device=cpu runs every op");
}
