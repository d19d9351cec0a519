// test_folder.c - a folder of checkpoints that is not only this run's: links, foreign files, other
// models, a second run; and what would be too large to be read.
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include "base/log.h"
#include "runtime/checkpoint/dir.h"
#include "runtime/checkpoint/limits.h"
#include "runtime/checkpoint/lock.h"
#include "tests/runtime/checkpoint/tiny.h"

static char *in(const char *dir, const char *name) {
  static char path[4][600];
  static int next;
  next = (next + 1) % 4;
  snprintf(path[next], sizeof *path, "%s/%s", dir, name);
  return path[next];
}

static bool is_there(const char *path) {
  struct stat s;
  return !lstat(path, &s);
}

// -- Links and foreign files -------------------------------------------------------------

// An archive, and in a folder links to it where a saver removes things: none is emptied.
static void links(void) {
  char archive[300], dir[300], target[600];
  snprintf(archive, sizeof archive, "%s", scratch_dir("archive"));
  snprintf(dir, sizeof dir, "%s", scratch_dir("links"));
  MUST(tiny_save(archive, 1, 1, 1, 9));
  scratch_write(in(archive, "precious"), "x", 1);
  scratch_copy(in(archive, "step-00000001"), in(archive, "step-00000002"));
  snprintf(target, sizeof target, "../%s/step-00000001", archive);
  CHECK(!symlink(target, in(dir, "step-00000001")), "symlink");
  snprintf(target, sizeof target, "../%s", archive);
  CHECK(!symlink(target, in(dir, ".tmp-step-00000007")), "symlink");
  CHECK(!symlink(target, in(dir, ".trash-step-00000008")), "symlink");
  for (int step = 2; step < 6; step++) MUST(tiny_save(dir, 1, step, step, 1));
  CHECK(is_there(in(dir, "step-00000005")) && !is_there(in(dir, "step-00000004")), "pruning");
  CHECK(tiny_seed_at(archive, 1) == 1, "pruning has emptied what a link leads to");
  CHECK(is_there(in(archive, "precious")), "recovery has emptied what a link leads to");
  CHECK(is_there(in(dir, ".tmp-step-00000007")) && is_there(in(dir, "step-00000001")),
        "a link of another owner is gone");
  gr_status e = tiny_save(dir, 1, 7, 7, 1);  // through a planted name
  CHECK(e && strstr(gr_status_text(e), "symbolic link"), "%s", gr_status_text(e));
  gr_status_drop(e);
  e = tiny_save(dir, 1, 1, 9, 1);  // in the place of a link
  CHECK(e && strstr(gr_status_text(e), "is in the way"), "%s", gr_status_text(e));
  gr_status_drop(e);
  CHECK(tiny_seed_at(archive, 1) == 1 && is_there(in(dir, "step-00000001")), "the link is gone");
  scratch_remove(archive);
  unlink(in(dir, "step-00000001")), unlink(in(dir, ".tmp-step-00000007"));
  unlink(in(dir, ".trash-step-00000008"));
  scratch_remove(dir);
}

// The removal itself checks, too, for every caller.
static void removal(void) {
  const char *dir = scratch_dir("removal");
  static const char *const steps[] = {"step-00000001", "step-00000002", "step-00000003"};
  static const char *const why[] = {"it is a symbolic link", "it contains 'notes.txt'",
                                    "it is not a directory"};
  gr_arena *a = gr_arena_create();
  gr_disk_dir d;
  MUST(tiny_save(dir, 1, 2, 2, 9));
  scratch_write(in(dir, "step-00000002/notes.txt"), "mine", 4);
  CHECK(!symlink("step-00000002", in(dir, steps[0])), "symlink");
  scratch_write(in(dir, steps[2]), "", 0);
  MUST(gr_disk_open(dir, &d));
  for (int i = 0; i < 3; i++) {
    const char *says = gr_checkpoint_foreign(a, &d, steps[i]);
    CHECK(says && strstr(says, why[i]), "%s: %s", steps[i], says ? says : "it may go");
    gr_status e = gr_checkpoint_remove(&d, steps[i]);
    CHECK(e && strstr(gr_status_text(e), "is left untouched"), "%s", gr_status_text(e));
    gr_status_drop(e);
    CHECK(is_there(in(dir, steps[i])), "%s is gone", steps[i]);
  }
  CHECK(tiny_seed_at(dir, 2) == 2, "files are gone");
  unlink(in(dir, "step-00000002/notes.txt"));
  CHECK(!gr_checkpoint_foreign(a, &d, steps[1]), "a checkpoint is foreign");
  MUST(gr_checkpoint_remove(&d, steps[1]));
  MUST(gr_checkpoint_remove(&d, steps[1]));  // it may not exist
  CHECK(!is_there(in(dir, steps[1])), "a checkpoint is not removed");
  gr_disk_leave(&d);
  gr_arena_destroy(a);
  scratch_remove(dir);
}

// What a saver did not write stays, with all that is beside it.
static void foreign_files(void) {
  const char *dir = scratch_dir("foreign");
  for (int step = 1; step < 4; step++) MUST(tiny_save(dir, 1, step, step, 9));
  scratch_write(in(dir, "step-00000001/notes.txt"), "mine", 4);
  mkdir(in(dir, "step-00000002/sub"), 0777);
  mkdir(in(dir, ".tmp-step-00000009"), 0777);
  scratch_write(in(dir, ".tmp-step-00000009/thesis.tex"), "x", 1);
  MUST(tiny_save(dir, 1, 4, 4, 1));
  CHECK(tiny_seed_at(dir, 1) == 1 && is_there(in(dir, "step-00000001/notes.txt")), "step 1");
  CHECK(tiny_seed_at(dir, 2) == 2 && is_there(in(dir, "step-00000002/sub")), "step 2");
  CHECK(!is_there(in(dir, "step-00000003")), "step 3 is still there");
  CHECK(is_there(in(dir, ".tmp-step-00000009/thesis.tex")), "recovery removes any folder");
  scratch_remove(dir);
}

// Checkpoints of another model neither go nor count.
static void other_model(void) {
  const char *dir = scratch_dir("model");
  float w[2] = {0};
  gr_tensor_slice p = gr_tensor_slice_whole("other", "f32", 1, (int64_t[]){2}, w);
  gr_saver_spec spec = {.dir = dir, .ranks = 1, .pieces = &p, .n_pieces = 1, .keep_last = 9};
  gr_saver *s;
  MUST(gr_saver_open(&spec, &s));
  for (int step = 7; step < 9; step++) {
    MUST(gr_saver_begin(s, step, NULL, 0));
    MUST(gr_saver_finish(s));
  }
  gr_saver_close(s);
  for (int step = 1; step < 5; step++) MUST(tiny_save(dir, 1, step, step, 2));
  CHECK(is_there(in(dir, "step-00000007")) && is_there(in(dir, "step-00000008")),
        "another model's is gone");
  CHECK(
      tiny_seed_at(dir, 3) == 3 && tiny_seed_at(dir, 4) == 4 && !is_there(in(dir, "step-00000002")),
      "another model's counts");
  scratch_remove(dir);
}

// -- A second run ------------------------------------------------------------------------

static gr_status open_as(const char *dir, const char *owner, double patience, gr_saver **out) {
  gr_saver_spec spec = {
      .dir = dir, .ranks = 1, .keep_last = 1, .owner = owner, .patience = patience};
  return gr_saver_open(&spec, out);
}

static void two_runs(void) {
  const char *dir = scratch_dir("lock");
  char pid[40];
  gr_saver *first, *second;
  snprintf(pid, sizeof pid, "process %d on ", (int)getpid());
  MUST(open_as(dir, "output.dir=out\x1b[2J/1", 0, &first));
  gr_status e = open_as(dir, "output.dir=out/2", 0.05, &second);
  CHECK(gr_status_code(e) == GR_ERR_IO && strstr(gr_status_text(e), "another run writes to"), "%s",
        gr_status_text(e));
  CHECK(e && strstr(gr_status_text(e), pid) && strstr(gr_status_text(e), "output.dir=out?[2J/1"),
        "its holder: %s", gr_status_text(e));
  CHECK(gr_status_hint(e) && strstr(gr_status_hint(e), "checkpoint.dir"), "hint");
  gr_status_drop(e);
  gr_saver_close(first);
  CHECK(!is_there(in(dir, ".checkpoint.lock")), "the lock's file stays");
  MUST(open_as(dir, NULL, 0, &second));
  gr_saver_close(second);
  scratch_remove(dir);
}

// A run that was killed holds nothing, and a lock is not waited for longer than asked.
static void a_killed_run(void) {
  const char *dir = scratch_dir("killed");
  int ready[2];
  char byte;
  gr_saver *s;
  CHECK(!pipe(ready), "pipe");
  pid_t pid = fork();
  if (!pid) {
    gr_status e = open_as(dir, "output.dir=first", 0, &s);
    if (write(ready[1], e ? "n" : "y", 1) != 1) _exit(1);
    for (;;) pause();
  }
  CHECK(read(ready[0], &byte, 1) == 1 && byte == 'y', "the first run could not open");
  gr_status e = open_as(dir, NULL, 0, &s);
  CHECK(e && strstr(gr_status_text(e), "output.dir=first"), "%s", gr_status_text(e));
  gr_status_drop(e);
  kill(pid, SIGKILL);
  waitpid(pid, NULL, 0);
  CHECK(is_there(in(dir, ".checkpoint.lock")), "it was killed, and tidied up");
  MUST(open_as(dir, NULL, 0, &s));
  gr_saver_close(s);
  close(ready[0]), close(ready[1]);
  scratch_remove(dir);
}

static int lock_error;
static int fail_lock(const char *op, const char *path, size_t *bytes) {
  (void)path, (void)bytes;
  return strcmp(op, "lock") ? 0 : lock_error;
}

// What cannot be locked is not written to, but for a file system that has no locks.
static void unlockable(void) {
  const char *dir = scratch_dir("unlockable");
  gr_saver *s;
  gr_status e;
  CHECK(!symlink("elsewhere", in(dir, ".checkpoint.lock")), "symlink");
  e = open_as(dir, NULL, 0, &s);
  CHECK(e && strstr(gr_status_text(e), "it is a symbolic link"), "%s", gr_status_text(e));
  CHECK(!is_there(in(dir, "elsewhere")), "the link was followed");
  gr_status_drop(e);
  unlink(in(dir, ".checkpoint.lock"));
  mkdir(in(dir, ".checkpoint.lock"), 0777);
  e = open_as(dir, NULL, 0, &s);
  CHECK(gr_status_code(e) == GR_ERR_IO && strstr(gr_status_text(e), "cannot lock"), "%s",
        gr_status_text(e));
  gr_status_drop(e);
  rmdir(in(dir, ".checkpoint.lock"));
  mkfifo(in(dir, ".checkpoint.lock"), 0666);  // must not be waited for
  e = open_as(dir, NULL, 0, &s);
  CHECK(e && strstr(gr_status_text(e), "it is not a regular file"), "%s", gr_status_text(e));
  gr_status_drop(e);
  unlink(in(dir, ".checkpoint.lock"));
  gr_disk_fault = fail_lock;
  lock_error = EACCES;
  e = open_as(dir, NULL, 0, &s);
  CHECK(e && strstr(gr_status_text(e), "cannot lock"), "%s", gr_status_text(e));
  gr_status_drop(e);
  lock_error = ENOLCK;
  FILE *said = tmpfile();
  gr_log_open(GR_WARN, 0, 1);
  gr_log_copy_to(said);
  e = open_as(dir, NULL, 0, &s);
  gr_log_copy_to(NULL);
  gr_log_open(GR_ERROR, 0, 1);
  gr_disk_fault = NULL;
  MUST(e);
  char text[500] = "";
  rewind(said);
  CHECK(fread(text, 1, sizeof text - 1, said) && strstr(text, "does not support locks"),
        "it says: %s", text);
  fclose(said);
  gr_saver_close(s);
  scratch_remove(dir);
}

// -- What a reader would not take ----------------------------------------------------------

static void says(gr_status e, const char *what) {
  CHECK(e && strstr(gr_status_text(e), what), "no '%s' in: %s", what, gr_status_text(e));
  gr_status_drop(e);
}

// Scalars at the limits come back, and one more or larger is refused: nothing is left, older ones
// stay.
static void large_scalars(void) {
  const char *dir = scratch_dir("large");
  enum { N = GR_CHECKPOINT_SCALARS };
  char *text = malloc(GR_CHECKPOINT_TEXT + 2), (*names)[32] = malloc(sizeof *names * (N + 1));
  gr_scalar *many = calloc(N + 1, sizeof *many);
  gr_saver *s;
  gr_checkpoint *c;
  memset(text, 1, GR_CHECKPOINT_TEXT);  // six bytes of JSON each: as large as it gets
  text[GR_CHECKPOINT_TEXT] = 0;
  for (int i = 0; i <= N; i++) {
    snprintf(names[i], sizeof *names, "scalar.%d", i);
    many[i] = (gr_scalar){.name = names[i], .kind = GR_SCALAR_INT, .i = i};
  }
  gr_scalar one = {.name = "run.hooks", .kind = GR_SCALAR_TEXT, .text = text};
  MUST(open_as(dir, NULL, 0, &s));
  MUST(gr_saver_begin(s, 1, &one, 1));
  MUST(gr_saver_finish(s));
  MUST(gr_saver_begin(s, 2, many, N));
  MUST(gr_saver_finish(s));
  MUST(gr_checkpoint_newest(dir, &c));
  CHECK(gr_checkpoint_step(c) == 2 && gr_checkpoint_scalar(c, names[N - 1]), "the last scalar");
  gr_checkpoint_close(c);
  MUST(gr_saver_begin(s, 3, many, N + 1));
  says(gr_saver_finish(s), "exceed the limit of a checkpoint");
  memcpy(text + GR_CHECKPOINT_TEXT, "\1", 2);
  MUST(gr_saver_begin(s, 3, &one, 1));
  says(gr_saver_finish(s), "scalar 'run.hooks' has a name of 9 bytes and 4194305 bytes of text");
  text[GR_CHECKPOINT_TEXT] = 0;
  gr_scalar two[] = {one, {.name = "b", .kind = GR_SCALAR_TEXT, .text = text}};
  MUST(gr_saver_begin(s, 3, two, 2));
  says(gr_saver_finish(s), "would have");
  text[GR_CHECKPOINT_NAME + 1] = 0;
  one.name = text, one.text = "";
  MUST(gr_saver_begin(s, 3, &one, 1));
  says(gr_saver_finish(s), "a name of 513 bytes");
  gr_saver_close(s);
  gr_names all;
  gr_disk_dir d;
  gr_arena *a = gr_arena_create();
  MUST(gr_disk_open(dir, &d));
  MUST(gr_checkpoint_names(a, &d, &all));
  CHECK(all.n == 1 && !strcmp(all.names[0], "step-00000002"), "%d names, %s", all.n, all.names[0]);
  gr_disk_leave(&d);
  gr_arena_destroy(a);
  free(text), free(names), free(many);
  scratch_remove(dir);
}

// Tensors of which a manifest would be too large, or which have more pieces than a reader takes,
// are refused before anything is written.
static void large_plans(void) {
  const char *dir = scratch_dir("plans");
  enum { N = 5000 };
  static float w[N];
  gr_tensor_slice *p = calloc(N, sizeof *p), huge;
  gr_saver *s;
  for (int i = 0; i < N; i++) {
    p[i] = gr_tensor_slice_whole("w", "f32", 1, (int64_t[]){N}, &w[i]);
    p[i].offset[0] = i, p[i].size[0] = 1;
  }
  gr_saver_spec spec = {
      .dir = dir, .ranks = 1, .pieces = p, .n_pieces = N, .keep_last = 1, .in_place = true};
  says(gr_saver_open(&spec, &s), "not a usable manifest");
  huge = gr_tensor_slice_whole("w", "f32", 2, (int64_t[]){1 << 30, 1200}, w);
  spec.pieces = &huge, spec.n_pieces = 1;
  says(gr_saver_open(&spec, &s), "would have");
  CHECK(!is_there(in(dir, ".checkpoint.lock")), "the lock stays");
  free(p);
  scratch_remove(dir);
}

// -- Only damaged ones -----------------------------------------------------------------------

static void all_damaged(void) {
  const char *dir = scratch_dir("damaged");
  gr_checkpoint *c;
  MUST(tiny_save(dir, 1, 1, 1, 9));
  MUST(tiny_save(dir, 1, 2, 2, 9));
  mkdir(in(dir, ".tmp-step-00000003"), 0777);
  size_t len;
  char *file = in(dir, "step-00000001/rank-00000.safetensors.zst"),
       *text = scratch_read(file, &len);
  text[len - 3] ^= 4;
  scratch_write(file, text, len);
  unlink(in(dir, "step-00000002/manifest.json"));
  gr_status e = gr_checkpoint_newest(dir, &c);
  CHECK(gr_status_code(e) == GR_ERR_CHECKPOINT && !c, "code %d", gr_status_code(e));
  CHECK(e && strstr(gr_status_text(e), "none of the 2 checkpoints"), "%s", gr_status_text(e));
  CHECK(gr_status_hint(e) && strstr(gr_status_hint(e), "checkpoint.resume=none"), "hint");
  gr_status_drop(e);
  text[len - 3] ^= 4;
  scratch_write(in(dir, "step-00000001/rank-00000.safetensors.zst"), text, len);
  MUST(gr_checkpoint_newest(dir, &c));
  CHECK(c && gr_checkpoint_step(c) == 1, "step 1 is good");
  gr_checkpoint_close(c);
  free(text);
  scratch_remove(dir);
  mkdir(dir, 0777);  // only what a killed run left: as good as nothing
  mkdir(in(dir, ".tmp-step-00000003"), 0777);
  MUST(gr_checkpoint_newest(dir, &c));
  CHECK(!c, "something from nothing");
  scratch_remove(dir);
}

static int64_t newest(const char *dir) {
  gr_checkpoint *c;
  MUST(gr_checkpoint_newest(dir, &c));
  int64_t step = c ? gr_checkpoint_step(c) : -1;
  gr_checkpoint_close(c);
  return step;
}

// A run was killed between the last byte of a checkpoint and its name.
static void unnamed(void) {
  char dir[300], to[400];
  snprintf(dir, sizeof dir, "%s", scratch_dir("unnamed"));
  for (int step = 1; step < 3; step++) MUST(tiny_save(dir, 1, step, step, 9));
  unlink(in(dir, ".checkpoint.lock"));
  gr_checkpoint_settle(dir, "a test", 0);
  CHECK(!is_there(in(dir, ".checkpoint.lock")), "a folder with nothing left over is locked");
  snprintf(to, sizeof to, "%s", in(dir, ".tmp-step-00000002"));
  CHECK(!rename(in(dir, "step-00000002"), to) && newest(dir) == 1, "it has a name");
  mkdir(in(dir, ".tmp-step-00000003"), 0777);
  gr_checkpoint_settle(dir, "a test", 0);
  CHECK(newest(dir) == 2 && tiny_seed_at(dir, 2) == 2, "the newest is of step %lld",
        (long long)newest(dir));
  CHECK(!is_there(in(dir, ".tmp-step-00000003")), "what is not complete is there");
  gr_checkpoint_settle(in(dir, "nothing"), "a test", 0);
  CHECK(!is_there(in(dir, "nothing")), "a folder is made");
  scratch_remove(dir);
}

int main(int argc, char **argv) {
  gr_log_open(GR_ERROR, 0, 1);
  return RUN(argc, argv, {"links", links}, {"removal", removal}, {"foreign_files", foreign_files},
             {"other_model", other_model}, {"two_runs", two_runs}, {"a_killed_run", a_killed_run},
             {"unlockable", unlockable}, {"large_scalars", large_scalars},
             {"large_plans", large_plans}, {"all_damaged", all_damaged}, {"unnamed", unnamed});
}
