// abi.h - what compiled kernels and the stand-in driver agree on. C, and C++ in kernels.
#pragma once
#ifndef STANDIN_IN_KERNEL
#include <stddef.h>
#include <stdint.h>
#else
typedef unsigned long long uint64_t;
#endif
#ifdef __cplusplus
extern "C" {
#endif

// A "cubin" is a shared object which exports one standin_module named `standin_module`.
typedef struct {
  unsigned tid[3], bid[3], bdim[3], gdim[3];
} standin_thread;
typedef struct {
  size_t size, align;
  int pointer;
} standin_param;
typedef struct {
  const char *name;
  void (*call)(void **args);
  const standin_param *param;
  int nparam, max_threads;
} standin_kernel;
typedef struct {  // what device code asks of the engine; `line` names the barrier in messages
  int (*block_sync)(int line, int value);  // the sum of value over the block
  const uint64_t *(*warp_sync)(int line, unsigned mask, uint64_t value);  // values of all lanes
  void (*grid_sync)(int line);
  void (*yield)(void);
  void (*trap)(const char *why);
  void (*condition)(uint64_t loop, unsigned value);  // cudaGraphSetConditional
  // With weak memory (weak.c), of addresses of the device: [memory, memory + bytes). 0 bytes: the
  // kernel that runs has none.
  const char *memory;
  size_t bytes;
  void (*reads)(const void *, size_t);               // before a load, which may be by the L1 cache
  void (*writes)(const void *, size_t);              // before a store
  void (*past)(void *to, const void *source, size_t);  // a load past the L1 cache
  void (*coherent)(const void *, size_t);            // before an atomic operation
  void (*order)(int releases, int acquires);         // of a thread of the block; a fence is both
} standin_engine;
typedef struct {
  const standin_kernel *kernel;
  int nkernel;
  const standin_thread **self;
  const standin_engine **engine;
  char *shared_begin, *shared_end, *dynamic;
  int weak;  // its loads and stores of global memory call the engine
} standin_module_t;
#ifdef __cplusplus
}
#endif
