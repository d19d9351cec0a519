// time_warp.c - runs through a series faster in some places and slower in others.
#include "runtime/data/transform.h"

enum { MAX_KNOTS = 64 };
typedef struct time_warp {
  double std;
  int knots;
} time_warp;

static const gr_schema_key params[] = {
    {"std", "float >= 0 <= 1", "0.2", "", "standard deviation of the speed, whose mean is 1"},
    {"knots", "int >= 2 <= 64", "6", "",
     "evenly spaced moments at which the speed is drawn; it is linear between them"},
    {0}};

static gr_status warp_open(gr_arena *a, gr_conf *conf, gr_type *x, void **self) {
  time_warp *w = *self = GR_NEW(a, time_warp, 1);
  int64_t knots;
  GR_TRY(gr_transform_needs_floats(x, "time_warp"));
  GR_TRY(gr_conf_float(conf, "std", 0, &w->std));
  GR_TRY(gr_conf_int(conf, "knots", 0, &knots));
  w->knots = (int)knots;
  return GR_OK;
}

// The speed halfway between moments i and i + 1 of n. A series is not run through backwards.
static double speed_at(const time_warp *w, const double *speed, int64_t i, int64_t n) {
  double position = ((double)i + 0.5) / (double)(n - 1) * (w->knots - 1);
  int k = (int)position < w->knots - 2 ? (int)position : w->knots - 2;
  return speed[k] + (position - k) * (speed[k + 1] - speed[k]);
}

static void copy(const float *in, int64_t channels, double position, int64_t n, float *out) {
  int64_t i = (int64_t)position < n - 2 ? (int64_t)position : n - 2;
  double part = position - (double)i;
  for (int64_t c = 0; c < channels; c++) {
    double before = (double)in[i * channels + c], after = (double)in[(i + 1) * channels + c];
    out[c] = (float)(before + part * (after - before));
  }
}

static void warp_apply(const void *self, const gr_type *type, const void *x, void *y,
                       const gr_transform_draw *draw) {
  const time_warp *w = self;
  const float *in = x;
  float *out = y;
  double speed[MAX_KNOTS], total = 0, position = 0;
  int64_t n = type->dim[0], channels = type->dim[1];
  for (int k = 0; k < w->knots; k++) {
    double v = 1 + w->std * gr_transform_normal(draw, (uint32_t)k);
    speed[k] = v > 0.1 ? v : 0.1;
  }
  for (int64_t i = 0; i < n - 1; i++) total += speed_at(w, speed, i, n);
  for (int64_t c = 0; c < channels; c++) out[c] = in[c];
  for (int64_t i = 1; i < n; i++) {  // the ends stay where they are
    position += speed_at(w, speed, i - 1, n) * (double)(n - 1) / total;
    copy(in, channels, i == n - 1 ? (double)(n - 1) : position, n, out + i * channels);
  }
}

const gr_transform_ops gr_transform_time_warp = {
    .name = "time_warp",
    .doc = "runs through a series at a speed that varies smoothly; its ends stay (Um et al. 2017)",
    .params = params,
    .least_rank = 2,
    .most_rank = 2,
    .open = warp_open,
    .apply = warp_apply};
