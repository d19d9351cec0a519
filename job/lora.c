// lora.c - see parts.h.
#include <ctype.h>
#include <string.h>
#include "compose/schema/schema.h"
#include "job/parts.h"

static const char example[] = "model.lora={match:'*.{q,v}',rank:16,alpha:32,dropout:0.05}";

// The keys of an adapter, and their types in the language of schema.def.
static const struct field {
  const char *name, *type;
} fields[] = {{"match", "string | [string]"},
              {"rank", "int >= 1 <= 65536"},
              {"alpha", "float > 0"},
              {"dropout", "float >= 0 < 1"},
              {"name", "string"},
              {"train", "bool"},
              {"also", "string | [string]"}};
enum { FIELDS = sizeof fields / sizeof *fields };

static gr_status unknown_key(const gr_conf *c, const char *key) {
  const char *names[FIELDS];
  for (int i = 0; i < FIELDS; i++) names[i] = fields[i].name;
  gr_status s = gr_fail(GR_ERR_CONFIG, gr_conf_place(c), "model.lora has no '%s'", key);
  return gr_hint(gr_hint_near(s, key, names, FIELDS),
                 "it has match, rank, alpha, dropout, name, train and also");
}

static gr_status check_field(gr_arena *a, const char *key, gr_conf *c) {
  int i = 0;
  while (i < FIELDS && strcmp(fields[i].name, key)) i++;
  if (i == FIELDS) return unknown_key(c, key);
  const char *wrong = gr_schema_misfit(a, fields[i].type, c);
  if (!wrong) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_CONFIG, c->loc, "'%s' of model.lora %s", key, wrong), "%s",
                 example);
}

// The weights of an adapter, by their names (compiler/model/adapter.c).
static void add_weights(gr_arena *a, const gr_adapter *p, gr_texts *out) {
  const char *dot = *p->name ? "." : "";
  gr_conf c = {.kind = GR_CONF_TEXT, .loc = p->loc};
  c.text = gr_arena_printf(a, "*.%s%slora_[AB].weight", p->name, dot), gr_texts_add(a, &c, out);
  c.text += strlen("*."), gr_texts_add(a, &c, out);
}

static double number_of(gr_conf *item, const char *key, double default_value) {
  const gr_conf *c = gr_conf_member(item, key);
  return !c ? default_value : gr_conf_number(c);
}

static gr_status check_name(const gr_optimizer_settings *s, const gr_conf *item,
                            const gr_adapter *p, bool several) {
  const char *c = p->name;
  while (isalnum((unsigned char)*c) || *c == '_') c++;
  if (*c || (several && !*p->name) || !strcmp(p->name, "lora_A") || !strcmp(p->name, "lora_B"))
    return gr_hint(gr_fail(GR_ERR_CONFIG, item->loc,
                           several && !*p->name ? "each of several adapters needs a 'name'"
                                                : "an adapter cannot be called '%s'",
                           p->name),
                   "letters, digits and _, as in [{name: formal, match: \"*.q\"}, {name: spoken, "
                   "match: \"*.q\"}]");
  for (int i = 0; i < s->n_adapters; i++)
    if (!strcmp(s->adapters[i].name, p->name))
      return gr_fail(GR_ERR_CONFIG, item->loc, "two adapters of model.lora are called '%s'",
                     p->name);
  return GR_OK;
}

static gr_status read_adapter(gr_arena *a, gr_conf *item, bool several, gr_optimizer_settings *s,
                              gr_adapter *out) {
  gr_status all = GR_OK;
  for (int i = 0; i < item->n; i++)
    all = gr_also(all, check_field(a, item->keys[i], item->items[i]));
  GR_TRY(all);
  gr_conf *match = gr_conf_member(item, "match"), *train = gr_conf_member(item, "train");
  const gr_conf *name = gr_conf_member(item, "name"), *also = gr_conf_member(item, "also");
  *out = (gr_adapter){.name = name ? name->text : "", .loc = item->loc};
  if (match) gr_texts_add(a, match, &out->match);
  if (!out->match.n)
    return gr_hint(gr_fail(GR_ERR_CONFIG, item->loc,
                           "model.lora needs 'match', a pattern of paths of linear layers"),
                   "%s", example);
  GR_TRY(check_name(s, item, out, several));
  out->rank = (int64_t)number_of(item, "rank", 8);
  out->alpha = number_of(item, "alpha", (double)out->rank);
  out->dropout = number_of(item, "dropout", 0);
  if (!train || train->truth) add_weights(a, out, &s->only);
  if (also) gr_texts_add(a, also, &s->only);
  return GR_OK;
}

gr_status gr_lora_read(gr_arena *a, gr_conf *root, gr_optimizer_settings *s) {
  gr_conf *c = gr_conf_find(root, "model.lora");
  if (!c || c->kind == GR_CONF_NULL) return GR_OK;
  gr_conf_mark(c);
  bool list = c->kind == GR_CONF_LIST;
  int n = list ? c->n : 1;
  gr_adapter *all = GR_NEW(a, gr_adapter, n + 1);
  s->adapters = all;
  if (n > GR_MAX_ADAPTERS)
    return gr_fail(GR_ERR_CONFIG, c->loc, "model.lora has %d adapters, more than %d", n,
                   GR_MAX_ADAPTERS);
  for (; s->n_adapters < n; s->n_adapters++) {
    gr_conf *item = list ? c->items[s->n_adapters] : c;
    if (item->kind != GR_CONF_MAP)
      return gr_hint(gr_fail(GR_ERR_CONFIG, item->loc, "an adapter of model.lora is %s, not %s",
                             "a mapping", gr_conf_a_kind(item->kind)),
                     "%s", example);
    GR_TRY(read_adapter(a, item, n > 1, s, &all[s->n_adapters]));
  }
  return GR_OK;
}
