// log_start.c - what a run logs when it starts. See run.h.
#include <string.h>
#include <unistd.h>
#include "base/shown.h"
#include "runtime/train/run.h"

static void log_loop(const gr_progress *p) {
  gr_log(GR_INFO,
         "an epoch is a pass through the loop: %lld run%s of programs, %lld of them step%s",
         (long long)p->runs_per_epoch, gr_text_s(p->runs_per_epoch), (long long)p->steps_per_epoch,
         gr_text_s(p->steps_per_epoch));
}

static bool takes_data(const gr_rank *r) {
  bool takes = false;
  for (int i = 0; i < r->spec->n_programs; i++) takes |= r->programs[i].takes_batch;
  return takes;
}

static void log_data(const gr_rank *r, const gr_progress *p, const char *micro) {
  const gr_settings *set = &r->spec->set;
  char batch[512];
  if (set->options.batch.global_of)
    snprintf(batch, sizeof batch, "global batches of %s by bucket", gr_run_batches(r, r->arena));
  else
    snprintf(batch, sizeof batch, "global batch %d = %d %s%s x %s%d", set->options.batch.global,
             r->shares, r->shares == r->ranks ? "rank" : "rank group", gr_text_s(r->shares), micro,
             set->options.batch.rows);
  gr_log(GR_INFO, "%u training and %u validation samples; %s, lr %g, %lld step%s an epoch",
         gr_dataset_count(r->spec->data, GR_SPLIT_TRAIN),
         gr_dataset_count(r->spec->data, GR_SPLIT_VALIDATION), batch, set->loop.scaled_lr,
         (long long)p->steps_per_epoch, gr_text_s(p->steps_per_epoch));
}

// Whether the model reads the weights of classes.
static bool weighs_classes(const gr_rank *r) {
  bool any = false;
  for (uint32_t i = 0; i < r->spec->plan->n_programs; i++)
    for (int k = 0; k < r->spec->inputs[i].n; k++)
      any |= !strcmp(r->spec->inputs[i].items[k].name, "class_weight");
  return any;
}

static void log_lines(gr_rank *r, void (*put)(const gr_dataset *, gr_text *)) {
  gr_text t = gr_text_make(r->arena);
  put(r->spec->data, &t);
  if (t.len) gr_log_lines(GR_INFO, t.chars);
}

void gr_run_log_data(gr_rank *r) {
  gr_dataset_log_skipped(r->spec->data);
  log_lines(r, gr_dataset_notes);
}

// Of the program of each bucket that trains: the k-th loss that aligns texts. False: there is none.
static bool find_alignments(gr_rank *r, int k, gr_frames_left *of_bucket,
                            const gr_alignment **first) {
  const gr_plan *p = r->spec->plan;
  *first = NULL;
  for (int b = 0; b < gr_dataset_buckets(r->spec->data); b++) {
    const char *bucket = gr_dataset_bucket_name(r->arena, r->spec->data, b);
    of_bucket[b] = (gr_frames_left){0};
    for (uint32_t i = 0; i < p->n_programs && !of_bucket[b].frames; i++) {
      const gr_notes *notes = &p->programs[i].notes;
      if (k >= notes->n_aligned || strcmp(p->programs[i].bucket, bucket) != 0) continue;
      const gr_alignment *a = &notes->aligned[k];
      of_bucket[b] = (gr_frames_left){a->frames, a->longest, a->room};
      *first = *first ? *first : a;
    }
  }
  return *first != NULL;
}

// Texts that have no part in the loss of CTC, since the model leaves too few frames of them.
static void log_unfit(gr_rank *r) {
  gr_frames_left of_bucket[GR_MAX_BUCKETS];
  const gr_alignment *a;
  for (int k = 0; k < GR_MAX_ALIGNMENTS && find_alignments(r, k, of_bucket, &a); k++) {
    gr_text t = gr_text_make(r->arena);
    const char *place = gr_arena_printf(r->arena, "ctc_loss, %s:%d:%d",
                                        a->loc.file ? a->loc.file : "", a->loc.line, a->loc.col);
    int32_t left = a->frames[a->longest];
    const char *unfit =
        gr_arena_printf(r->arena,
                        "have more text than the model leaves frames of them, and %s (%s): "
                        "data.speech.subsampling=%d skips them, fewer strides keep them",
                        a->leaves_out ? "no part in the loss" : "an infinite loss", place,
                        left ? (a->longest + left - 1) / left : 1);
    const char *beyond = gr_arena_printf(
        r->arena,
        "have more frames by their lengths than the logits have, so that lengths are cut (%s): a "
        "model that shortens x shortens lengths as much, as by {ceil_div: lengths, by: 2}",
        place);
    gr_dataset_put_unfit(r->spec->data, of_bucket, unfit, beyond, &t);
    if (t.len) gr_log_lines(GR_WARN, t.chars);
  }
}

void gr_run_log_rank(const gr_rank *r) {
  gr_machine machine;
  gr_machine_read(&machine);
  gr_log(GR_INFO, "rank %d of %d: process %d on %s, device %s, %d thread%s", r->rank, r->ranks,
         (int)getpid(), machine.host, gr_exec_device(r->exec)->ops->name,
         r->spec->set.ranks.threads_each, gr_text_s(r->spec->set.ranks.threads_each));
}

// Whether a node of that place is before the k-th of a program, in it or in those before it.
static bool is_before(const gr_plan *p, uint32_t program, uint32_t k) {
  gr_loc loc = p->programs[program].notes.mixed[k]->loc;
  for (uint32_t i = 0; i <= program; i++)
    for (uint32_t n = 0; n < (i < program ? p->programs[i].notes.n_mixed : k); n++) {
      gr_loc other = p->programs[i].notes.mixed[n]->loc;
      if (other.line == loc.line && other.col == loc.col && other.file &&
          !strcmp(other.file, loc.file))
        return true;
    }
  return false;
}

// Programs of buckets, of training and evaluation have the same nodes of the model, and so have
// iterations of `repeat`.
static void log_mixed_rows(const gr_plan *p) {
  enum { SHOWN = 3 };
  int n = 0;
  for (uint32_t i = 0; i < p->n_programs; i++)
    for (uint32_t k = 0; k < p->programs[i].notes.n_mixed; k++) {
      const gr_node *of = p->programs[i].notes.mixed[k];
      if (!of->loc.file || is_before(p, i, k) || n++ >= SHOWN) continue;
      gr_log(GR_WARN,
             "%s:%d:%d: '%s' mixes the rows of a batch, and those that pad it are among them: "
             "multiply by sample_weight what it reads, or mask with it what it gives",
             of->loc.file, of->loc.line, of->loc.col, of->op->name);
    }
  if (n > SHOWN) gr_log(GR_WARN, "so do %d more nodes, which `graphrun plan` lists", n - SHOWN);
}

void gr_run_log_start(gr_rank *r, const gr_progress *progress, const char *dir) {
  const gr_plan *p = r->spec->plan;
  const gr_settings *set = &r->spec->set;
  char micro[40] = "";
  if (set->options.batch.micro_batches > 1)
    snprintf(micro, sizeof micro, "%d micro-steps x ", set->options.batch.micro_batches);
  int64_t trained, all = gr_plan_parameters(p, &trained);
  char of[40] = "", size[GR_QUANTITY];
  if (trained < all) snprintf(of, sizeof of, " of %lld", (long long)all);
  gr_log(GR_INFO, "%lld%s trained parameters, %u programs, %s of memory a rank, plan %016llx",
         (long long)trained, of, p->n_programs, gr_bytes_text((double)gr_plan_bytes(p), size),
         (unsigned long long)p->hash);
  const char *idle = gr_plan_idle_axis(p);
  if (idle)
    gr_log(GR_WARN,
           "nothing is split over the axis %s of the mesh: its ranks do the same work; the model's "
           "layers or distributed.layout split weights over it",
           idle);
  log_mixed_rows(p);
  if (gr_plan_find(p, "ema", ""))
    gr_log(GR_INFO, "evaluations read averages of the weights (training.ema_decay=%g)",
           set->options.optimizer.ema_decay.value);
  if (r->spec->looped) log_loop(progress);
  if (takes_data(r)) log_data(r, progress, micro);
  gr_run_log_data(r);
  log_unfit(r);
  if (weighs_classes(r)) log_lines(r, gr_dataset_classes);
  if (!gr_run_is_dry(r))
    gr_log(GR_INFO, "output: %s", dir);
  else
    gr_log(GR_WARN, "device %s: nothing is computed, and nothing is written; hooks are not called",
           gr_exec_device(r->exec)->ops->name);
}
