// pixels.c - counts the pixels of masks by class, for `graphrun data inspect`. See image.h.
#include <stdlib.h>
#include <string.h>
#include "base/work.h"
#include "runtime/data/bar.h"
#include "runtime/data/image/image.h"

enum { MAX_READ = 1000, VALUES = 256 };

typedef struct counts {
  uint64_t of[2][VALUES];  // by split and class; GR_IMAGE_IGNORED: not counted
  uint32_t masks[2], failed;
} counts;

static gr_status count_mask(const gr_image *m, const gr_listed *file, unsigned char *room,
                            uint64_t of[VALUES]) {
  const gr_image_spec *s = &m->spec;
  gr_picture p;
  GR_TRY(gr_image_read_mask(s, file, &p));
  gr_picture_nearest(&p, s->resize, s->height, s->width, GR_IMAGE_IGNORED, room);
  for (int64_t i = 0; i < s->height * s->width; i++) of[room[i]]++;
  free(p.pixels);
  return GR_OK;
}

// Every k-th mask, so that at most MAX_READ are read. Who uses one that is wrong gets its error.
static void count_masks(const gr_image *m, const gr_sample *all, uint32_t n, counts *c) {
  gr_arena *a = gr_arena_create();
  uint32_t each = (n + MAX_READ - 1) / MAX_READ;
  unsigned char *room = gr_arena_alloc(a, (size_t)(m->spec.height * m->spec.width) + 1);
  gr_work work;
  gr_work_begin_items(&work, "counting the pixels of masks", n / (each ? each : 1));
  for (uint32_t i = 0; i < n; i += each) {
    gr_status stopped = gr_work_step(1);
    gr_status_drop(stopped);
    if (stopped) break;
    gr_status s = count_mask(m, &m->list.file[all[i].index], room, c->of[all[i].split]);
    gr_status_drop(s);
    c->failed += s != GR_OK;
    c->masks[all[i].split] += !s;
  }
  gr_work_end(&work);
  gr_arena_destroy(a);
}

static int value_of(const gr_image_spec *s, int class) {
  for (int v = 0; v < VALUES; v++)
    if (s->class_of[v] == class) return v;
  return -1;
}

static void put_class(const gr_image_spec *s, const counts *c, int class, uint64_t train,
                      uint64_t most, gr_text *out) {
  uint64_t n = c->of[0][class], both = n + c->of[1][class];
  gr_text_printf(out, "  %5d %-28d %12llu %12llu %6.2f%% ", class, value_of(s, class),
                 (unsigned long long)n, (unsigned long long)c->of[1][class],
                 train ? 100.0 * (double)n / (double)train : 0);
  if (n)
    gr_text_printf(out, "%8.4f ", (double)train / (double)s->n_values / (double)n);
  else
    gr_text_put(out, "       - ");
  gr_text_bar(out, both, most);
}

void gr_image_inspect_masks(const gr_image *m, const gr_sample *all, uint32_t n, gr_text *out) {
  const gr_image_spec *s = &m->spec;
  counts *c = GR_NEW(out->arena, counts, 1);
  uint64_t train = 0, most = 0;
  count_masks(m, all, n, c);
  for (int k = 0; k < s->n_values; k++) {
    uint64_t both = c->of[0][k] + c->of[1][k];
    train += c->of[0][k], most = both > most ? both : most;
  }
  gr_text_printf(out,
                 "pixels of %u of %u masks (classes %d) %*strain   validation   share   weight\n",
                 c->masks[0] + c->masks[1], n, s->n_values, 12, "");
  for (int k = 0; k < s->n_values; k++) put_class(s, c, k, train, most, out);
  uint64_t ignored[2] = {c->of[0][GR_IMAGE_IGNORED], c->of[1][GR_IMAGE_IGNORED]};
  if (ignored[0] + ignored[1])
    gr_text_printf(out, "  not counted %35llu %12llu\n", (unsigned long long)ignored[0],
                   (unsigned long long)ignored[1]);
  if (c->failed)
    gr_text_printf(out,
                   "masks that cannot be read: %u, which `graphrun data inspect CONFIG.yaml "
                   "--audio` lists\n",
                   c->failed);
}
