// export_names.c - lists the tensors of a checkpoint under the names of another program, by going
// its rules of renaming back. See export.h.
#include <string.h>
#include "runtime/checkpoint/export.h"

// A tensor of the other program, which may be several of the checkpoint.
typedef struct whole {
  const char *name;
  const gr_pattern *rule;
  int *tensor;  // by part: 1 + its index; 0: not found yet
} whole;

static int parts_of(const gr_pattern *p) { return p->n_parts ? p->n_parts : 1; }

static const char *new_name(const gr_pattern *p, int part) {
  return p->n_parts ? p->parts[part] : p->to;
}

// ---- The way back -------------------------------------------------------------------------------

static gr_status no_name(const gr_exporter *x, const char *name) {
  const char *file = x->request->n_names ? x->request->names->loc.file : "the file of names";
  return gr_hint(
      gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "no name in '%s' leads to the tensor '%s'", file, name),
      "it needs a line {\"THEIR NAME\": \"%s\"}; a `*` on both sides stands for any text", name);
}

// `theirs` is what a rule says, but not where it leads.
static gr_status leads_elsewhere(const gr_exporter *x, const char *name, const gr_pattern *rule,
                                 const char *theirs) {
  const gr_pattern *p = gr_pattern_of(x->arena, x->request->names, x->request->n_names, theirs);
  const char *to = new_name(p, 0) ? gr_renamed(x->arena, p->text, new_name(p, 0), theirs) : NULL;
  const char *ours = to ? gr_arena_printf(x->arena, "is '%s'", to) : "is left out";
  return gr_hint(
      gr_fail(GR_ERR_CONFIG, rule->loc, "the tensor '%s' cannot be called '%s', which by '%s' %s",
              name, theirs, p->text, ours),
      "the first pattern that matches a name decides: a narrower one comes before");
}

// The name that leads to `name` by the first rule that can be gone back; the tensor is `part` of
// it.
static gr_status way_back(const gr_exporter *x, const char *name, const char **out,
                          const gr_pattern **rule, int *part) {
  const gr_pattern *all = x->request->names;
  gr_status elsewhere = GR_OK;
  for (const gr_pattern *p = all; p < all + x->request->n_names; p++)
    for (int k = 0; k < parts_of(p) && new_name(p, k); k++) {
      const char *theirs = gr_renamed(x->arena, new_name(p, k), p->text, name);
      if (!theirs) continue;
      const char *again = gr_renamed(x->arena, p->text, new_name(p, k), theirs);
      *out = theirs, *rule = p, *part = k;
      if (gr_pattern_of(x->arena, all, x->request->n_names, theirs) == p && !strcmp(again, name)) {
        gr_status_drop(elsewhere);
        return GR_OK;
      }
      if (!elsewhere) elsewhere = leads_elsewhere(x, name, p, theirs);
    }
  return elsewhere ? elsewhere : no_name(x, name);
}

// ---- Joining ------------------------------------------------------------------------------------

static gr_status missing(const gr_exporter *x, const whole *w, int part) {
  const char *name = gr_renamed(x->arena, w->rule->text, new_name(w->rule, part), w->name);
  return gr_fail(GR_ERR_CONFIG, w->rule->loc, "'%s' has %d parts, and there is no tensor '%s'",
                 w->name, w->rule->n_parts, name);
}

static bool same(const gr_tensor_slice *a, const gr_tensor_slice *b) {
  return !strcmp(a->dtype, b->dtype) && gr_tensor_slice_same_shape(a, b);
}

// Adds a tensor of the other program and the parts of it to those of `x`, which are n so far.
static gr_status list_whole(const gr_exporter *old, const whole *w, gr_exporter *x) {
  int n = parts_of(w->rule);
  gr_tensor_slice *listed = &x->listed[x->n_listed];
  x->first[x->n_listed++] = x->n;
  for (int k = 0; k < n; k++, x->n++) {
    if (!w->tensor[k]) return missing(old, w, k);
    x->tensors[x->n] = old->tensors[w->tensor[k] - 1];
    x->stored_name[x->n] = old->stored_name[w->tensor[k] - 1];
    const gr_tensor_slice *part = &x->tensors[x->n], *first = &x->tensors[x->n - k];
    if (n > 1 && (!part->rank || !same(part, first)))
      return gr_fail(GR_ERR_CONFIG, w->rule->loc,
                     "'%s' and '%s' are not of one shape, and cannot be parts of '%s'", first->name,
                     part->name, w->name);
  }
  *listed = x->tensors[x->n - n];
  listed->name = w->name;
  if (n > 1) listed->dims[0] *= n, listed->size[0] *= n;
  return GR_OK;
}

static gr_status find_whole(const gr_exporter *x, int tensor, whole *all, gr_map *by_name) {
  const gr_pattern *rule = NULL;
  const char *name = NULL, *prefix = x->request->adapter ? gr_peft_prefix : "";
  int part = 0;
  uint32_t i = by_name->n;
  GR_TRY(way_back(x, x->tensors[tensor].name + strlen(prefix), &name, &rule, &part));
  if (!gr_map_find(by_name, name, &i)) {
    gr_map_put(by_name, name, i);
    all[i] = (whole){gr_arena_printf(x->arena, "%s%s", prefix, name), rule,
                     GR_NEW(x->arena, int, parts_of(rule))};
  }
  all[i].tensor[part] = tensor + 1;
  return GR_OK;
}

gr_status gr_exporter_rename(gr_exporter *x) {
  gr_exporter out = *x;
  gr_map by_name = gr_map_make(x->arena);
  whole *all = GR_NEW(x->arena, whole, x->n + 1);
  gr_status s = GR_OK;
  for (int i = 0; i < x->n; i++) s = gr_also(s, find_whole(x, i, all, &by_name));
  out.tensors = GR_NEW(x->arena, gr_tensor_slice, x->n + 1);
  out.stored_name = GR_NEW(x->arena, const char *, x->n + 1);
  out.listed = GR_NEW(x->arena, gr_tensor_slice, x->n + 1);
  out.first = GR_NEW(x->arena, int, x->n + 1);
  out.n = out.n_listed = 0;
  for (uint32_t i = 0; i < by_name.n && !s; i++) s = list_whole(x, &all[i], &out);
  out.first[out.n_listed] = out.n;
  *x = out;
  return s;
}
