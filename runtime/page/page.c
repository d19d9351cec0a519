// page.c - puts a page together and writes it. See page.h.
#include "runtime/page/page.h"
#include <math.h>
#include "base/output.h"
#include "runtime/page/parts.h"

static gr_status write_file(const char *run, const char *out, const gr_text *t) {
  gr_status s = gr_output_write(out ? NULL : run, out ? out : GR_PAGE_NAME, t->at, t->len);
  return gr_hint(s, "free space, or name another file: graphrun report RUN --out=FILE.html");
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
  gr_status s = write_file(run, out, &t);
  gr_arena_destroy(a);
  return s;
}

gr_status gr_page_write_sweep(const gr_page_sweep *sweep, const char *out) {
  gr_arena *a = gr_arena_create();
  gr_text t = gr_text_make(a);
  gr_page_sweep_text(&t, sweep);
  gr_status s = write_file(sweep->dir, out, &t);
  gr_arena_destroy(a);
  return s;
}
