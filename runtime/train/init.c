// init.c - loads initial weights that another run or program has written. See run.h.
#include <string.h>
#include "runtime/checkpoint/safetensors.h"
#include "runtime/train/run.h"

enum { SHOWN = 20 };  // mismatches that are listed

typedef struct source {
  gr_checkpoint *checkpoint;  // either this or `file`
  gr_safetensors *file;
  const gr_tensor_slice *tensors;
  int n;
  gr_map by_name;
} source;

static gr_status open_source(gr_run *r, const char *path, source *s) {
  *s = (source){.by_name = gr_map_make(r->arena)};
  if (gr_is_dir(path)) {
    GR_TRY(gr_checkpoint_open(path, &s->checkpoint));
    s->tensors = gr_checkpoint_tensors(s->checkpoint, &s->n);
  } else {
    GR_TRY(gr_safetensors_open(path, &s->file));
    s->tensors = gr_safetensors_tensors(s->file, &s->n);
  }
  for (int i = 0; i < s->n; i++) gr_map_put(&s->by_name, s->tensors[i].name, (uint32_t)i);
  return GR_OK;
}

static void close_source(source *s) {
  gr_checkpoint_close(s->checkpoint);
  gr_safetensors_close(s->file);
}

// ---- Fitting --------------------------------------------------------------------------------

static const char *shape_of(gr_arena *a, const gr_tensor_slice *p) {
  gr_text t = gr_text_make(a);
  gr_text_printf(&t, "%s[", p->dtype);
  for (int d = 0; d < p->rank; d++)
    gr_text_printf(&t, "%s%lld", d ? "," : "", (long long)p->dims[d]);
  gr_text_put(&t, "]");
  return t.at;
}

static bool same_shape(const gr_tensor_slice *a, const gr_tensor_slice *b) {
  bool same = a->rank == b->rank;
  for (int d = 0; same && d < a->rank; d++) same = a->dims[d] == b->dims[d];
  return same;
}

// Why a state cannot be loaded from the source; NULL: it can. Constants may be missing: other
// programs do not write them.
static const char *misfit(gr_run *r, const source *s, const gr_plan_state *state) {
  gr_tensor_slice want = gr_run_tensor_slice(r, state, r->rank);
  uint32_t i;
  if (gr_map_find(&s->by_name, state->name, &i)) {
    const gr_tensor_slice *has = &s->tensors[i];
    bool dtype = s->file ? gr_safetensors_is_float(has) && !strcmp(want.dtype, "f32")
                         : !strcmp(has->dtype, want.dtype);
    if (dtype && same_shape(has, &want)) return NULL;
    return gr_arena_printf(r->arena, "%s is %s there, and %s in the model", state->name,
                           shape_of(r->arena, has), shape_of(r->arena, &want));
  }
  if (state->kind == GR_KIND_BUFFER) return NULL;
  const char *near = gr_text_nearest(state->name, s->by_name.keys, (int)s->by_name.n);
  return gr_arena_printf(r->arena, "%s %s is not there%s%s%s", state->name,
                         shape_of(r->arena, &want), near ? "; there is '" : "", near ? near : "",
                         near ? "'" : "");
}

static bool is_wanted(const gr_plan_state *s) {
  return s->kind == GR_KIND_WEIGHT || s->kind == GR_KIND_BUFFER;
}

static gr_status check_fit(gr_run *r, const source *s, const char *path) {
  const gr_plan *p = r->spec->plan;
  const char *why[SHOWN];
  int bad = 0, all = 0;
  for (uint32_t i = 0; i < p->n_states; i++) {
    const char *what = is_wanted(&p->states[i]) ? misfit(r, s, &p->states[i]) : NULL;
    all += is_wanted(&p->states[i]);
    if (what && bad++ < SHOWN) why[bad - 1] = what;
  }
  if (!bad) return GR_OK;
  gr_status e = gr_fail(GR_ERR_CHECKPOINT, r->spec->set.init_loc,
                        "%d of the model's %d weights do not fit '%s'", bad, all, path);
  for (int i = 0; i < bad && i < SHOWN; i++) e = gr_note(e, GR_NOWHERE, "%s", why[i]);
  if (bad > SHOWN) e = gr_note(e, GR_NOWHERE, "and %d more", bad - SHOWN);
  return gr_hint(e, "weights go by name: `name:` in the model's graph gives a node its own");
}

// ---- Loading --------------------------------------------------------------------------------

static gr_status load(gr_run *r, const source *s, int *n) {
  const gr_plan *p = r->spec->plan;
  for (uint32_t k = 0; k < p->n_states; k++) {
    gr_tensor_slice want = gr_run_tensor_slice(r, &p->states[k], r->rank);
    uint32_t i;
    if (!is_wanted(&p->states[k]) || !gr_map_find(&s->by_name, want.name, &i)) continue;
    ++*n;
    gr_exec_tensor t = gr_run_tensor_of(&want);
    want.at = gr_exec_target(r->exec, &t, r->staging);
    if (!t.bytes) continue;  // the last ranks' slices may be empty
    GR_TRY(s->file ? gr_safetensors_read(s->file, (int)i, &want)
                   : gr_checkpoint_read(s->checkpoint, &want));
    GR_TRY(gr_exec_store(r->exec, &t, want.at));
  }
  return GR_OK;
}

gr_status gr_run_init_from(gr_run *r, const char *path) {
  source s;
  int n = 0;
  gr_status e = open_source(r, path, &s);
  e = e ? gr_note(e, r->spec->set.init_loc, "asked for by model.init_from")
        : check_fit(r, &s, path);
  e = e ? e : load(r, &s, &n);
  if (!e && r->rank == 0) gr_log(GR_INFO, "%d tensors are those of %s", n, path);
  close_source(&s);
  return e;
}
