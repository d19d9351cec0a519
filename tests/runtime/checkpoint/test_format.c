// test_format.c - checkpoints of format version 1 are read; frames that hardly compress are stored;
// the first of several damages is named, on any number of processors.
#include "base/hash.h"
#include "runtime/checkpoint/checkpoint.h"
#include "tests/runtime/checkpoint/scratch.h"

enum { BYTES = 5000000 };
static const char *old;  // a checkpoint that version 1 wrote: two frames of bytes i % 251, and more

static bool is_pattern(const unsigned char *bytes) {
  for (int i = 0; i < BYTES; i++)
    if (bytes[i] != i % 251) return false;
  return true;
}

static void version_1_is_read(void) {
  static unsigned char bytes[BYTES];
  gr_checkpoint *c;
  float w[12];
  double d[2];
  int64_t n = 0;
  gr_tensor_slice want[] = {gr_tensor_slice_whole("w", "f32", 2, (int64_t[]){4, 3}, w),
                            gr_tensor_slice_whole("d", "f64", 1, (int64_t[]){2}, d),
                            gr_tensor_slice_whole("n", "i64", 0, NULL, &n),
                            gr_tensor_slice_whole("bytes", "u8", 1, (int64_t[]){BYTES}, bytes)};
  MUST(gr_checkpoint_open(old, &c));
  MUST(gr_checkpoint_verify(c));
  MUST(gr_checkpoint_read_all(c, want, 4, true));
  CHECK(gr_checkpoint_step(c) == 3 && gr_checkpoint_scalar(c, "seed")->i == 5, "scalars");
  for (int i = 0; i < 12; i++) CHECK(w[i] == (float)i / 8, "w[%d] is %g", i, (double)w[i]);
  CHECK(d[0] == 1.0 / 3 && n == 77 && is_pattern(bytes), "other tensors");
  gr_checkpoint_close(c);
}

static gr_status verify(const char *folder) {
  gr_checkpoint *c;
  GR_TRY(gr_checkpoint_open(folder, &c));
  gr_status s = gr_checkpoint_verify(c);
  gr_checkpoint_close(c);
  return s;
}

// Each byte of each file of a copy.
static void version_1_is_checked(void) {
  static const char *const names[] = {"manifest.json", "rank-00000.safetensors.zst"};
  const char *dir = scratch_dir("version1");
  for (int f = 0; f < 2; f++) {
    char *source = scratch_join(old, names[f]), *target = scratch_join(dir, names[f]);
    char *other = scratch_join(old, names[!f]), *too = scratch_join(dir, names[!f]);
    size_t len, other_len;
    char *text = scratch_read(source, &len), *beside = scratch_read(other, &other_len);
    scratch_write(too, beside, other_len);
    for (size_t i = 0; i < len; i += 7) {
      text[i] ^= 0x20;
      scratch_write(target, text, len);
      text[i] ^= 0x20;
      gr_status s = verify(dir);
      CHECK(gr_status_code(s) == GR_ERR_CHECKPOINT, "byte %zu of %s is not checked", i, names[f]);
      gr_status_drop(s);
    }
    scratch_write(target, text, len);
    MUST(verify(dir));
    free(source), free(target), free(other), free(too), free(text), free(beside);
  }
  scratch_remove(dir);
}

// ---- Stored frames ------------------------------------------------------------------------------

// Numbers whose bytes are noise.
static void noise(uint32_t *to, int n) {
  uint64_t h = 1;
  for (int i = 0; i < n; i++) to[i] = (uint32_t)(h = gr_hash_quick(h, &i, sizeof i));
}

static int64_t saved_bytes(const char *dir, const void *data, int n, int level) {
  gr_tensor_slice t = gr_tensor_slice_whole("t", "i32", 1, (int64_t[]){n}, (void *)(uintptr_t)data);
  gr_saver_spec spec = {.dir = dir, .ranks = 1, .pieces = &t, .n_pieces = 1, .level = level};
  gr_saver *s;
  struct stat st;
  char place[600];
  MUST(gr_saver_open(&spec, &s));
  gr_status e = gr_saver_begin(s, 1, NULL, 0);
  MUST(gr_also(e, gr_saver_finish(s)));
  gr_saver_close(s);
  snprintf(place, sizeof place, "%s/step-00000001", dir);
  MUST(verify(place));
  snprintf(place, sizeof place, "%s/step-00000001/rank-00000.safetensors.zst", dir);
  return stat(place, &st) ? -1 : (int64_t)st.st_size;
}

static void noise_is_stored(void) {
  enum { N = (5 << 20) / 4 };
  static uint32_t data[N];
  const char *dir = scratch_dir("stored");
  noise(data, N);
  for (int i = 0; i < N; i++)
    data[i] = (data[i] & 0x03ffffff) | 0x30000000;  // packing saves a twelfth
  int64_t all = sizeof data;
  for (int level = 1; level <= 3; level++)
    CHECK(saved_bytes(dir, data, N, level) >= all, "level %d packs what saves a twelfth", level);
  CHECK(saved_bytes(dir, data, N, 4) < all - all / 20, "level 4 stores it");
  for (int i = 0; i < N; i++) data[i] &= 0x300fffff;
  CHECK(saved_bytes(dir, data, N, 1) < all - all / 8, "level 1 stores what saves a quarter");
  // One frame of each kind: each is judged by itself.
  memset(data, 0, (4 << 20));
  noise(data + (4 << 20) / 4, N - (4 << 20) / 4);
  int64_t mixed = saved_bytes(dir, data, N, 1);
  CHECK(mixed > (1 << 20) && mixed < (1 << 20) + 5000, "zeros and noise take %d bytes", (int)mixed);
  scratch_remove(dir);
}

// ---- Damage -------------------------------------------------------------------------------------

static void the_first_damage_is_named(void) {
  enum { TENSORS = 40, N = (1 << 20) };
  static float data[N];
  const char *dir = scratch_dir("first");
  char names[TENSORS][16], place[600];
  gr_tensor_slice all[TENSORS];
  for (int i = 0; i < TENSORS; i++) {
    snprintf(names[i], sizeof names[i], "t%02d", i);
    all[i] = gr_tensor_slice_whole(names[i], "f32", 1, (int64_t[]){i % 2 ? 100 : N}, data);
  }
  gr_saver_spec spec = {.dir = dir, .ranks = 1, .pieces = all, .n_pieces = TENSORS};
  gr_saver *s;
  MUST(gr_saver_open(&spec, &s));
  gr_status e = gr_saver_begin(s, 1, NULL, 0);
  MUST(gr_also(e, gr_saver_finish(s)));
  gr_saver_close(s);
  snprintf(place, sizeof place, "%s/step-00000001/rank-00000.safetensors.zst", dir);
  size_t len;
  char *text = scratch_read(place, &len);
  memset(text + len / 3, 0x55, len - len / 3);
  scratch_write(place, text, len);
  free(text);
  snprintf(place, sizeof place, "%s/step-00000001", dir);
  char first[300] = "";
  for (int i = 0; i < 20; i++) {
    gr_status bad = verify(place);
    CHECK(gr_status_code(bad) == GR_ERR_CHECKPOINT, "not found");
    if (!i) snprintf(first, sizeof first, "%s", gr_status_text(bad));
    CHECK(
        strstr(gr_status_text(bad), "damaged at tensor 't") && !strcmp(first, gr_status_text(bad)),
        "'%s', and then '%s'", first, gr_status_text(bad));
    gr_status_drop(bad);
  }
  scratch_remove(dir);
}

int main(int argc, char **argv) {
  old = argc > 1 ? argv[1] : "";
  return RUN(1, argv, {"version_1_is_read", version_1_is_read},
             {"version_1_is_checked", version_1_is_checked}, {"noise_is_stored", noise_is_stored},
             {"the_first_damage_is_named", the_first_damage_is_named});
}
