// test_page.c - report.html of whole, unfinished, failed and damaged runs, and of folders of runs:
// the JSON in it, its tables without scripts, that texts of users cannot leave their place, and
// that nothing is loaded. What the scripts draw of the JSON is tested by tests/e2e/page.sh.
#include "base/json.h"
#include "runtime/page/page.h"
#include "tests/runtime/report/whole_run.h"

static const char about[] =
    "{\"version\": \"1.2.3\", \"libraries\": \"Lua\", \"command\": [\"graphrun\", \"a<b>.yaml\"],\n"
    " \"config\": [{\"key\": \"training.lr\", \"value\": 0.002, \"from\": \"run.yaml:3:5\"},\n"
    "  {\"key\": \"vars.x\", \"value\": \"</script><script>alert('&')</script><!--\", \"from\": "
    "\"argument 2:1:1\"}]}\n";
static const char plan[] = "{\"ranks\": 2, \"mesh\": {\"dp\": 2}, \"parameters\": 1234567}\n";

static void put_file(const char *dir, const char *name, const char *text) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  FILE *f = fopen(path, "w");
  CHECK(f && fputs(text, f) >= 0 && !fclose(f), "%s", path);
}

static void add_line(const char *dir, const char *name, const char *text) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  FILE *f = fopen(path, "a");
  CHECK(f && fputs(text, f) >= 0 && !fclose(f), "%s", path);
}

static void full_run(const char *dir) {
  whole_run(dir);
  put_file(dir, "about.json", about);
  put_file(dir, "plan.json", plan);
  put_file(dir, "data.json", "{\"class_names\": [\"<rest>\", \"right\"], \"n\": 2}");
  add_line(dir, "evals.jsonl",
           "{\"steps\": 6, \"epoch\": 1, \"validation.recall\": [0.75, null], "
           "\"validation.confusion\": [[3, 1], [0, 0]]}\n{\"steps\": 7, \"val");
  put_file(dir, "samples.jsonl",
           "{\"steps\": 6, \"sample\": \"a.wav\", \"reference\": \"<i>HI\", \"predicted\": \"\"}\n"
           "rubbish\n{\"sample\": 3}\n");
  put_file(dir, "mistakes.jsonl", "{\"sample\": \"b.wav\", \"loss\": 2.5}\n");
  put_file(dir, "plan.svg", "<svg><script>bad</script></svg>");
  put_file(dir, "run.log", "first\n\033[2Jcleared </pre><script>\n");
}

static char *page_of(const char *dir, bool ended) {
  size_t len;
  MUST(gr_page_write(dir, NULL, ended));
  return read_file(dir, "report.html", &len);
}

static const char *data_begin(const char *page) {
  static const char begin[] = "<script type=\"application/json\" id=\"data\">";
  const char *start = strstr(page, begin);
  CHECK(start, "no JSON in the page");
  return start ? start + strlen(begin) : "{}</script>";
}

// The JSON that the page has for its scripts.
static const gr_json *data_of(gr_arena *a, const char *page) {
  const char *start = data_begin(page), *end = strstr(start, "</script>");
  const gr_json *root = NULL;
  gr_json_error why = {0};
  CHECK(gr_json_read(a, gr_arena_strndup(a, start, (size_t)(end - start)), (size_t)(end - start),
                     &root, &why),
        "%d:%d: %s, found %s", why.line, why.col, why.why, why.found);
  return root;
}

// The text of a member below members and elements: "about.config.1.value"; "": there is none.
static const char *text_at(gr_arena *a, const gr_json *v, const char *path) {
  gr_text out = gr_text_make(a);
  for (size_t n; v && *path; path += n + (path[n] == '.')) {
    n = strcspn(path, ".");
    const char *name = gr_arena_strndup(a, path, n);
    const gr_json *m = v->first;
    for (int i = 0; m && (m->name ? strcmp(m->name, name) != 0 : i != atoi(name)); i++) m = m->next;
    v = m;
  }
  if (v && v->kind == GR_JSON_TEXT) return v->text;
  if (v) gr_json_put(&out, v);
  return out.chars ? out.chars : "";
}

// The page is the template with three parts filled in: no part ends its element, every element of
// the tables ends, and nothing is loaded.
static void check_document(const char *page) {
  const char *main = strstr(page, "<main>"), *end = strstr(page, "</main>"), *last = NULL;
  int depth = 0;
  for (const char *tag = main; tag && tag < end; tag = strchr(tag + 1, '<')) {
    depth += tag[1] == '/' ? -1 : 1;
    last = tag;
  }
  CHECK(main && end && depth == 1, "%d elements are not ended, the last: %.40s", depth, last);
  const char *data = data_begin(page);
  CHECK(!strncmp(data + strcspn(data, "<"), "</script>", 9), "a < in the JSON: %.40s",
        data + strcspn(data, "<"));
  CHECK(!strstr(page, "http:") && !strstr(page, "https:") && !strstr(page, "url("), "loads");
  CHECK(!strstr(page, "src="), "loads");
  CHECK(strstr(page, "default-src 'none'"), "nothing else may be loaded");
  CHECK(!strstr(page, "{{"), "a part is not filled in: %.40s", strstr(page, "{{"));
}

static void whole(void) {
  const char *dir = scratch_dir("whole");
  full_run(dir);
  char *page = page_of(dir, true);
  gr_arena *a = gr_arena_create();
  const gr_json *d = data_of(a, page);
  static const char *const has[][2] = {
      {"kind", "run"},
      {"status", "done"},
      {"about.config.1.value", "</script><script>alert('&')</script><!--"},
      {"about.command.1", "a<b>.yaml"},
      {"plan.parameters", "1234567"},
      {"data.class_names.0", "<rest>"},
      {"samples.0.reference", "<i>HI"},
      {"samples.1.sample", "3"},
      {"mistakes.0.loss", "2.5"},
      {"picture", "<svg><script>bad</script></svg>"},
      {"log", "first\n\033[2Jcleared </pre><script>\n"},
      {"results.steps", "6"},
      {"results.history", ""},
      {"results.config", ""},
      {"series.0.key", "loss"},
      {"series.0.x", "[1, 2, 3, 4, 5, 6]"},
      {"series.0.y.1", "0.25"}};
  for (size_t i = 0; i < sizeof has / sizeof *has; i++)
    CHECK(!strcmp(text_at(a, d, has[i][0]), has[i][1]), "%s is '%s' instead of '%s'", has[i][0],
          text_at(a, d, has[i][0]), has[i][1]);
  CHECK(strstr(text_at(a, d, "tables"), "[[3, 1], [0, 0]]"), "tables: %s", text_at(a, d, "tables"));
  CHECK(strstr(page, "<td>steps</td><td>6</td>"), "numbers without scripts");
  check_document(page);
  char *again = page_of(dir, true);
  CHECK(!strcmp(page, again), "the same files give another page");
  free(page), free(again);
  gr_arena_destroy(a);
  scratch_remove(dir);
}

// A run without an end: no results, no plan, an incomplete line.
static void unfinished(void) {
  const char *dir = scratch_dir("unfinished");
  gr_arena *a = gr_arena_create();
  whole_run(dir);
  char path[512];
  snprintf(path, sizeof path, "%s/training_results.json", dir);
  CHECK(!unlink(path), "%s", path);
  char *page = page_of(dir, false);
  CHECK(!strcmp(text_at(a, data_of(a, page), "status"), "unfinished"), "state");
  CHECK(strstr(page, "<p>unfinished</p>") && strstr(page, "(step 6)</td>"), "without scripts");
  check_document(page);
  free(page);
  gr_arena_destroy(a);
  scratch_remove(dir);
}

static void failed(void) {
  const char *dir = scratch_dir("failed");
  gr_arena *a = gr_arena_create();
  put_file(dir, "metrics.jsonl", "");
  put_file(dir, "training_results.json",
           "{\"ended\": \"failed: no <memory>\\nat all\", \"steps\": 0}\n");
  char *page = page_of(dir, true);
  const gr_json *d = data_of(a, page);
  CHECK(!strcmp(text_at(a, d, "status"), "failed: no <memory>\nat all"), "%s",
        text_at(a, d, "status"));
  CHECK(strstr(page, "<p>failed: no &#60;memory&#62;\nat all</p>"), "without scripts");
  CHECK(!strcmp(text_at(a, d, "series"), "[]"), "no curves");
  check_document(page);
  free(page);
  gr_arena_destroy(a);
  scratch_remove(dir);
}

// More points than a page has: means, with what they stand for, of all of them.
static void many_points(void) {
  const char *dir = scratch_dir("points");
  gr_arena *a = gr_arena_create();
  gr_text lines = gr_text_make(a);
  for (int i = 0; i < 2500; i++)
    gr_text_printf(&lines, "{\"step\": %d, \"loss\": %s}\n", i,
                   i == 2499 ? "\"NaN\""
                   : i % 2   ? "1.0"
                             : "3.0");
  put_file(dir, "metrics.jsonl", lines.chars);
  char *page = page_of(dir, true);
  const gr_json *d = data_of(a, page);
  CHECK(!strcmp(text_at(a, d, "series.0.x.999"), "2500"), "x: %s", text_at(a, d, "series.0.x.999"));
  CHECK(!strcmp(text_at(a, d, "series.0.x.1000"), ""), "more than a thousand");
  CHECK(!strcmp(text_at(a, d, "series.0.y.0"), "2"), "mean: %s", text_at(a, d, "series.0.y.0"));
  CHECK(!strcmp(text_at(a, d, "series.0.low.0"), "1") &&
            !strcmp(text_at(a, d, "series.0.high.0"), "3"),
        "the least and the largest");
  check_document(page);
  free(page);
  gr_arena_destroy(a);
  scratch_remove(dir);
}

// Files of any content: the page is written, says so, and is balanced.
static void damaged(void) {
  static const char *const names[] = {"training_results.json", "about.json", "plan.json",
                                      "data.json"};
  static const char *const texts[] = {"", "[]",
                                      "{\"a\": ", "{\"config\": 3, \"mesh\": [], \"ended\": 7}"};
  const char *dir = scratch_dir("damaged");
  gr_arena *a = gr_arena_create();
  for (size_t n = 0; n < sizeof names / sizeof *names; n++)
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
      full_run(dir);
      put_file(dir, names[n], texts[i]);
      char *page = page_of(dir, true);
      check_document(page);
      const char *problems = text_at(a, data_of(a, page), "problems");
      CHECK(i > 2 || strstr(problems, names[n]), "%s with '%s': %s", names[n], texts[i], problems);
      free(page);
    }
  put_file(dir, "metrics.jsonl", "{\"step\": 0, \"loss\": 1}\nrubbish\n");
  char *page = page_of(dir, true);
  CHECK(strstr(text_at(a, data_of(a, page), "problems"), "the line is no row of values"), "rows");
  check_document(page);
  free(page);
  gr_arena_destroy(a);
  scratch_remove(dir);
}

static void cannot_write(void) {
  const char *dir = scratch_dir("nowhere");
  whole_run(dir);
  gr_status s = gr_page_write(dir, "/nowhere/report.html", true);
  CHECK(gr_status_code(s) == GR_ERR_IO && strstr(gr_status_text(s), "/nowhere/report.html"), "%s",
        gr_status_text(s));
  gr_status_drop(s);
  scratch_remove(dir);
}

// No name of a folder is more than a path below the page.
static void links(void) {
  static const struct {
    const char *folder, *link;
  } all[] = {{"javascript:alert(1)", "./javascript%3Aalert%281%29/" GR_PAGE_NAME},
             {"//elsewhere.example/a", ".///elsewhere.example/a/" GR_PAGE_NAME},
             {"lr=1e-3,seed=2", "./lr%3D1e-3%2Cseed%3D2/" GR_PAGE_NAME},
             {"a b?c#d%41", "./a%20b%3Fc%23d%2541/" GR_PAGE_NAME},
             {"\xc3\xa4\"'<&>\n", "./%C3%A4%22%27%3C%26%3E%0A/" GR_PAGE_NAME},
             {"..plain_~", "./..plain_~/" GR_PAGE_NAME}};
  const char *dir = scratch_dir("links");
  gr_arena *a = gr_arena_create();
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    char folder[300], want[200], out[300];
    snprintf(folder, sizeof folder, "%s/%s", dir, all[i].folder);
    snprintf(want, sizeof want, "<a href=\"%s\">", all[i].link);
    const char *lr = "1e-3", *key = "training.lr";
    gr_page_run run = {.dir = folder,
                       .label = "",
                       .status = "done",
                       .best = 1,
                       .last = (double)NAN,
                       .values = &lr};
    gr_page_runs runs = {
        .dir = dir, .metric = "loss", .runs = &run, .n = 1, .keys = &key, .n_keys = 1};
    snprintf(out, sizeof out, "%s/sweep.html", dir);
    MUST(gr_page_write_runs(&runs, out));
    size_t len;
    char *page = scratch_read(out, &len);
    const gr_json *d = data_of(a, page);
    CHECK(strstr(page, want), "'%s': expected %s in %s", all[i].folder, want,
          strstr(page, "<table"));
    CHECK(!strcmp(text_at(a, d, "runs.0.page"), all[i].link), "%s", text_at(a, d, "runs.0.page"));
    CHECK(!strcmp(text_at(a, d, "runs.0.last"), "null"), "%s", text_at(a, d, "runs.0.last"));
    CHECK(strstr(text_at(a, d, "runs.0.differs"), "\"training.lr\": \"1e-3\""), "what differs");
    check_document(page);
    free(page);
  }
  gr_arena_destroy(a);
  scratch_remove(dir);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"a whole run", whole}, {"an unfinished run", unfinished},
             {"a failed run", failed}, {"many points", many_points}, {"damaged files", damaged},
             {"no place", cannot_write}, {"links", links});
}
