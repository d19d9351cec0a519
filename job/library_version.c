// library_version.c - see library_version.h.
#include "job/library_version.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

// A pointer that dlsym gave, as each of the types that library_version.h lists.
typedef union version_function {
  void *symbol;
  const char *(*text)(void);
  const char *(*text_of)(const void *);
  int (*mpi)(char *, int *);
  int (*number)(int *);
  size_t (*size)(void);
  const int *(*three)(void);
  double (*lua)(void *);
} version_function;

enum { MAX_MPI_VERSION = 8192 };  // MPICH's MPI_MAX_LIBRARY_VERSION_STRING, the longest in use

static void put_parts(gr_text *t, int major, int minor, int patch) {
  gr_text_printf(t, "%d.%d.%d", major, minor, patch);
}

// Digits in pairs: 22304 is 2.23.4.
static void put_pairs(gr_text *t, int version) {
  put_parts(t, version / 10000, version / 100 % 100, version % 100);
}

// The first piece of a long description, which names the implementation and its version.
static void put_mpi(gr_text *t, version_function f) {
  char text[MAX_MPI_VERSION + 1] = "";
  int length = 0;
  if (f.mpi(text, &length)) return;
  text[strcspn(text, ",\n")] = 0;
  for (char *tab = text; (tab = strchr(tab, '\t'));) *tab = ' ';
  gr_text_put(t, text);
}

static void put_file(gr_text *t, const char *file) {
  char path[PATH_MAX];
  const char *name = file && realpath(file, path) ? path : "";
  const char *slash = strrchr(name, '/');
  gr_text_put(t, slash ? slash + 1 : name);
}

void gr_library_version(gr_text *t, gr_version_form form, void *function, const char *file) {
  version_function f = {.symbol = function};
  int number = 0;
  switch (form) {
    case GR_VERSION_TEXT:
      gr_text_put(t, f.text());
      break;
    case GR_VERSION_TEXT_OF:
      gr_text_put(t, f.text_of(NULL));
      break;
    case GR_VERSION_FILE:
      put_file(t, file);
      break;
    case GR_VERSION_MPI:
      put_mpi(t, f);
      break;
    case GR_VERSION_CUDA:
      if (!f.number(&number)) gr_text_printf(t, "%d.%d", number / 1000, number % 1000 / 10);
      break;
    case GR_VERSION_CUDNN:
      put_pairs(t, (int)f.size());
      break;
    case GR_VERSION_NCCL:
      if (!f.number(&number)) put_pairs(t, number);
      break;
    case GR_VERSION_ONEDNN:
      put_parts(t, f.three()[0], f.three()[1], f.three()[2]);
      break;
    case GR_VERSION_LUA:
      gr_text_printf(t, "%d.%d", (int)f.lua(NULL) / 100, (int)f.lua(NULL) % 100);
      break;
  }
}
