// events.c - the table of events, and what it says for readers. See hooks.h.
#include "base/text.h"
#include "runtime/hooks/hooks.h"

enum { RATE = 1, CONTROLS = 0, AGAIN = 1, ONCE = 0 };
enum { METRICS = GR_HOOK_HAS_METRICS, REASON = GR_HOOK_HAS_REASON };

const gr_hook_row gr_hook_events[GR_HOOK_EVENTS] = {
#define GR_HOOK_EVENT(constant, function, returns, again, fields, when) \
  [GR_HOOK_##constant] = {function, returns, again, fields, when},
#include "runtime/hooks/hooks.def"
};

const char *const gr_hook_fields[] = {
#define GR_HOOK_FIELD(name, doc) name,
#include "runtime/hooks/hooks.def"
    NULL,
};

static const char *const field_docs[] = {
#define GR_HOOK_FIELD(name, doc) doc,
#include "runtime/hooks/hooks.def"
};

void gr_hooks_help(gr_text *t) {
  gr_text_put(t, "\nA script returns a table of functions, any of these:\n");
  for (int e = 0; e < GR_HOOK_EVENTS; e++)
    gr_text_printf(t, "  %-14s %s\n", gr_hook_events[e].name, gr_hook_events[e].when);
  gr_text_put(t, "Fields of ctx, their argument:\n");
  for (int i = 0; gr_hook_fields[i]; i++)
    gr_text_printf(t, "  %-16s %s\n", gr_hook_fields[i], field_docs[i]);
}
