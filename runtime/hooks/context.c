// context.c - what the hooks' process is sent of a run: its parameters, and ctx of each call. See
// process.h.
#include "base/shown.h"
#include "base/text.h"
#include "runtime/hooks/process.h"

// The smaller of max_steps and max_epochs * steps_per_epoch; 0: not known.
static int64_t total_steps(const gr_hook_context *c) {
  int64_t by_epoch = 0;
  if (c->max_epochs > 0 && c->steps_per_epoch > 0 &&
      __builtin_mul_overflow(c->max_epochs, c->steps_per_epoch, &by_epoch))
    by_epoch = 0;
  if (c->max_steps <= 0) return by_epoch;
  return by_epoch > 0 && by_epoch < c->max_steps ? by_epoch : c->max_steps;
}

// ---- Entries of a table, by their types ---------------------------------------------------------

static void put_int(gr_hooks *h, const char *name, int64_t i) {
  gr_wire_put_text(&h->out, name);
  gr_wire_put_int(&h->out, i);
}

// For scripts, which may print it.
static void put_float(gr_hooks *h, const char *name, double f) {
  gr_wire_put_text(&h->out, name);
  gr_wire_put_float(&h->out, gr_shown(f));
}

static void put_text(gr_hooks *h, const char *name, const char *text) {
  gr_wire_put_text(&h->out, name);
  gr_wire_put_text(&h->out, text);
}

static void put_table(gr_hooks *h, const char *name) {
  gr_wire_put_text(&h->out, name);
  gr_wire_put_table(&h->out);
}

static void put_named(gr_hooks *h, const char *name, const gr_hook_context *c) {
  put_table(h, name);
  for (int i = 0; i < c->n_metrics; i++) put_float(h, c->metrics[i].name, c->metrics[i].value);
  gr_wire_put_end(&h->out);
}

// The values of a group of weights; NULL: of the weights in none.
static void put_group(gr_hooks *h, const char *group, const gr_hook_context *c) {
  for (int i = 0; i < h->spec.n_adjust; i++) {
    const gr_adjustable *a = &h->spec.adjust[i];
    if (!gr_text_same(a->group, group)) continue;
    gr_wire_put_text(&h->out, a->key);
    gr_wire_put_float(&h->out, c->set ? c->set[i] : a->initial);
  }
}

static void put_values(gr_hooks *h, const char *name, const gr_hook_context *c) {
  put_table(h, name);
  put_group(h, NULL, c);
  put_table(h, "groups");
  for (int i = 0; i < h->spec.n_adjust; i++) {
    const char *group = h->spec.adjust[i].group;
    if (!group || (i && gr_text_same(h->spec.adjust[i - 1].group, group))) continue;
    put_table(h, group);
    put_group(h, group, c);
    gr_wire_put_end(&h->out);
  }
  gr_wire_put_end(&h->out);
  gr_wire_put_end(&h->out);
}

// ---- Tables -------------------------------------------------------------------------------------

void gr_hooks_put_context(gr_hooks *h, const gr_hook_context *c) {
  gr_wire_put_table(&h->out);
#define GR_HOOK_FIELD(name, type, value, given, doc) \
  if (given) put_##type(h, #name, value);
#include "runtime/hooks/hooks.def"
  gr_wire_put_end(&h->out);
}

void gr_hooks_put_params(gr_hooks *h, const gr_hook_script *s) {
  gr_wire_put_table(&h->out);
  for (int i = 0; i < s->n_params; i++) {
    const gr_param *p = &s->params[i];
    gr_wire_put_text(&h->out, p->key);
    if (p->kind == GR_PARAM_INT)
      gr_wire_put_int(&h->out, p->i);
    else if (p->kind == GR_PARAM_FLOAT)
      gr_wire_put_float(&h->out, p->f);
    else if (p->kind == GR_PARAM_BOOL)
      gr_wire_put_bool(&h->out, p->i != 0);
    else
      gr_wire_put_text(&h->out, p->text);
  }
  gr_wire_put_end(&h->out);
}

void gr_hooks_put_adjustable(gr_hooks *h, const gr_adjustable *a) {
#define GR_HOOK_ADJUSTABLE(type, member) gr_wire_put_##type(&h->out, a->member);
#include "runtime/hooks/hooks.def"
}
