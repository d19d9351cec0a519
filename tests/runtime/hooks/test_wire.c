// test_wire.c - values of messages come back as they were put; what is not there, or of another
// type, is an error that stays.
#include <float.h>
#include <stdlib.h>
#include "runtime/hooks/wire.h"
#include "tests/check.h"

// {"a": {1: nil}, 2.5: "x\0y"}
static void put_nested(gr_wire *w) {
  gr_wire_put_table(w);
  gr_wire_put_text(w, "a");
  gr_wire_put_table(w);
  gr_wire_put_int(w, 1);
  gr_wire_put_text(w, NULL);
  gr_wire_put_end(w);
  gr_wire_put_float(w, 2.5);
  gr_wire_put_bytes(w, "x\0y", 3);
  gr_wire_put_end(w);
}

static void check_nested(gr_wire *w) {
  size_t len;
  gr_wire_table(w);
  CHECK(gr_wire_next(w) == GR_WIRE_TEXT && !strcmp(gr_wire_text(w), "a"), "the key is lost");
  gr_wire_table(w);
  CHECK(gr_wire_int(w) == 1 && gr_wire_next(w) == GR_WIRE_NIL && !gr_wire_text(w), "{1: nil}");
  CHECK(gr_wire_end(w) && !gr_wire_end(w) && gr_wire_float(w) == 2.5, "the inner table's end");
  const char *text = gr_wire_bytes(w, &len);
  CHECK(len == 3 && text && !memcmp(text, "x\0y", 4), "%zu bytes", len);
  CHECK(gr_wire_end(w) && !w->bad, "the table's end");
}

static void values_come_back(void) {
  gr_wire w = {0}, copy = {0};
  size_t len;
  gr_wire_begin(&w, GR_WIRE_CALL);
  gr_wire_put_bool(&w, true);
  gr_wire_put_bool(&w, false);
  gr_wire_put_int(&w, INT64_MIN);
  gr_wire_put_float(&w, -DBL_MIN);
  put_nested(&w);
  gr_wire_put_int(&w, 7);
  CHECK(gr_wire_bool(&w) && !gr_wire_bool(&w) && gr_wire_int(&w) == INT64_MIN, "booleans, integer");
  CHECK(gr_wire_float(&w) == -DBL_MIN, "a float");
  gr_wire again = w;
  check_nested(&w);
  const char *value = gr_wire_value(&again, &len);
  CHECK(value && again.next == w.next && gr_wire_int(&again) == 7, "%zu bytes of a value", len);
  CHECK(gr_wire_next(&again) == GR_WIRE_END && !again.bad, "the message's end");
  gr_wire_begin(&copy, GR_WIRE_STATES);
  gr_wire_put_value(&copy, value, len);
  gr_wire_put_value(&copy, NULL, 0);
  check_nested(&copy);
  CHECK(gr_wire_next(&copy) == GR_WIRE_NIL && !gr_wire_text(&copy) && !copy.bad, "no value is nil");
  gr_wire_free(&w), gr_wire_free(&copy);
}

// Every beginning of a message, as one that was cut off.
static void beginnings_are_refused(void) {
  gr_wire w = {0};
  gr_wire_begin(&w, GR_WIRE_CALL);
  size_t begin = w.len, len;
  put_nested(&w);
  for (size_t end = begin; end < w.len; end++) {
    gr_wire cut = {.bytes = malloc(end), .len = end, .next = begin};
    memcpy(cut.bytes, w.bytes, end);
    const char *value = gr_wire_value(&cut, &len);
    CHECK(!value && !len && cut.bad, "%zu of %zu bytes are a value", end - begin, w.len - begin);
    free(cut.bytes);
  }
  gr_wire_free(&w);
}

static void other_types_are_refused(void) {
  gr_wire w = {0};
  gr_wire_begin(&w, GR_WIRE_CALL);
  gr_wire_put_int(&w, 5);
  gr_wire_put_end(&w);
  gr_wire read[] = {w, w, w, w, w};
  size_t len = 1;
  gr_wire_bool(&read[0]), gr_wire_text(&read[2]), gr_wire_table(&read[3]);
  CHECK(gr_wire_float(&read[1]) == 0, "an integer is read as a float");
  gr_wire_int(&read[4]);
  CHECK(!gr_wire_value(&read[4], &len) && !len, "an end is a value");
  for (int i = 0; i < 5; i++) {
    CHECK(read[i].bad && gr_wire_next(&read[i]) == GR_WIRE_END, "the error of %d is lost", i);
    CHECK(!gr_wire_int(&read[i]) && !gr_wire_text(&read[i]) && gr_wire_end(&read[i]), "%d goes on",
          i);
  }
  gr_wire_free(&w);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"values_come_back", values_come_back},
             {"beginnings_are_refused", beginnings_are_refused},
             {"other_types_are_refused", other_types_are_refused});
}
