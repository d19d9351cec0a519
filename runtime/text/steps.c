// steps.c - see parts.h.
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <string.h>
#include "runtime/text/parts.h"

enum { MAX_STEPS = 12 };

typedef struct compiled {
  const gr_text_step *step;
  pcre2_code **rules;  // in their order
} compiled;

struct gr_text_steps {
  const gr_normaliser_options *options;
  compiled items[MAX_STEPS];
  int n;
};

static int count_rules(const gr_text_rule *r) {
  int n = 0;
  while (r && r[n].pattern) n++;
  return n;
}

static gr_status failed(const gr_text_rule *r, int code) {
  char why[128];
  pcre2_get_error_message(code, (PCRE2_UCHAR *)why, sizeof why);
  return gr_fail(GR_ERR_DATA, GR_NOWHERE, "the pattern '%s' cannot be used: %s", r->pattern, why);
}

static gr_status compile(gr_arena *a, compiled *c) {
  int n = count_rules(c->step->rules), code;
  PCRE2_SIZE offset;
  c->rules = GR_NEW(a, pcre2_code *, n + 1);
  for (int i = 0; i < n; i++) {
    c->rules[i] = pcre2_compile((PCRE2_SPTR)c->step->rules[i].pattern, PCRE2_ZERO_TERMINATED,
                                PCRE2_UTF | PCRE2_UCP, &code, &offset, NULL);
    if (!c->rules[i]) return failed(&c->step->rules[i], code);
  }
  return GR_OK;
}

gr_status gr_text_steps_open(gr_arena *a, const gr_text_step *steps, const gr_normaliser_options *o,
                             gr_text_steps **out) {
  gr_text_steps *s = *out = GR_NEW(a, gr_text_steps, 1);
  s->options = o;
  for (; steps && (steps->rules || steps->change) && s->n < MAX_STEPS; steps++) {
    s->items[s->n++].step = steps;
    GR_TRY(compile(a, &s->items[s->n - 1]));
  }
  return GR_OK;
}

void gr_text_steps_close(gr_text_steps *s) {
  for (int i = 0; s && i < s->n; i++)
    for (pcre2_code **rule = s->items[i].rules; rule && *rule; rule++) pcre2_code_free(*rule);
}

// A result that is longer than the first room for it says how much it takes.
static gr_status replace(gr_arena *a, const pcre2_code *code, const gr_text_rule *r,
                         const char **text) {
  enum {
    OPTIONS = PCRE2_SUBSTITUTE_GLOBAL | PCRE2_SUBSTITUTE_OVERFLOW_LENGTH |
              PCRE2_SUBSTITUTE_UNSET_EMPTY | PCRE2_NO_UTF_CHECK
  };
  size_t n = strlen(*text);
  PCRE2_SIZE room = 2 * n + 64;
  int found = PCRE2_ERROR_NOMEMORY;
  for (int tries = 0; found == PCRE2_ERROR_NOMEMORY && tries < 2; tries++) {
    char *to = gr_arena_alloc(a, room);
    found = pcre2_substitute(code, (PCRE2_SPTR)*text, n, 0, OPTIONS, NULL, NULL,
                             (PCRE2_SPTR)r->with, PCRE2_ZERO_TERMINATED, (PCRE2_UCHAR *)to, &room);
    if (found >= 0) *text = to;
  }
  return found < 0 ? failed(r, found) : GR_OK;
}

gr_status gr_text_steps_run(const gr_text_steps *s, gr_arena *a, const char *text,
                            const char **out) {
  *out = text;
  for (const compiled *c = s->items; c < s->items + s->n; c++) {
    const gr_text_rule *r = c->step->rules;
    for (int i = 0; r && r[i].pattern; i++) GR_TRY(replace(a, c->rules[i], &r[i], out));
    if (!r) *out = c->step->change(a, s->options, *out);
  }
  return GR_OK;
}
