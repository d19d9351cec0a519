// weights.c - `graphrun weights CONFIG.yaml`: the weights of a plan, with their sizes.
#include <stddef.h>
#include "cli/commands.h"
#include "job/job.h"

typedef struct options {
  int64_t above;
} options;

static void print(const gr_plan *p, int64_t above) {
  for (uint32_t i = 0; i < p->n_states; i++) {
    const gr_plan_state *s = &p->states[i];
    if (s->trained && gr_type_count(&s->global) > above)
      printf("%-40s %lld\n", s->name, (long long)gr_type_count(&s->global));
  }
}

static gr_status weights(gr_arena *a, const gr_args *args) {
  const options *flags = args->options;
  gr_job job;
  gr_status s = gr_job_compose(a, args, &job);
  s = s ? s : gr_job_plan(&job, gr_job_usual_ranks(&job));
  if (!s) print(job.spec.plan, flags->above);
  gr_job_close(&job);
  return s;
}

static const gr_flag own_flags[] = {{"--above", NULL, "N", GR_FLAG_NUMBER, offsetof(options, above),
                                     "only those of more than N elements"},
                                    {0}};

const gr_command gr_command_weights = {
    .name = "weights",
    .usage = "CONFIG.yaml [key=value ...] [--above=N]",
    .doc = "the weights that a run trains",
    .example = "graphrun weights configs/digits.yaml --above=1000",
    .keys = "model.graph model.params",
    .takes = {GR_CONFIG_FILE, GR_NO_OPERAND, true},
    .flags = {gr_flags_config},
    .own_flags = own_flags,
    .options = sizeof(options),
    .run = weights,
};
