// conv_onednn.c - oneDNN's convolutions of f32 on the calling thread; module "onednn".
#include <dnnl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "ops/kernels/onednn.h"

#if DNNL_VERSION_MAJOR != 2  // version 3 describes primitives by other functions
const gr_onednn_convs *const gr_onednn_conv_table = NULL;
#else

enum { ARGS = 4 };

// What it takes to execute a primitive, by one thread at a time. Making it takes longer than a
// small convolution, so that it is kept for the next call.
typedef struct execution {
  struct execution *next;
  dnnl_stream_t stream;
  int n;
  dnnl_exec_arg_t args[ARGS];
} execution;

struct gr_onednn_conv {
  gr_onednn_conv *next;
  gr_onednn_shape shape;
  bool there;
  dnnl_primitive_t primitive, reorder;  // reorder: of the kernel, before or after
  dnnl_memory_desc_t x, w, y, plain, scratch;
  pthread_mutex_t lock;        // of what is idle
  execution *runs, *reorders;  // idle, of the two primitives
};

static _Atomic(gr_onednn_conv *) convs;  // a list that only grows
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static dnnl_engine_t engine;
static dnnl_primitive_attr_t given;  // working memory is the caller's: that of the library would be
                                     // one for all threads

#define TRY(call)                             \
  do {                                        \
    if ((call) != dnnl_success) return false; \
  } while (0)

// ---- Making -------------------------------------------------------------------------------------

static bool describe(const gr_onednn_shape *s, int64_t n, int64_t c, const int64_t *size,
                     dnnl_memory_desc_t *out) {
  static const dnnl_format_tag_t tags[] = {dnnl_nwc, dnnl_nhwc, dnnl_ndhwc};
  dnnl_dims_t dims = {n, c};
  for (int64_t i = 0; i < s->axes; i++) dims[2 + i] = size[3 - s->axes + i];
  TRY(dnnl_memory_desc_init_by_tag(out, (int)s->axes + 2, dims, dnnl_f32, tags[s->axes - 1]));
  return true;
}

// The kernel as graphrun has it, [out, c / groups, taps...], and in any order.
static bool describe_kernel(const gr_onednn_shape *s, dnnl_memory_desc_t *plain,
                            dnnl_memory_desc_t *any) {
  dnnl_dims_t dims, strides;
  int n = 0, rank;
  if (s->groups > 1) dims[n++] = s->groups;
  dims[n++] = s->out / s->groups, dims[n++] = s->c / s->groups;
  for (int64_t i = 0; i < s->axes; i++) dims[n++] = s->taps[3 - s->axes + i];
  rank = n;
  for (int64_t stride = 1; n-- > 0; stride *= dims[n]) strides[n] = stride;
  TRY(dnnl_memory_desc_init_by_strides(plain, rank, dims, dnnl_f32, strides));
  TRY(dnnl_memory_desc_init_by_tag(any, rank, dims, dnnl_f32, dnnl_format_tag_any));
  return true;
}

typedef struct spans {
  dnnl_dims_t stride, pad, dilation;
} spans;

static spans spans_of(const gr_onednn_shape *s) {
  spans p = {0};
  for (int64_t i = 0; i < s->axes; i++) {
    int64_t k = 3 - s->axes + i;
    p.stride[i] = s->stride[k], p.pad[i] = s->pad[k], p.dilation[i] = s->dilation[k] - 1;
  }
  return p;
}

// What follows a window's last element is padding, or left over.
static void after(const gr_onednn_shape *s, dnnl_dims_t out) {
  for (int64_t i = 0; i < s->axes; i++) {
    int64_t k = 3 - s->axes + i, reach = s->dilation[k] * (s->taps[k] - 1) + 1;
    out[i] = (s->windows[k] - 1) * s->stride[k] + reach - s->in[k] - s->pad[k];
  }
}

static bool make_forward(const gr_onednn_conv *c, const dnnl_memory_desc_t *any,
                         dnnl_primitive_desc_t *out) {
  spans p = spans_of(&c->shape);
  dnnl_dims_t right;
  dnnl_convolution_desc_t d;
  after(&c->shape, right);
  TRY(dnnl_dilated_convolution_forward_desc_init(&d, dnnl_forward_training, dnnl_convolution_direct,
                                                 &c->x, any, NULL, &c->y, p.stride, p.dilation,
                                                 p.pad, right));
  TRY(dnnl_primitive_desc_create(out, &d, given, engine, NULL));
  return true;
}

static bool make_gradient(const gr_onednn_conv *c, const dnnl_memory_desc_t *any,
                          dnnl_primitive_desc_t forward, dnnl_primitive_desc_t *out) {
  spans p = spans_of(&c->shape);
  dnnl_dims_t right;
  dnnl_convolution_desc_t d;
  after(&c->shape, right);
  if (c->shape.kind == GR_ONEDNN_GRAD_X)
    TRY(dnnl_dilated_convolution_backward_data_desc_init(
        &d, dnnl_convolution_direct, &c->x, any, &c->y, p.stride, p.dilation, p.pad, right));
  else
    TRY(dnnl_dilated_convolution_backward_weights_desc_init(
        &d, dnnl_convolution_direct, &c->x, any, NULL, &c->y, p.stride, p.dilation, p.pad, right));
  TRY(dnnl_primitive_desc_create(out, &d, given, engine, forward));
  return true;
}

// Not reference code, and with little working memory.
static bool suits(dnnl_primitive_desc_t pd, dnnl_memory_desc_t *scratch) {
  const char *name = "";
  const dnnl_memory_desc_t *needs = dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0);
  TRY(dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &name));
  if (!needs || strstr(name, "ref")) return false;
  *scratch = *needs;
  return dnnl_memory_desc_get_size(scratch) <= GR_ONEDNN_SCRATCH;
}

static bool make_reorder(gr_onednn_conv *c) {
  bool back = c->shape.kind == GR_ONEDNN_GRAD_W;
  dnnl_primitive_desc_t pd;
  TRY(dnnl_reorder_primitive_desc_create(&pd, back ? &c->w : &c->plain, engine,
                                         back ? &c->plain : &c->w, engine, NULL));
  bool good = dnnl_primitive_create(&c->reorder, pd) == dnnl_success;
  dnnl_primitive_desc_destroy(pd);
  return good;
}

static bool make_primitive(gr_onednn_conv *c, dnnl_primitive_desc_t pd) {
  bool back = c->shape.kind == GR_ONEDNN_GRAD_W;
  const dnnl_memory_desc_t *w = dnnl_primitive_desc_query_md(
      pd, back ? dnnl_query_diff_weights_md : dnnl_query_weights_md, 0);
  if (!w || !suits(pd, &c->scratch)) return false;
  c->w = *w;
  TRY(dnnl_primitive_create(&c->primitive, pd));
  return make_reorder(c);
}

static bool make(gr_onednn_conv *c) {
  const gr_onednn_shape *s = &c->shape;
  dnnl_memory_desc_t any;
  dnnl_primitive_desc_t forward = NULL, gradient = NULL;
  if (!engine) TRY(dnnl_engine_create(&engine, dnnl_cpu, 0));
  if (!given) TRY(dnnl_primitive_attr_create(&given));
  TRY(dnnl_primitive_attr_set_scratchpad_mode(given, dnnl_scratchpad_mode_user));
  if (!describe(s, s->n, s->c, s->in, &c->x) || !describe(s, s->n, s->out, s->windows, &c->y) ||
      !describe_kernel(s, &c->plain, &any) || !make_forward(c, &any, &forward))
    return false;
  bool good = s->kind == GR_ONEDNN_FORWARD || make_gradient(c, &any, forward, &gradient);
  good = good && make_primitive(c, gradient ? gradient : forward);
  if (gradient) dnnl_primitive_desc_destroy(gradient);
  dnnl_primitive_desc_destroy(forward);
  return good;
}

static gr_onednn_conv *look_up(const gr_onednn_shape *s) {
  gr_onednn_conv *c = atomic_load_explicit(&convs, memory_order_acquire);
  while (c && memcmp(&c->shape, s, sizeof *s) != 0) c = c->next;
  return c;
}

static gr_onednn_conv *add(const gr_onednn_shape *s) {
  gr_onednn_conv *c = look_up(s);
  if (c) return c;
  c = calloc(1, sizeof *c);
  if (!c) return NULL;
  c->shape = *s, c->next = atomic_load(&convs);
  pthread_mutex_init(&c->lock, NULL);
  gr_onednn_use_one_thread();
  c->there = make(c);
  atomic_store_explicit(&convs, c, memory_order_release);
  return c;
}

static const gr_onednn_conv *conv_onednn_find(const gr_onednn_shape *s) {
  gr_onednn_conv *c = look_up(s);
  if (!c) {
    pthread_mutex_lock(&lock);
    c = add(s);
    pthread_mutex_unlock(&lock);
  }
  return c && c->there ? c : NULL;
}

// ---- Running ------------------------------------------------------------------------------------

static void close_execution(execution *e) {
  for (int i = 0; i < e->n; i++) dnnl_memory_destroy(e->args[i].memory);
  if (e->stream) dnnl_stream_destroy(e->stream);
  free(e);
}

static execution *open_execution(int n, const int *arg, const dnnl_memory_desc_t *const *of) {
  execution *e = calloc(1, sizeof *e);
  if (!e) return NULL;
  bool good = dnnl_stream_create(&e->stream, engine, dnnl_stream_default_flags) == dnnl_success;
  for (int i = 0; i < n && good; i++) {
    e->args[i].arg = arg[i];
    good = dnnl_memory_create(&e->args[i].memory, of[i], engine, DNNL_MEMORY_NONE) == dnnl_success;
    e->n += good;
  }
  if (good) return e;
  close_execution(e);
  return NULL;
}

static execution *take_idle(gr_onednn_conv *c, execution **idle) {
  pthread_mutex_lock(&c->lock);
  execution *e = *idle;
  if (e) *idle = e->next;
  pthread_mutex_unlock(&c->lock);
  return e;
}

static void give_back(gr_onednn_conv *c, execution **idle, execution *e) {
  pthread_mutex_lock(&c->lock);
  e->next = *idle, *idle = e;
  pthread_mutex_unlock(&c->lock);
}

// idle: of that primitive, whose operands and their layouts are the same in each call.
static bool execute(gr_onednn_conv *c, dnnl_primitive_t p, execution **idle, int n, const int *arg,
                    const dnnl_memory_desc_t *const *of, void *const *memory) {
  gr_onednn_use_one_thread();
  execution *e = take_idle(c, idle);
  if (!e) e = open_execution(n, arg, of);
  bool good = e;
  for (int i = 0; i < n && good; i++)
    good = dnnl_memory_set_data_handle(e->args[i].memory, memory[i]) == dnnl_success;
  good = good && dnnl_primitive_execute(p, e->stream, n, e->args) == dnnl_success;
  good = good && dnnl_stream_wait(e->stream) == dnnl_success;
  if (e) give_back(c, idle, e);
  return good;
}

static bool move(const gr_onednn_conv *found, bool back, void *source, void *target) {
  gr_onednn_conv *c = (gr_onednn_conv *)found;  // what is idle is no part of what it computes
  return execute(c, c->reorder, &c->reorders, 2, (int[]){DNNL_ARG_FROM, DNNL_ARG_TO},
                 (const dnnl_memory_desc_t *[]){back ? &c->w : &c->plain, back ? &c->plain : &c->w},
                 (void *[]){source, target});
}
static bool pack(const gr_onednn_conv *c, const float *w, void *packed) {
  return move(c, false, (void *)w, packed);
}
static bool unpack(const gr_onednn_conv *c, const void *packed, float *w) {
  return move(c, true, (void *)packed, w);
}

static bool conv_onednn_run(const gr_onednn_conv *found, const float *x, const void *packed,
                            const float *y, void *scratch) {
  static const int args[][ARGS] = {
      {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST, DNNL_ARG_SCRATCHPAD},
      {DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST, DNNL_ARG_SCRATCHPAD},
      {DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_DST, DNNL_ARG_SCRATCHPAD}};
  gr_onednn_conv *c = (gr_onednn_conv *)found;
  int n = dnnl_memory_desc_get_size(&c->scratch) ? ARGS : ARGS - 1;
  return execute(c, c->primitive, &c->runs, n, args[c->shape.kind],
                 (const dnnl_memory_desc_t *[]){&c->x, &c->w, &c->y, &c->scratch},
                 (void *[]){(void *)x, (void *)packed, (void *)y, scratch});
}

static size_t packed(const gr_onednn_conv *c) { return dnnl_memory_desc_get_size(&c->w); }

static const gr_onednn_convs table = {conv_onednn_find, packed, pack, unpack, conv_onednn_run};
const gr_onednn_convs *const gr_onednn_conv_table = &table;
#endif
