// setup.c - what a run was made of: its configuration, plan, program and machine. See parts.h.
#include <math.h>
#include <string.h>
#include "runtime/page/parts.h"

static const gr_json *items_of(const gr_json *object, const char *name, gr_json_kind kind) {
  const gr_json *list = object ? gr_json_get(object, name, kind) : NULL;
  return list ? list->first : NULL;
}

// ---- Configuration --------------------------------------------------------------------------

static bool is_default(const gr_json *value) {
  const char *from = gr_html_text_of(value, "from");
  return !from || !strcmp(from, "default");
}

static const gr_json *value_of(const gr_json *item) {
  for (const gr_json *m = item->kind == GR_JSON_OBJECT ? item->first : NULL; m; m = m->next)
    if (!strcmp(m->name, "value")) return m;
  return NULL;
}

static void put_value(gr_text *t, const gr_json *item, bool defaults) {
  const char *key = gr_html_text_of(item, "key"), *from = gr_html_text_of(item, "from");
  const gr_json *value = value_of(item);
  if (!key || !value) return;
  bool given = from && !strncmp(from, "argument ", 9);
  gr_text_put(t, given ? "<tr class=\"given\">" : "<tr>");
  gr_html_cell(t, "key", key);
  gr_text_put(t, "<td class=\"value\">");
  gr_html_json(t, value);
  gr_text_put(t, "</td>");
  if (!defaults)
    gr_html_cell(t, "from", given ? gr_arena_strndup(t->arena, from, strcspn(from, ":")) : from);
  gr_text_put(t, "</tr>\n");
}

static int put_values(gr_text *t, const gr_json *first, bool defaults) {
  int n = 0;
  gr_text_put(t, "<div class=\"scroll\"><table class=\"config\">\n");
  for (const gr_json *item = first; item; item = item->next)
    if (is_default(item) == defaults) put_value(t, item, defaults), n++;
  gr_text_put(t, "</table></div>\n");
  return n;
}

void gr_page_config(gr_text *t, const gr_folder *f) {
  const gr_json *first = items_of(f->about, "config", GR_JSON_ARRAY);
  gr_text rest = gr_text_make(t->arena);
  if (!first) return;
  gr_text_put(t, "<section>\n<h2>Configuration</h2>\n");
  put_values(t, first, false);
  int n = put_values(&rest, first, true);
  gr_text_printf(t, "<details><summary>%d values that are defaults</summary>\n%s</details>\n", n,
                 rest.at);
  gr_text_put(t, "</section>\n");
}

// ---- Plan -----------------------------------------------------------------------------------

enum { PARTS = 6 };
typedef struct parts {
  const char *name[PARTS];
  double bytes[PARTS], sum;
  int n;
} parts;

static void add_part(parts *p, const char *name, double bytes) {
  int i = 0;
  while (i < p->n && strcmp(p->name[i], name)) i++;
  if (i == PARTS) i--;
  if (i == p->n) p->name[p->n++] = name;
  p->bytes[i] += bytes, p->sum += bytes;
}

// A bar of the memory of a rank: states by their kind, and what programs compute.
static void put_memory(gr_text *t, const gr_json *plan) {
  parts p = {.n = 0};
  for (const gr_json *s = items_of(plan, "states", GR_JSON_ARRAY); s; s = s->next) {
    const char *kind = gr_html_text_of(s, "kind");
    double bytes = gr_html_number_of(s, "bytes");
    if (kind && bytes > 0) add_part(&p, kind, bytes);
  }
  double arena = gr_html_number_of(plan, "arena_bytes");
  if (arena > 0) add_part(&p, "activations and batches", arena);
  if (!(p.sum > 0)) return;
  gr_text_put(t, "<div class=\"bar\">");
  for (int i = 0; i < p.n; i++)
    gr_text_printf(t, "<i class=\"k%d\" style=\"width:%.2f%%\"></i>", i, 100 * p.bytes[i] / p.sum);
  gr_text_put(t, "</div>\n<p class=\"legend\">");
  for (int i = 0; i < p.n; i++) {
    gr_text_printf(t, "<span class=\"k%d\">", i);
    gr_html(t, p.name[i]);
    gr_text_put(t, " ");
    gr_html_bytes(t, p.bytes[i]);
    gr_text_put(t, "</span>");
  }
  gr_text_put(t, "</p>\n");
}

static void put_collectives(gr_text *t, const gr_json *program) {
  for (const gr_json *axis = items_of(program, "collectives", GR_JSON_OBJECT); axis;
       axis = axis->next) {
    double n = gr_html_number_of(axis, "count");
    if (!(n > 0)) continue;
    gr_text_printf(t, "%.0f over ", n);
    gr_html(t, axis->name);
    gr_text_put(t, ", ");
    gr_html_bytes(t, gr_html_number_of(axis, "sent_bytes"));
    gr_text_put(t, " ");
  }
}

static void put_program(gr_text *t, const gr_json *p) {
  const char *name = gr_html_text_of(p, "name");
  if (!name) return;
  gr_text_put(t, "<tr>");
  gr_html_cell(t, "", name);
  gr_text_put(t, "<td class=\"n\">");
  gr_html_count(t, (int64_t)gr_html_number_of(p, "nodes"));
  gr_text_put(t, "</td><td class=\"n\">");
  gr_html_si(t, gr_html_number_of(p, "flops"), "FLOP");
  gr_text_put(t, "</td><td class=\"n\">");
  gr_html_bytes(t, gr_html_number_of(p, "arena_bytes"));
  gr_text_put(t, "</td><td>");
  put_collectives(t, p);
  gr_text_put(t, "</td></tr>\n");
}

void gr_page_plan(gr_text *t, const gr_folder *f) {
  const gr_json *mesh = items_of(f->plan, "mesh", GR_JSON_OBJECT);
  const char *hash = gr_html_text_of(f->plan, "hash");
  if (!f->plan) return;
  gr_text_put(t, "<section>\n<h2>Plan</h2>\n<p>");
  gr_text_printf(t, "%.0f rank%s", gr_html_number_of(f->plan, "ranks"),
                 gr_html_number_of(f->plan, "ranks") > 1 ? "s" : "");
  for (const gr_json *axis = mesh; axis; axis = axis->next) {
    gr_text_put(t, axis == mesh ? " (" : " x ");
    gr_html(t, axis->name);
    gr_text_printf(t, " = %lld%s", (long long)axis->i, axis->next ? "" : ")");
  }
  gr_text_put(t, ", ");
  gr_html_bytes(
      t, gr_html_number_of(f->plan, "state_bytes") + gr_html_number_of(f->plan, "arena_bytes"));
  gr_text_put(t, " of memory on each, proved before the start. Plan <code>");
  gr_html(t, hash ? hash : "");
  gr_text_put(t, "</code></p>\n");
  put_memory(t, f->plan);
  gr_text_put(t,
              "<div class=\"scroll\"><table>\n<tr><th>program</th><th class=\"n\">nodes</th>"
              "<th class=\"n\">work of a rank</th><th class=\"n\">memory</th>"
              "<th>collectives</th></tr>\n");
  for (const gr_json *p = items_of(f->plan, "programs", GR_JSON_ARRAY); p; p = p->next)
    put_program(t, p);
  gr_text_put(t, "</table></div>\n</section>\n");
}

// ---- Machine and program --------------------------------------------------------------------

static void put_fact(gr_text *t, const char *name, const char *value) {
  if (!value || !*value) return;
  gr_html_fact(t, name);
  gr_html(t, value);
  gr_html_fact_end(t);
}

static void put_command(gr_text *t, const gr_folder *f) {
  const gr_json *first = items_of(f->about, "command", GR_JSON_ARRAY);
  gr_html_fact(t, "command");
  gr_text_put(t, "<code>");
  for (const gr_json *w = first; w; w = w->next)
    if (w->kind == GR_JSON_TEXT) gr_text_put(t, w == first ? "" : " "), gr_html(t, w->text);
  gr_text_put(t, "</code>");
  gr_html_fact_end(t);
}

void gr_page_machine(gr_text *t, const gr_folder *f) {
  const gr_json *m = f->about ? gr_json_get(f->about, "machine", GR_JSON_OBJECT) : NULL;
  if (!f->about) return;
  gr_text_put(t, "<section>\n<h2>Program and machine</h2>\n<dl>\n");
  put_command(t, f);
  put_fact(t, "graphrun", gr_html_text_of(f->about, "version"));
  put_fact(t, "built with", gr_html_text_of(f->about, "libraries"));
  put_fact(t, "device", gr_html_text_of(f->results, "device"));
  put_fact(t, "ranks communicate by", gr_html_text_of(f->results, "backend"));
  put_fact(t, "host", gr_html_text_of(m, "host"));
  put_fact(t, "processor", gr_html_text_of(m, "processor"));
  gr_html_fact(t, "processors, memory");
  gr_text_printf(t, "%.0f, ", gr_html_number_of(m, "processors"));
  gr_html_bytes(t, gr_html_number_of(m, "memory_bytes"));
  gr_html_fact_end(t);
  put_fact(t, "system", gr_html_text_of(m, "system"));
  put_fact(t, "configuration's hash", gr_html_text_of(f->results, "config_hash"));
  put_fact(t, "identity", gr_html_text_of(f->results, "identity"));
  put_fact(t, "resumed from", gr_html_text_of(f->results, "resumed_from"));
  gr_text_put(t, "</dl>\n</section>\n");
}
