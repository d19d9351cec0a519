// test_report.c - the files of a run: their fields, resuming, two runs alike but for times.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/json.h"
#include "base/log.h"
#include "tests/runtime/report/whole_run.h"

// Every line, with the fields that are times removed; NULL: a line is not an object.
static char *without_times(gr_arena *a, char *text) {
  static const char *const times[] = {"wall", "seconds", "data_seconds", "samples_per_s"};
  gr_text out = gr_text_make(a);
  for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
    const gr_json *row;
    gr_json_error why;
    if (!gr_json_read(a, line, strlen(line), &row, &why) || row->kind != GR_JSON_OBJECT)
      return NULL;
    for (const gr_json *m = row->first; m; m = m->next) {
      bool time = false;
      for (int i = 0; i < 4; i++) time |= !strcmp(m->name, times[i]);
      gr_text_put(&out, m->name);
      gr_text_put(&out, "=");
      if (!time) gr_text_json_float(&out, m->f);
      gr_text_put(&out, " ");
    }
    gr_text_put(&out, "\n");
  }
  return out.chars;
}

static void rows(void) {
  const char *dir = scratch_dir("rows");
  gr_arena *a = gr_arena_create();
  size_t len;
  whole_run(dir);
  char *text = read_file(dir, "metrics.jsonl", &len);
  char *got = without_times(a, text);
  const char *want =
      "step=0.0 epoch=0.0 loss=0.3333333333333333 lr=0.002 grad_norm=0.5 gap=0.0 "
      "samples_per_s= wall= \nstep=1.0 ";
  CHECK(got && !strncmp(got, want, strlen(want)), "%s", got);
  free(text);
  text = read_file(dir, "epochs.jsonl", &len);
  got = without_times(a, text);
  CHECK(
      got && !strcmp(
                 got,
                 "epoch=0.0 steps=3.0 train_loss=0.1 lr=0.002 cer=0.5 val=0.75 seconds= "
                 "data_seconds= samples_per_s= wall= \nepoch=1.0 steps=6.0 train_loss=0.1 lr=0.002 "
                 "cer=0.5 val=0.75 seconds= data_seconds= samples_per_s= wall= \n"),
      "%s", got);
  free(text);
  scratch_remove(dir);
  gr_arena_destroy(a);
}

static void results(void) {
  const char *dir = scratch_dir("results");
  gr_arena *a = gr_arena_create();
  const gr_json *root;
  gr_json_error why;
  size_t len;
  whole_run(dir);
  char *text = read_file(dir, "training_results.json", &len);
  bool ok = gr_json_read(a, text, len, &root, &why);
  CHECK(ok, "line %d column %d: %s", why.line, why.col, why.why);
  const gr_json *model = gr_json_get(root, "model", GR_JSON_TEXT);
  const gr_json *history = gr_json_get(root, "history", GR_JSON_ARRAY);
  const gr_json *metrics = gr_json_get(root, "metrics", GR_JSON_OBJECT);
  const gr_json *minutes = gr_json_get(root, "total_minutes", GR_JSON_FLOAT);
  CHECK(model && !strcmp(model->text, "lmu \"asr\""), "model");
  CHECK(history && history->n == 2 && gr_json_get(history->first, "seconds", GR_JSON_FLOAT),
        "history");
  CHECK(metrics && isnan(gr_json_get(metrics, "wer", GR_JSON_FLOAT)->f), "metrics");
  CHECK(minutes && minutes->f == 1.5, "minutes");
  CHECK(gr_json_get(root, "best_epoch", GR_JSON_INT)->i == 1, "best_epoch");
  CHECK(gr_json_get(root, "best_checkpoint", GR_JSON_TEXT), "best_checkpoint");
  CHECK(gr_json_get(root, "config_hash", GR_JSON_TEXT), "config_hash");
  CHECK(gr_json_get(root, "exit_code", GR_JSON_INT)->i == 3, "exit_code");
  CHECK(gr_json_get(gr_json_get(root, "config", GR_JSON_OBJECT), "a", GR_JSON_INT), "config");
  free(text);
  scratch_remove(dir);
  gr_arena_destroy(a);
}

// The same rows as a run that was never stopped, wherever it was killed.
static void resuming(void) {
  static const char *const files[] = {"metrics.jsonl", "evals.jsonl", "epochs.jsonl"};
  gr_arena *a = gr_arena_create();
  char *want[3];
  size_t len;
  const char *dir = scratch_dir("resume");
  whole_run(dir);
  for (int i = 0; i < 3; i++) {
    char *text = read_file(dir, files[i], &len);
    want[i] = without_times(a, text);
    free(text);
  }
  for (int64_t k = 0; k <= 5; k++)
    for (int64_t killed = k; killed <= 6; killed++) {
      scratch_dir("resume");
      gr_report *r = start(dir, 0, 0, false);
      steps(r, 0, killed);
      gr_report_close(r);
      char torn[512];
      snprintf(torn, sizeof torn, "%s/metrics.jsonl", dir);
      FILE *f = fopen(torn, "a");
      fprintf(f, "{\"step\": %lld, \"epo", (long long)killed);
      fclose(f);
      bool open = k == 3 && killed % 2;  // stopped before the end of the epoch that step 2 ends
      r = start(dir, k, k / 3 - open, open);
      if (open) end_epoch(r, k);
      steps(r, k, 6);
      gr_report_close(r);
      for (int i = 0; i < 3; i++) {
        char *text = read_file(dir, files[i], &len), *got = without_times(a, text);
        CHECK(got && !strcmp(got, want[i]), "%s after a kill at %d and a resume at %d: %s",
              files[i], (int)killed, (int)k, got);
        free(text);
      }
    }
  scratch_remove(dir);
  gr_arena_destroy(a);
}

// Files of an earlier run are removed when a run starts: a run that is killed leaves no results.
static void old_results(void) {
  const char *dir = scratch_dir("old_results");
  size_t len;
  whole_run(dir);
  gr_report_close(start(dir, 3, 1, false));
  char *text = read_file(dir, "training_results.json", &len);
  CHECK(!text, "the results of the run before are still there");
  free(text);
  scratch_remove(dir);
}

static void log_file(void) {
  const char *dir = scratch_dir("log");
  gr_report *r;
  gr_report_spec spec = {.dir = dir, .rank = 1, .ranks = 2};
  FILE *log;
  size_t len;
  gr_log_open(GR_INFO, 1, 2);
  MUST(gr_report_open_log(dir, &log));
  MUST(gr_report_open(&spec, &r));
  gr_log(GR_WARN, "a straggler");
  MUST(gr_report_step(r, &(gr_report_row){.step = 0}));
  gr_report_close(r);
  gr_log_open(GR_INFO, 0, 2);
  gr_log(GR_INFO, "of the whole run");
  gr_log_result("cer %.1f", 0.5);
  gr_status why = gr_hint(gr_fail(GR_ERR_IO, GR_NOWHERE, "no disk"), "buy one");
  gr_log_end(why);
  gr_status_drop(why);
  gr_report_close_log(log);
  gr_log(GR_INFO, "behind it");
  gr_log_open(GR_INFO, 0, 1);
  char *text = read_file(dir, "run.log", &len);
  CHECK(text && !strcmp(text,
                        "[rank 1] warning: a straggler\nof the whole run\ncer 0.5\n"
                        "i/o error: no disk\n  hint: buy one\n"),
        "%s", text);
  free(text);
  text = read_file(dir, "metrics.jsonl", &len);
  CHECK(!text, "rank 1 writes metrics");
  scratch_remove(dir);
}

static bool has(const char *dir, const char *name) {
  size_t len;
  char *text = read_file(dir, name, &len);
  free(text);
  return text != NULL;
}

// Files that are switched off are not written, old ones are removed, and results are as ever.
static void fewer_files(void) {
  static const char events[] = "events.out.tfevents.0000000000.graphrun";
  for (int i = 0; i < 4; i++) {
    const char *dir = scratch_dir("fewer");
    gr_report_spec spec = {.dir = dir, .ranks = 1, .quiet = true};
    gr_report *r = start(dir, 0, 0, false);
    steps(r, 0, 6);
    gr_report_close(r);
    spec.no_lines = i & 1, spec.no_events = i & 2;
    MUST(gr_report_open(&spec, &r));
    steps(r, 0, 6);
    MUST(gr_report_finish(r, &(gr_results){.ended = "done"}));
    gr_report_close(r);
    CHECK(has(dir, "metrics.jsonl") == !spec.no_lines, "metrics of %d", i);
    CHECK(has(dir, "evals.jsonl") == !spec.no_lines, "evals of %d", i);
    CHECK(has(dir, events) == !spec.no_events, "events of %d", i);
    CHECK(has(dir, "epochs.jsonl") && has(dir, "training_results.json"), "results of %d", i);
    scratch_remove(dir);
  }
}

static void progress(void) {
  const char *dir = scratch_dir("progress");
  gr_report *r;
  gr_report_spec spec = {
      .dir = dir, .ranks = 1, .total_steps = 100, .every_seconds = 1e9, .every_steps = 40};
  FILE *log;
  size_t len;
  MUST(gr_report_open_log(dir, &log));
  MUST(gr_report_open(&spec, &r));
  for (int64_t s = 0; s < 100; s++)
    MUST(gr_report_step(
        r, &(gr_report_row){.step = s, .loss = 0.5, .lr = 1e-3, .samples = 8, .seconds = 0.5}));
  CHECK(fabs(gr_report_rate(r) - 16) < 1e-9, "%g", gr_report_rate(r));
  gr_report_close(r);
  gr_report_close_log(log);
  char *text = read_file(dir, "run.log", &len);
  const char *want = "epoch 0  step 1/100  loss 0.5000  lr 0.001  16 samples/s\n";
  CHECK(text && !strncmp(text, want, strlen(want)), "%s", text);
  CHECK(strstr(text, "step 100/100  loss 0.5000  lr 0.001  16 samples/s\n"), "%s", text);
  int lines = 0;
  for (size_t i = 0; i < len; i++) lines += text[i] == '\n';
  CHECK(lines == 4, "%d lines, not those of steps 0, 39, 79, 99", lines);
  free(text);
  scratch_remove(dir);
}

// A run of 400 steps of 0.5 s in 20 epochs, each with an evaluation and a checkpoint of 4 s, whose
// first step takes 60 s and whose first epoch reads its data for as long again as it computes.
static double now_s;
static double fake_clock(void) { return now_s; }
static double eta_of(const char *log, int64_t step) {
  char start[40];
  long hours = 0, minutes, seconds;
  snprintf(start, sizeof start, "step %lld/400 ", (long long)step);
  const char *line = strstr(log, start), *eta = line ? strstr(line, "  eta ") : NULL;
  if (!eta || memchr(line, '\n', (size_t)(eta - line))) return -1;
  if (sscanf(eta, "  eta %ld:%ld:%ld", &hours, &minutes, &seconds) == 3)
    return (double)(3600 * hours + 60 * minutes + seconds);
  return sscanf(eta, "  eta %ld:%ld", &minutes, &seconds) == 2 ? (double)(60 * minutes + seconds)
                                                               : -1;
}

static void remaining_time(void) {
  const char *dir = scratch_dir("remaining");
  gr_report *r;
  gr_report_spec spec = {.dir = dir,
                         .ranks = 1,
                         .total_steps = 400,
                         .every_seconds = 1e9,
                         .every_steps = 1,
                         .clock = fake_clock};
  FILE *log;
  size_t len;
  double after[401];
  MUST(gr_report_open_log(dir, &log));
  MUST(gr_report_open(&spec, &r));
  now_s = 1000;
  for (int64_t s = 0; s < 400; s++) {
    double took = s ? 0.5 : 60;
    now_s += took + (s < 20 ? 0.5 : 0);
    after[s + 1] = now_s;
    MUST(gr_report_step(
        r, &(gr_report_row){.step = s, .loss = 0.5, .lr = 1e-3, .samples = 8, .seconds = took}));
    now_s += s % 20 == 19 ? 4 : 0;
  }
  gr_report_close(r);
  gr_report_close_log(log);
  char *text = read_file(dir, "run.log", &len);
  CHECK(eta_of(text, 1) < 0, "the first step says nothing of the others");
  for (int64_t s = 21; s < 400; s++) {
    double left = now_s - after[s] - 4, eta = eta_of(text, s), near = 2 * left + 10;
    CHECK(eta > left / 2 - 10 && eta < near, "step %lld: eta %g, but %g s are left", (long long)s,
          eta, left);
  }
  free(text);
  scratch_remove(dir);
}

// In a log a long evaluation has a line every ten seconds, a short one none, and those of steps
// come as before.
static void long_evaluations(void) {
  const char *dir = scratch_dir("evaluations");
  gr_report_spec spec = {.dir = dir, .ranks = 1, .total_steps = 9, .clock = fake_clock};
  gr_report *r;
  FILE *log;
  size_t len;
  MUST(gr_report_open_log(dir, &log));
  MUST(gr_report_open(&spec, &r));
  now_s = 1000;
  for (int64_t s = 0; s < 8; s++, now_s += 3) {
    MUST(gr_report_step(r, &(gr_report_row){.step = s, .samples = 8, .seconds = 1}));
    for (int64_t b = 0; b <= 4; b++, now_s += 1) gr_report_evaluating(r, "validation", b, 4);
  }
  for (int64_t b = 0; b <= 10; b++, now_s += 4) gr_report_evaluating(r, "training", b, 10);
  gr_report_close(r);
  gr_report_close_log(log);
  char *text = read_file(dir, "run.log", &len);
  const char *want =
      "evaluating the training set (training.final_train_eval)  batch 3/10  eta 0:28\n"
      "evaluating the training set (training.final_train_eval)  batch 6/10  eta 0:16\n"
      "evaluating the training set (training.final_train_eval)  batch 9/10  eta 0:04\n";
  const char *found = text ? strstr(text, "evaluating") : NULL;
  CHECK(found && !strcmp(found, want), "%s", text);
  CHECK(text && strstr(text, "step 3/9") && strstr(text, "step 5/9"), "%s", text);
  free(text);
  scratch_remove(dir);
}

// Called in place of the C library's, so that the order is seen: kill -9 keeps what a power cut
// loses.
static char calls[16];
int fsync(int fd) {
  strncat(calls, "s", sizeof calls - strlen(calls) - 1);
  return (int)syscall(SYS_fsync, fd);
}
int renameat(int from_dir, const char *source, int to_dir, const char *to) {
  strncat(calls, "r", sizeof calls - strlen(calls) - 1);
  return (int)syscall(SYS_renameat2, from_dir, source, to_dir, to, 0);
}

static void synced(void) {
  const char *dir = scratch_dir("synced");
  size_t len;
  *calls = 0;
  MUST(gr_results_write(dir, "", &(gr_results){.ended = "done"}));
  CHECK(!strcmp(calls, "srs"), "results are not on the disk before they take their name: %s",
        calls);
  char *text = read_file(dir, "training_results.json", &len);
  CHECK(text, "there are no results");
  free(text);
  scratch_remove(dir);
}

static void counts_and_times(void) {
  const char *dir = scratch_dir("counts");
  size_t len;
  MUST(gr_results_write(dir, "",
                        &(gr_results){.parameters = 10, .trainable = 4, .total_seconds = 90}));
  char *text = read_file(dir, "training_results.json", &len);
  static const char *const has[] = {"\"parameters\": 10,", "\"trainable_parameters\": 4,",
                                    "\"total_seconds\": 90.0,", "\"total_minutes\": 1.5,"};
  for (int i = 0; i < 4; i++) CHECK(text && strstr(text, has[i]), "there is no %s", has[i]);
  free(text);
  scratch_remove(dir);
}

static void full_disk(void) {
  gr_lines f;
  if (access("/dev/full", W_OK)) SKIP("no /dev/full");
  f = (gr_lines){.fd = 2, .path = "/dev/full"};
  FILE *full = fopen("/dev/full", "w");
  f.fd = fileno(full);
  gr_status e = gr_lines_put(&f, "x", 1);
  CHECK(gr_status_code(e) == GR_ERR_IO && strstr(gr_status_text(e), "No space left"), "%s",
        gr_status_text(e));
  gr_status_drop(e);
  fclose(full);
}

// Results that cannot be written whole are an error with the file's name, and what was there stays.
static void full_results(void) {
  const char *dir = scratch_dir("full");
  gr_results x = {.ended = "done"};
  struct rlimit before, few = {16, 16};
  size_t len;
  signal(SIGXFSZ, SIG_IGN);
  MUST(gr_results_write(dir, "", &x));
  getrlimit(RLIMIT_FSIZE, &before);
  few.rlim_max = before.rlim_max;
  setrlimit(RLIMIT_FSIZE, &few);
  x.ended = "again";
  gr_status s = gr_results_write(dir, "", &x);
  setrlimit(RLIMIT_FSIZE, &before);
  CHECK(gr_status_code(s) == GR_ERR_IO && strstr(gr_status_text(s), "training_results.json"), "%s",
        s ? gr_status_text(s) : "no error");
  gr_status_drop(s);
  char *text = read_file(dir, "training_results.json", &len);
  CHECK(text && strstr(text, "\"done\""), "%s", text);
  free(text);
  scratch_remove(dir);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"rows", rows}, {"results", results}, {"resuming", resuming},
             {"old_results", old_results}, {"log_file", log_file}, {"progress", progress},
             {"remaining_time", remaining_time}, {"long_evaluations", long_evaluations},
             {"fewer_files", fewer_files}, {"synced", synced},
             {"counts_and_times", counts_and_times}, {"full_disk", full_disk},
             {"full_results", full_results});
}
