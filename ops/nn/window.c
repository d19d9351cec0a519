// window.c - see window.h.
#include "ops/nn/window.h"

enum { LARGEST = 1 << 30 };  // of an attribute: what is computed from it does not overflow

static int64_t number(const gr_ints *a, int axes, int i) {
  if (!a || a->n < 1) return 1;
  return a->items[a->n == axes ? i : 0];
}

gr_windows gr_windows_of(int axes, const gr_window_attr *a, const int64_t *in) {
  gr_windows w = {.axes = axes};
  for (int k = 0; k < GR_SPATIAL; k++) {
    int i = k - (GR_SPATIAL - axes);
    bool there = i >= 0;
    w.in[k] = there ? in[i] : 1, w.out[k] = 1;
    w.size[k] = there ? number(a->size, axes, i) : 1;
    w.stride[k] = there ? number(a->stride, axes, i) : 1;
    w.pad[k] = there && a->pad ? number(a->pad, axes, i) : 0;
    w.dilation[k] = there ? number(a->dilation, axes, i) : 1;
  }
  return w;
}

int64_t gr_windows_fit(const gr_windows *w, int i) {
  int64_t last = w->in[i] + 2 * w->pad[i] - 1;                       // where a window may end
  double reach = (double)w->dilation[i] * (double)(w->size[i] - 1);  // may be beyond an int64_t
  if (reach > (double)last) return 0;
  return (last - w->dilation[i] * (w->size[i] - 1)) / w->stride[i] + 1;
}

static gr_status check(const gr_op_call *s, int axes, const char *name, const gr_ints *a,
                       int64_t least) {
  if (!a) return GR_OK;
  if (a->n != 1 && a->n != axes)
    return gr_hint(gr_fail(GR_ERR_TYPE, s->loc, "%s of %s has %lld numbers for %d spatial ax%s",
                           name, s->op->name, (long long)a->n, axes, axes == 1 ? "is" : "es"),
                   "one number is for all axes; otherwise there is one for each");
  for (int64_t i = 0; i < a->n; i++)
    if (a->items[i] < least || a->items[i] > LARGEST)
      return gr_fail(GR_ERR_TYPE, s->loc, "%s of %s is %lld; it is %lld or more, below 2^30", name,
                     s->op->name, (long long)a->items[i], (long long)least);
  return GR_OK;
}

gr_status gr_windows_check(const gr_op_call *s, int axes, const gr_window_attr *a) {
  GR_TRY(check(s, axes, "kernel", a->size, 1));
  GR_TRY(check(s, axes, "stride", a->stride, 1));
  GR_TRY(check(s, axes, "pad", a->pad, 0));
  return check(s, axes, "dilation", a->dilation, 1);
}

gr_status gr_windows_infer(const gr_op_call *s, const gr_windows *w, gr_type *t) {
  for (int i = 0; i < w->axes; i++) {
    int k = GR_SPATIAL - w->axes + i;
    t->dim[1 + i] = gr_windows_fit(w, k);
    if (t->dim[1 + i] > 0) continue;
    return gr_fail(GR_ERR_TYPE, s->loc,
                   "%s: axis %d has %lld elements and %lld of padding on each side, "
                   "too few for a window of %lld, %lld apart",
                   s->op->name, 1 + i, (long long)w->in[k], (long long)w->pad[k],
                   (long long)w->size[k], (long long)w->dilation[k]);
  }
  return GR_OK;
}
