// print_json.c - what `graphrun ckpt list|show|verify --json` print.
#include "base/text.h"
#include "runtime/checkpoint/checkpoint.h"

static const char *const states[] = {"complete", "incomplete", "damaged"};

static void put_list(gr_text *t, const gr_checkpoint_entry *all, int n) {
  gr_text_put(t, "[");
  for (int i = 0; i < n; i++) {
    gr_text_printf(
        t, "%s{\"step\": %lld, \"state\": \"%s\", \"finite\": %s, \"bytes\": %lld, \"path\": ",
        i ? ",\n " : "", (long long)all[i].step, states[all[i].state],
        all[i].finite ? "true" : "false", (long long)all[i].bytes);
    gr_text_json(t, all[i].path);
    if (all[i].why) gr_text_put(t, ", \"why\": "), gr_text_json(t, all[i].why);
    gr_text_put(t, "}");
  }
  gr_text_put(t, "]\n");
}

static void put_scalar(gr_text *t, const gr_scalar *s) {
  gr_text_json(t, s->name);
  gr_text_put(t, ": ");
  if (s->kind == GR_SCALAR_TEXT)
    gr_text_json(t, s->text);
  else if (s->kind == GR_SCALAR_FLOAT)
    gr_text_json_float(t, s->f);
  else
    gr_text_printf(t, "%lld", (long long)s->i);
}

static void put_checkpoint(gr_text *t, const gr_checkpoint *c) {
  int n;
  gr_text_put(t, "{\"path\": ");
  gr_text_json(t, gr_checkpoint_path(c));
  gr_text_printf(t, ", \"step\": %lld, \"ranks\": %d,\n \"scalars\": {",
                 (long long)gr_checkpoint_step(c), gr_checkpoint_ranks(c));
  const gr_scalar *s = gr_checkpoint_scalars(c, &n);
  for (int i = 0; i < n; i++) {
    gr_text_put(t, i ? ", " : "");
    put_scalar(t, &s[i]);
  }
  gr_text_put(t, "},\n \"tensors\": [");
  const gr_tensor_slice *p = gr_checkpoint_tensors(c, &n);
  for (int i = 0; i < n; i++) {
    gr_text_put(t, i ? ",\n  {\"name\": " : "\n  {\"name\": ");
    gr_text_json(t, p[i].name);
    gr_text_printf(t, ", \"dtype\": \"%s\", \"shape\": [", p[i].dtype);
    for (int d = 0; d < p[i].rank; d++)
      gr_text_printf(t, "%s%lld", d ? ", " : "", (long long)p[i].dims[d]);
    gr_text_put(t, "]}");
  }
  gr_text_put(t, "]}\n");
}

static gr_status show(gr_text *t, const gr_checkpoint_entry *all, int n, const char *path) {
  gr_checkpoint *c;
  while (n && all[n - 1].state != GR_CHECKPOINT_OK) n--;
  if (!n) return gr_checkpoint_none(path);
  GR_TRY(gr_checkpoint_open(all[n - 1].path, &c));
  put_checkpoint(t, c);
  gr_checkpoint_close(c);
  return GR_OK;
}

// A damaged checkpoint is both in the list and an error.
static gr_status verify(gr_text *t, const gr_checkpoint_entry *all, int n, const char *path) {
  int bad = 0;
  gr_text_put(t, "[");
  for (int i = 0; i < n; i++) {
    gr_checkpoint *c = NULL;
    gr_status s = gr_checkpoint_open(all[i].path, &c);
    if (!s) s = gr_checkpoint_verify(c);
    gr_checkpoint_close(c);
    bool incomplete = all[i].state == GR_CHECKPOINT_INCOMPLETE;
    gr_text_printf(t, "%s{\"step\": %lld, \"ok\": %s, \"path\": ", i ? ",\n " : "",
                   (long long)all[i].step, s ? "false" : "true");
    gr_text_json(t, all[i].path);
    if (s) gr_text_put(t, ", \"why\": "), gr_text_json(t, gr_status_text(s));
    gr_text_put(t, "}");
    bad += s && !incomplete;
    gr_status_drop(s);
  }
  gr_text_put(t, "]\n");
  if (!n) return gr_checkpoint_none(path);
  if (!bad) return GR_OK;
  return gr_fail(GR_ERR_CHECKPOINT, GR_NOWHERE, "%d of %d checkpoints in '%s' %s damaged", bad, n,
                 path, bad == 1 ? "is" : "are");
}

gr_status gr_checkpoint_print_json(FILE *f, const char *what, const char *path) {
  gr_arena *a = gr_arena_create();
  gr_text t = gr_text_make(a);
  gr_checkpoint_entry *all;
  int n = 0;
  gr_status s = gr_checkpoint_entries(a, path, &all, &n);
  if (!s && *what == 'l') put_list(&t, all, n);
  if (!s && *what == 's') s = show(&t, all, n, path);
  if (!s && *what == 'v') s = verify(&t, all, n, path);
  fputs(t.chars, f);
  return gr_arena_end(a, s);
}
