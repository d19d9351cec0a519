// adapters.c - the low-rank adapters of a checkpoint: which it has, and what they add to the
// weights of layers. See checkpoint.h and export.h.
#include <stdlib.h>
#include <string.h>
#include "base/json.h"
#include "runtime/checkpoint/export.h"

// ---- Which there are ----------------------------------------------------------------------------

static gr_status bad_list(const gr_checkpoint *c) {
  return gr_fail(GR_ERR_CHECKPOINT, GR_NOWHERE,
                 "'%s': its scalar %s is no list of adapters with name, rank, alpha and dropout",
                 gr_checkpoint_path(c), GR_CHECKPOINT_ADAPTERS);
}

static bool read_adapter(const gr_json *v, gr_checkpoint_adapter *out) {
  if (v->kind != GR_JSON_OBJECT) return false;
  const gr_json *name = gr_json_get(v, "name", GR_JSON_TEXT);
  const gr_json *rank = gr_json_get(v, "rank", GR_JSON_INT);
  const gr_json *alpha = gr_json_get(v, "alpha", GR_JSON_FLOAT);
  const gr_json *dropout = gr_json_get(v, "dropout", GR_JSON_FLOAT);
  if (!name || !rank || rank->i < 1 || !alpha || !dropout) return false;
  *out = (gr_checkpoint_adapter){name->text, rank->i, alpha->f, dropout->f};
  return true;
}

gr_status gr_checkpoint_adapters(gr_arena *a, const gr_checkpoint *c, gr_checkpoint_adapter **out,
                                 int *n) {
  const gr_scalar *s = gr_checkpoint_scalar(c, GR_CHECKPOINT_ADAPTERS);
  const gr_json *list;
  gr_json_error why;
  *n = 0;
  if (!s) return GR_OK;
  if (s->kind != GR_SCALAR_TEXT || !gr_json_read(a, s->text, strlen(s->text), &list, &why) ||
      list->kind != GR_JSON_ARRAY)
    return bad_list(c);
  *out = GR_NEW(a, gr_checkpoint_adapter, list->n + 1);
  for (const gr_json *v = list->first; v; v = v->next)
    if (!read_adapter(v, &(*out)[(*n)++])) return bad_list(c);
  return GR_OK;
}

bool gr_exporter_is_of_adapter(const gr_exporter *x, const char *name, const char **layer,
                               const char **part, int *adapter) {
  static const char *const parts[] = {"lora_A.weight", "lora_B.weight"};
  for (int i = 0; i < 2 * x->n_adapters; i++) {
    const char *label = x->adapters[i / 2].name;
    const char *end = gr_arena_printf(x->arena, "%s%s%s", label, *label ? "." : "", parts[i % 2]);
    size_t n = strlen(name), m = strlen(end);
    if (n < m || strcmp(name + n - m, end) || (n > m && name[n - m - 1] != '.')) continue;
    *layer = gr_arena_strndup(x->arena, name, n > m ? n - m - 1 : 0);
    *part = parts[i % 2], *adapter = i / 2;
    return true;
  }
  return false;
}

// ---- What they add ------------------------------------------------------------------------------

static const char *weight_of(const gr_exporter *x, const char *tensor, const char *adapter,
                             const char *part) {
  size_t n = strlen(tensor) - strlen("weight");
  const char *name =
      gr_arena_printf(x->arena, "%.*s%s%s%s", (int)n, tensor, adapter, *adapter ? "." : "", part);
  return gr_map_find(&x->stored, name, NULL) ? name : NULL;
}

// Reads rows [first, first + n) of one of an adapter's weights, or its average; the caller frees
// it.
static gr_status read_rows(gr_exporter *x, const char *name, const int64_t dims[2], int64_t first,
                           int64_t n, float **out) {
  const char *average = gr_checkpoint_ema_of(x->arena, &x->emas, name);
  gr_tensor_slice p = gr_tensor_slice_whole(average ? average : name, "f32", 2, dims, NULL);
  p.offset[0] = first, p.size[0] = n;
  p.data = *out = malloc((size_t)(n * dims[1]) * sizeof **out + 1);
  if (!p.data)
    return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no %.1f MB of memory for '%s'",
                   (double)(n * dims[1]) * 4e-6, name);
  return gr_checkpoint_read(x->checkpoint, &p);
}

// Adds scale x b a to w: b [rows, rank], a [rank, in].
static void add_product(float *w, const float *b, const float *a, int64_t rows, int64_t in,
                        int64_t rank, double scale) {
  for (int64_t r = 0; r < rows; r++)
    for (int64_t c = 0; c < in; c++) {
      double sum = 0;
      for (int64_t k = 0; k < rank; k++) sum += (double)b[r * rank + k] * (double)a[k * in + c];
      w[r * in + c] = (float)((double)w[r * in + c] + scale * sum);
    }
}

static gr_status merge(gr_exporter *x, const gr_checkpoint_adapter *p, const gr_tensor_slice *part,
                       const char *first, const char *second) {
  int64_t in = part->dims[1], a_dims[] = {p->rank, in}, b_dims[] = {part->dims[0], p->rank};
  float *a = NULL, *b = NULL;
  gr_status s = read_rows(x, first, a_dims, 0, p->rank, &a);
  if (!s) s = read_rows(x, second, b_dims, part->offset[0], part->size[0], &b);
  if (!s) add_product(part->data, b, a, part->size[0], in, p->rank, p->alpha / (double)p->rank);
  free(a), free(b);
  return s;
}

gr_status gr_exporter_merge(gr_exporter *x, const gr_tensor_slice *part, const char *name) {
  size_t n = strlen(name), end = strlen("weight");
  if (part->rank != 2 || strcmp(part->dtype, "f32") || n < end || strcmp(name + n - end, "weight"))
    return GR_OK;
  for (int i = 0; i < x->n_adapters; i++) {
    const char *first = weight_of(x, name, x->adapters[i].name, "lora_A.weight");
    const char *second = weight_of(x, name, x->adapters[i].name, "lora_B.weight");
    if (first && second) GR_TRY(merge(x, &x->adapters[i], part, first, second));
  }
  return GR_OK;
}
