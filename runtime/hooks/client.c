// client.c - the interface of hooks.h: sends requests to the hooks' process (process.h) and keeps
// copies of the scripts' states.
#include <stdlib.h>
#include <string.h>
#include "base/json.h"
#include "base/port.h"
#include "base/text.h"
#include "runtime/checkpoint/limits.h"
#include "runtime/hooks/hooks.h"
#include "runtime/hooks/process.h"

enum { MAX_SCRIPT = 1 << 20 };
// All states are one text scalar of a checkpoint, together with the names of scripts and files.
_Static_assert(GR_HOOK_STATE_BYTES <= GR_CHECKPOINT_TEXT / 2, "a checkpoint must hold all states");

// -- States ------------------------------------------------------------------------------

static gr_status copy_state(gr_state_copy *k, gr_wire *w) {
  size_t len;
  const char *text = gr_wire_bytes(w, &len);
  if (!text) return gr_fail(GR_ERR_BUG, GR_NOWHERE, "the hooks' process sent no state");
  if (len + 1 > k->room) {
    char *at = realloc(k->at, len + 1);
    if (!at) return gr_fail(GR_ERR_HOOK, GR_NOWHERE, "no memory for the state of a hook script");
    k->at = at, k->room = len + 1;
  }
  k->len = len;
  memcpy(k->at, text, len + 1);
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
  for (int i = 0; i < h->spec.n_adjust; i++) {
    const gr_adjustable *a = &h->spec.adjust[i];
    gr_wire_put_bytes(&h->out, a, sizeof *a);
    gr_wire_put_text(&h->out, a->key);
    gr_wire_put_text(&h->out, a->group);
    gr_wire_put_text(&h->out, a->fixed);
  }
  return gr_hooks_ask(h, &h->scripts[0], -1);
}

static gr_status load(gr_hooks *h, int i) {
  gr_script *s = &h->scripts[i];
  gr_wire *out = &h->out;
  gr_wire_begin(out, GR_WIRE_LOAD);
  gr_wire_put_int(out, i);
  gr_wire_put_text(out, s->name);
  gr_wire_put_bytes(out, s->text, s->len);
  gr_wire_put_int(out, s->from.n_params);
  for (int k = 0; k < s->from.n_params; k++) {
    const gr_param *p = &s->from.params[k];
    gr_wire_put_text(out, p->key);
    gr_wire_put_int(out, p->kind);
    gr_wire_put_int(out, p->i);
    gr_wire_put_float(out, p->f);
    gr_wire_put_text(out, p->text);
  }
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
  gr_wire_begin(&h->out, GR_WIRE_BACK);
  for (int i = 0; i < h->spec.n_scripts; i++)
    gr_wire_put_bytes(&h->out, h->scripts[i].state.at, h->scripts[i].state.len);
  return gr_hooks_ask(h, &h->scripts[0], -1);
}

// After a failure: starts the scripts again, as after a resume, with the states of the last event.
static gr_status restart(gr_hooks *h) {
  if (h->pid || !h->spec.n_scripts) return GR_OK;
  h->restarting = true;
  gr_status e = start(h);
  if (!e) e = send_back_states(h);
  h->restarting = false;
  return gr_note(e, GR_NOWHERE, "while restarting the hooks after a failure");
}

// -- Opening -----------------------------------------------------------------------------

static gr_status read_script(gr_hooks *h, gr_script *s, const gr_hook_script *from) {
  const char *slash = strrchr(from->path, '/');
  s->from = *from, s->name = slash ? slash + 1 : from->path;
  if (!gr_is_file(from->path))
    return gr_hint(gr_fail(GR_ERR_CONFIG, from->from, "there is no hook script '%s'", from->path),
                   "paths are relative to the directory in which graphrun is run");
  return gr_file_read(h->arena, from->path, MAX_SCRIPT, &s->text, &s->len);
}

static gr_status open_all(gr_hooks *h) {
  for (int i = 0; i < h->spec.n_scripts; i++)
    GR_TRY(read_script(h, &h->scripts[i], &h->spec.scripts[i]));
  return h->spec.n_scripts ? start(h) : GR_OK;
}

gr_status gr_hooks_open(const gr_hooks_spec *spec, gr_hooks **out) {
  *out = NULL;
  gr_hooks *h = calloc(1, sizeof *h);
  if (!h) return gr_fail(GR_ERR_IO, GR_NOWHERE, "no memory for hooks");
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
    free(h->scripts[i].state.at), free(h->scripts[i].after.at);
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
  gr_wire *out = &h->out;
  gr_wire_begin(out, GR_WIRE_CALL);
  gr_wire_put_int(out, i);
  gr_wire_put_int(out, event);
  gr_wire_put_bytes(out, c, sizeof *c);
  gr_wire_put_bytes(out, r, sizeof *r);
  gr_wire_put_text(out, c->output_dir);
  gr_wire_put_text(out, c->last_checkpoint);
  gr_wire_put_text(out, gr_hook_events[event].has_reason ? c->reason : NULL);
  for (int k = 0; k < h->spec.n_adjust; k++)
    gr_wire_put_float(out, c->set ? c->set[k] : h->spec.adjust[k].initial);
  for (int k = 0; k < c->n_metrics; k++) {
    gr_wire_put_text(out, c->metrics[k].name);
    gr_wire_put_float(out, c->metrics[k].value);
  }
  GR_TRY(gr_hooks_ask(h, s, (int)event));
  size_t len;
  const char *result = gr_wire_bytes(&h->in, &len);
  if (len != sizeof *r) return gr_fail(GR_ERR_BUG, GR_NOWHERE, "a hook's result is truncated");
  memcpy(r, result, sizeof *r);
  s->is_new = gr_wire_int(&h->in) != 0;
  return s->is_new ? copy_state(&s->after, &h->in) : GR_OK;
}

gr_status gr_hooks_call(gr_hooks *h, gr_hook_event event, const gr_hook_context *context,
                        gr_hook_result *out) {
  gr_hook_result r = {.lr = context->lr};
  gr_status e = gr_hooks_has(h, event) ? restart(h) : GR_OK;
  gr_hooks_mark_files(h);
  for (int i = 0; i < h->spec.n_scripts && !e; i++)
    if (h->scripts[i].line[event]) e = call_script(h, i, event, context, &r);
  end_event(h, !e);
  *out = e ? (gr_hook_result){.lr = context->lr} : r;
  return gr_note(e, GR_NOWHERE, "in hook '%s' at step %lld", gr_hook_events[event].name,
                 (long long)context->step);
}

// -- Saving and restoring ----------------------------------------------------------------

// Writes a JSON string as state_json.c reads it: each byte is the character of that number.
static void put_name(gr_text *t, const char *s) {
  gr_text_put(t, "\"");
  for (; *s; s++) {
    unsigned char c = (unsigned char)*s;
    if (c >= 32 && c < 127 && c != '"' && c != '\\')
      gr_text_putn(t, s, 1);
    else
      gr_text_printf(t, "\\u%04x", c);
  }
  gr_text_put(t, "\"");
}

static gr_status put_states(gr_hooks *h, gr_text *t) {
  gr_text_put(t, "{\"scripts\":[");
  for (int i = 0; i < h->spec.n_scripts; i++) {
    const char *state = gr_wire_text(&h->in);
    if (!state) return gr_fail(GR_ERR_BUG, GR_NOWHERE, "the hooks' process sent no state");
    gr_text_put(t, i ? ",[" : "[");
    put_name(t, h->scripts[i].name);
    gr_text_put(t, ",");
    gr_text_put(t, state);
    gr_text_put(t, "]");
  }
  gr_text_put(t, "],\"files\":[");
  for (const gr_hook_file *f = h->files; f; f = f->next)
    gr_text_printf(t, "%s[\"%s\",%lld]", f == h->files ? "" : ",", f->name, (long long)f->bytes);
  gr_text_put(t, "]}");
  return GR_OK;
}

gr_status gr_hooks_save(gr_hooks *h, gr_arena *a, char **out) {
  gr_text t = gr_text_make(a);
  GR_TRY(restart(h));
  gr_wire_begin(&h->out, GR_WIRE_SAVE);
  if (h->spec.n_scripts) GR_TRY(gr_hooks_ask(h, &h->scripts[0], -1));
  GR_TRY(put_states(h, &t));
  *out = t.chars;
  return GR_OK;
}

static gr_status restore_states(gr_hooks *h, const char *text) {
  GR_TRY(restart(h));
  if (!h->spec.n_scripts) return GR_OK;
  gr_wire_begin(&h->out, GR_WIRE_RESTORE);
  gr_wire_put_text(&h->out, text);
  GR_TRY(gr_hooks_ask(h, &h->scripts[0], -1));
  for (int i = 0; i < h->spec.n_scripts; i++) GR_TRY(copy_state(&h->scripts[i].state, &h->in));
  return GR_OK;
}

static gr_status restore_files(gr_hooks *h, const gr_json *files) {
  for (const gr_json *v = files->first; v; v = v->next) {
    const gr_json *name = v->first;
    bool pair = v->kind == GR_JSON_ARRAY && v->n == 2 && name->kind == GR_JSON_TEXT &&
                name->next->kind == GR_JSON_INT;
    if (pair && name->next->i >= 0) GR_TRY(gr_hooks_continue_file(h, name->text, name->next->i));
  }
  return GR_OK;
}

gr_status gr_hooks_restore(gr_hooks *h, const char *text) {
  gr_arena *a = gr_arena_create();
  const gr_json *root;
  gr_json_error why;
  bool ok = gr_json_read(a, text, strlen(text), &root, &why);
  const gr_json *files = ok ? gr_json_get(root, "files", GR_JSON_ARRAY) : NULL;
  gr_status e = files
                    ? restore_states(h, text)
                    : gr_fail(GR_ERR_CHECKPOINT, GR_NOWHERE, "the saved state of hooks is damaged");
  if (!e) e = restore_files(h, files);
  gr_arena_destroy(a);
  return e;
}
