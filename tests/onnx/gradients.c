// gradients.c - compares what one step of plain gradient descent at rate 1 has changed with the
// gradients that PyTorch computes (tests/golden/onnx_models.py):
//
//   onnx_gradients BEFORE AFTER GRADIENTS.npz LOSS
//
// BEFORE and AFTER are weights in any format, LOSS that of the step.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/train/saving/source.h"
#include "tests/check.h"

static const double TOLERANCE = 1e-5;

static float *read_tensor(gr_arena *a, gr_tensor_source *s, const char *name, int64_t *count) {
  int n, i = 0;
  const gr_tensor_slice *t = gr_tensor_source_tensors(s, &n);
  while (i < n && strcmp(t[i].name, name)) i++;
  if (i == n) return NULL;
  gr_tensor_slice want = t[i];
  *count = gr_tensor_slice_bytes(&want) / (int64_t)sizeof(float);
  want.data = gr_arena_alloc(a, sizeof(float) * (size_t)(*count + 1));
  gr_status e = gr_tensor_source_read(s, i, &want);
  if (e) gr_status_print(stderr, e), exit(1);
  return want.data;
}

// A packed matrix is a layer's weight here: in_proj_weight is in_proj.weight.
static const char *other_name(gr_arena *a, const char *name) {
  const char *packed = strstr(name, "in_proj_");
  return packed ? gr_arena_printf(a, "%.*sin_proj.%s", (int)(packed - name), name, packed + 8)
                : name;
}

static int compare(gr_arena *a, gr_tensor_source *before, gr_tensor_source *after,
                   gr_tensor_source *golden, const char *name) {
  int64_t n = 0, m = 0, k = 0;
  const char *there = other_name(a, name);
  const float *g = read_tensor(a, golden, name, &n);
  const float *x = read_tensor(a, before, there, &m), *y = read_tensor(a, after, there, &k);
  if (!x || !y || n != m || n != k) return fprintf(stderr, "'%s' is not there\n", there), 1;
  double worst = 0;
  for (int64_t i = 0; i < n; i++) worst = check_worse(worst, fabs((double)x[i] - y[i] - g[i]));
  if (worst <= TOLERANCE) return 0;
  return fprintf(stderr, "the gradient of '%s' differs by %g\n", there, worst), 1;
}

int main(int argc, char **argv) {
  gr_tensor_source *s[3];
  gr_arena *a = gr_arena_create();
  int n, bad = 0;
  int64_t one;
  if (argc != 5) return 2;
  for (int i = 0; i < 3; i++) {
    gr_status e = gr_tensor_source_open(argv[i + 1], &s[i]);
    if (e) return gr_status_print(stderr, e), 1;
  }
  const gr_tensor_slice *all = gr_tensor_source_tensors(s[2], &n);
  for (int i = 0; i < n; i++)
    if (strcmp(all[i].name, "loss")) bad += compare(a, s[0], s[1], s[2], all[i].name);
  const float *loss = read_tensor(a, s[2], "loss", &one);
  if (!loss || !(fabs(strtod(argv[4], NULL) - *loss) <= TOLERANCE))
    bad += (fprintf(stderr, "the loss is %s, not %g\n", argv[4], loss ? *loss : 0), 1);
  printf("%d gradients, %d differ\n", n - 1, bad);
  for (int i = 0; i < 3; i++) gr_tensor_source_close(s[i]);
  gr_arena_destroy(a);
  return bad != 0 || n < 2;
}
