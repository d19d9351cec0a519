// omitted.c - see omitted.h.
#include "runtime/data/omitted.h"

void gr_omitted_add(gr_arena *a, gr_omitted *t, uint64_t n, gr_loc loc, const char *name) {
  if (n && !t->n)
    t->first = loc.file ? gr_arena_printf(a, "%s:%d", loc.file, loc.line)
               : name   ? gr_arena_strdup(a, name)
                        : NULL;
  t->n += n;
}

void gr_omitted_put_first(const gr_omitted *t, gr_text *out) {
  if (t->first) gr_text_printf(out, " (%s%s)", t->n > 1 ? "the first: " : "", t->first);
}

void gr_omitted_put(const gr_omitted *t, const gr_skip_reason *reason, uint64_t all,
                    const char *samples, gr_text *out) {
  const char *why = t->why ? t->why : reason->why;
  if (!t->n) return;
  if (out->len) gr_text_put(out, "\n");
  if (reason->of == GR_OMITTED_CHANGED)
    gr_text_printf(out, "%llu of %llu %s %s", (unsigned long long)t->n, (unsigned long long)all,
                   samples, why);
  else
    gr_text_printf(out, "%s: %llu", why, (unsigned long long)t->n);
  gr_omitted_put_first(t, out);
}
