// print.c - what `graphrun ckpt list|show|verify` print.
#include "base/port.h"
#include "base/text.h"
#include "runtime/checkpoint/checkpoint.h"

static const char *const states[] = {"complete", "incomplete", "damaged"};

static const char FOLDER[] =
    "the folder that a run printed as its output, such as outputs/DATE/TIME, or its checkpoints/";

gr_status gr_checkpoint_none(const char *path) {
  return gr_hint(gr_fail(GR_ERR_CHECKPOINT, GR_NOWHERE, "there is no checkpoint in '%s'", path),
                 FOLDER);
}

gr_status gr_checkpoint_entries(gr_arena *a, const char *path, gr_checkpoint_entry **out, int *n) {
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

static gr_status print_list(FILE *f, gr_arena *a, const char *path) {
  gr_checkpoint_entry *all;
  int n;
  GR_TRY(gr_checkpoint_entries(a, path, &all, &n));
  fprintf(f, "%12s  %-10s  %14s  %s\n", "step", "state", "bytes", "path");
  for (int i = 0; i < n; i++) {
    fprintf(f, "%12lld  %-10s  %14lld  %s", (long long)all[i].step, states[all[i].state],
            (long long)all[i].bytes, all[i].path);
    if (all[i].why) fprintf(f, "  (%s)", all[i].why);
    if (all[i].state == GR_CHECKPOINT_OK && !all[i].finite)
      fputs("  (the gradient of its last step was not finite)", f);
    fputc('\n', f);
  }
  if (n) fputs("checked: manifests and file sizes; `graphrun ckpt verify` reads every byte\n", f);
  return GR_OK;
}

gr_status gr_checkpoint_print_list(FILE *f, const char *path) {
  gr_arena *a = gr_arena_create();
  return gr_arena_end(a, print_list(f, a, path));
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

static gr_status print_show(FILE *f, gr_arena *a, const char *path) {
  gr_checkpoint_entry *all;
  gr_checkpoint *c;
  int n, i;
  GR_TRY(gr_checkpoint_entries(a, path, &all, &n));
  for (i = n - 1; i >= 0 && all[i].state != GR_CHECKPOINT_OK; i--) continue;
  if (i < 0) return gr_checkpoint_none(path);
  GR_TRY(gr_checkpoint_open(all[i].path, &c));
  fprintf(f, "%s\nstep %lld, written by %d ranks\n", all[i].path, (long long)gr_checkpoint_step(c),
          gr_checkpoint_ranks(c));
  print_scalars(f, a, c);
  print_tensors(f, c);
  gr_checkpoint_close(c);
  return GR_OK;
}

gr_status gr_checkpoint_print_show(FILE *f, const char *path) {
  gr_arena *a = gr_arena_create();
  return gr_arena_end(a, print_show(f, a, path));
}

static gr_status verify_one(const char *path) {
  gr_checkpoint *c;
  GR_TRY(gr_checkpoint_open(path, &c));
  gr_status e = gr_checkpoint_verify(c);
  gr_checkpoint_close(c);
  return e;
}

static gr_status print_verify(FILE *f, gr_arena *a, const char *path) {
  gr_checkpoint_entry *all;
  int n, bad = 0;
  GR_TRY(gr_checkpoint_entries(a, path, &all, &n));
  if (!n) return gr_checkpoint_none(path);
  for (int i = 0; i < n; i++) {
    if (all[i].state == GR_CHECKPOINT_INCOMPLETE) {
      fprintf(f, "incomplete %s: %s\n", all[i].path, all[i].why);
      continue;
    }
    gr_status e = verify_one(all[i].path);
    if (e)
      fprintf(f, "DAMAGED    %s: %s\n", all[i].path, gr_status_text(e));
    else
      fprintf(f, "ok         %s\n", all[i].path);
    bad += e != GR_OK;
    gr_status_drop(e);
  }
  if (!bad) return GR_OK;
  return gr_fail(GR_ERR_CHECKPOINT, GR_NOWHERE, "%d of %d checkpoints in '%s' %s damaged", bad, n,
                 path, bad == 1 ? "is" : "are");
}

gr_status gr_checkpoint_print_verify(FILE *f, const char *path) {
  gr_arena *a = gr_arena_create();
  return gr_arena_end(a, print_verify(f, a, path));
}
