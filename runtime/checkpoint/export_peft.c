// export_peft.c - writes the folder of an adapter as PEFT does. See checkpoint.h.
#include <math.h>
#include <string.h>
#include "base/output.h"
#include "base/port.h"
#include "base/text.h"
#include "runtime/checkpoint/export.h"

// The paths of the adapter's layers, as a JSON array.
static gr_text list_layers(gr_exporter *x, const gr_checkpoint_adapter *p) {
  gr_text t = gr_text_make(x->arena);
  int n, adapter;
  const gr_tensor_slice *all = gr_checkpoint_tensors(x->checkpoint, &n);
  const char *layer, *part;
  gr_text_put(&t, "[");
  for (int i = 0; i < n; i++) {
    if (!gr_exporter_is_of_adapter(x, all[i].name, &layer, &part, &adapter) ||
        strcmp(part, "lora_A.weight") || strcmp(x->adapters[adapter].name, p->name))
      continue;
    gr_text_put(&t, t.len > 1 ? ", " : "");
    gr_text_json(&t, layer);
  }
  gr_text_put(&t, "]");
  return t;
}

static void put_number(gr_text *t, double v) {
  if (v == floor(v))
    gr_text_put_int(t, (int64_t)v);
  else
    gr_text_json_float(t, v);
}

static gr_status write_config(gr_exporter *x, const char *dir, const gr_checkpoint_adapter *p) {
  gr_text t = gr_text_make(x->arena);
  gr_text_printf(
      &t, "{\n  \"peft_type\": \"LORA\",\n  \"r\": %lld,\n  \"lora_alpha\": ", (long long)p->rank);
  put_number(&t, p->alpha);
  gr_text_put(&t, ",\n  \"lora_dropout\": ");
  gr_text_json_float(&t, p->dropout);
  gr_text_printf(&t,
                 ",\n  \"target_modules\": %s,\n  \"bias\": \"none\",\n  \"fan_in_fan_out\": false,"
                 "\n  \"inference_mode\": true,\n  \"base_model_name_or_path\": null,\n  "
                 "\"task_type\": null\n}\n",
                 list_layers(x, p).chars);
  return gr_output_write(dir, "adapter_config.json", t.chars, t.len);
}

gr_status gr_checkpoint_export_adapter(gr_checkpoint *c, const char *dir, gr_export what,
                                       const gr_checkpoint_adapter *p,
                                       gr_checkpoint_exported *out) {
  gr_exporter x = {.arena = gr_arena_create(), .checkpoint = c};
  const gr_export_request request = {.what = what, .adapter = p};
  gr_status s = gr_make_dirs(dir);
  if (!s) s = gr_checkpoint_adapters(x.arena, c, &x.adapters, &x.n_adapters);
  if (!s) s = write_config(&x, dir, p);
  const char *path = gr_arena_printf(x.arena, "%s/adapter_model.safetensors", dir);
  if (!s) s = gr_checkpoint_export(c, path, &request, out);
  gr_arena_destroy(x.arena);
  return s;
}
