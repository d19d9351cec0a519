// export_read.c - reads the tensors of an export. See export.h.
#include <stdlib.h>
#include "runtime/checkpoint/chunks.h"
#include "runtime/checkpoint/export.h"

static gr_status read_rows(gr_exporter *x, int i, char *chunk, int64_t rows,
                           void (*put)(void *, const char *, int64_t), void *ctx) {
  const gr_tensor_slice *p = &x->tensors[i];
  gr_tensor_slice part = *p;
  int64_t all = p->rank ? p->dims[0] : 1;
  part.data = chunk, part.name = x->stored_name[i];
  for (int64_t row = 0; row < all && !ferror(x->file); row += rows) {
    if (p->rank) part.offset[0] = row, part.size[0] = all - row < rows ? all - row : rows;
    GR_TRY(gr_checkpoint_read(x->checkpoint, &part));
    if (x->request->merge) GR_TRY(gr_exporter_merge(x, &part, p->name));
    put(ctx, chunk, gr_tensor_slice_bytes(&part));
  }
  return GR_OK;
}

gr_status gr_exporter_read(gr_exporter *x, int i, void (*put)(void *, const char *, int64_t),
                           void *ctx) {
  const gr_tensor_slice *p = &x->tensors[i];
  int64_t bytes = gr_tensor_slice_bytes(p), all = p->rank ? p->dims[0] : 1;
  int64_t row = all ? bytes / all : 0;
  int64_t rows = row && row < gr_chunks.exported ? gr_chunks.exported / row : 1;
  rows = rows < all ? rows : all;
  char *chunk = malloc((size_t)(rows * row) + 1);
  if (!chunk)
    return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no %.1f MB of memory for '%s'",
                   (double)(rows * row) / 1e6, p->name);
  gr_status s = read_rows(x, i, chunk, rows, put, ctx);
  free(chunk);
  return s;
}
