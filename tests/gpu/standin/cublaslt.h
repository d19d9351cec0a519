// cublaslt.h - a product of the stand-in cuBLASLt, of which no pointer is followed before it runs.
#pragma once
#include <cublasLt.h>
#include <stddef.h>
#include <stdint.h>

typedef struct matrix {
  char *p;
  int type, row_major;
  int64_t rows, cols, ld, stride;
} matrix;
typedef struct product {
  matrix a, b, c, d;
  int ta, tb, batch, epilogue, bias_type, tf32, wide;
  double alpha, beta;
  uint64_t order;  // of its sums, which is another for each algorithm
  char *bias, *workspace;
  int64_t bias_stride, workspace_size;
} product;

size_t product_size_of(int type);  // bytes of an element; 0: the type is not stood in for
// Elements from a matrix's address to an element of one of a batch.
int64_t product_offset_of(const matrix *m, int64_t r, int64_t c, int batch);
// How many sums over k an epilogue writes: of the rows of op(A), or of the columns of op(B).
int64_t product_sums_of(const product *p);
size_t product_used_of(const product *p);  // bytes of the working memory that it writes
int product_multiply(void *arg);           // computes it, for standin_enqueue
