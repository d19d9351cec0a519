// test_save.c - what is saved is what is read, on any number of ranks and in any slices.
#include <math.h>
#include "base/arena.h"
#include "base/rng.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/disk.h"
#include "tests/runtime/checkpoint/scratch.h"

enum { TENSORS = 6, MAX_RANKS = 5 };
static const struct {
  const char *name, *dtype;
  int rank;
  int64_t dims[3];
  int bytes;
} tensors[TENSORS] = {{"enc.weight", "f32", 2, {37, 19}, 4},
                      {"enc.bias", "f64", 1, {7}, 8},
                      {"step", "i64", 0, {0}, 8},
                      {"half", "bf16", 3, {5, 3, 11}, 2},
                      {"big", "f32", 2, {3000, 1100}, 4},
                      {"none", "f32", 2, {0, 4}, 4}};

static int64_t count(int t) {
  int64_t n = 1;
  for (int d = 0; d < tensors[t].rank; d++) n *= tensors[t].dims[d];
  return n;
}

// The bytes of a whole tensor: noise for some, so that frames do not shrink, runs for others.
static unsigned char *make(int t, uint64_t seed) {
  int64_t blocks = (count(t) * tensors[t].bytes + 15) / 16;  // of four words
  uint32_t *words = malloc((size_t)blocks * 16 + 16);
  gr_rng rng = gr_rng_make(seed, tensors[t].name, 0);
  if (!words) abort();
  gr_rng_blocks(&rng, 0, blocks, words);
  for (int64_t i = 0; t == 4 && i < 4 * blocks; i++) words[i] = (uint32_t)(i / 750);
  return (unsigned char *)words;
}

// Rank r's share of dimension d: the first ranks have one more where it does not divide.
static void share(int64_t n, int r, int ranks, int64_t *offset, int64_t *size) {
  *offset = n * r / ranks;
  *size = n * (r + 1) / ranks - *offset;
}

// Copies the slice out of (or, if back, into) the whole.
static void slice(const gr_tensor_slice *p, int bytes, unsigned char *whole, bool back) {
  int64_t s[3] = {1, 1, 1}, d3[3] = {1, 1, 1}, o[3] = {0};
  for (int d = 0; d < p->rank; d++) {
    int k = 3 - p->rank + d;
    s[k] = p->size[d], d3[k] = p->dims[d], o[k] = p->offset[d];
  }
  unsigned char *in = p->data;
  for (int64_t i = 0; i < s[0] * s[1]; i++, in += s[2] * bytes) {
    int64_t w = ((i / s[1] + o[0]) * d3[1] + i % s[1] + o[1]) * d3[2] + o[2];
    unsigned char *out = whole + w * bytes;
    memcpy(back ? out : in, back ? in : out, (size_t)(s[2] * bytes));
  }
}

// The pieces that rank r of `ranks` holds: split along `dim`, replicated where there is none.
static int layout(int r, int ranks, int dim, gr_tensor_slice *out, bool replicas) {
  int n = 0;
  for (int t = 0; t < TENSORS; t++) {
    gr_tensor_slice p = gr_tensor_slice_whole(tensors[t].name, tensors[t].dtype, tensors[t].rank,
                                              tensors[t].dims, NULL);
    if (dim < p.rank)
      share(p.dims[dim], r, ranks, &p.offset[dim], &p.size[dim]);
    else if (r && !replicas)
      continue;
    p.data = calloc(1, (size_t)gr_tensor_slice_bytes(&p) + 1);
    out[n++] = p;
  }
  return n;
}

static int number(const char *name) {
  int t = 0;
  while (strcmp(tensors[t].name, name)) t++;
  return t;
}

typedef enum writing { APART, FETCHED, WITHIN, FETCHED_WITHIN, WAYS } writing;

typedef struct job {
  const char *dir;
  int rank, ranks, dim;
  uint64_t seed;
  int64_t step;
  scratch_vote *vote;
  writing how;
  gr_status failed;
} job;

// As a device would, whose memory the host does not see.
static gr_status fetch(void *vote, const gr_tensor_slice *s, void *to) {
  (void)vote;
  memcpy(to, s->data, (size_t)gr_tensor_slice_bytes(s));
  return GR_OK;
}

static gr_status save_rank(job *j, gr_tensor_slice *pieces) {
  int n = layout(j->rank, j->ranks, j->dim, pieces, false);
  gr_saver_spec spec = {.dir = j->dir,
                        .rank = j->rank,
                        .ranks = j->ranks,
                        .pieces = pieces,
                        .n_pieces = n,
                        .keep_last = 3,
                        .fetch = j->how == FETCHED || j->how == FETCHED_WITHIN ? fetch : NULL,
                        .in_place = j->how >= WITHIN,
                        .agree = scratch_agree,
                        .ctx = j->vote};
  gr_saver *s;
  for (int i = 0; i < n; i++) {
    unsigned char *whole = make(number(pieces[i].name), j->seed);
    slice(&pieces[i], tensors[number(pieces[i].name)].bytes, whole, false);
    free(whole);
  }
  GR_TRY(gr_saver_open(&spec, &s));
  gr_scalar scalars[] = {{"epoch", GR_SCALAR_INT, .i = -7},
                         {"best", GR_SCALAR_FLOAT, .f = 0.1},
                         {"nan", GR_SCALAR_FLOAT, .f = (double)NAN},
                         {"tiny", GR_SCALAR_FLOAT, .f = 5e-324},
                         {"hooks", GR_SCALAR_TEXT, .text = "{\"a\": \"\xc3\xa9\n\"}"}};
  gr_status e = gr_saver_begin(s, j->step, scalars, 5);
  for (int i = 0; i < n; i++)
    memset(pieces[i].data, 0xee, (size_t)gr_tensor_slice_bytes(&pieces[i]));
  e = gr_also(e, gr_saver_finish(s));
  gr_saver_close(s);
  return e;
}

static void *save_thread(void *arg) {
  job *j = arg;
  gr_tensor_slice pieces[TENSORS] = {{0}};
  j->failed = save_rank(j, pieces);
  for (int i = 0; i < TENSORS; i++) free(pieces[i].data);
  return NULL;
}

static void save_by(writing how, const char *dir, int ranks, int dim, uint64_t seed, int64_t step) {
  scratch_vote vote;
  pthread_t threads[MAX_RANKS];
  job jobs[MAX_RANKS];
  scratch_vote_open(&vote, (unsigned)ranks);
  for (int r = 0; r < ranks; r++) {
    jobs[r] = (job){dir, r, ranks, dim, seed, step, &vote, how, GR_OK};
    pthread_create(&threads[r], NULL, save_thread, &jobs[r]);
  }
  for (int r = 0; r < ranks; r++) pthread_join(threads[r], NULL);
  for (int r = 0; r < ranks; r++) MUST(jobs[r].failed);
}

static void save(const char *dir, int ranks, int dim, uint64_t seed, int64_t step) {
  save_by(APART, dir, ranks, dim, seed, step);
}

// Reads as `ranks` ranks split along dim would, and compares.
static void compare(gr_checkpoint *c, int ranks, int dim, uint64_t seed) {
  for (int r = 0; r < ranks; r++) {
    gr_tensor_slice want[TENSORS] = {{0}};
    int n = layout(r, ranks, dim, want, true);
    MUST(gr_checkpoint_read_all(c, want, n, true));
    for (int i = 0; i < n; i++) {
      int t = number(want[i].name);
      unsigned char *whole = make(t, seed), *same = make(t, seed);
      slice(&want[i], tensors[t].bytes, whole, true);
      CHECK(!memcmp(whole, same, (size_t)(count(t) * tensors[t].bytes)),
            "%s on rank %d of %d along %d", want[i].name, r, ranks, dim);
      free(whole), free(same), free(want[i].data);
    }
  }
}

static void layouts(void) {
  const char *dir = scratch_dir("layouts");
  for (int ranks = 1; ranks <= MAX_RANKS; ranks += 2)
    for (int dim = 0; dim < 3; dim++) {
      gr_checkpoint *c;
      save(dir, ranks, dim, 10 + (uint64_t)ranks, 1000 * ranks + dim);
      MUST(gr_checkpoint_newest(dir, &c));
      CHECK(c && gr_checkpoint_step(c) == 1000 * ranks + dim, "the newest is another");
      CHECK(gr_checkpoint_ranks(c) == ranks, "%d ranks", gr_checkpoint_ranks(c));
      compare(c, 1, 0, 10 + (uint64_t)ranks);
      compare(c, 2, 0, 10 + (uint64_t)ranks);
      compare(c, 4, 1, 10 + (uint64_t)ranks);
      gr_checkpoint_close(c);
    }
  scratch_remove(dir);
}

static void scalars(void) {
  const char *dir = scratch_dir("scalars");
  gr_checkpoint *c;
  int n;
  save(dir, 2, 0, 1, 5);
  MUST(gr_checkpoint_newest(dir, &c));
  const gr_scalar *s = gr_checkpoint_scalars(c, &n);
  CHECK(n == 5 && !strcmp(s[0].name, "epoch") && s[0].i == -7, "order or value");
  CHECK(s[0].kind == GR_SCALAR_INT && s[1].kind == GR_SCALAR_FLOAT, "kinds");
  CHECK(gr_checkpoint_scalar(c, "best")->f == 0.1, "0.1");
  CHECK(isnan(gr_checkpoint_scalar(c, "nan")->f), "NaN");
  CHECK(gr_checkpoint_scalar(c, "tiny")->f == 5e-324, "denormal");
  CHECK(!strcmp(gr_checkpoint_scalar(c, "hooks")->text, "{\"a\": \"\xc3\xa9\n\"}"), "text");
  CHECK(!gr_checkpoint_scalar(c, "absent"), "absent");
  gr_checkpoint_close(c);
  scratch_remove(dir);
}

// The same command leaves the same bytes, whichever way they are written.
static void same_bytes(void) {
  const char *dir = scratch_dir("bytes");
  char *text[WAYS + 1][3];
  size_t len[WAYS + 1][3];
  static const char *const names[] = {"manifest.json", "rank-00000.safetensors.zst",
                                      "rank-00001.safetensors.zst"};
  for (int run = 0; run <= WAYS; run++) {
    save_by((writing)(run % WAYS), dir, 2, 0, 3, 40);
    for (int i = 0; i < 3; i++) {
      char path[512];
      snprintf(path, sizeof path, "%s/step-00000040/%s", dir, names[i]);
      text[run][i] = scratch_read(path, &len[run][i]);
    }
  }
  for (int i = 0; i < 3; i++) {
    for (int run = 1; run <= WAYS; run++) {
      CHECK(len[0][i] && len[0][i] == len[run][i] && !memcmp(text[0][i], text[run][i], len[0][i]),
            "%s differs, run %d", names[i], run);
      free(text[run][i]);
    }
    // RFC 8878, 3.1.1.1.1: bit 2 of the byte behind the magic number is Content_Checksum_flag.
    CHECK(!i || (len[0][i] > 4 && text[0][i][4] & 4), "%s has no checksums", names[i]);
    free(text[0][i]);
  }
  scratch_remove(dir);
}

// What a saver holds: a copy of all tensors, of the largest one, or none.
static void copies(void) {
  const char *dir = scratch_dir("copies");
  static float w[3000];
  const gr_tensor_slice pieces[] = {
      gr_tensor_slice_whole("v", "f32", 1, (int64_t[]){1000}, w),
      gr_tensor_slice_whole("w", "f32", 1, (int64_t[]){2000}, w + 1000)};
  static const size_t copied[WAYS] = {12000, 12000, 0, 8000};
  size_t bytes[WAYS];
  for (int how = 0; how < WAYS; how++) {
    gr_saver_spec spec = {.dir = dir,
                          .ranks = 1,
                          .pieces = pieces,
                          .n_pieces = 2,
                          .keep_last = 1,
                          .fetch = how == FETCHED || how == FETCHED_WITHIN ? fetch : NULL,
                          .in_place = how >= WITHIN};
    gr_saver *s;
    MUST(gr_saver_open(&spec, &s));
    bytes[how] = gr_saver_bytes(s);
    gr_saver_close(s);
    CHECK(bytes[how] - copied[how] == bytes[0] - copied[0], "way %d: %zu bytes", how, bytes[how]);
  }
  scratch_remove(dir);
}

static void not_fitting(void) {
  const char *dir = scratch_dir("fit");
  gr_checkpoint *c;
  static float out[38 * 20];  // room for what must not be read, too
  save(dir, 2, 0, 1, 5);
  MUST(gr_checkpoint_newest(dir, &c));
  static const struct {
    const char *name, *dtype;
    int rank;
    int64_t dims[3];
    const char *says;
  } wrong[] = {{"enc.weight", "f32", 2, {37, 20}, "f32[37, 20] here and f32[37, 19]"},
               {"enc.weight", "f32", 2, {37, 18}, "f32[37, 18] here and f32[37, 19]"},
               {"enc.weight", "f32", 2, {38, 19}, "f32[38, 19] here and f32[37, 19]"},
               {"enc.weight", "f32", 2, {36, 19}, "f32[36, 19] here and f32[37, 19]"},
               {"enc.weight", "f32", 1, {37}, "f32[37] here and f32[37, 19]"},
               {"enc.weight", "f32", 3, {37, 19, 1}, "f32[37, 19, 1] here and f32[37, 19]"},
               {"enc.weight", "bf16", 2, {37, 19}, "bf16[37, 19] here and f32[37, 19]"},
               {"enc.wieght", "f32", 2, {37, 19}, "no tensor 'enc.wieght'"}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    gr_tensor_slice want =
        gr_tensor_slice_whole(wrong[i].name, wrong[i].dtype, wrong[i].rank, wrong[i].dims, out);
    gr_status e = gr_checkpoint_read(c, &want);
    CHECK(gr_status_code(e) == GR_ERR_CHECKPOINT && strstr(gr_status_text(e), wrong[i].says), "%s",
          gr_status_text(e));
    CHECK(gr_status_hint(e), "no hint");
    gr_status_drop(e);
  }
  int64_t one[1] = {7};
  gr_tensor_slice bias = gr_tensor_slice_whole("enc.bias", "f64", 1, one, out);
  gr_status e = gr_checkpoint_read_all(c, &bias, 1, true);
  CHECK(e && strstr(gr_status_text(e), "a tensor 'enc.weight' that the model does not have"), "%s",
        gr_status_text(e));
  gr_status_drop(e);
  MUST(gr_checkpoint_read_all(c, &bias, 1, false));
  gr_checkpoint_close(c);
  scratch_remove(dir);
}

// Nine rows or columns, from each place: where they begin before the tensor or end behind it, they
// are refused.
static void slices_outside(void) {
  const char *dir = scratch_dir("outside");
  gr_checkpoint *c;
  static float out[37 * 19];
  save(dir, 2, 0, 1, 5);
  MUST(gr_checkpoint_newest(dir, &c));
  for (int d = 0; d < 2; d++)
    for (int64_t first = -1; first < 40; first++) {
      gr_tensor_slice want =
          gr_tensor_slice_whole("enc.weight", "f32", 2, (int64_t[]){37, 19}, out);
      want.offset[d] = first, want.size[d] = 9;
      gr_status e = gr_checkpoint_read(c, &want);
      bool inside = first >= 0 && first + 9 <= want.dims[d];
      CHECK(inside ? !e : e && gr_status_code(e) == GR_ERR_BUG, "9 from %lld of dimension %d: %s",
            (long long)first, d, e ? gr_status_text(e) : "read");
      gr_status_drop(e);
    }
  gr_checkpoint_close(c);
  scratch_remove(dir);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"layouts", layouts}, {"scalars", scalars}, {"same_bytes", same_bytes},
             {"copies", copies}, {"not_fitting", not_fitting}, {"slices_outside", slices_outside});
}
