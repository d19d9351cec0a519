// nvtx.c - a stand-in for a profiler that NVTX_INJECTION64_PATH names: appends the ranges that a
// process pushes and pops to the file STANDIN_NVTX, a line each, with their depth.
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get);

static _Thread_local int depth;

static FILE *list(void) {
  static FILE *f;
  const char *path = getenv("STANDIN_NVTX");
  if (!f && path) f = fopen(path, "a");
  return f;
}

static nvtxDomainHandle_t create(const char *name) {
  if (list()) fprintf(list(), "domain %s\n", name);
  return (nvtxDomainHandle_t)(void *)list();
}
static int push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *a) {
  if (domain) fprintf((FILE *)(void *)domain, "push %d %s\n", depth, a->message.ascii);
  return depth++;
}
static int pop(nvtxDomainHandle_t domain) {
  if (domain) fprintf((FILE *)(void *)domain, "pop %d\n", --depth), fflush((FILE *)(void *)domain);
  return depth;
}

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get) {
  const NvtxExportTableCallbacks *callbacks = get(NVTX_ETID_CALLBACKS);
  NvtxFunctionTable table = NULL;
  unsigned size = 0;
  if (!callbacks || !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size))
    return 0;
  nvtxDomainHandle_t (*a)(const char *) = create;
  int (*b)(nvtxDomainHandle_t, const nvtxEventAttributes_t *) = push,
                                                           (*c)(nvtxDomainHandle_t) = pop;
  memcpy(table[NVTX_CBID_CORE2_DomainCreateA], &a, sizeof a);
  memcpy(table[NVTX_CBID_CORE2_DomainRangePushEx], &b, sizeof b);
  memcpy(table[NVTX_CBID_CORE2_DomainRangePop], &c, sizeof c);
  return 1;
}
