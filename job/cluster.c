// cluster.c - see cluster.h.
#include "job/cluster.h"
#include <math.h>
#include <stddef.h>

static const struct {
  const char *path;
  size_t offset;  // in gr_cluster
} keys[] = {{"gpus_per_node", offsetof(gr_cluster, per_node)},
            {"nodes", offsetof(gr_cluster, nodes)},
            {"memory", offsetof(gr_cluster, memory)},
            {"within.bandwidth", offsetof(gr_cluster, within.bandwidth)},
            {"within.latency", offsetof(gr_cluster, within.latency)},
            {"between.bandwidth", offsetof(gr_cluster, between.bandwidth)},
            {"between.latency", offsetof(gr_cluster, between.latency)}};
enum { KEYS = sizeof keys / sizeof *keys, COUNTS = 2 };  // the first are whole numbers

static gr_status read_key(gr_conf *conf, int k, gr_target *t, int n) {
  const gr_conf *c = gr_conf_find(conf, keys[k].path);
  double value;
  GR_TRY(gr_conf_float(conf, keys[k].path, 1, &value));
  if (!(value > 0) || !isfinite(value) || (k < COUNTS && floor(value) < value))
    return gr_fail(GR_ERR_CONFIG, c->loc, "%s is a %snumber above 0, found %g", keys[k].path,
                   k < COUNTS ? "whole " : "", value);
  for (int i = 0; c && i < n; i++) *(double *)((char *)&t[i].cluster + keys[k].offset) = value;
  return GR_OK;
}

static gr_status check_map(const gr_conf *c, const char *what) {
  if (!c || c->kind == GR_CONF_MAP) return GR_OK;
  return gr_fail(GR_ERR_CONFIG, c->loc, "%s is a mapping, found %s", what, gr_conf_a_kind(c->kind));
}

gr_status gr_cluster_read(gr_arena *arena, const char *path, gr_target *t, int n) {
  gr_conf *conf;
  GR_TRY(gr_conf_read(arena, path, &conf));
  GR_TRY(check_map(conf, "a cluster"));
  gr_status all = gr_also(check_map(gr_conf_find(conf, "within"), "within"),
                          check_map(gr_conf_find(conf, "between"), "between"));
  for (int k = 0; k < KEYS; k++) all = gr_also(all, read_key(conf, k, t, n));
  return gr_hint(gr_also(all, gr_conf_unread(arena, conf)),
                 "a cluster has gpus_per_node, nodes, memory (bytes), and within and between, each "
                 "{bandwidth: bytes a second, latency: seconds}");
}
