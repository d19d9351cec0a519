// splits.c - what a split lacks: lines that a run prints when it begins, and an error where
// training has one class alone. See dataset.h.
#include <ctype.h>
#include <string.h>
#include "runtime/data/parts.h"

// Of samples: those of pixels are none.
static int64_t classes_of(const gr_dataset *d) { return d->classes ? d->classes->n : 0; }

static const char *name_of(gr_arena *a, const gr_dataset *d, int32_t label) {
  int32_t id = label - 1;
  gr_text t = gr_text_make(a);
  gr_dataset_decode(d, &id, 1, &t);
  return t.chars;
}

// ---- Lines --------------------------------------------------------------------------------------

// Classes that training lacks, at most so many by name.
enum { MAX_LACKING = 8 };

static void put_line(gr_text *out) { gr_text_put(out, out->len ? "\n" : ""); }

// A class that training lacks: n samples of it are for validation, the first of them is given.
static void put_class(const gr_dataset *d, int32_t label, uint32_t n, uint32_t first,
                      gr_text *out) {
  put_line(out);
  gr_text_printf(out, "the class '%s' has ", name_of(out->arena, d, label));
  if (!n) {
    gr_text_put(out, "no samples");
    return;
  }
  gr_loc loc = gr_dataset_place(d, first);
  gr_text_printf(out,
                 "%u validation sample%s and none for training: the model does not learn it, and "
                 "metrics such as accuracy count %s as wrong",
                 n, gr_text_s(n), n == 1 ? "it" : "them");
  if (loc.file) gr_text_printf(out, "; the first is in %s:%d", loc.file, loc.line);
}

static void put_lacking(const gr_dataset *d, int64_t classes, gr_text *out) {
  uint32_t *train = GR_NEW(out->arena, uint32_t, classes + 1);
  uint32_t *tested = GR_NEW(out->arena, uint32_t, classes + 1);
  uint32_t *first = GR_NEW(out->arena, uint32_t, classes + 1), n = 0;
  for (uint32_t i = 0; i < d->count; i++) {
    const gr_sample *s = &d->samples[i];
    if (s->label < 1 || s->label > classes) continue;
    train[s->label] += s->split == GR_SPLIT_TRAIN;
    if (s->split == GR_SPLIT_VALIDATION && !tested[s->label]++) first[s->label] = i;
  }
  for (int32_t c = 1; c <= classes; c++)
    if (!train[c] && n++ < MAX_LACKING) put_class(d, c, tested[c], first[c], out);
  if (n > MAX_LACKING)
    gr_text_printf(out, "\n%u other class%s no training samples, too", n - MAX_LACKING,
                   n - MAX_LACKING == 1 ? " has" : "es have");
}

// Names of classes that are probably one, written in two ways.
static void put_alike(const gr_dataset *d, int64_t classes, gr_text *out) {
  gr_map seen = gr_map_make(out->arena);
  for (int32_t c = 1, n = 0; c <= classes && n < MAX_LACKING; c++) {
    const char *name = name_of(out->arena, d, c);
    char *plain = gr_arena_strdup(out->arena, name + strspn(name, " \t"));
    for (char *p = plain; *p; p++) *p = (char)tolower((unsigned char)*p);
    for (size_t k = strlen(plain); k && strchr(" \t", plain[k - 1]);) plain[--k] = 0;
    uint32_t other;
    if (!gr_map_find(&seen, plain, &other)) {
      gr_map_put(&seen, plain, (uint32_t)c);
      continue;
    }
    put_line(out), n++;
    gr_text_printf(out, "the classes '%s' and '%s' differ in blanks or capitals alone",
                   name_of(out->arena, d, (int32_t)other), name);
  }
}

// Validation samples of files that are trained on, too.
static void put_common(const gr_dataset *d, gr_text *out) {
  gr_arena *a = gr_arena_create();
  gr_map trained = gr_map_make(a);
  uint32_t n = 0, first = 0;
  for (int split = GR_SPLIT_TRAIN; split <= GR_SPLIT_VALIDATION && d->ops->file; split++)
    for (uint32_t i = 0; i < d->count; i++) {
      if ((int)d->samples[i].split != split) continue;
      const char *file = d->ops->file(d->self, d->samples[i].index);
      if (file && split == GR_SPLIT_TRAIN)
        gr_map_add(&trained, file, i);
      else if (file && gr_map_find(&trained, file, NULL) && !n++)
        first = i;
    }
  gr_arena_destroy(a);
  if (!n) return;
  gr_loc loc = gr_dataset_place(d, first);
  put_line(out);
  gr_text_printf(out,
                 "%u validation sample%s of files that are trained on, too: metrics are better "
                 "than of other data; the first is %s",
                 n, n == 1 ? " is" : "s are", gr_dataset_sample_name(out->arena, d, first));
  if (loc.file) gr_text_printf(out, " in %s:%d", loc.file, loc.line);
}

void gr_dataset_put_lacking(const gr_dataset *d, gr_text *out) {
  bool none = d->count && !gr_dataset_count(d, GR_SPLIT_VALIDATION);
  put_lacking(d, classes_of(d), out);
  put_common(d, out);
  put_alike(d, classes_of(d), out);
  if (!none || !(d->options.validation_fraction > 0)) return;
  put_line(out);
  gr_text_printf(out,
                 "none of %u samples is for validation: nothing is evaluated, and no checkpoint is "
                 "the best; a larger data.validation_fraction than %g, or samples for validation, "
                 "change that",
                 d->count, d->options.validation_fraction);
}

void gr_dataset_notes(const gr_dataset *d, gr_text *out) {
  if (d->ops->notes) d->ops->notes(d->self, out);
  if (!d->kept) gr_dataset_put_lacking(d, out);
}

// ---- Training on one class ----------------------------------------------------------------------

// With data.limit a run is a try.
gr_status gr_dataset_check_splits(const gr_dataset *d) {
  int32_t one = 0;
  uint32_t other = GR_NO_SAMPLE;
  if (d->options.limit || !classes_of(d)) return GR_OK;
  for (uint32_t i = 0; i < d->count; i++) {
    const gr_sample *s = &d->samples[i];
    if (s->split != GR_SPLIT_TRAIN) continue;
    if (one && s->label != one) return GR_OK;
    one = s->label;
  }
  for (uint32_t i = d->count; i-- > 0;)
    if (d->samples[i].label != one) other = i;
  bool none = other == GR_NO_SAMPLE;
  gr_arena *a = gr_arena_create();
  gr_status s =
      gr_fail(GR_ERR_DATA, none ? GR_NOWHERE : gr_dataset_place(d, other),
              "all training samples are of one class, '%s'%s: there is nothing to tell apart",
              name_of(a, d, one), none ? "" : ", and the first of another is for validation");
  gr_arena_destroy(a);
  s = gr_hint(gr_about(s, "split eval_path path"),
              "samples of at least two classes for training, and of the same for validation");
  return gr_dataset_place_error(d, s);
}
