// about.c - the record of a run that its folder keeps besides the configuration: the program, the
// machine, where each value of the configuration came from, and the plan. See job.h.
#include "compiler/picture/picture.h"
#include "compiler/report/explain.h"
#include "compose/show.h"
#include "job/figures.h"
#include "job/version.h"

static void put_machine(gr_text *t) {
  gr_machine m;
  gr_machine_read(&m);
  gr_text_put(t, ",\n \"machine\": {");
  gr_text_json_member(t, "host", m.host);
  gr_text_json_member(t, "system", m.system);
  gr_text_json_member(t, "processor", m.processor);
  gr_text_printf(t, ", \"processors\": %d, \"memory_bytes\": %.0f}", gr_processors(), m.memory);
}

static void put_place(gr_text *t, const gr_conf *c) {
  gr_loc loc = c->loc.file ? c->loc : c->key_loc;
  bool none = c->is_default || !loc.file;
  gr_text_json_member(
      t, "from",
      none ? "default" : gr_arena_printf(t->arena, "%s:%d:%d", loc.file, loc.line, loc.col));
}

// Every value that is no mapping, with its key and its place.
static void put_values(gr_text *t, const gr_conf *c) {
  for (int i = 0; i < c->n; i++) {
    const gr_conf *v = c->items[i];
    if (v->kind == GR_CONF_MAP && v->n) {
      put_values(t, v);
      continue;
    }
    gr_text_json_line(t, "\n  {");
    gr_text_json_member(t, "key", gr_conf_path(t->arena, v));
    gr_text_json_key(t, "value");
    gr_conf_json_written(t, v, 0);
    put_place(t, v);
    gr_text_put(t, "}");
  }
}

void gr_job_keep_about(gr_job *j) {
  gr_text about = gr_text_make(j->arena), plan = gr_text_make(j->arena);
  gr_text libraries = gr_text_make(j->arena), graph = gr_text_make(j->arena);
  gr_version_libraries(&libraries);
  gr_text_put(&about, "{");
  gr_version_json_members(&about);
  gr_text_json_member(&about, "libraries", libraries.chars);
  gr_text_put(&about, ",\n \"command\": ");
  gr_text_json_texts(&about, (const char *const *)j->args.argv, j->args.argc);
  put_machine(&about);
  gr_text_put(&about, ",\n \"config\": [");
  put_values(&about, j->spec.conf);
  gr_text_put(&about, "]}\n");
  gr_plan_json(&plan, gr_job_count(j, NULL, 0));
  gr_text picture = gr_text_make(j->arena);
  gr_picture_request request = {.title = j->args.config};
  gr_status_drop(gr_plan_picture(&picture, j->spec.plan, &request));  // fails for patterns alone
  const gr_program *drawn = gr_plan_drawn(j->spec.plan);
  if (drawn && j->spec.set.outputs.tensorboard) gr_plan_graph_def(&graph, drawn);
  j->spec.graph_def = graph.chars, j->spec.graph_def_bytes = graph.len;
  j->spec.about_json = about.chars, j->spec.plan_json = plan.chars;
  j->spec.plan_svg = picture.chars;
}

enum { MAX_MODEL = 16 << 20 };  // bytes of its file

// The folder .hydra, or hydra.output_subdir; null: the files are not written.
void gr_job_keep_config(gr_job *j) {
  gr_conf *hydra = j->composed.hydra;
  const gr_conf *subdir = hydra ? gr_conf_find(hydra, "output_subdir") : NULL;
  if (subdir && subdir->kind == GR_CONF_NULL) return;
  gr_saved saved = gr_show_saved(j->arena, &j->composed);
  j->spec.config_dir = gr_conf_text_of(subdir, ".hydra");
  j->spec.config_yaml = saved.config;
  j->spec.hydra_yaml = saved.hydra;
  j->spec.overrides_yaml = saved.overrides;
  char *model = NULL;
  gr_status s = GR_OK;
  if (!j->model.text) s = gr_file_read(j->arena, j->spec.set.model.graph, MAX_MODEL, &model, NULL);
  if (j->model.text) model = gr_arena_strdup(j->arena, j->model.text);
  gr_status_drop(s);  // the model has been read from it: if it is gone now, the run goes on
  j->spec.model_yaml = model;
}
