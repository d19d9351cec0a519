// cudnn.h - what the files of the stand-in cuDNN share.
#pragma once
#include <cudnn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/gpu/standin/standin.h"

enum { TENSOR = 0x444e0001, FILTER, CONVOLUTION, HANDLE, NODE, GONE };
struct cudnnContext {
  int magic, device;
  void *stream;
};
cudnnStatus_t si_bad(const char *what);  // says what, and is CUDNN_STATUS_BAD_PARAM
bool si_asked(const char *what);         // STANDIN_CUDNN is that, on this GPU
bool si_execution_fails(const char *which, bool first,
                        int most);           // it is WHICH, WHICH-first or WHICH-later
bool si_ready(const struct cudnnContext *);  // a handle of the current device, with a stream

// ---- Graphs of operations (cudnn_graph.c), and how they run (cudnn_run.c)
// ------------------------
enum { RANKS = 4, MOST = 40, ATTRIBUTES = 8 };
typedef struct {
  int name, type, n;
  int64_t v[MOST];
} attribute;
// Any descriptor of the backend API.
typedef struct node {
  int magic, kind, n, config;  // config: of an engine configuration, an engine, a plan
  bool finished;
  int64_t needs;  // of a plan: bytes of its workspace
  attribute of[ATTRIBUTES];
} node;
const attribute *si_attribute(const node *, int name);  // NULL: it was not set
// The first number of an attribute, or `otherwise` where it was not set.
int64_t si_number(const node *, int name, int64_t otherwise);
node *si_node(const node *, int name);  // a descriptor that it has, or NULL
// A tensor's sizes, by dimension; NULL: they were not set.
const int64_t *si_dim(const node *tensor);
// Its strides, in elements, likewise.
const int64_t *si_stride(const node *tensor);
int64_t si_span(const node *tensor);  // elements from the first to behind the last
int si_size(int type);                // bytes of an element; 0: it has none
// Runs a plan's graph with values by id.
cudnnStatus_t si_run_graph(cudnnHandle_t, const node *graph, const node *pack, int64_t needs);
