// version.c - see version.h.
#include "job/version.h"
#include <built_with.h>  // generated: GR_HAS_x, 0 or 1, for the rows of libraries.def
#include "base/module.h"
#include "base/status.h"
#include "job/library_version.h"

#ifndef GR_VERSION
#define GR_VERSION "unknown"
#endif

const char *const gr_version_number = GR_VERSION;

#ifdef __clang__
#define COMPILER __VERSION__  // has its name in it
#else
#define COMPILER "GCC " __VERSION__
#endif

typedef struct library {
  const char *name;
  bool built;
  const char *module, *soname, *function;
  gr_version_form form;
  const char *what;
} library;

static const library libraries[] = {
#define GR_LIBRARY(name, have, module, soname, function, form, what) \
  {name, GR_HAS_##have, module, soname, function, GR_VERSION_##form, what},
#include "job/libraries.def"
};
enum { N_LIBRARIES = sizeof libraries / sizeof *libraries };

void gr_version_libraries(gr_text *t) {
  const char *comma = "";
  for (int i = 0; i < N_LIBRARIES; i++)
    if (libraries[i].built) gr_text_printf(t, "%s%s", comma, libraries[i].name), comma = ", ";
}

static gr_found_library find_library(gr_arena *a, const library *l) {
  const void *table;
  gr_found_library f = {.name = l->name, .what = l->what, .built = l->built, .late = l->soname};
  if (!l->built) return f.error = "not in this build", f;
  gr_status s = l->module ? gr_module_open(l->module, &table) : GR_OK;
  void *function = s ? NULL : gr_library_function(l->module, l->soname, l->function, &f.file);
  if (s) {
    f.error = gr_arena_printf(a, "not found: %s", gr_status_text(s));
  } else if (function) {
    gr_text version = gr_text_make(a);
    gr_library_version(&version, l->form, function, f.file);
    f.version = version.len ? version.chars : "of an unknown version";
  } else {
    f.error = gr_arena_printf(a, "not found: %s", l->soname ? l->soname : l->function);
  }
  gr_status_drop(s);
  return f;
}

bool gr_version_library(gr_arena *a, int i, gr_found_library *out) {
  if (i >= N_LIBRARIES) return false;
  *out = find_library(a, &libraries[i]);
  return true;
}

void gr_version(gr_text *t) {
  gr_text_put(t, "graphrun " GR_VERSION "\n");
  if (gr_version_commit)
    gr_text_printf(t, "commit %s%s\n", gr_version_commit, gr_version_modified ? ", modified" : "");
  else
    gr_text_put(t, "commit not known: built outside a git clone\n");
  gr_text_put(t, "compiled by " COMPILER "\nbuilt with ");
  gr_version_libraries(t);
  gr_text_put(t, "\n");
  gr_found_library f;
  for (int i = 0; gr_version_library(t->arena, i, &f); i++)
    gr_text_printf(t, "    %-10s  %-38s  %s\n", f.name, f.what, f.version ? f.version : f.error);
}

void gr_version_json_members(gr_text *t) {
  gr_text_json_member(t, "version", GR_VERSION);
  gr_text_json_member(t, "commit", gr_version_commit);
  gr_text_printf(t, ", \"modified\": %s", gr_version_modified ? "true" : "false");
  gr_text_json_member(t, "compiler", COMPILER);
}

void gr_version_json(gr_text *t) {
  gr_text_put(t, "{");
  gr_version_json_members(t);
  gr_text_put(t, ",\n \"libraries\": [");
  gr_found_library f;
  for (int i = 0; gr_version_library(t->arena, i, &f); i++) {
    gr_text_json_line(t, "\n  {");
    gr_text_json_member(t, "name", f.name);
    gr_text_printf(t, ", \"built\": %s", f.built ? "true" : "false");
    gr_text_json_member(t, "version", f.version);
    gr_text_json_member(t, "file", f.file);
    gr_text_json_member(t, "error", f.error);
    gr_text_put(t, "}");
  }
  gr_text_put(t, "]}\n");
}
