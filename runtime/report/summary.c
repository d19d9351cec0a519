// summary.c - what an event file has besides scalars and pictures: hyper-parameters, the graph, and
// samples as text. See parts.h.
//
// Message and field names are those of tensorboard/compat/proto and tensorboard/plugins/hparams.
#include <string.h>
#include "base/proto.h"
#include "runtime/report/parts.h"

enum { DT_FLOAT = 1, DT_STRING = 7, DATA_CLASS_TENSOR = 2 };
enum { SUCCESS = 1, FAILURE = 2 };  // of SessionEndInfo

// ---- Summaries of plugins -------------------------------------------------------------------

static gr_text shape(gr_arena *a, const uint64_t *dim, int rank) {
  gr_text out = gr_text_make(a);
  for (int i = 0; i < rank; i++) {
    gr_text d = gr_text_make(a);
    gr_proto_int(&d, 1, dim[i]);    // TensorShapeProto.Dim.size
    gr_proto_message(&out, 2, &d);  // TensorShapeProto.dim
  }
  return out;
}

static gr_text metadata(gr_arena *a, const char *plugin, const gr_text *content) {
  gr_text data = gr_text_make(a), out = gr_text_make(a);
  gr_proto_text(&data, 1, plugin);  // PluginData.plugin_name
  if (content) gr_proto_message(&data, 2, content);
  gr_proto_message(&out, 1, &data);  // SummaryMetadata.plugin_data
  if (!content) gr_proto_int(&out, 4, DATA_CLASS_TENSOR);
  return out;
}

static gr_status put_value(gr_events *e, int64_t step, double wall, const char *tag,
                           const gr_text *about, const gr_text *tensor) {
  gr_arena *a = about->arena;
  gr_text value = gr_text_make(a), summary = gr_text_make(a);
  gr_proto_text(&value, 1, tag);        // Summary.Value.tag
  gr_proto_message(&value, 9, about);   // .metadata
  gr_proto_message(&value, 8, tensor);  // .tensor
  gr_proto_message(&summary, 1, &value);
  gr_events_begin(e, step, wall);
  gr_proto_message(&e->record, 5, &summary);  // Event.summary
  return gr_events_end(e);
}

// ---- Hyper-parameters -----------------------------------------------------------------------

// A record of the plugin is in its metadata; the tensor is [0].
static gr_status put_hparams(gr_events *e, int64_t step, double wall, const char *tag,
                             const gr_text *data) {
  gr_arena *a = data->arena;
  gr_text tensor = gr_text_make(a), dims = shape(a, &(uint64_t){1}, 1);
  gr_text about = metadata(a, "hparams", data);
  gr_proto_int(&tensor, 1, DT_FLOAT);
  gr_proto_message(&tensor, 2, &dims);
  gr_proto_float(&tensor, 5, 0);
  return put_value(e, step, wall, tag, &about, &tensor);
}

static gr_text value_of(gr_arena *a, const gr_param *p) {
  gr_text v = gr_text_make(a);  // google.protobuf.Value
  if (p->kind == GR_PARAM_TEXT)
    gr_proto_text(&v, 3, p->text);
  else if (p->kind == GR_PARAM_BOOL)
    gr_proto_int(&v, 4, p->i != 0);
  else
    gr_proto_double(&v, 2, p->kind == GR_PARAM_INT ? (double)p->i : p->f);
  return v;
}

gr_status gr_events_put_start(gr_events *e, double wall, const gr_param *params, int n) {
  if (e->file.fd < 0 || !n) return GR_OK;
  gr_arena *a = gr_arena_create();
  gr_text start = gr_text_make(a), data = gr_text_make(a);
  for (int i = 0; i < n; i++) {
    gr_text entry = gr_text_make(a), v = value_of(a, &params[i]);
    gr_proto_text(&entry, 1, params[i].key);
    gr_proto_message(&entry, 2, &v);
    gr_proto_message(&start, 1, &entry);  // SessionStartInfo.hparams
  }
  gr_proto_message(&data, 3, &start);  // HParamsPluginData.session_start_info
  return gr_arena_end(a, put_hparams(e, 0, wall, "_hparams_/session_start_info", &data));
}

gr_status gr_events_put_end(gr_events *e, int64_t step, double wall, bool well) {
  if (e->file.fd < 0) return GR_OK;
  gr_arena *a = gr_arena_create();
  gr_text end = gr_text_make(a), data = gr_text_make(a);
  gr_proto_int(&end, 1, well ? SUCCESS : FAILURE);
  gr_proto_message(&data, 4, &end);  // HParamsPluginData.session_end_info
  return gr_arena_end(a, put_hparams(e, step, wall, GR_EVENTS_END, &data));
}

// ---- Samples --------------------------------------------------------------------------------

// The plugin of texts reads Markdown: what that reserves is escaped, so that texts are shown as
// they are.
static const char *plain(gr_arena *a, const char *s) {
  gr_text t = gr_text_make(a);
  for (; *s; s++) {
    if (strchr("\\`*_[]<>|#", *s)) gr_text_put(&t, "\\");
    gr_text_putn(&t, s, 1);
  }
  return t.chars;
}

gr_status gr_events_put_samples(gr_events *e, int64_t step, double wall,
                                const gr_report_sample *samples, int n) {
  if (e->file.fd < 0 || !n) return GR_OK;
  gr_arena *a = gr_arena_create();
  gr_text tensor = gr_text_make(a), about = metadata(a, "text", NULL);
  gr_text dims = shape(a, (uint64_t[]){(uint64_t)n + 1, 3}, 2);
  gr_proto_int(&tensor, 1, DT_STRING);
  gr_proto_message(&tensor, 2, &dims);
  for (int i = -1; i < n; i++) {
    gr_proto_text(&tensor, 8, i < 0 ? "sample" : plain(a, samples[i].name));
    gr_proto_text(&tensor, 8, i < 0 ? "reference" : plain(a, samples[i].reference));
    gr_proto_text(&tensor, 8, i < 0 ? "predicted" : plain(a, samples[i].predicted));
  }
  return gr_arena_end(a, put_value(e, step, wall, GR_EVENTS_SAMPLES, &about, &tensor));
}

// ---- The graph ------------------------------------------------------------------------------

gr_status gr_events_put_graph(gr_events *e, double wall, const void *graph, size_t bytes) {
  if (e->file.fd < 0 || !bytes || bytes > GR_MAX_EVENT / 2) return GR_OK;
  gr_events_begin(e, 0, wall);
  gr_proto_bytes(&e->record, 4, graph, bytes);  // Event.graph_def
  return gr_events_end(e);
}
