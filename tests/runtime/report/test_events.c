// test_events.c - the event files of a run: frames, tags, resuming, TensorBoard's own reader.
#define _GNU_SOURCE  // memmem
#include <stdlib.h>
#include "tests/runtime/report/whole_run.h"

static bool holds(const char *bytes, size_t len, const char *what) {
  return memmem(bytes, len, what, strlen(what)) != NULL;
}

// Records that stay are byte-equal; times are the 8 bytes after each tag of wall_time.
static void blank_times(unsigned char *p, size_t len) {
  for (size_t offset = 0; offset + 12 < len;) {
    uint64_t n = p[offset] | (uint64_t)p[offset + 1] << 8;
    memset(p + offset + 13, 0, 8);      // wall_time
    memset(p + offset + 12 + n, 0, 4);  // its checksum
    offset += n + 16;
  }
}

static void events_resume(void) {
  const char *name = "events.out.tfevents.0000000000.graphrun", *dir = scratch_dir("events");
  size_t len, again;
  gr_report *r = start(dir, 0, 0, false);
  steps(r, 0, 6);
  gr_report_close(r);
  unsigned char *want = (unsigned char *)read_file(dir, name, &len);
  CHECK(len > 400, "only %zu bytes", len);
  blank_times(want, len);
  for (int64_t k = 2; k <= 4; k++) {
    bool open = k == 3;
    r = start(dir, k, open ? 0 : k / 3, open);
    if (open) end_epoch(r, k);
    steps(r, k, 6);
    gr_report_close(r);
    unsigned char *got = (unsigned char *)read_file(dir, name, &again);
    blank_times(got, again);
    CHECK(len == again && !memcmp(want, got, len), "%zu bytes and %zu after a resume at %d", len,
          again, (int)k);
    free(got);
  }
  free(want);
  scratch_remove(dir);
}

// Hyper-parameters, the graph, samples as text and the end, as TensorBoard's messages have them. A
// run that resumes at the end drops what its end wrote, and writes it again; samples are those of
// an evaluation, which stays.
static void other_kinds(void) {
  const char *events = "events.out.tfevents.0000000000.graphrun", *dir = scratch_dir("kinds");
  const gr_param params[] = {{.key = "lr", .kind = GR_PARAM_FLOAT, .f = 0.5},
                             {.key = "opt", .kind = GR_PARAM_TEXT, .text = "adam"}};
  const gr_report_sample sample = {"a.wav", "IT_IS <b>", ""};
  gr_report_spec spec = {.dir = dir,
                         .ranks = 1,
                         .quiet = true,
                         .params = params,
                         .n_params = 2,
                         .graph = "GRAPH",
                         .graph_bytes = 5};
  size_t len[2], size;
  char *text[2];
  for (int k = 0; k < 2; k++, spec.resume_step = 3, spec.resume_epoch = 1) {
    gr_report *r;
    MUST(gr_report_open(&spec, &r));
    if (!k) steps(r, 0, 3);
    MUST(gr_report_samples(r, 3, &sample, 1, k));
    MUST(gr_report_finish(r, &(gr_results){.ended = "done", .steps = 3}));
    gr_report_close(r);
    text[k] = read_file(dir, events, &len[k]);
    blank_times((unsigned char *)text[k], len[k]);
  }
  CHECK(len[0] == len[1] && !memcmp(text[0], text[1], len[0]), "%zu and %zu bytes", len[0], len[1]);
  // hparams: {"lr": number_value 0.5}, {"opt": string_value "adam"}; graph_def; Success.
  static const char *const has[] = {"_hparams_/session_start_info",
                                    "\x0a\x02lr\x12\x09\x11",
                                    "\x0a\x03opt\x12\x06\x1a\x04"
                                    "adam",
                                    "\x22\x05GRAPH",
                                    "samples/validation",
                                    "\x12\x02\x08\x02\x12\x02\x08\x03",  // a heading, and a row
                                    "IT\\_IS \\<b\\>",
                                    "\x42\x09predicted",
                                    "_hparams_/session_end_info",
                                    "\x22\x02\x08\x01"};
  for (size_t i = 0; i < sizeof has / sizeof *has; i++)
    CHECK(holds(text[0], len[0], has[i]), "%zu: %s", i, has[i]);
  char *lines = read_file(dir, "samples.jsonl", &size);
  CHECK(!strcmp(lines,
                "{\"steps\": 3, \"sample\": \"a.wav\", \"reference\": \"IT_IS <b>\", "
                "\"predicted\": \"\"}\n"),
        "%s", lines);
  free(text[0]), free(text[1]), free(lines);
  scratch_remove(dir);
}

// The evaluation that closes a run comes after the epoch's row, or in the middle of an epoch. A run
// killed behind it makes it again: its row goes, the epoch's stays.
static void closing(void) {
  const char *events = "events.out.tfevents.0000000000.graphrun", *dir = scratch_dir("closing");
  gr_named cer = {"cer", 0.25};
  size_t len;
  for (bool open = false;; open = true) {
    gr_report *r = start(dir, 0, 0, false);
    steps(r, 0, 2);
    MUST(gr_report_epoch(r, &(gr_report_epoch_row){.steps = 2, .metrics = &cer, .n_metrics = 1}));
    MUST(gr_report_eval(r, 2, 0, &cer, 1, &(gr_tables){0}));
    gr_report_close(r);
    gr_report_spec spec = {.dir = dir,
                           .ranks = 1,
                           .resume_step = 2,
                           .resume_epoch = 1,
                           .eval_open = open,
                           .quiet = true};
    MUST(gr_report_open(&spec, &r));
    gr_report_close(r);
    char *text = read_file(dir, "evals.jsonl", &len);
    CHECK((len == 0) == open, "open %d: %s", open, text);
    free(text);
    text = read_file(dir, "epochs.jsonl", &len);
    CHECK(len, "the epoch's row is gone");
    free(text);
    text = read_file(dir, events, &len);
    CHECK(holds(text, len, "epoch/lr") && holds(text, len, "eval/cer") != open, "open %d", open);
    free(text);
    if (open) break;
  }
  scratch_remove(dir);
}

// A scalar stands once: the epoch's event has what is of training, the evaluation's the rest.
static void tags(void) {
  const char *dir = scratch_dir("tags");
  size_t len;
  whole_run(dir);
  char *text = read_file(dir, "events.out.tfevents.0000000000.graphrun", &len);
  CHECK(holds(text, len, "epoch/cer") && holds(text, len, "eval/cer"), "no tags");
  CHECK(!holds(text, len, "epoch/val"), "validation stands in the epoch's event, too");
  free(text);
  scratch_remove(dir);
}

static void tensorboard(void) {
  const char *python = getenv("GR_TENSORBOARD_PYTHON"), *dir = scratch_dir("tensorboard");
  char command[2048], line[256];
  whole_run(dir);
  snprintf(command, sizeof command, "%s %s %s/events.out.tfevents.* 2>/dev/null",
           python ? python : "python3", READ_EVENTS, dir);
  FILE *p = popen(command, "r");
  int n = 0;
  bool loss = false, cer = false, version = false, epoch = false;
  for (; fgets(line, sizeof line, p); n++) {
    loss |= !strcmp(line, "5 train/loss 0.125\n");
    cer |= !strcmp(line, "2 eval/cer 0.75\n");
    epoch |= !strcmp(line, "2 epoch/cer 0.5\n");
    version |= !strcmp(line, "version brain.Event:2\n");
  }
  int code = pclose(p);
  scratch_remove(dir);
  if (code)
    SKIP("no TensorBoard in %s (GR_TENSORBOARD_PYTHON names another)", python ? python : "python3");
  CHECK(n == 1 + 6 * 5 + 2 + 2 * 2 && loss && cer && epoch && version, "%d lines, %d %d %d %d", n,
        loss, cer, epoch, version);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"events_resume", events_resume}, {"closing", closing}, {"tags", tags},
             {"other_kinds", other_kinds}, {"tensorboard", tensorboard});
}
