// batch.c - training.batch_size, where it is by bucket. See parts.h.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "job/job.h"
#include "job/parts.h"

enum { GRAIN = 8, MAX_SAMPLES = 1000000000 };
static const int64_t MAX_LENGTH = INT64_C(1) << 40;

gr_status gr_batch_refuse(const gr_run_spec *spec, const char *why, const char *hint) {
  gr_loc loc = gr_conf_find(spec->conf, "training.batch_size")->loc;
  return gr_hint(gr_fail(GR_ERR_CONFIG, loc, "training.batch_size by bucket %s", why), "%s", hint);
}

// ---- Reading ------------------------------------------------------------------------------------

gr_status gr_size_read(const gr_conf *c, const char *key, double *out) {
  static const struct unit {
    const char *name;
    double bytes;
  } units[] = {{"kB", 1e3},     {"MB", 1e6},     {"GB", 1e9},     {"TB", 1e12},
               {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}};
  const char *text = gr_conf_text_of(c, "");
  char *end;
  *out = strtod(text, &end);
  end += strspn(end, " ");
  for (size_t i = 0; i < sizeof units / sizeof *units && isfinite(*out) && *out > 0; i++)
    if (!strcmp(end, units[i].name)) return *out *= units[i].bytes, GR_OK;
  const char *quote = c->kind == GR_CONF_TEXT ? "'" : "";
  if (!*quote) text = gr_conf_a_kind(c->kind);
  return gr_hint(
      gr_fail(GR_ERR_CONFIG, c->loc, "'%s' must be a size, but is %s%s%s", key, quote, text, quote),
      "a number and kB, MB, GB or TB, or KiB, MiB, GiB or TiB: 24GiB");
}

gr_status gr_batch_read(gr_conf *c, gr_settings *set) {
  gr_conf *map = gr_conf_find(c, "training.batch_size");
  gr_batch_settings *s = &set->options.batch;
  if (map->kind != GR_CONF_MAP) return GR_OK;
  gr_conf_mark(map);
  const char *key = map->n == 1 ? map->keys[0] : "";
  gr_conf *v = map->n == 1 ? map->items[0] : map;
  bool length = v->kind == GR_CONF_INT && v->integer >= 1 && v->integer <= MAX_LENGTH;
  if (!strcmp(key, "total_length") && length) return s->most_length = v->integer, GR_OK;
  if (strcmp(key, "memory") != 0)
    return gr_hint(gr_fail(GR_ERR_CONFIG, v->loc,
                           "training.batch_size is a number of samples, or a mapping with either "
                           "'memory' or 'total_length'"),
                   "{memory: 24GiB}, of a rank's plan; {total_length: 100000}, from 1 to 2^40");
  if (set->options.memory.limit)
    return gr_hint(gr_fail(GR_ERR_CONFIG, v->loc,
                           "training.memory chooses how a batch is computed, and "
                           "training.batch_size.memory the batch for it"),
                   "one of them; training.recompute and training.accumulate may be given");
  return gr_size_read(v, "training.batch_size.memory", &s->most_bytes);
}

// ---- Sizes --------------------------------------------------------------------------------------

static int64_t divide_up(int64_t n, int64_t by) { return (n + by - 1) / by; }

// A micro-step has 1 to 8 samples, a multiple of 8, which 2, 4 and 8 ranks divide, or all samples
// of its bucket: the k-th size.
static int64_t size_at(int64_t k) { return k < GRAIN ? k + 1 : GRAIN * (k - GRAIN + 2); }
// The largest that is at most n, which is at least 1.
static int64_t within(int64_t n) { return n <= GRAIN ? n - 1 : n / GRAIN + GRAIN - 2; }

static int64_t parts_of(const gr_options *o) {
  return o->sharding.data_ranks > 0 ? o->sharding.data_ranks : 1;
}

// The parts of a batch that have training.batch_size samples each.
static int64_t times_of(const gr_options *o) {
  return o->batch.batch_is == gr_batch_is_per_rank ? parts_of(o) : 1;
}

// As many as all samples of a bucket need.
static int64_t enough(const gr_run_spec *spec, int bucket) {
  const uint32_t *count = spec->contract->buckets[bucket].count;
  int64_t n = count[GR_SPLIT_TRAIN] ? count[GR_SPLIT_TRAIN] : count[GR_SPLIT_VALIDATION];
  n = divide_up(n < MAX_SAMPLES ? n : MAX_SAMPLES, times_of(&spec->set.options));
  return n ? divide_up(n, spec->set.options.batch.accumulate) : 1;
}

// The samples of a batch with micro-steps of the k-th size, as training.batch_is counts them.
int64_t gr_batch_at(const gr_run_spec *spec, int bucket, int64_t k) {
  int64_t n = size_at(k), most = enough(spec, bucket);
  return (n < most ? n : most) * spec->set.options.batch.accumulate;
}

int64_t gr_batch_last(const gr_run_spec *spec, int bucket) {
  int64_t most = enough(spec, bucket);
  return within(most > GRAIN ? most + GRAIN - 1 : most);
}

// The same of what is chosen, or has room in most_length; 0: not one sample has.
static int64_t size_of(const gr_run_spec *spec, int bucket) {
  const gr_batch_settings *s = &spec->set.options.batch;
  if (spec->batches || !s->most_length)
    return spec->batches ? spec->batches[bucket] : s->accumulate;
  int64_t n = s->most_length / spec->contract->buckets[bucket].length / s->accumulate;
  return n ? gr_batch_at(spec, bucket, within(n)) : 0;
}

gr_status gr_batch_take(gr_arena *a, gr_run_spec *spec) {
  const gr_conf *loop = gr_conf_find(spec->conf, "loop");
  const gr_contract *c = spec->contract;
  gr_batch_settings *s = &spec->set.options.batch;
  int n = c->n_buckets;
  int64_t times = times_of(&spec->set.options), parts = parts_of(&spec->set.options);
  int *global_of = GR_NEW(a, int, n), *micro_of = GR_NEW(a, int, n), *rows_of = GR_NEW(a, int, n);
  if (!(s->most_bytes > 0) && !s->most_length) return GR_OK;
  if (c->ops->empty || (loop && loop->kind != GR_CONF_NULL))
    return gr_batch_refuse(spec, "is for epochs of data, not for a `loop:`", "a number of samples");
  if (!gr_contract_count(c, GR_SPLIT_TRAIN) && !gr_contract_count(c, GR_SPLIT_VALIDATION))
    return gr_batch_refuse(spec,
                           "depends on how many samples each has, which data.expect does not say",
                           "its `train` and `validation`, as `graphrun data inspect` prints them");
  s->batch_size = s->rows = MAX_SAMPLES;
  for (int b = 0; b < n; b++) {
    int64_t size = size_of(spec, b), most = MAX_SAMPLES / times;
    if (!size)
      return gr_batch_refuse(spec, "has no room for a sample of the longest in each micro-step",
                             "a larger training.batch_size.total_length, or shorter samples");
    global_of[b] = (int)((size < most ? size : most) * times);
    micro_of[b] = (int)divide_up(global_of[b], s->accumulate);
    rows_of[b] = (int)divide_up(divide_up(global_of[b], parts), s->accumulate);
    if (size < s->batch_size) s->batch_size = size, s->rows = rows_of[b];
  }
  int64_t steps = gr_contract_batches(c, GR_SPLIT_TRAIN, 0, global_of);
  s->global = steps ? (int)(gr_contract_count(c, GR_SPLIT_TRAIN) / steps) : global_of[0];
  s->micro_batches = (int)s->accumulate;
  s->global_of = global_of, s->micro_of = micro_of, s->rows_of = rows_of;
  return GR_OK;
}

// Where a key is given, or else the batch that it divides.
static gr_loc place_of(const gr_run_spec *spec, const char *key) {
  gr_loc loc = gr_conf_find(spec->conf, key)->loc;
  return loc.file ? loc : gr_conf_find(spec->conf, "training.batch_size")->loc;
}

// With virtual shards these are the micro-steps of a rank: training.accumulate may ask for at most
// as many.
static gr_status check_shards(const gr_run_spec *spec) {
  const gr_batch_settings *s = &spec->set.options.batch;
  const gr_sharding_settings *p = &spec->set.options.sharding;
  if (p->numerics != gr_numerics_canonical || !p->shards_each) return GR_OK;
  if (s->accumulate > p->shards_each)
    return gr_hint(gr_fail(GR_ERR_CONFIG, gr_conf_find(spec->conf, "training.accumulate")->loc,
                           "a rank has %d virtual shard%s of a batch, fewer than %lld micro-steps",
                           p->shards_each, gr_text_s(p->shards_each), (long long)s->accumulate),
                   "each shard is a micro-step: training.accumulate=1, or more "
                   "training.virtual_shards");
  if (s->batch_size >= p->virtual_shards) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_CONFIG, place_of(spec, "training.virtual_shards"),
                         "a batch of %lld samples cannot be cut into %lld virtual shards",
                         (long long)s->batch_size, (long long)p->virtual_shards),
                 "a larger training.batch_size, or fewer training.virtual_shards");
}

// More ranks than samples in a batch are probably a typo, and each rank costs a process. More
// micro-steps than a rank has samples are probably a typo too.
gr_status gr_batch_check(const gr_run_spec *spec, int64_t ranks) {
  const gr_batch_settings *s = &spec->set.options.batch;
  bool per_rank = s->batch_is == gr_batch_is_per_rank;
  int64_t n = per_rank || !ranks ? 1 : ranks;
  if (!s->batch_size || (s->most_bytes > 0 && !spec->batches)) return GR_OK;  // not known yet
  GR_TRY(check_shards(spec));
  if (n <= s->batch_size && s->accumulate > divide_up(s->batch_size, n))
    return gr_hint(gr_fail(GR_ERR_CONFIG, gr_conf_find(spec->conf, "training.accumulate")->loc,
                           "a rank has %lld samples of a batch, fewer than %lld micro-steps",
                           (long long)divide_up(s->batch_size, n), (long long)s->accumulate),
                   "training.batch_size is the size of a whole step, which micro-steps divide");
  if (n <= s->batch_size) return GR_OK;
  bool mesh = gr_conf_find(spec->conf, "distributed.mesh")->kind == GR_CONF_MAP;
  bool given = mesh || ranks == spec->set.ranks.ranks;  // and not by --ranks or the machine
  const char *key = mesh ? "distributed.mesh" : given ? "distributed.ranks" : "training.batch_size";
  return gr_hint(
      gr_fail(GR_ERR_CONFIG, place_of(spec, key),
              "%lld %s cannot share batches of %lld: some would have no sample", (long long)ranks,
              ranks == spec->set.options.sharding.ranks ? "ranks" : "groups of ranks",
              (long long)s->batch_size),
      "fewer ranks, a larger training.batch_size, or training.batch_is=per_rank");
}

double gr_batch_bytes(const gr_job *j, const char *bucket) {
  const gr_plan *p = j->spec.plan;
  size_t most = 0;
  for (const gr_program *i = p->programs; i < p->programs + p->n_programs; i++)
    if ((!*i->bucket || !strcmp(i->bucket, bucket)) && i->frame.bytes > most) most = i->frame.bytes;
  return (double)(p->state_bytes + p->upload_bytes + p->reserved_bytes + most);
}
