// unfit.c - samples whose targets are longer than what a model leaves of them. See dataset.h.
#include "runtime/data/parts.h"

static void count(const gr_dataset *d, uint32_t sample, gr_omitted *out) {
  gr_omitted_add(d->arena, out, 1, gr_dataset_place(d, sample),
                 gr_dataset_sample_name(d->arena, d, sample));
}

void gr_dataset_put_unfit(const gr_dataset *d, const gr_frames_left *of_bucket, const char *unfit,
                          const char *beyond, gr_text *out) {
  const gr_skip_reason why = {.of = GR_OMITTED_CHANGED};
  gr_omitted no_room = {.why = unfit}, too_many = {.why = beyond};
  for (uint32_t i = 0; i < d->count && d->ops->alignment; i++) {
    const gr_sample *s = &d->samples[i];
    const gr_frames_left *left = &of_bucket[s->bucket];
    if (!left->frames || s->length > left->longest) continue;
    int32_t frames = left->frames[s->length];
    if (frames > left->room) count(d, i, &too_many), frames = left->room;
    if (d->ops->alignment(d->self, s->index) > frames) count(d, i, &no_room);
  }
  gr_omitted_put(&no_room, &why, d->count, d->unreadable.samples, out);
  gr_omitted_put(&too_many, &why, d->count, d->unreadable.samples, out);
}
