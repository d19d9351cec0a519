// test_open.c - a checkpoint from outside: `ckpt list|show|verify`, and `zstd -d`.
#include "base/json.h"
#include "base/log.h"
#include "tests/runtime/checkpoint/tiny.h"

static char *printed(gr_checkpoint_view view, const char *path, gr_status *out) {
  char *text = NULL;
  size_t len;
  FILE *f = open_memstream(&text, &len);
  *out = gr_checkpoint_print(f, view, false, path);
  fclose(f);
  return text;
}

static void expect(gr_checkpoint_view view, const char *path, const char *says, gr_code code) {
  gr_status e;
  char *text = printed(view, path, &e);
  CHECK(gr_status_code(e) == code, "%s: %s", path, gr_status_text(e));
  CHECK(strstr(text, says) || (e && strstr(gr_status_text(e), says)), "no '%s' in: %s%s", says,
        text, gr_status_text(e));
  gr_status_drop(e);
  free(text);
}

static void flip(const char *path) {
  size_t len;
  char *text = scratch_read(path, &len);
  text[len - 3] ^= 4;
  scratch_write(path, text, len);
  free(text);
}

static void commands(void) {
  const char *dir = scratch_dir("commands");
  char one[300], file[400], tmp[300];
  gr_checkpoint *c;
  expect(GR_VIEW_LIST, "scratch-none", "there is no directory", GR_ERR_IO);
  expect(GR_VIEW_VERIFY, dir, "there is no checkpoint", GR_ERR_CHECKPOINT);
  MUST(gr_checkpoint_newest(dir, &c));
  CHECK(!c, "something from nothing");
  MUST(tiny_save(dir, 2, 5, 1, 9));
  MUST(tiny_save(dir, 1, 70, 2, 9));
  snprintf(one, sizeof one, "%s/step-00000070", dir);
  expect(GR_VIEW_LIST, dir, "          70  complete ", 0);
  expect(GR_VIEW_LIST, one, "          70  complete ", 0);
  expect(GR_VIEW_SHOW, dir, "step 70, written by 1 ranks", 0);
  expect(GR_VIEW_SHOW, one, "f32  [6, 5]", 0);
  expect(GR_VIEW_VERIFY, dir, "ok         ", 0);
  snprintf(tmp, sizeof tmp, "%s/.tmp-step-00000080", dir);
  mkdir(tmp, 0777);
  expect(GR_VIEW_LIST, dir, "incomplete", 0);
  expect(GR_VIEW_VERIFY, dir, "incomplete", 0);
  snprintf(file, sizeof file, "%s/rank-00000.safetensors.zst", one);
  flip(file);
  expect(GR_VIEW_VERIFY, dir, "DAMAGED    ", GR_ERR_CHECKPOINT);
  expect(GR_VIEW_VERIFY, one, "1 of 1 checkpoints", GR_ERR_CHECKPOINT);
  MUST(gr_checkpoint_newest(dir, &c));
  CHECK(c && gr_checkpoint_step(c) == 5, "the newest that verifies is step 5");
  gr_checkpoint_close(c);
  snprintf(file, sizeof file, "%s/manifest.json", one);
  flip(file);
  expect(GR_VIEW_LIST, dir, "damaged", 0);
  expect(GR_VIEW_SHOW, dir, "step 5, written by 2 ranks", 0);
  scratch_remove(dir);
}

static const gr_json *entry(const gr_json *root, const char *name) {
  const gr_json *e = gr_json_get(root, name, GR_JSON_OBJECT);
  CHECK(e, "no tensor '%s'", name);
  return gr_json_get(e, "data_offsets", GR_JSON_ARRAY);
}

// What `zstd -d` makes of rank 1's file: a safetensors file that holds its slice of 'a'.
static void safetensors(void) {
  const char *dir = scratch_dir("safetensors");
  char command[512], buf[4096] = {0};
  gr_arena *a = gr_arena_create();
  const gr_json *root;
  gr_json_error why;
  tiny want;
  MUST(tiny_save(dir, 2, 5, 1, 9));
  snprintf(command, sizeof command, "zstd -dcq %s/step-00000005/rank-00001.safetensors.zst", dir);
  FILE *p = popen(command, "r");
  size_t len = fread(buf, 1, sizeof buf - 1, p), head = 0;
  bool none = pclose(p) && !len;
  scratch_remove(dir);
  if (none) SKIP("no zstd command");
  for (int i = 7; i >= 0; i--) head = head << 8 | (unsigned char)buf[i];
  CHECK(head % 8 == 0 && head + 8 < len, "header of %zu bytes in %zu", head, len);
  char *text = gr_arena_strndup(a, buf + 8, head);
  CHECK(gr_json_read(a, text, head, &root, &why), "%s", why.why);
  const gr_json *piece = entry(root, "a@3,0");
  tiny_fill(&want, 1);
  CHECK(piece && piece->first->i == 0 && piece->first->next->i == 60 && len == head + 8 + 60,
        "offsets");
  CHECK(!memcmp(buf + 8 + head, want.a + 15, 60), "data");
  gr_arena_destroy(a);
}

// -- Ranks that do not agree -------------------------------------------------------------

static gr_status dead(void *ctx, bool ok, bool *all) {
  (void)ok;
  *all = true;
  return --*(int *)ctx < 0 ? gr_fail(GR_ERR_RANK, GR_NOWHERE, "rank 1 died") : GR_OK;
}

// A rank that dies at the first, second or third agreement: its error comes through, older
// checkpoints stay, and the next run cleans up.
static void rank_dies(void) {
  const char *dir = scratch_dir("dies");
  MUST(tiny_save(dir, 1, 1, 1, 9));
  for (int agrees = 0; agrees < 3; agrees++) {
    int left = agrees;
    tiny t;
    gr_tensor_slice pieces[3];
    gr_saver *s = NULL;
    tiny_fill(&t, 2);
    gr_saver_spec spec = {.dir = dir,
                          .ranks = 1,
                          .pieces = pieces,
                          .keep_last = 1,
                          .agree = dead,
                          .ctx = &left,
                          .n_pieces = tiny_pieces(&t, 0, 1, pieces)};
    gr_status e = gr_saver_open(&spec, &s);
    CHECK((e != GR_OK) == (agrees == 0), "open");
    if (!e) MUST(gr_saver_begin(s, 2, NULL, 0));
    if (!e) e = gr_saver_finish(s);
    CHECK(gr_status_code(e) == GR_ERR_RANK, "%s", gr_status_text(e));
    gr_status_drop(e);
    gr_saver_close(s);
    CHECK(tiny_seed_at(dir, 1) == 1, "step 1 is gone");
  }
  MUST(tiny_save(dir, 1, 3, 3, 9));
  CHECK(tiny_seed_at(dir, 3) == 3, "step 3");
  scratch_remove(dir);
}

static gr_status other_fails(void *ctx, bool ok, bool *all) {
  *all = ++*(int *)ctx < 2 && ok;  // the first is that all ranks can save
  return GR_OK;
}

// Another rank cannot write: rank 0 removes what it has written itself.
static void rank_fails(void) {
  const char *dir = scratch_dir("fails");
  int agrees = 0, left = 0;
  tiny t;
  gr_tensor_slice pieces[3];
  gr_saver *s;
  tiny_fill(&t, 2);
  gr_saver_spec spec = {.dir = dir,
                        .ranks = 1,
                        .pieces = pieces,
                        .keep_last = 1,
                        .agree = other_fails,
                        .ctx = &agrees,
                        .n_pieces = tiny_pieces(&t, 0, 1, pieces)};
  MUST(gr_saver_open(&spec, &s));
  MUST(gr_saver_begin(s, 2, NULL, 0));
  gr_status e = gr_saver_finish(s);
  CHECK(gr_status_code(e) == GR_ERR_IO, "%s", gr_status_text(e));
  gr_status_drop(e);
  DIR *d = opendir(dir);
  for (struct dirent *f; d && (f = readdir(d));) left += strstr(f->d_name, "step-") != NULL;
  if (d) closedir(d);
  CHECK(d && !left, "%d folders are left", left);
  gr_saver_close(s);
  scratch_remove(dir);
}

// The error of the other rank is the cause, whatever it is, such as that a signal has stopped it.
static void rank_cannot_open(void) {
  const char *dir = scratch_dir("cannot");
  int agrees = 1;
  gr_saver *s;
  gr_saver_spec spec = {
      .dir = dir, .ranks = 1, .keep_last = 1, .agree = other_fails, .ctx = &agrees};
  gr_status e = gr_saver_open(&spec, &s);
  CHECK(gr_status_code(e) == GR_ERR_RANK, "%s", gr_status_text(e));
  gr_status_drop(e);
  scratch_remove(dir);
}

static void misuse(void) {
  const char *dir = scratch_dir("misuse");
  gr_saver *s;
  gr_saver_spec spec = {.dir = dir, .ranks = 1, .keep_last = 1};
  gr_scalar twice[] = {{"a", GR_SCALAR_INT}, {"a", GR_SCALAR_INT}};
  gr_scalar latin[] = {{"t", GR_SCALAR_TEXT, .text = "\xe9"}};
  MUST(gr_saver_open(&spec, &s));
  MUST(gr_saver_finish(s));  // nothing was begun
  CHECK(!gr_saver_last(s), "there is none yet");
  const gr_scalar *bad[] = {twice, latin};
  for (int i = 0; i < 2; i++) {
    MUST(gr_saver_begin(s, 1, bad[i], 2 - i));
    gr_status e = gr_saver_finish(s);
    CHECK(gr_status_code(e) == GR_ERR_IO && strstr(gr_status_text(e), "is not UTF-8"), "%s",
          gr_status_text(e));
    gr_status_drop(e);
  }
  MUST(gr_saver_begin(s, 1, twice, 1));
  gr_status e = gr_saver_begin(s, 2, NULL, 0);
  CHECK(gr_status_code(e) == GR_ERR_BUG, "two at a time");
  gr_status_drop(e);
  MUST(gr_saver_finish(s));
  CHECK(gr_saver_last(s) && strstr(gr_saver_last(s), "step-00000001"), "last");
  MUST(gr_saver_begin(s, 2, NULL, 0));
  gr_saver_close(s);  // abandons it
  CHECK(tiny_seed_at(dir, 2) == -1, "an abandoned save is there");
  scratch_remove(dir);
}

int main(int argc, char **argv) {
  gr_log_open(GR_ERROR, 0, 1);
  return RUN(argc, argv, {"commands", commands}, {"safetensors", safetensors},
             {"rank_dies", rank_dies}, {"rank_fails", rank_fails},
             {"rank_cannot_open", rank_cannot_open}, {"misuse", misuse});
}
