// hooks.c - `graphrun hooks CONFIG.yaml --steps=N`: runs the learning-rate schedules of a
// configuration without training, and draws or lists the learning rate.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli/commands.h"
#include "cli/show_plot.h"
#include "job/fit.h"

typedef struct options {
  bool log;
} options;

typedef struct schedule {
  gr_job *job;
  gr_hooks *hooks;
  int ranks;
  int64_t steps, steps_per_epoch;
  double *x, *lr;
  double now[GR_MAX_ADJUSTABLE],
      *set[GR_MAX_ADJUSTABLE];  // by value that hooks may set; NULL: none
  const char *dir;              // for files that scripts write
} schedule;

// ---- Length ---------------------------------------------------------------------------------

static bool has_loop(const gr_job *j) {
  const gr_conf *loop = gr_conf_find(j->spec.conf, "loop");
  return loop && loop->kind != GR_CONF_NULL;
}

// The steps of an epoch: the batches of the data, or the runs of a pass through the loop that
// train, which follow from the programs' minibatches and so from the plan, as batches by memory do.
static gr_status count_steps(schedule *s) {
  gr_job *j = s->job;
  if (has_loop(j) || j->spec.set.options.batch.most_bytes > 0) {
    GR_TRY(gr_job_fit(j, s->ranks));
    s->steps_per_epoch = j->spec.loop.steps;
    return GR_OK;
  }
  GR_TRY(gr_job_open(j, s->ranks));
  s->steps_per_epoch =
      gr_contract_batches(j->spec.contract, GR_SPLIT_TRAIN, j->spec.set.options.batch.global,
                          j->spec.set.options.batch.global_of);
  return GR_OK;
}

// Without the data scripts see nil as the steps of an epoch.
static gr_status find_steps(schedule *s) {
  const gr_settings *set = &s->job->spec.set;
  const gr_args *args = &s->job->args;
  gr_status no_data = count_steps(s);
  if (no_data && !args->steps)
    return gr_note(no_data, GR_NOWHERE, "the number of steps follows from the data; or --steps=N");
  if (no_data) gr_log(GR_WARN, "ctx.steps_per_epoch is not known: %s", gr_status_text(no_data));
  gr_status_drop(no_data);
  s->steps = set->loop.max_epochs * s->steps_per_epoch;
  if (set->loop.max_steps && (set->loop.max_steps < s->steps || !s->steps))
    s->steps = set->loop.max_steps;
  if (args->steps) s->steps = args->steps;
  if (s->steps > 0) return GR_OK;
  return gr_fail(GR_ERR_USAGE, GR_NOWHERE, "the run has no steps: --steps=N says how many to show");
}

// ---- Calls ----------------------------------------------------------------------------------

// A value is shown if a script sets it; before that it is what the configuration says.
static void take(schedule *s, int k, int64_t step, double value) {
  if (!s->set[k]) {
    s->set[k] = GR_NEW(s->job->arena, double, s->steps);
    for (int64_t i = 0; i < step; i++) s->set[k][i] = s->now[k];
  }
  s->now[k] = value;
}

// lr: the current learning rate; the event may change it.
static gr_status call(schedule *s, gr_hook_event event, int64_t step, double *lr) {
  const gr_settings *set = &s->job->spec.set;
  gr_hook_result result = {0};
  if (!s->hooks || !gr_hooks_has(s->hooks, event)) return GR_OK;
  gr_hook_context ctx = {.step = step,
                         .epoch = s->steps_per_epoch ? step / s->steps_per_epoch : 0,
                         .steps_per_epoch = s->steps_per_epoch,
                         .max_steps = set->loop.max_steps,
                         .max_epochs = set->loop.max_epochs,
                         .world_size = s->ranks,
                         .base_lr = gr_base_lr(&set->loop, step),
                         .lr = *lr,
                         .global_batch = set->options.batch.global,
                         .set = s->now,
                         .output_dir = s->dir};
  GR_TRY(gr_hooks_call(s->hooks, event, &ctx, &result));
  *lr = result.lr;
  for (int k = 0; k < s->job->spec.n_adjust; k++)
    if (result.is_set[k]) take(s, k, step, result.set[k]);
  return GR_OK;
}

static void note_step(schedule *s, int64_t step, double lr) {
  s->x[step] = (double)step, s->lr[step] = lr;
  for (int k = 0; k < s->job->spec.n_adjust; k++)
    if (s->set[k]) s->set[k][step] = s->now[k];
}

static gr_status run_steps(schedule *s) {
  const gr_settings *set = &s->job->spec.set;
  if (!s->hooks)
    gr_log(GR_INFO, "the configuration has no hooks: the learning rate is as configured");
  double lr = gr_base_lr(&set->loop, 0);
  for (int k = 0; k < s->job->spec.n_adjust; k++) s->now[k] = s->job->spec.adjust[k].initial;
  GR_TRY(call(s, GR_HOOK_START, 0, &lr));
  for (int64_t i = 0; i < s->steps; i++) {
    bool begins = s->steps_per_epoch ? i % s->steps_per_epoch == 0 : !i;
    if (begins) GR_TRY(call(s, GR_HOOK_EPOCH_START, i, &lr));
    lr = gr_base_lr(&set->loop, i);
    GR_TRY(call(s, GR_HOOK_LR, i, &lr));
    GR_TRY(call(s, GR_HOOK_BEFORE_OPTIMIZER, i, &lr));
    note_step(s, i, lr);
  }
  return GR_OK;
}

static void remove_dir(gr_arena *a, const char *dir) {
  int n;
  const char **names = gr_list_dir(a, dir, &n);
  for (int i = 0; i < n; i++) unlink(gr_arena_printf(a, "%s/%s", dir, names[i]));
  rmdir(dir);
}

// Scripts may write files; these go to a folder that is removed.
static gr_status run_hooks(schedule *s) {
  const gr_settings *set = &s->job->spec.set;
  const char *tmp = getenv("TMPDIR");
  char *dir =
      gr_arena_printf(s->job->arena, "%s/graphrun-hooks-XXXXXX", tmp && *tmp ? tmp : "/tmp");
  if (!set->hooks.paths.n) return run_steps(s);
  if (!mkdtemp(dir)) {
    int e = errno;
    return gr_hint_errno(
        gr_fail(GR_ERR_IO, GR_NOWHERE, "cannot make the folder '%s': %s", dir, strerror(e)), e);
  }
  gr_hooks_spec spec = {.scripts = set->hooks.scripts,
                        .n_scripts = set->hooks.paths.n,
                        .seed = (uint64_t)set->loop.seed,
                        .out_dir = dir,
                        .adjust = s->job->spec.adjust,
                        .n_adjust = s->job->spec.n_adjust,
                        .seconds = set->hooks.hooks_seconds};
  s->dir = dir;
  gr_status st = gr_hooks_open(&spec, &s->hooks);
  if (!st) st = run_steps(s);
  gr_hooks_close(s->hooks);
  remove_dir(s->job->arena, dir);
  return st;
}

// ---- Results --------------------------------------------------------------------------------

// The program that is trained in a step; NULL: the run has no loop, or it is not known.
static const char *program_of(const schedule *s, int64_t step) {
  const gr_run_spec *spec = &s->job->spec;
  if (!spec->looped || !s->steps_per_epoch) return NULL;
  return spec->programs[gr_phase_of_step(&spec->loop, step)];
}

// How many steps of an epoch each program has.
static void print_loop(const schedule *s) {
  const gr_run_spec *spec = &s->job->spec;
  if (!program_of(s, 0)) return;
  gr_text t = gr_text_make(s->job->arena);
  int64_t *steps = GR_NEW(s->job->arena, int64_t, spec->n_programs);
  for (int64_t i = 0; i < s->steps_per_epoch; i++) steps[gr_phase_of_step(&spec->loop, i)]++;
  for (int i = 0; i < spec->n_programs; i++)
    if (steps[i])
      gr_text_printf(&t, "%s%lld of %s", t.len ? ", " : "", (long long)steps[i], spec->programs[i]);
  printf("an epoch is a pass through the loop: %lld run%s of programs, %lld of them step%s: %s\n",
         (long long)spec->loop.runs, gr_text_s(spec->loop.runs), (long long)s->steps_per_epoch,
         gr_text_s(s->steps_per_epoch), t.chars);
}

static void print_json(const schedule *s) {
  for (int64_t i = 0; i < s->steps; i++) {
    gr_arena *a = gr_arena_create();
    gr_text t = gr_text_make(a);
    gr_text_printf(&t, "{\"step\": %lld", (long long)i);
    if (program_of(s, i)) gr_text_json_member(&t, "program", program_of(s, i));
    gr_text_json_key(&t, "lr");
    gr_text_json_float(&t, s->lr[i]);
    for (int k = 0; k < s->job->spec.n_adjust; k++) {
      if (!s->set[k]) continue;
      gr_text_json_key(&t, s->job->spec.adjust[k].input);
      gr_text_json_float(&t, s->set[k][i]);
    }
    gr_text_put(&t, "}");
    puts(t.chars);
    gr_arena_destroy(a);
  }
}

static void print_summary(const schedule *s) {
  int64_t most = 0;
  for (int64_t i = 1; i < s->steps; i++)
    if (s->lr[i] > s->lr[most]) most = i;
  printf("%lld steps: lr %.6g at step 0, %.6g at step %lld (highest), %.6g at step %lld\n",
         (long long)s->steps, s->lr[0], s->lr[most], (long long)most, s->lr[s->steps - 1],
         (long long)s->steps - 1);
}

// A panel for the learning rate and one for each value that scripts set.
static gr_status draw(const schedule *s) {
  const gr_job *job = s->job;
  gr_curve *curves = GR_NEW(job->arena, gr_curve, job->spec.n_adjust + 1);
  gr_panel *panels = GR_NEW(job->arena, gr_panel, job->spec.n_adjust + 1);
  int n = 0;
  for (int k = -1; k < job->spec.n_adjust; k++) {
    const double *y = k < 0 ? s->lr : s->set[k];
    const char *name = k < 0 ? "lr" : job->spec.adjust[k].input;
    if (!y) continue;
    curves[n] = (gr_curve){name, s->x, y, (int)s->steps};
    panels[n] = (gr_panel){name, "step", &curves[n], 1, ((const options *)job->args.options)->log};
    n++;
  }
  return gr_show_plot(job->arena, panels, n, job->args.out);
}

static gr_status show(gr_job *job) {
  const gr_args *args = &job->args;
  schedule s = {.job = job, .ranks = gr_job_usual_ranks(job)};
  GR_TRY(find_steps(&s));
  s.x = GR_NEW(job->arena, double, s.steps);
  s.lr = GR_NEW(job->arena, double, s.steps);
  GR_TRY(run_hooks(&s));
  if (args->json) {
    print_json(&s);
    return GR_OK;
  }
  GR_TRY(draw(&s));
  print_loop(&s);
  print_summary(&s);
  return GR_OK;
}

static gr_status compose_and_show(gr_arena *arena, const gr_args *args) {
  gr_job job = {0};
  gr_status s = gr_job_compose(arena, args, &job);
  s = s ? s : show(&job);
  gr_job_close(&job);
  return s;
}

static const gr_flag job_flags[] = {{"--steps", NULL, "N", GR_FLAG_NUMBER, offsetof(gr_args, steps),
                                     "so many steps, not those of the run"},
                                    {0}};
static const gr_flag own_flags[] = {
    {"--log", NULL, NULL, GR_FLAG_SET, offsetof(options, log), "a logarithmic axis"}, {0}};

const gr_command gr_command_hooks = {
    .name = "hooks",
    .usage = "CONFIG.yaml [key=value ...] [--steps=N] [--log] [--out=FILE.svg] [--json]",
    .doc = "runs learning-rate schedules without training, and draws the learning rate",
    .example = "graphrun hooks configs/multi_gpu.yaml 'hooks=[hooks/cosine.lua]' --steps=1000",
    .keys =
        "hooks hooks_params training.lr training.warmup_steps training.max_epochs "
        "training.max_steps training.lr_scale",
    .takes = {GR_CONFIG_FILE, GR_NO_OPERAND, true},
    .flags = {gr_flags_config, job_flags, gr_flags_out, gr_flags_json},
    .own_flags = own_flags,
    .plans = true,
    .options = sizeof(options),
    .run = compose_and_show,
};
