// test_progress_line.c - what a terminal shows of long work: fields that fit, words that are not
// cut, the bar; and the columns of texts.
#include <stdlib.h>
#include "base/progress_line.h"
#include "base/text.h"
#include "tests/check.h"

static const gr_terminal ascii = {.columns = 80};

// Without escape sequences.
static const char *bare(const char *line) {
  static char out[GR_PROGRESS_LINE];
  char *to = out;
  for (; *line; line++)
    if (*line == '\033')
      line = strchr(line, 'm');
    else
      *to++ = *line;
  *to = 0;
  return out;
}

static gr_progress_line step_line(void) {
  gr_progress_line line = gr_progress_line_begin(0.45, "epoch 3  step 450/1000");
  gr_progress_line_put(&line, 1, GR_TINT_NONE, "loss 0.1234");
  gr_progress_line_put(&line, 7, GR_TINT_FAINT, "lr 0.001");
  gr_progress_line_put(&line, 5, GR_TINT_NONE, "16.25 samples/s");
  gr_progress_line_put_time(&line, 2, "eta ", 3723);
  gr_progress_line_put(&line, 6, GR_TINT_LATE, "data 3 %% compute 80 %% comm 17 %%");
  return line;
}

static void shows(int columns, const char *want) {
  char out[GR_PROGRESS_LINE];
  gr_progress_line line = step_line();
  gr_progress_line_draw(&line, &(gr_terminal){.columns = columns}, out);
  CHECK(!strcmp(out, want), "%d columns: '%s'", columns, out);
}

// Whole fields are left out: the learning rate first, the loss last.
static void drops(void) {
  shows(200,
        "epoch 3  step 450/1000  ##################----------------------  45 %  loss 0.1234  lr "
        "0.001  16.25 samples/s  eta 1:02:03  data 3 % compute 80 % comm 17 %");
  shows(100,
        "epoch 3  step 450/1000  ###########---------------  45 %  loss 0.1234  16.25 "
        "samples/s  eta 1:02:03");
  shows(80, "epoch 3  step 450/1000  ##########-------------  45 %  loss 0.1234  eta 1:02:03");
  shows(60, "epoch 3  step 450/1000  loss 0.1234  eta 1:02:03");
  shows(40, "epoch 3  step 450/1000  loss 0.1234");
  shows(30, "epoch 3  step 450/1000");
  shows(20, "epoch 3  step");
  shows(4, "epo");
}

// At each width the line leaves the last column free and has no part of a field.
static void fits(void) {
  char out[GR_PROGRESS_LINE];
  gr_progress_line line = step_line();
  for (int columns = 1; columns < 250; columns++) {
    for (int how = 0; how < 4; how++) {
      gr_terminal t = {columns, how & 1, how & 2};
      gr_progress_line_draw(&line, &t, out);
      CHECK(!strchr(out, '\033') == !(t.colour && columns > 60) || columns < 80, "colours: %s",
            out);
      CHECK(gr_text_columns(bare(out)) < columns || columns == 1, "%d columns: %s", columns, out);
      CHECK(!strstr(out, "comm") || strstr(out, "comm 17 %"), "%d columns cut: %s", columns, out);
      CHECK(!strstr(out, "loss") || strstr(out, "loss 0.1234"), "%d columns cut: %s", columns, out);
      CHECK(gr_utf8_valid(out), "%d columns cut a character: %s", columns, out);
    }
  }
}

static void tints(void) {
  char out[GR_PROGRESS_LINE];
  gr_progress_line line = gr_progress_line_begin(0.5, "evaluating");
  gr_progress_line_put(&line, 1, GR_TINT_LATE, "data 50 %%");
  gr_progress_line_draw(&line, &(gr_terminal){41, true, true}, out);
  CHECK(!strcmp(out,
                "evaluating  \033[32m━━━━━\033[0m\033[2m──────\033[0m  50 %  \033[33mdata 50 "
                "%\033[0m"),
        "%s", out);
  gr_progress_line_draw(&line, &(gr_terminal){41, true, false}, out);
  CHECK(!strcmp(out, "evaluating  ━━━━━──────  50 %  data 50 %"), "%s", out);
}

static void log_form(void) {
  char out[GR_PROGRESS_LINE];
  gr_progress_line line = gr_progress_line_begin(-1, "reading the data");
  gr_progress_line_put_time(&line, 1, "", 65);
  gr_progress_line_print(&line, out);
  CHECK(!strcmp(out, "reading the data  1:05"), "%s", out);
  gr_progress_line_draw(&line, &ascii, out);
  CHECK(!strcmp(out, "reading the data  1:05"), "no bar where the share is not known: %s", out);
  for (int i = 0; i < 2 * GR_PROGRESS_FIELDS; i++)
    gr_progress_line_put(&line, 1, GR_TINT_NONE, "%0100d", i);
  CHECK(line.n == GR_PROGRESS_FIELDS, "%d fields", line.n);
  gr_progress_line_print(&line, out);
  CHECK(strlen(out) < GR_PROGRESS_LINE, "fits");
  line = gr_progress_line_begin(7, "more than all");
  gr_progress_line_draw(&line, &ascii, out);
  CHECK(strstr(out, "# 100 %"), "%s", out);
}

static void columns(void) {
  static const struct {
    const char *text;
    int columns;
  } cases[] = {{"", 0},        {"abc", 3}, {"äöü", 3},      {"日本", 4},
               {"e\u0301", 1}, {"━", 1},   {"\xff\xfe", 2}, {"😀", 2}};
  if (gr_text_columns("日") != 2) SKIP("this C library has no locale C.UTF-8");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    CHECK(gr_text_columns(cases[i].text) == cases[i].columns, "'%s': %d", cases[i].text,
          gr_text_columns(cases[i].text));
}

static void whole_words(void) {
  static const struct {
    const char *text;
    int columns;
    size_t n;
  } cases[] = {{"one two three", 80, 13},
               {"one two three", 13, 13},
               {"one two three", 12, 7},
               {"one two three", 7, 7},
               {"one two three", 6, 3},
               {"one two three", 3, 3},
               {"one two three", 2, 3},
               {"unbreakable", 4, 11},
               {"a  b", 3, 1},
               {"", 5, 0},
               {"zwölf Sätze", 6, 6}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    CHECK(gr_text_fit(cases[i].text, cases[i].columns) == cases[i].n, "'%s' in %d: %zu",
          cases[i].text, cases[i].columns, gr_text_fit(cases[i].text, cases[i].columns));
}

// The environment decides; a file is no terminal in any case.
static void environment(void) {
  unsetenv("LC_ALL"), unsetenv("LC_CTYPE"), unsetenv("NO_COLOR");
  setenv("LANG", "de_DE.UTF-8", 1), setenv("TERM", "xterm", 1);
  FILE *f = tmpfile();
  CHECK(f && !gr_terminal_is_live(fileno(f)), "a file");
  gr_terminal t = gr_terminal_look(fileno(f));
  CHECK(t.columns == 80 && t.utf8 && t.colour, "%d %d %d", t.columns, t.utf8, t.colour);
  setenv("LC_ALL", "C", 1), setenv("NO_COLOR", "", 1);
  t = gr_terminal_look(fileno(f));
  CHECK(!t.utf8 && t.colour, "LC_ALL comes first, and an empty NO_COLOR is none");
  setenv("NO_COLOR", "1", 1);
  CHECK(!gr_terminal_look(fileno(f)).colour, "NO_COLOR");
  fclose(f);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"drops", drops}, {"fits", fits}, {"tints", tints}, {"log_form", log_form},
             {"columns", columns}, {"whole_words", whole_words}, {"environment", environment});
}
