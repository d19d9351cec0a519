// cluster.c - see cluster.h.
#include "job/cluster.h"
#include <math.h>
#include <stddef.h>
#include <string.h>

#define OF(member) offsetof(gr_target, member)
static const struct {
  const char *path;
  size_t offset;  // in gr_target
  const char *unit;
} keys[] = {{"gpus_per_node", OF(cluster.per_node), "ranks"},
            {"nodes", OF(cluster.nodes), "machines"},
            {"memory", OF(cluster.memory), "B"},
            {"collective", OF(cluster.gap), "s"},
            {"within.bandwidth", OF(cluster.within.bandwidth), "B/s"},
            {"within.latency", OF(cluster.within.latency), "s"},
            {"between.bandwidth", OF(cluster.between.bandwidth), "B/s"},
            {"between.latency", OF(cluster.between.latency), "s"},
#define GR_PRODUCT(id, name)                                            \
  {"cpu." name "_f32", OF(cpu.of[GR_EFFORT_##id]), "FLOP/s"},           \
      {"cpu." name "_bf16", OF(cpu.in_bf16[GR_EFFORT_##id]), "FLOP/s"}, \
      {"cpu." name "_f16", OF(cpu.converted[GR_EFFORT_##id]), "FLOP/s"},
#define GR_EFFORT(id, name) {"cpu." name, OF(cpu.of[GR_EFFORT_##id]), "elements/s"},
#include "ir/effort.def"
#undef GR_PRODUCT
#undef GR_EFFORT
            {"cpu.conversion", OF(cpu.conversion), "elements/s"},
            {"cpu.copy", OF(cpu.moved), "B/s"},
            {"cpu.cache", OF(cpu.cache), "B"},
            {"cpu.fetch", OF(cpu.fetched), "B/s"},
            {"cpu.call", OF(cpu.call_gap), "s"},
            {"cpu.step", OF(cpu.step_gap), "s"}};
enum { KEYS = sizeof keys / sizeof *keys, COUNTS = 2 };  // the first are whole numbers

bool gr_cluster_constant(const gr_target *t, int i, gr_constant *out) {
  if (i >= KEYS) return false;
  *out = (gr_constant){keys[i].path, keys[i].unit,
                       *(const double *)((const char *)t + keys[i].offset)};
  return true;
}

static gr_status read_key(gr_conf *conf, int k, gr_target *t, int n) {
  const gr_conf *c = gr_conf_find(conf, keys[k].path);
  double value;
  GR_TRY(gr_conf_float(conf, keys[k].path, 1, &value));
  if (!(value > 0) || !isfinite(value) || (k < COUNTS && floor(value) < value))
    return gr_fail(GR_ERR_CONFIG, c->loc, "%s is a %snumber above 0, found %g", keys[k].path,
                   k < COUNTS ? "whole " : "", value);
  for (int i = 0; c && i < n; i++) *(double *)((char *)&t[i] + keys[k].offset) = value;
  return GR_OK;
}

static gr_status check_map(const gr_conf *c, const char *what) {
  if (!c || c->kind == GR_CONF_MAP) return GR_OK;
  return gr_fail(GR_ERR_CONFIG, c->loc, "%s is a mapping, found %s", what, gr_conf_a_kind(c->kind));
}

gr_status gr_cluster_read(gr_arena *arena, const char *path, gr_target *t, int n) {
  static const char *const maps[] = {"within", "between", "cpu"};
  gr_conf *conf;
  GR_TRY(gr_conf_read(arena, path, &conf));
  GR_TRY(check_map(conf, "a cluster"));
  gr_status all = GR_OK;
  for (int i = 0; i < 3; i++) all = gr_also(all, check_map(gr_conf_find(conf, maps[i]), maps[i]));
  for (int k = 0; k < KEYS; k++) all = gr_also(all, read_key(conf, k, t, n));
  for (int i = 0; i < n && gr_conf_find(conf, "cpu"); i++)
    if (t[i].chip->cpu) t[i].source = gr_arena_printf(arena, "rates by %s", path);
  return gr_hint(gr_also(all, gr_conf_unread(arena, conf)),
                 "a cluster has gpus_per_node, nodes, memory (bytes), collective (seconds), within "
                 "and between, each {bandwidth: bytes a second, latency: seconds}, and cpu, as "
                 "`graphrun check --calibrate=FILE` writes it");
}

void gr_cluster_put(gr_text *t, const gr_target *target) {
  size_t open = 0;  // the bytes of the mapping that the line before is in
  const char *before = "";
  gr_constant c;
  for (int i = 0; gr_cluster_constant(target, i, &c); i++) {
    size_t map = strcspn(c.path, ".");
    const char *name = c.path[map] ? c.path + map + 1 : c.path;
    if (!(c.value > 0)) continue;
    if (name == c.path) map = 0;
    if (map && (map != open || strncmp(before, c.path, map) != 0))
      gr_text_printf(t, "%.*s:\n", (int)map, c.path);
    gr_text_printf(t, "%s%s: %.3g  # %s\n", map ? "  " : "", name, c.value, c.unit);
    before = c.path, open = map;
  }
}
