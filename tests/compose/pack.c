// pack.c - configurations as bytes: for other ranks, to be compared, and as a hash.
#include "compose/tree/pack.h"
#include <stdlib.h>
#include <string.h>
#include "compose/interp/interp.h"
#include "tests/compose/trees.h"

static bool same_place(gr_loc x, gr_loc y) {
  const char *a = x.file ? x.file : "", *b = y.file ? y.file : "";
  return x.line == y.line && x.col == y.col && !strcmp(a, b);
}

// What json() does not show.
static void is_alike(gr_arena *a, const gr_conf *x, const gr_conf *y) {
  const char *path = gr_conf_path(a, x);
  CHECK(x->kind == y->kind && x->key_kind == y->key_kind && x->n == y->n, "%s is another", path);
  CHECK(same_place(x->loc, y->loc), "the place of %s is lost", path);
  CHECK(same_place(x->key_loc, y->key_loc), "the place of the key of %s is lost", path);
  CHECK(x->is_default == y->is_default && x->read == y->read, "the flags of %s are lost", path);
  for (int i = 0; x->n == y->n && i < x->n; i++) is_alike(a, x->items[i], y->items[i]);
}

// Every value, key and place comes back; a part of the bytes, or more, is an error.
static void packed(void) {
  gr_arena *a = gr_arena_create();
  gr_conf *c = parse(
              a,
              "{a: [1, -2.5, .nan, true, ~, \"???\", \"\"], b: {1: x, true: \"${a}\", c: {}},\n"
              " d: [[], {e: \"long, with \\\" and \\n\"}]}"),
          *back;
  gr_conf_find(c, "d")->is_default = true;
  gr_conf_find(c, "a")->read = gr_conf_find(c, "b.c")->read = true;
  gr_text t = gr_text_make(a), again = gr_text_make(a);
  gr_conf_pack(&t, c);
  MUST(gr_conf_unpack(a, t.chars, t.len, &back));
  gr_conf_pack(&again, back);
  CHECK(t.len == again.len && !memcmp(t.chars, again.chars, t.len), "other bytes");
  SAME(json(a, back), json(a, c));
  is_alike(a, c, back);
  const gr_conf *e = gr_conf_find(back, "d[1].e"), *x, *y;
  CHECK(e && e->loc.line == 2 && !strcmp(e->loc.file, "test.yaml"), "the place is lost");
  CHECK(!gr_conf_differs(c, back, &x, &y), "'%s' differs", gr_conf_path(a, y));
  for (size_t n = 0; n < t.len; n++) expect(gr_conf_unpack(a, t.chars, n, &back), "cannot be read");
  gr_text_put(&t, "x");
  expect(gr_conf_unpack(a, t.chars, t.len, &back), "cannot be read");
  gr_arena_destroy(a);
}

// As deep as files may be; bytes that say more are no configuration.
static void depth(void) {
  for (int deep = 60; deep <= 70; deep += 10) {
    gr_arena *a = gr_arena_create();
    gr_conf *c = gr_conf_make(a, GR_CONF_LIST, GR_NOWHERE), *back;
    for (int i = 0; i < deep; i++) {
      gr_conf *outer = gr_conf_make(a, GR_CONF_LIST, GR_NOWHERE);
      gr_conf_append(a, outer, c);
      c = outer;
    }
    gr_text t = gr_text_make(a);
    gr_conf_pack(&t, c);
    gr_status s = gr_conf_unpack(a, t.chars, t.len, &back);
    if (deep < 65)
      MUST(s);
    else
      expect(s, "cannot be read");
    gr_arena_destroy(a);
  }
}

static void first_difference(void) {
  static const char *const pairs[][3] = {
      {"{a: 1, b: {c: 2, d: 3}}", "{b: {d: 4, c: 2}, a: 1}", "b.d"},
      {"{a: 1}", "{a: 1.0}", "a"},
      {"{a: [1, 2]}", "{a: [1]}", "a"},
      {"{a: [1]}", "{a: [1, 2]}", "a"},
      {"{a: []}", "{a: [1, 2]}", "a"},
      {"{a: 1}", "{a: 1, b: 2}", "b"},
      {"{a: 1, b: 2}", "{a: 1}", "b"},
      {"{a: {b: x}}", "{a: {b: y}}", "a.b"},
  };
  gr_arena *a = gr_arena_create();
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    const gr_conf *x = NULL, *y = NULL;
    bool differ = gr_conf_differs(parse(a, pairs[i][0]), parse(a, pairs[i][1]), &x, &y);
    CHECK(differ, "%s and %s are not told apart", pairs[i][0], pairs[i][1]);
    if (differ) SAME(gr_conf_path(a, x ? x : y), pairs[i][2]);
  }
  gr_arena_destroy(a);
}

// What is nested in another way, or has other values, has another hash.
static void hashes(void) {
  static const char *const texts[] = {"{a: [[1], 2]}",
                                      "{a: [[1, 2]]}",
                                      "{a: [1, 2]}",
                                      "{a: {b: 1}, c: 2}",
                                      "{a: {b: 1, c: 2}}",
                                      "{a: 1, b: \"${a}\"}",
                                      "{a: 1, b: \"${c}\", c: 2}",
                                      "{a: true}",
                                      "{a: \"true\"}",
                                      "{a: 1}",
                                      "{a: 1.0}"};
  enum { N = sizeof texts / sizeof *texts };
  gr_arena *a = gr_arena_create();
  uint64_t hash[N];
  for (int i = 0; i < N; i++) {
    hash[i] = gr_conf_hash(parse(a, texts[i]));
    CHECK(hash[i] == gr_conf_hash(parse(a, texts[i])), "%s has two hashes", texts[i]);
    for (int k = 0; k < i; k++) CHECK(hash[i] != hash[k], "%s and %s", texts[i], texts[k]);
  }
  gr_arena_destroy(a);
}

static gr_conf *resolve(gr_arena *a, const char *text) {
  gr_conf *c = parse(a, text);
  MUST(gr_conf_resolve(a, c, true));
  return c;
}

// An interpolation counts as its value; one of the environment or of the time as its text, so that
// a hash holds no secret and a run is itself a second later.
static void hashes_of_interpolations(void) {
  static const char one[] = "{a: 1, b: \"${a}\"}", two[] = "{a: 2, b: \"${a}\"}";
  static const char of_env[] = "{b: \"${oc.env:GRAPHRUN_TEST_PACK}\"}";
  gr_arena *a = gr_arena_create();
  const gr_conf *x, *y;
  uint64_t hash[2];
  CHECK(gr_conf_hash(gr_conf_find(resolve(a, one), "b")) !=
            gr_conf_hash(gr_conf_find(resolve(a, two), "b")),
        "two values have one hash");
  for (int i = 0; i < 2; i++) {
    setenv("GRAPHRUN_TEST_PACK", i ? "left" : "right", 1);
    hash[i] = gr_conf_hash(resolve(a, of_env));
  }
  CHECK(hash[0] == hash[1], "the hash depends on the environment");
  gr_conf *early = parse(a, "{b: 1}"), *late = parse(a, "{b: 2}");
  CHECK(gr_conf_differs(early, late, &x, &y), "1 and 2");
  gr_conf_find(early, "b")->raw = gr_conf_find(late, "b")->raw = "${now:%S}";
  CHECK(!gr_conf_differs(early, late, &x, &y), "ranks start at other seconds");
  CHECK(gr_conf_hash(early) == gr_conf_hash(late), "the hash depends on the time");
  gr_arena_destroy(a);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"packed", packed}, {"depth", depth},
             {"first_difference", first_difference}, {"hashes", hashes},
             {"hashes_of_interpolations", hashes_of_interpolations});
}
