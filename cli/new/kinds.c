// kinds.c - the table of starting folders. See new.h.
#include "cli/new/new.h"

const char *const gr_new_names[GR_NEW_FILES] = {"config.yaml", "graph.yaml", "hook.lua",
                                                "README.md"};

// Their texts are in a file that CMake generates.
#define GR_NEW_KIND(name, doc) extern const char *const gr_new_texts_##name[];
#include "cli/new/kinds.def"
#undef GR_NEW_KIND

const gr_new_kind gr_new_kinds[] = {
#define GR_NEW_KIND(name, doc) {#name, doc, gr_new_texts_##name, gr_new_##name},
#include "cli/new/kinds.def"
#undef GR_NEW_KIND
    {0}};
