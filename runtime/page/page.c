// page.c - puts a page together and writes it. See page.h.
#include "runtime/page/page.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/port.h"
#include "runtime/page/parts.h"

// Replaces the file at once, so that a reader never sees a part of it.
static gr_status write_file(const char *path, const gr_text *t) {
  const char *tmp = gr_arena_printf(t->arena, "%s.tmp", path);
  FILE *f = fopen(tmp, "wb");
  bool ok = f && fwrite(t->at, 1, t->len, f) == t->len;
  int why = errno;
  if (f && fclose(f) && ok) ok = false, why = errno;
  if (ok && rename(tmp, path)) ok = false, why = errno;
  if (ok) return GR_OK;
  if (f) unlink(tmp);
  return gr_hint(gr_fail(GR_ERR_IO, GR_NOWHERE, "cannot write '%s': %s", path, strerror(why)),
                 "free space, or name another file: graphrun report RUN --out=FILE.html");
}

static void put_run(gr_text *t, const gr_folder *f) {
  double best = gr_html_number_of(f->results, "best_step");
  gr_html_begin(t, f->name);
  gr_page_head(t, f);
  gr_page_charts(t, &f->series, isnan(best) ? 0 : best);
  gr_page_metrics(t, f);
  gr_page_classes(t, f);
  gr_page_pictures(t, f);
  gr_page_samples(t, f);
  gr_page_config(t, f);
  gr_page_plan(t, f);
  gr_page_machine(t, f);
  gr_page_log(t, f);
  gr_html_end(t);
}

gr_status gr_page_write(const char *run, const char *out, bool ended) {
  gr_arena *a = gr_arena_create();
  gr_folder *f = GR_NEW(a, gr_folder, 1);
  gr_text t = gr_text_make(a);
  gr_folder_read(a, run, ended, f);
  put_run(&t, f);
  gr_status s = write_file(out ? out : gr_arena_printf(a, "%s/" GR_PAGE_NAME, run), &t);
  gr_arena_destroy(a);
  return s;
}

gr_status gr_page_write_sweep(const gr_page_sweep *sweep, const char *out) {
  gr_arena *a = gr_arena_create();
  gr_text t = gr_text_make(a);
  gr_page_sweep_text(&t, sweep);
  gr_status s = write_file(out ? out : gr_arena_printf(a, "%s/" GR_PAGE_NAME, sweep->dir), &t);
  gr_arena_destroy(a);
  return s;
}
