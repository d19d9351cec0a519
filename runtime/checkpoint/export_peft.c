// export_peft.c - writes the folder of an adapter as PEFT does. See checkpoint.h.
#include <math.h>
#include <string.h>
#include "base/output.h"
#include "base/port.h"
#include "base/text.h"
#include "runtime/checkpoint/export.h"

// The paths of the adapter's layers, as a JSON array.
static gr_text list_layers(const gr_exporter *x) {
  static const char end[] = ".lora_A.weight";
  const int begin = (int)strlen(gr_peft_prefix), n_end = (int)strlen(end);
  gr_text t = gr_text_make(x->arena);
  gr_text_put(&t, "[");
  for (int i = 0; i < x->n_listed; i++) {
    const char *path = x->listed[i].name + begin;
    int n = (int)strlen(path) - n_end;
    if (n < 0 || strcmp(path + n, end) != 0) continue;
    gr_text_put(&t, t.len > 1 ? ", " : "");
    gr_text_json(&t, gr_arena_strndup(x->arena, path, (size_t)n));
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

static gr_status write_config(const gr_exporter *x, const char *dir,
                              const gr_checkpoint_adapter *p) {
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
                 list_layers(x).chars);
  return gr_output_write(dir, "adapter_config.json", t.chars, t.len);
}

static gr_status export_adapter(gr_exporter *x, const char *dir, gr_checkpoint_exported *out) {
  GR_TRY(gr_exporter_choose(x));
  *out = gr_exporter_begin(x);
  GR_TRY(gr_make_dirs(dir));
  GR_TRY(write_config(x, dir, x->request->adapter));
  return gr_export_safetensors(x, dir, "adapter_model.safetensors", 0, x->n_listed);
}

gr_status gr_checkpoint_export_adapter(gr_checkpoint *c, const char *dir,
                                       const gr_export_request *request,
                                       gr_checkpoint_exported *out) {
  gr_exporter x = {.arena = gr_arena_create(), .checkpoint = c, .request = request};
  return gr_arena_end(x.arena, export_adapter(&x, dir, out));
}
