// print.c - what `graphrun ckpt list|show|verify` print, as text and as JSON.
#include "base/port.h"
#include "base/text.h"
#include "runtime/checkpoint/checkpoint.h"

static const char *const states[] = {"complete", "incomplete", "damaged"};

static const char FOLDER[] =
    "the folder that a run printed as its output, such as outputs/DATE/TIME, or its checkpoints/";

static gr_status none_in(const char *path) {
  return gr_hint(gr_fail(GR_ERR_CHECKPOINT, GR_NOWHERE, "there is no checkpoint in '%s'", path),
                 FOLDER);
}

// The checkpoints at a path: all of a directory, or the path itself when it is a checkpoint.
typedef struct found {
  gr_arena *arena;
  const char *path;
  gr_checkpoint_entry *all;
  int n;
} found;

static gr_status find(gr_arena *a, const char *path, gr_checkpoint_entry **out, int *n) {
  if (!gr_is_dir(path))
    return gr_hint(gr_fail(GR_ERR_IO, GR_NOWHERE, "there is no directory '%s'", path), FOLDER);
  GR_TRY(gr_checkpoint_list(a, path, out, n));
  if (*n || !gr_is_file(gr_arena_printf(a, "%s/manifest.json", path))) return GR_OK;
  gr_checkpoint *c;
  *out = GR_NEW(a, gr_checkpoint_entry, *n = 1);
  (*out)->path = path;
  gr_status e = gr_checkpoint_open(path, &c);
  if (e) {
    (*out)->state = GR_CHECKPOINT_DAMAGED;
    (*out)->why = gr_arena_strdup(a, gr_status_text(e));
  } else {
    (*out)->step = gr_checkpoint_step(c), (*out)->finite = gr_checkpoint_is_finite(c);
  }
  gr_checkpoint_close(c);
  gr_status_drop(e);
  return GR_OK;
}

static gr_status open_newest(const found *l, gr_checkpoint **out) {
  int n = l->n;
  while (n && l->all[n - 1].state != GR_CHECKPOINT_OK) n--;
  return n ? gr_checkpoint_open(l->all[n - 1].path, out) : none_in(l->path);
}

static gr_status verify_one(const char *path) {
  gr_checkpoint *c;
  GR_TRY(gr_checkpoint_open(path, &c));
  gr_status e = gr_checkpoint_verify(c);
  gr_checkpoint_close(c);
  return e;
}

static gr_status verified(const found *l, int bad) {
  if (!l->n) return none_in(l->path);
  if (!bad) return GR_OK;
  return gr_fail(GR_ERR_CHECKPOINT, GR_NOWHERE, "%d of %d checkpoints in '%s' %s damaged", bad,
                 l->n, l->path, bad == 1 ? "is" : "are");
}

// ---- As text ------------------------------------------------------------------------------------

static gr_status print_list(FILE *f, const found *l) {
  fprintf(f, "%12s  %-10s  %14s  %s\n", "step", "state", "bytes", "path");
  for (int i = 0; i < l->n; i++) {
    const gr_checkpoint_entry *c = &l->all[i];
    fprintf(f, "%12lld  %-10s  %14lld  %s", (long long)c->step, states[c->state],
            (long long)c->bytes, c->path);
    if (c->why) fprintf(f, "  (%s)", c->why);
    if (c->state == GR_CHECKPOINT_OK && !c->finite)
      fputs("  (the gradient of its last step was not finite)", f);
    fputc('\n', f);
  }
  if (l->n)
    fputs("checked: manifests and file sizes; `graphrun ckpt verify` reads every byte\n", f);
  return GR_OK;
}

static void print_scalars(FILE *f, gr_arena *a, const gr_checkpoint *c) {
  int n;
  const gr_scalar *s = gr_checkpoint_scalars(c, &n);
  fprintf(f, "scalars %d\n", n);
  for (; n-- > 0; s++) {
    gr_text t = gr_text_make(a);
    if (s->kind == GR_SCALAR_TEXT)
      gr_text_json(&t, s->text);
    else if (s->kind == GR_SCALAR_FLOAT)
      gr_text_put_float(&t, s->f);
    else
      gr_text_printf(&t, "%lld", (long long)s->i);
    fprintf(f, "  %-24s %.200s%s\n", s->name, t.chars, t.len > 200 ? "..." : "");
  }
}

static void print_tensors(FILE *f, const gr_checkpoint *c) {
  int n;
  int64_t bytes = 0;
  const gr_tensor_slice *p = gr_checkpoint_tensors(c, &n);
  for (int i = 0; i < n; i++) bytes += gr_tensor_slice_bytes(&p[i]);
  fprintf(f, "tensors %d, %lld bytes\n", n, (long long)bytes);
  for (; n-- > 0; p++) {
    fprintf(f, "  %-48s %-4s [", p->name, p->dtype);
    for (int d = 0; d < p->rank; d++) fprintf(f, "%s%lld", d ? ", " : "", (long long)p->dims[d]);
    fputs("]\n", f);
  }
}

static gr_status print_show(FILE *f, const found *l) {
  gr_checkpoint *c;
  GR_TRY(open_newest(l, &c));
  fprintf(f, "%s\nstep %lld, written by %d ranks\n", gr_checkpoint_path(c),
          (long long)gr_checkpoint_step(c), gr_checkpoint_ranks(c));
  print_scalars(f, l->arena, c);
  print_tensors(f, c);
  gr_checkpoint_close(c);
  return GR_OK;
}

static gr_status print_verify(FILE *f, const found *l) {
  int bad = 0;
  for (int i = 0; i < l->n; i++) {
    const gr_checkpoint_entry *c = &l->all[i];
    if (c->state == GR_CHECKPOINT_INCOMPLETE) {
      fprintf(f, "incomplete %s: %s\n", c->path, c->why);
      continue;
    }
    gr_status e = verify_one(c->path);
    if (e)
      fprintf(f, "DAMAGED    %s: %s\n", c->path, gr_status_text(e));
    else
      fprintf(f, "ok         %s\n", c->path);
    bad += e != GR_OK;
    gr_status_drop(e);
  }
  return verified(l, bad);
}

// ---- As JSON ------------------------------------------------------------------------------------

static gr_status put_list(FILE *f, const found *l) {
  gr_text t = gr_text_make(l->arena);
  for (int i = 0; i < l->n; i++) {
    const gr_checkpoint_entry *c = &l->all[i];
    gr_text_printf(&t, "%s{\"step\": %lld, \"state\": \"%s\", \"finite\": %s, \"bytes\": %lld",
                   i ? ",\n " : "", (long long)c->step, states[c->state],
                   c->finite ? "true" : "false", (long long)c->bytes);
    gr_text_json_member(&t, "path", c->path);
    if (c->why) gr_text_json_member(&t, "why", c->why);
    gr_text_put(&t, "}");
  }
  fprintf(f, "[%s]\n", t.chars);
  return GR_OK;
}

static void put_checkpoint(gr_text *t, const gr_checkpoint *c) {
  int n;
  gr_text_put(t, "{");
  gr_text_json_member(t, "path", gr_checkpoint_path(c));
  gr_text_printf(t, ", \"step\": %lld, \"ranks\": %d,\n \"scalars\": {",
                 (long long)gr_checkpoint_step(c), gr_checkpoint_ranks(c));
  const gr_scalar *s = gr_checkpoint_scalars(c, &n);
  for (int i = 0; i < n; i++) gr_scalar_json(t, &s[i]);
  gr_text_put(t, "},\n \"tensors\": [");
  const gr_tensor_slice *p = gr_checkpoint_tensors(c, &n);
  for (int i = 0; i < n; i++) {
    gr_text_json_line(t, "\n  {");
    gr_text_json_member(t, "name", p[i].name);
    gr_text_printf(t, ", \"dtype\": \"%s\", \"shape\": [", p[i].dtype);
    for (int d = 0; d < p[i].rank; d++)
      gr_text_printf(t, "%s%lld", d ? ", " : "", (long long)p[i].dims[d]);
    gr_text_put(t, "]}");
  }
  gr_text_put(t, "]}\n");
}

static gr_status put_show(FILE *f, const found *l) {
  gr_text t = gr_text_make(l->arena);
  gr_checkpoint *c;
  GR_TRY(open_newest(l, &c));
  put_checkpoint(&t, c);
  gr_checkpoint_close(c);
  fputs(t.chars, f);
  return GR_OK;
}

// A damaged checkpoint is both in the list and an error.
static gr_status put_verify(FILE *f, const found *l) {
  gr_text t = gr_text_make(l->arena);
  int bad = 0;
  for (int i = 0; i < l->n; i++) {
    const gr_checkpoint_entry *c = &l->all[i];
    gr_status e = verify_one(c->path);
    gr_text_printf(&t, "%s{\"step\": %lld, \"ok\": %s", i ? ",\n " : "", (long long)c->step,
                   e ? "false" : "true");
    gr_text_json_member(&t, "path", c->path);
    if (e) gr_text_json_member(&t, "why", gr_status_text(e));
    gr_text_put(&t, "}");
    bad += e && c->state != GR_CHECKPOINT_INCOMPLETE;
    gr_status_drop(e);
  }
  fprintf(f, "[%s]\n", t.chars);
  return verified(l, bad);
}

// ---- All ----------------------------------------------------------------------------------------

const char *const gr_checkpoint_views[] = {"list", "show", "verify", NULL};

gr_status gr_checkpoint_print(FILE *f, gr_checkpoint_view view, bool json, const char *path) {
  static gr_status (*const prints[][2])(FILE *, const found *) = {
      {print_list, put_list}, {print_show, put_show}, {print_verify, put_verify}};
  found l = {.arena = gr_arena_create(), .path = path};
  gr_status e = find(l.arena, path, &l.all, &l.n);
  return gr_arena_end(l.arena, e ? e : prints[view][json](f, &l));
}
