// transforms_apply.c - applies data.transforms to rows. See transforms.h.
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/data/transforms.h"

static gr_status begin(const gr_transforms *t, gr_row *row, gr_transform_x *r) {
  if (!t) return GR_OK;
  r->x = row->field[t->field];
  int rooms = t->views > 1 ? 3 : 2;
  bool all = true;
  for (int i = 0; i < rooms; i++) all &= (r->room[i] = malloc(t->room)) != NULL;
  if (!all)
    return gr_fail(GR_ERR_DATA, GR_NOWHERE, "no memory to transform a sample (%zu bytes)", t->room);
  row->field[t->field] = memset(r->room[0], 0, gr_type_bytes(&t->source));
  return GR_OK;
}

gr_status gr_transforms_begin(const gr_transforms *t, gr_row *row, gr_transform_row *r) {
  *r = (gr_transform_row){0};
  gr_status s = begin(t, row, &r->x);
  if (!s && t) s = begin(t->mask, row, &r->mask);
  if (s) gr_transforms_drop(r);
  return s;
}

void gr_transforms_drop(gr_transform_row *r) {
  for (int i = 0; i < 3; i++) free(r->x.room[i]), free(r->mask.room[i]);
  *r = (gr_transform_row){0};
}

// The x that reaches transform `end`, in room[0].
static const gr_type *apply_until(const gr_transforms *t, int end, const gr_draw *draw,
                                  gr_transform_x *r) {
  const gr_type *x = &t->source;
  for (int i = 0; i < end; i++) {
    const gr_transform *one = &t->items[i];
    gr_transform_draw random;
    if (!draw->augment && !one->always) continue;
    if (draw->augment)
      random = (gr_transform_draw){gr_rng_make(draw->seed, one->stream, draw->epoch),
                                   (uint64_t)draw->number << 32};
    one->ops->apply(one->self, &one->input, r->room[0], r->room[1], draw->augment ? &random : NULL);
    char *swap = r->room[0];
    r->room[0] = r->room[1], r->room[1] = swap;
    x = &one->output;
  }
  return x;
}

// Each view has random numbers of its own, and the first those that it has alone.
static void end(const gr_transforms *t, const gr_draw *draw, gr_transform_x *r) {
  size_t bytes = gr_type_bytes(&t->source);
  size_t made = gr_type_bytes(t->n ? &t->items[t->n - 1].output : &t->source);
  if (t->views > 1) memcpy(r->room[2], r->room[0], bytes);
  for (int view = 0; view < t->views || !view; view++) {
    gr_draw one = *draw;
    one.epoch ^= (uint64_t)view << 60;
    if (view) memcpy(r->room[0], r->room[2], bytes);
    (void)apply_until(t, t->n, &one, r);
    memcpy((char *)r->x + (size_t)view * made, r->room[0], made);
  }
}

void gr_transforms_end(const gr_transforms *t, const gr_draw *draw, gr_transform_row *r) {
  if (!t) return;
  end(t, draw, &r->x);
  if (t->mask) end(t->mask, draw, &r->mask);
  gr_transforms_drop(r);
}

void gr_transforms_add(gr_transforms *t, int which, gr_transform_row *r) {
  assert(which >= 0 && which < t->n && t->items[which].ops->add);
  const gr_type *x = apply_until(t, which, &(gr_draw){.augment = false}, &r->x);
  t->items[which].ops->add(t->items[which].self, x, r->x.room[0]);
}
