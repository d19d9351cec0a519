// nvrtc_ask.c - see nvrtc_ask.h.
#include "tests/gpu/nvrtc_ask.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"
#include "base/tasks.h"
#include "base/text.h"
#include "tests/check.h"
#include "tests/gpu/nvrtc_known.h"

// ---- The library ------------------------------------------------------------------------------

static struct nvrtc {  // as nvrtc.h declares it; 0 is success
  int (*create)(void **program, const char *source, const char *name, int, const char *const *,
                const char *const *);
  int (*compile)(void *program, int n, const char *const *options);
  int (*log_size)(void *program, size_t *out);
  int (*log)(void *program, char *out);
  int (*destroy)(void **program);
  int (*version)(int *major, int *minor);
} nvrtc;

bool nvrtc_open(void) {
  static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12",
                                      "/usr/local/cuda/lib64/libnvrtc.so.13",
                                      "/usr/local/cuda/lib64/libnvrtc.so.12"};
  void *so = NULL;
  for (size_t i = 0; !so && i < sizeof names / sizeof *names; i++) so = dlopen(names[i], RTLD_NOW);
  if (!so) return false;
  *(void **)&nvrtc.create = dlsym(so, "nvrtcCreateProgram");
  *(void **)&nvrtc.compile = dlsym(so, "nvrtcCompileProgram");
  *(void **)&nvrtc.log_size = dlsym(so, "nvrtcGetProgramLogSize");
  *(void **)&nvrtc.log = dlsym(so, "nvrtcGetProgramLog");
  *(void **)&nvrtc.destroy = dlsym(so, "nvrtcDestroyProgram");
  *(void **)&nvrtc.version = dlsym(so, "nvrtcVersion");
  return nvrtc.create && nvrtc.compile && nvrtc.log_size && nvrtc.log && nvrtc.destroy &&
         nvrtc.version;
}

// ---- What it says -------------------------------------------------------------------------------

// The number before some words of a line; 0: the line does not have them.
static int number_before(const char *line, const char *words) {
  const char *digits = strstr(line, words);
  while (digits && digits > line && digits[-1] >= '0' && digits[-1] <= '9') digits--;
  return digits ? atoi(digits) : 0;
}

// A kernel by its two lines: "0 bytes stack frame, ..." and "Used 14 registers, ...".
static void put_kernel(gr_text *out, const char *name, const char *frame, const char *used) {
  int spills =
      number_before(frame, " bytes spill stores") + number_before(frame, " bytes spill loads");
  gr_text_printf(out, "%s%s:%d:%d:%d:%d", out->len ? "," : "", name,
                 number_before(used, " registers"), number_before(used, " bytes smem"),
                 number_before(frame, " bytes stack frame"), spills);
}

// The kernels of a log, as nvrtc_known.h has them; the caller frees it.
static char *kernels_of(char *log) {
  char name[64] = "?", *frame = NULL, *rest;
  gr_arena *a = gr_arena_create();
  gr_text out = gr_text_make(a);
  for (char *line = strtok_r(log, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
    const char *entry = strstr(line, "entry function '");
    if (entry) sscanf(entry + 16, "%63[^']", name);
    if (strstr(line, "bytes stack frame")) frame = line;
    if (frame && strstr(line, "Used ")) put_kernel(&out, name, frame, line), frame = NULL;
  }
  char *kernels = strdup(out.chars);
  gr_arena_destroy(a);
  return kernels;
}

bool nvrtc_next_kernel(const char **next, nvrtc_kernel *out) {
  if (**next == ',') ++*next;
  int length = 0;
  sscanf(*next, "%63[^:,]:%d:%d:%d:%d%n", out->name, &out->registers, &out->shared, &out->stack,
         &out->spills, &length);
  *next += length;
  return length > 0;
}

void nvrtc_print_line(const nvrtc_source *j) {
  char key[NVRTC_KEY];
  nvrtc_known_key(&j->key, key);
  printf("%s\t%s\t%s\t%s\n", key, j->op, j->arch, j->kernels);
}

// ---- Asking -------------------------------------------------------------------------------------

static cache_key key_of(const nvrtc_source *j) {
  int version[2] = {0, 0};
  cache_key key = cache_key_start();
  nvrtc.version(&version[0], &version[1]);
  cache_key_add(&key, version, sizeof version);
  cache_key_add(&key, j->op, strlen(j->op));
  cache_key_add(&key, j->arch, strlen(j->arch));
  cache_key_add(&key, j->text, strlen(j->text));
  return key;
}

static void compile(nvrtc_source *j) {
  void *program = NULL;
  char arch[32];
  size_t n = 0;
  snprintf(arch, sizeof arch, "-arch=%s", j->arch);
  const char *options[] = {arch, "--ptxas-options=-v"};
  j->failed = nvrtc.create(&program, j->text, j->op, 0, NULL, NULL);
  if (!j->failed) j->failed = nvrtc.compile(program, 2, options);
  if (program && !nvrtc.log_size(program, &n) && (j->log = calloc(n + 1, 1)))
    nvrtc.log(program, j->log);
  if (program) nvrtc.destroy(&program);
}

enum { ONE_IN = 12 };  // known texts are compiled again
typedef struct questions {
  nvrtc_source **order;
  bool again;
} questions;

static gr_status ask(void *all, int i) {
  nvrtc_source *j = ((questions *)all)->order[i];
  size_t n = 0;
  j->key = key_of(j);
  bool again = ((questions *)all)->again && j->code % ONE_IN == 0;
  const char *known = again ? NULL : nvrtc_known_kernels(&j->key);
  if (known) return j->kernels = known, j->how = NVRTC_KNOWN, GR_OK;
  if (cache_read("nvrtc", &j->key, &j->log, &n))
    j->how = NVRTC_CACHED;
  else
    compile(j);
  if (j->failed || !j->log) return GR_OK;
  if (j->how == NVRTC_COMPILED) cache_write("nvrtc", &j->key, j->log, strlen(j->log));
  j->kernels = kernels_of(j->log);
  return GR_OK;
}

static int by_length(const void *x, const void *y) {
  const nvrtc_source *const *a = x, *const *b = y;
  size_t of_a = strlen((*a)->text), of_b = strlen((*b)->text);
  return of_a > of_b ? -1 : of_a < of_b;
}

// The longest begin first, so that no thread has one when the others have nothing left.
void nvrtc_ask_all(gr_arena *a, nvrtc_source *sources, int n, bool again) {
  questions all = {GR_NEW(a, nvrtc_source *, n + 1), again};
  for (int i = 0; i < n; i++) all.order[i] = &sources[i];
  qsort(all.order, (size_t)n, sizeof *all.order, by_length);
  MUST(gr_tasks_run(0, n, ask, &all));
}
