// events.c - the tables of events, fields and controls, and what they say for readers. See hooks.h.
#include "base/text.h"
#include "runtime/hooks/hooks.h"

#define RATE GR_HOOK_RATE
#define CONTROLS GR_HOOK_CONTROLS
#define NOTHING GR_HOOK_NOTHING
enum { AGAIN = 1, ONCE = 0, REASON = 1 };

const gr_hook_row gr_hook_events[GR_HOOK_EVENTS] = {
#define GR_HOOK_EVENT(constant, function, returns, again, fields, when) \
  [GR_HOOK_##constant] = {function, returns, again, fields, when},
#include "runtime/hooks/hooks.def"
};

const char *const gr_hook_fields[] = {
#define GR_HOOK_FIELD(name, ...) #name,
#define GR_HOOK_KEPT GR_HOOK_FIELD
#include "runtime/hooks/hooks.def"
    NULL,
};

static const char *const field_docs[] = {
#define GR_HOOK_FIELD(name, type, value, given, doc) doc,
#define GR_HOOK_KEPT(name, doc) doc,
#include "runtime/hooks/hooks.def"
};

static const char *const control_docs[] = {
#define GR_HOOK_CONTROL(name, doc) doc,
#include "runtime/hooks/hooks.def"
};

const char *const gr_hook_control_names[] = {
#define GR_HOOK_CONTROL(name, doc) #name,
#include "runtime/hooks/hooks.def"
    NULL,
};

static void put_rows(gr_text *t, const char *const *names, const char *const *docs) {
  for (int i = 0; names[i]; i++) gr_text_printf(t, "  %-19s %s\n", names[i], docs[i]);
}

void gr_hooks_help(gr_text *t) {
  gr_text_put(t, "\nA script returns a table of functions, any of these:\n");
  for (int e = 0; e < GR_HOOK_EVENTS; e++)
    gr_text_printf(t, "  %-19s %s\n", gr_hook_events[e].name, gr_hook_events[e].when);
  gr_text_put(t, "Fields of ctx, their argument:\n");
  put_rows(t, gr_hook_fields, field_docs);
  gr_text_put(t, "lr returns a number; the others return nothing or a table of controls:\n");
  put_rows(t, gr_hook_control_names, control_docs);
}
