// gpu_parts.h - launches that several ops describe: elements, boxes, rows. See gpu.h.
#pragma once
#include "ops/kernels/gpu.h"

// Adds so many bytes to the call's working memory; returns where they begin.
size_t gr_gpu_take_scratch(gr_gpu_call *, size_t bytes);
// Operand k, from element `index` on.
gr_gpu_ref gr_gpu_in(const gr_gpu_call *, int k, int64_t index);
// Result k, from element `index` on.
gr_gpu_ref gr_gpu_out(const gr_gpu_call *, int k, int64_t index);
// Defines name(F) as F(0) F(1) ... F(n - 1).
void gr_gpu_define_list(gr_gpu_call *, gr_gpu_kernel *, const char *name, int n);

// Appends a kernel with a thread for each 16 bytes of result 0; its first number is that of the
// elements.
gr_gpu_kernel *gr_gpu_elements(gr_gpu_call *, const char *source, const char *entry);

// Operand 0 into result 0 (box.cu): columns x_from to x_from + columns - 1 of each row of x go to
// columns y_from and on of that row of y. All else of y is zeros.
typedef struct gr_gpu_box {
  int64_t rows, columns;
  int64_t x_width, x_from, y_width, y_from;
} gr_gpu_box;
// Appends the copy, by a copy of bytes where the box is all of the result and is in one piece, else
// by a kernel.
void gr_gpu_copy_box(gr_gpu_call *, const gr_gpu_box *);

// Appends a kernel of so many teams over rows of n elements: its source follows rows.cu. widest:
// the type of most bytes that rows have; most: the threads of the largest team; longer rows are not
// kept in registers.
gr_gpu_kernel *gr_gpu_rows(gr_gpu_call *, const char *source, const char *entry, gr_dtype widest,
                           int64_t teams, int64_t n, int most);
// gr_op.gpu of ops whose result has the bytes of operand 0.
gr_status gr_gpu_copy_all(gr_gpu_call *);
