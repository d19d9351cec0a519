// options.c - the compiler's options, by a run's settings. See job.h.
#include "job/job.h"
#include "job/precision.h"

static gr_prefetch prefetch_of(gr_fsdp_prefetch key) {
  if (key == gr_fsdp_prefetch_backward_pre) return GR_PREFETCH_PRE;
  return key == gr_fsdp_prefetch_backward_post ? GR_PREFETCH_POST : GR_PREFETCH_NONE;
}

void gr_job_read_options(gr_job *j) {
  const gr_settings *s = &j->spec.set;
  j->options = (gr_options){.optimizer = s->optimizer,
                            .optimizer_attr = s->optimizer_attr,
                            .optimizer_attr_1d = s->optimizer_attr_1d,
                            .groups = s->groups,
                            .n_groups = s->n_groups,
                            .clip = s->clip,
                            .adjustable = s->adjustable,
                            .has_ema = s->ema_decay >= 0,
                            .ema_decay = s->ema_decay,
                            .gpu = j->spec.device->gpu,
                            .reserved = j->spec.device->reserved,
                            .micro_batches = s->micro_batches,
                            .zero_axis = j->mesh_config.split_axis,
                            .scatter = j->mesh_config.scatter,
                            .rules = j->mesh_config.rules,
                            .n_rules = j->mesh_config.n_rules,
                            .freeze = s->freeze,
                            .n_freeze = s->n_freeze,
                            .freezable = s->freezable,
                            .n_freezable = s->n_freezable,
                            .wrap = s->wrap,
                            .n_wrap = s->n_wrap,
                            .prefetch = prefetch_of(s->fsdp_prefetch),
                            .dump = j->args.dump,
                            .stop_after = j->args.stop_after,
                            .without = j->args.without.list,
                            .n_without = j->args.without.n,
                            .dump_to = stdout};
  gr_precision_options(j->arena, s, &j->options);
}
