// test_damage.c - no byte of a checkpoint changes unnoticed, and nothing hostile crashes.
#include "base/hash.h"
#include "base/log.h"
#include "base/rng.h"
#include "runtime/checkpoint/index.h"
#include "tests/runtime/checkpoint/tiny.h"

static const char *const files[] = {"manifest.json", "rank-00000.safetensors.zst",
                                    "rank-00001.safetensors.zst"};
enum { FILES = 3 };

static char *path_of(const char *dir, const char *file) {
  static char path[512];
  snprintf(path, sizeof path, "%s/step-00000007/%s", dir, file);
  return path;
}

static gr_status verify(const char *dir) {
  gr_checkpoint *c;
  char path[300];
  snprintf(path, sizeof path, "%s/step-00000007", dir);
  GR_TRY(gr_checkpoint_open(path, &c));
  gr_status e = gr_checkpoint_verify(c);
  gr_checkpoint_close(c);
  return e;
}

// Verifies with the file's text replaced; the error must name the file.
static void expect_bad(const char *dir, int file, const char *text, size_t len, const char *what,
                       size_t offset) {
  scratch_write(path_of(dir, files[file]), text, len);
  gr_status e = verify(dir);
  CHECK(gr_status_code(e) == GR_ERR_CHECKPOINT, "%s: %s at %zu is not noticed", files[file], what,
        offset);
  CHECK(e && strstr(gr_status_text(e), files[file]), "the file is not in: %s", gr_status_text(e));
  gr_status_drop(e);
}

static void flips_of(const char *dir, int file) {
  size_t len;
  char *text = scratch_read(path_of(dir, files[file]), &len);
  CHECK(len > 100, "%s is not there", files[file]);
  for (size_t i = 0; i < len; i++) {
    char original = text[i];
    for (int k = 0; k < 3; k++) {  // one bit, all bits, another byte
      text[i] = (char)(k == 0 ? original ^ (1 << i % 8) : k == 1 ? ~original : original + 1);
      expect_bad(dir, file, text, len, "a changed byte", i);
    }
    text[i] = original;
  }
  scratch_write(path_of(dir, files[file]), text, len);
  MUST(verify(dir));
  free(text);
}

static void flips(void) {
  const char *dir = scratch_dir("flips");
  MUST(tiny_save(dir, 2, 7, 1, 5));
  for (int f = 0; f < FILES; f++) flips_of(dir, f);
  scratch_remove(dir);
}

static void lengths(void) {
  const char *dir = scratch_dir("lengths");
  MUST(tiny_save(dir, 2, 7, 1, 5));
  for (int f = 0; f < FILES; f++) {
    size_t len;
    char *text = scratch_read(path_of(dir, files[f]), &len);
    for (size_t n = 0; n < len; n++) expect_bad(dir, f, text, n, "the end", n);
    expect_bad(dir, f, text, len + 1, "one byte more", len);  // the NUL after it
    scratch_write(path_of(dir, files[f]), text, len);
    free(text);
  }
  MUST(verify(dir));
  scratch_remove(dir);
}

static void tensor_is_named(void) {
  const char *dir = scratch_dir("named");
  size_t len;
  MUST(tiny_save(dir, 2, 7, 1, 5));
  char *text = scratch_read(path_of(dir, files[1]), &len);
  text[len - 8] ^= 1;  // in the last piece of rank 0: elements of 4 bytes come last
  scratch_write(path_of(dir, files[1]), text, len);
  gr_status e = verify(dir);
  CHECK(e && strstr(gr_status_text(e), "rank-00000.safetensors.zst' is damaged at tensor 'a'"),
        "%s", gr_status_text(e));
  CHECK(strstr(gr_status_hint(e), "--which=last"), "%s", gr_status_hint(e));
  gr_status_drop(e);
  free(text);
  scratch_remove(dir);
}

static void files_exchanged(void) {
  const char *dir = scratch_dir("exchanged");
  char other[300];
  MUST(tiny_save(dir, 2, 7, 1, 5));
  snprintf(other, sizeof other, "%s/kept", dir);
  for (int f = 0; f < FILES; f++) {
    rename(path_of(dir, files[f]), other);
    gr_status e = verify(dir);
    CHECK(gr_status_code(e) == GR_ERR_CHECKPOINT && strstr(gr_status_text(e), files[f]), "%s",
          gr_status_text(e));
    gr_status_drop(e);
    rename(other, path_of(dir, files[f]));
  }
  size_t len;
  char *text = scratch_read(path_of(dir, files[1]), &len);
  MUST(tiny_save(dir, 2, 7, 2, 5));  // of another run: same sizes, other numbers
  expect_bad(dir, 1, text, len, "another run's file", 0);
  free(text);
  scratch_remove(dir);
}

// -- Manifests whose hash is right -------------------------------------------------------

static const char *const tail = "\"check\": \"";

// Puts the right hash at the end of a text that has a "check".
static bool sign(char *text) {
  char *check = NULL, hex[17];
  for (char *p = text; (p = strstr(p, tail)); p++) check = p;
  if (!check || strlen(check) < 10 + 16) return false;
  check += 10;
  snprintf(hex, sizeof hex, "%016llx",
           (unsigned long long)gr_hash_bytes(GR_HASH_START, text, (size_t)(check - text)));
  memcpy(check, hex, 16);
  return true;
}

static char *replace(const char *text, const char *old, const char *new) {
  const char *found = strstr(text, old);
  if (!found) return NULL;
  char *out = malloc(strlen(text) + strlen(new) + 1);
  sprintf(out, "%.*s%s%s", (int)(found - text), text, new, found + strlen(old));
  return out;
}

static void edited_manifests(void) {
  static const struct {
    const char *old, *new, *says;
  } edits[] = {
      {"\"version\": 2", "\"version\": 3",
       "has format version 3; this graphrun reads versions 1 to 2"},
      {"\"version\": 2", "\"version\": 0",
       "has format version 0; this graphrun reads versions 1 to 2"},
      {"graphrun checkpoint", "something else", "its format is another one"},
      {"\"step\": 7", "\"step\": -7", "its step"},
      {"\"ranks\": 2", "\"ranks\": 0", "number of ranks"},
      {"\"shape\": [6, 5]", "\"shape\": [6, 6]", "slices of tensor 'a' hold"},
      {"\"shape\": [6, 5]", "\"shape\": [6, 5, 1]", "a slice's"},
      {"\"shape\": [6, 5]", "\"shape\": [9223372036854775807, 5]", "an invalid shape"},
      {"\"offset\": [3, 0]", "\"offset\": [2, 0]", "two slices of tensor 'a' overlap"},
      {"\"offset\": [3, 0]", "\"offset\": [4, 0]", "exceeds it in dimension 0"},
      {"\"size\": [3, 5]", "\"size\": [3, 4]", "slices of tensor 'a' hold"},
      {"\"dtype\": \"f32\"", "\"dtype\": \"f31\"", "slice"},
      {"\"file\": 1", "\"file\": 2", "a slice's file"},
      {"\"file\": 1", "\"file\": 0", "have gaps or do not end"},
      {"\"name\": \"a\"", "\"name\": \"b\"", "disagree"},
      {"\"name\": \"a\"", "\"name\": \"\"", "1 to 512 bytes"},
      {"\"name\": \"rank-00000", "\"name\": \"../rank-00000", "a file's name"},
      {"\"frames\": [[", "\"frames\": [[1, \"0000000000000000\"], [", "frames"},
      {"\"scalars\": {", "\"scalars\": [", "manifest.json' line"},
      {"\"seed\": 1", "\"seed\": null", "neither a number nor text"},
      {"\"seed\": 1", "\"seed\": 1, \"seed\": 1", "does not have yet"},
      {"\"tensors\": [", "\"tensors\": [1, ", "shape or slices are wrong"},
  };
  const char *dir = scratch_dir("edited");
  size_t len;
  MUST(tiny_save(dir, 2, 7, 1, 5));
  char *text = scratch_read(path_of(dir, files[0]), &len);
  for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
    char *edited = replace(text, edits[i].old, edits[i].new);
    CHECK(edited && sign(edited), "nothing to edit: %s", edits[i].old);
    scratch_write(path_of(dir, files[0]), edited, strlen(edited));
    gr_status e = verify(dir);
    CHECK(gr_status_code(e) == GR_ERR_CHECKPOINT, "%s is taken", edits[i].new);
    CHECK(e && strstr(gr_status_text(e), edits[i].says), "%s: %s", edits[i].new, gr_status_text(e));
    gr_status_drop(e);
    free(edited);
  }
  free(text);
  scratch_remove(dir);
}

// A tensor's own hash, where those of its frames are right.
static void tensor_hash(void) {
  const char *dir = scratch_dir("hash");
  size_t len;
  MUST(tiny_save(dir, 2, 7, 1, 5));
  char *text = scratch_read(path_of(dir, files[0]), &len);
  char *digit = strstr(strstr(text, "\"name\": \"b\""), "\"hash\": \"") + 9;
  *digit = *digit == '0' ? '1' : '0';
  CHECK(sign(text), "nothing to sign");
  scratch_write(path_of(dir, files[0]), text, len);
  gr_status e = verify(dir);
  CHECK(e && strstr(gr_status_text(e), "at tensor 'b': its data do not match the hash"), "%s",
        gr_status_text(e));
  gr_status_drop(e);
  free(text);
  scratch_remove(dir);
}

static void mutate(const gr_rng *rng, uint64_t *counter, char *text, size_t len) {
  static const char *const pieces[] = {
      "[", "]", "{",     "}", ",",    "\"",  "-",  "9",
      "0", "e", "1e999", ":", "null", "\\u", "[]", "99999999999999999999"};
  int n = 1 + (int)gr_rng_below(rng, (*counter)++, 3);
  for (; n-- > 0; ++*counter) {
    const char *p = pieces[gr_rng_below(rng, *counter + 1000000, 16)];
    size_t k = gr_rng_below(rng, *counter, len - 80), size = strlen(p);
    memcpy(text + k, p, size);
  }
}

// 20,000 manifests with up to three wrong spots each and a right hash: refused or read, and then
// verified or not, but never a crash (the sanitisers watch).
static void mutations(void) {
  const char *dir = scratch_dir("mutations");
  gr_rng rng = gr_rng_make(1, "mutations", 0);
  size_t len;
  uint64_t counter = 0;
  int refused = 0;
  MUST(tiny_save(dir, 2, 7, 1, 5));
  char *text = scratch_read(path_of(dir, files[0]), &len), *copy = malloc(len + 1);
  for (int i = 0; i < 20000; i++) {
    gr_arena *a = gr_arena_create();
    gr_index index;
    memcpy(copy, text, len + 1);
    mutate(&rng, &counter, copy, len);
    sign(copy);
    gr_status e = gr_index_parse(a, "m", copy, len, &index);
    if (!e) e = gr_index_covers(&index);
    refused += e != GR_OK;
    CHECK(!e || gr_status_code(e) == GR_ERR_CHECKPOINT, "%s", gr_status_text(e));
    gr_status_drop(e);
    gr_arena_destroy(a);
  }
  CHECK(refused > 10000, "only %d are refused", refused);
  free(text), free(copy);
  scratch_remove(dir);
}

int main(int argc, char **argv) {
  gr_log_open(GR_ERROR, 0, 1);
  return RUN(argc, argv, {"flips", flips}, {"lengths", lengths},
             {"tensor_is_named", tensor_is_named}, {"files_exchanged", files_exchanged},
             {"edited_manifests", edited_manifests}, {"tensor_hash", tensor_hash},
             {"mutations", mutations});
}
