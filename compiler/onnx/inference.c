// inference.c - the graph of what a model predicts. See onnx.h.
#include "compiler/onnx/onnx.h"
#include "compiler/pass.h"

// Keeps what is predicted, and nothing that the program does besides.
static void keep_predictions(gr_graph *g) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < g->n_results; i++) {
    if (!gr_result_begins(g, i, "predict.")) continue;
    g->results[n] = g->results[i];
    g->result_names[n++] = g->result_names[i];
  }
  g->n_results = n;
  g->loss = g->loss_denominator = GR_NONE;
  for (uint32_t v = 1; v < g->n_values; v++) g->values[v].next = GR_NONE;
}

gr_status gr_inference_graph(gr_arena *arena, const gr_model_request *request, gr_graph **out) {
  gr_arena *work = gr_arena_create();
  gr_graph *model = NULL;
  gr_model_request r = *request;
  r.purpose = GR_EVAL;
  gr_status s = gr_model_build(work, &r, &model);
  if (!s) keep_predictions(model);
  if (!s && !model->n_results)
    s = gr_hint(gr_fail(GR_ERR_CONFIG, request->graph->loc, "the model states nothing to predict"),
                "docs/graph-language.md: `predict: {logits: logits}` names what is exported");
  const gr_options o = {.debug = {.stop_after = "dce", .dump_to = stdout}};
  if (!s) s = gr_compile(arena, model, GR_EVAL, &o, out);
  return gr_arena_end(work, s);
}
