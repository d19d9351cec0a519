// trees.h - what tests of configurations share: a tree of a text, its JSON, and expected errors.
#pragma once
#include <stdlib.h>
#include <string.h>
#include "compose/tree/conf.h"
#include "tests/check.h"

// The tree of a document, in the arena; the test fails where it is none.
static inline gr_conf *parse(gr_arena *a, const char *text) {
  gr_conf *c = NULL;
  MUST(gr_conf_parse(a, "test.yaml", text, &c));
  return c;
}

// A tree as JSON on one line, in the arena.
static inline const char *json(gr_arena *a, const gr_conf *c) {
  gr_text t = gr_text_make(a);
  gr_conf_json(&t, c, 0);
  return t.chars;
}

#define SAME(found, wanted) CHECK(!strcmp(found, wanted), "wanted %s\n  found %s", wanted, found)

// Fails unless the status is an error whose message contains the words.
static inline void expect(gr_status s, const char *words) {
  CHECK(s != NULL, "there was no error '%s'", words);
  CHECK(!s || strstr(gr_status_text(s), words), "wanted '%s', found '%s'", words,
        gr_status_text(s));
  gr_status_drop(s);
}
