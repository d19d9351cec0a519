// client.c - the interface of hooks.h: sends requests to the hooks' process (process.h) and keeps
// copies of the scripts' states.
#include <stdlib.h>
#include <string.h>
#include "base/port.h"
#include "runtime/hooks/hooks.h"
#include "runtime/hooks/process.h"

enum { MAX_SCRIPT = 1 << 20 };

// -- States ------------------------------------------------------------------------------

gr_status gr_hooks_keep_state(gr_hooks *h, gr_state_copy *k) {
  size_t len;
  const char *state = gr_wire_value(&h->in, &len);
  if (!state) return gr_fail(GR_ERR_BUG, GR_NOWHERE, "the hooks' process sent no state");
  if (len > k->room) {
    char *bytes = realloc(k->bytes, len);
    if (!bytes) return gr_fail(GR_ERR_HOOK, GR_NOWHERE, "no memory for the state of a hook script");
    k->bytes = bytes, k->room = len;
  }
  k->len = len;
  memcpy(k->bytes, state, len);
  return GR_OK;
}

// Ends an event: commits what scripts did in it, or rolls it back.
static void end_event(gr_hooks *h, bool commit) {
  for (int i = 0; i < h->spec.n_scripts; i++) {
    gr_script *s = &h->scripts[i];
    if (s->is_new && commit) {
      gr_state_copy old = s->state;
      s->state = s->after, s->after = old;
    }
    s->is_new = false;
  }
  if (!commit) gr_hooks_revert_files(h);
}

// -- Starting ----------------------------------------------------------------------------

static gr_status set_up(gr_hooks *h) {
  gr_wire_begin(&h->out, GR_WIRE_SETUP);
  gr_wire_put_int(&h->out, (int64_t)h->spec.seed);
  gr_wire_put_int(&h->out, (int64_t)h->spec.memory_bytes);
  gr_wire_put_float(&h->out, h->spec.seconds);
  gr_wire_put_int(&h->out, h->spec.n_scripts);
  gr_wire_put_int(&h->out, h->spec.n_adjust);
  for (int i = 0; i < h->spec.n_adjust; i++) gr_hooks_put_adjustable(h, &h->spec.adjust[i]);
  return gr_hooks_ask(h, &h->scripts[0], -1);
}

static gr_status load(gr_hooks *h, int i) {
  gr_script *s = &h->scripts[i];
  gr_wire_begin(&h->out, GR_WIRE_LOAD);
  gr_wire_put_int(&h->out, i);
  gr_wire_put_text(&h->out, s->name);
  gr_wire_put_bytes(&h->out, s->text, s->len);
  gr_hooks_put_params(h, &s->spec);
  GR_TRY(gr_hooks_ask(h, s, -1));
  for (int e = 0; e < GR_HOOK_EVENTS; e++) s->line[e] = (int)gr_wire_int(&h->in);
  return GR_OK;
}

static gr_status start(gr_hooks *h) {
  GR_TRY(gr_hooks_spawn(h));
  GR_TRY(set_up(h));
  for (int i = 0; i < h->spec.n_scripts; i++) GR_TRY(load(h, i));
  return GR_OK;
}

static gr_status send_back_states(gr_hooks *h) {
  gr_wire_begin(&h->out, GR_WIRE_STATES);
  for (int i = 0; i < h->spec.n_scripts; i++)
    gr_wire_put_value(&h->out, h->scripts[i].state.bytes, h->scripts[i].state.len);
  return gr_hooks_ask(h, &h->scripts[0], -1);
}

gr_status gr_hooks_restart(gr_hooks *h) {
  if (h->pid || !h->spec.n_scripts) return GR_OK;
  h->restarting = true;
  gr_status e = start(h);
  if (!e) e = send_back_states(h);
  h->restarting = false;
  return gr_note(e, GR_NOWHERE, "while restarting the hooks after a failure");
}

// -- Opening -----------------------------------------------------------------------------

static gr_status read_script(gr_hooks *h, gr_script *s, const gr_hook_script *spec) {
  const char *slash = strrchr(spec->path, '/');
  s->spec = *spec, s->name = slash ? slash + 1 : spec->path;
  if (!gr_is_file(spec->path))
    return gr_hint(gr_fail(GR_ERR_CONFIG, spec->loc, "there is no hook script '%s'", spec->path),
                   "paths are relative to the directory in which graphrun is run");
  return gr_file_read(h->arena, spec->path, MAX_SCRIPT, &s->text, &s->len);
}

static gr_status open_all(gr_hooks *h) {
  for (int i = 0; i < h->spec.n_scripts; i++)
    GR_TRY(read_script(h, &h->scripts[i], &h->spec.scripts[i]));
  return h->spec.n_scripts ? start(h) : GR_OK;
}

gr_status gr_hooks_open(const gr_hooks_spec *spec, gr_hooks **out) {
  *out = NULL;
  gr_hooks *h = calloc(1, sizeof *h);
  if (!h) return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no memory for hooks");
  h->arena = gr_arena_create();
  h->spec = *spec;
  if (!h->spec.memory_bytes) h->spec.memory_bytes = (size_t)64 << 20;
  if (h->spec.seconds <= 0) h->spec.seconds = 1;
  h->scripts = GR_NEW(h->arena, gr_script, spec->n_scripts + 1);
  gr_status e = open_all(h);
  if (e)
    gr_hooks_close(h);
  else
    *out = h;
  return e;
}

void gr_hooks_close(gr_hooks *h) {
  if (!h) return;
  gr_hooks_kill(h);
  for (int i = 0; i < h->spec.n_scripts; i++)
    free(h->scripts[i].state.bytes), free(h->scripts[i].after.bytes);
  gr_wire_free(&h->in);
  gr_wire_free(&h->out);
  gr_arena_destroy(h->arena);
  free(h);
}

bool gr_hooks_has(const gr_hooks *h, gr_hook_event event) {
  for (int i = 0; i < h->spec.n_scripts; i++)
    if (h->scripts[i].line[event]) return true;
  return false;
}

// -- Calling -----------------------------------------------------------------------------

static gr_status call_script(gr_hooks *h, int i, gr_hook_event event, const gr_hook_context *c,
                             gr_hook_result *r) {
  gr_script *s = &h->scripts[i];
  gr_hook_context now = *c;
  now.lr = r->lr;
  if (!gr_hook_events[event].has_reason) now.reason = NULL;
  gr_wire_begin(&h->out, GR_WIRE_CALL);
  gr_wire_put_int(&h->out, i);
  gr_wire_put_int(&h->out, event);
  gr_wire_put_int(&h->out, c->step);
  gr_wire_put_bytes(&h->out, r, sizeof *r);
  gr_hooks_put_context(h, &now);
  GR_TRY(gr_hooks_ask(h, s, (int)event));
  size_t len;
  const char *result = gr_wire_bytes(&h->in, &len);
  if (len != sizeof *r) return gr_fail(GR_ERR_BUG, GR_NOWHERE, "a hook's result is truncated");
  memcpy(r, result, sizeof *r);
  s->is_new = gr_wire_bool(&h->in);
  return s->is_new ? gr_hooks_keep_state(h, &s->after) : GR_OK;
}

gr_status gr_hooks_call(gr_hooks *h, gr_hook_event event, const gr_hook_context *context,
                        gr_hook_result *out) {
  gr_hook_result r = {.lr = context->lr};
  gr_status e = gr_hooks_has(h, event) ? gr_hooks_restart(h) : GR_OK;
  gr_hooks_mark_files(h);
  for (int i = 0; i < h->spec.n_scripts && !e; i++)
    if (h->scripts[i].line[event]) e = call_script(h, i, event, context, &r);
  end_event(h, !e);
  *out = e ? (gr_hook_result){.lr = context->lr} : r;
  return gr_note(e, GR_NOWHERE, "in hook '%s' at step %lld", gr_hook_events[event].name,
                 (long long)context->step);
}
