// test_page.c - report.html of whole, unfinished, failed and damaged runs: what it shows, that text
// of users is escaped, that nothing is loaded, that elements are balanced.
#include "runtime/page/page.h"
#include "tests/runtime/report/whole_run.h"

static const char about[] =
    "{\"version\": \"1.2.3\", \"libraries\": \"Lua\", \"command\": [\"graphrun\", \"a<b>.yaml\"],\n"
    " \"machine\": {\"host\": \"<host>\", \"system\": \"Linux\", \"processor\": \"CPU\", "
    "\"processors\": 4, \"memory_bytes\": 16e9},\n"
    " \"config\": [{\"key\": \"training.lr\", \"value\": 0.002, \"from\": \"run.yaml:3:5\"},\n"
    "  {\"key\": \"vars.x\", \"value\": \"<script>alert('&')</script>\", \"from\": \"argument "
    "2:1:1\"},\n"
    "  {\"key\": \"device\", \"value\": [\"\\u202etuo\", null, 1.5], \"from\": \"default\"}]}\n";
static const char plan[] =
    "{\"ranks\": 2, \"mesh\": {\"dp\": 2}, \"hash\": \"00ff\", \"parameters\": 1234567, "
    "\"trained_parameters\": 1000, \"state_bytes\": 5000000, \"arena_bytes\": 2000000,\n"
    " \"programs\": [{\"name\": \"train\", \"nodes\": 7, \"flops\": 2500000, \"arena_bytes\": "
    "2000, "
    "\"collectives\": {\"dp\": {\"count\": 3, \"sent_bytes\": 4096}}}],\n"
    " \"states\": [{\"name\": \"w\", \"kind\": \"weight\", \"bytes\": 5000000}]}\n";
static const char picture[] =
    "<svg xmlns=\"http://www.w3.org/2000/svg\"><script>bad</script></svg>";

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
  put_file(dir, "validation.confusion.svg", picture);
  put_file(dir, "validation.earlier.svg", "<svg>of an earlier run</svg>");
  put_file(dir, "data.json", "{\"class_names\": [\"<rest>\", \"right\"], \"n\": 2}");
  add_line(
      dir, "evals.jsonl",
      "{\"steps\": 6, \"epoch\": 1, \"validation.recall\": [0.75, null], \"validation.three\": "
      "[1, 2, 3], \"validation.confusion\": [[3, 1], [0, 0]]}\n{\"steps\": 7, \"val");
  put_file(dir, "samples.jsonl",
           "{\"steps\": 6, \"sample\": \"a.wav\", \"reference\": \"<i>HI\", \"predicted\": \"\"}\n"
           "rubbish\n{\"sample\": 3}\n");
  put_file(dir, "run.log", "first\n\033[2Jcleared </pre><script>\n");
}

static char *page_of(const char *dir, bool ended) {
  size_t len;
  MUST(gr_page_write(dir, NULL, ended));
  return read_file(dir, "report.html", &len);
}

// Elements that end themselves.
static bool is_void(const char *name) {
  static const char *const names[] = {"!doctype", "meta", "img", "line", "path", "circle"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!strcmp(name, names[i])) return true;
  return false;
}

// Every element that begins ends, in order; nothing is loaded from elsewhere, and nothing runs.
static void check_document(const char *page) {
  char open[64][16];
  int depth = 0;
  for (const char *at = page; (at = strchr(at, '<')); at++) {
    char name[16] = "";
    bool ends = at[1] == '/';
    sscanf(at + 1 + ends, "%15[a-z0-9!]", name);
    CHECK(*name, "a < that begins no element: %.40s", at);
    if (is_void(name)) continue;
    if (!ends && depth < 64) memcpy(open[depth++], name, sizeof name);
    if (!ends) continue;
    bool fits = depth && !strcmp(open[depth - 1], name);
    CHECK(fits, "</%s> ends %s: %.60s", name, depth ? open[depth - 1] : "nothing", at);
    if (!fits) return;
    depth--;
  }
  CHECK(!depth, "%s is not ended", depth ? open[depth - 1] : "");
  CHECK(!strstr(page, "http") && !strstr(page, "<script") && !strstr(page, "url("), "loads");
  for (const char *at = page; (at = strstr(at, "src=\"")); at++)
    CHECK(!strncmp(at + 5, "data:image/svg+xml;base64,", 26), "%.40s", at);
  CHECK(!strstr(page, "nan\"") && !strstr(page, "NaN") && !strstr(page, " inf"), "a number");
}

static void whole(void) {
  const char *dir = scratch_dir("whole");
  full_run(dir);
  char *page = page_of(dir, true);
  static const char *const has[] = {
      "1,234,567",  // parameters
      "1,000 trained",
      "<td class=\"key\">training.lr</td><td class=\"value\">0.002</td>"
      "<td class=\"from\">run.yaml:3:5</td>",
      "&#60;script&#62;alert(&#39;&#38;&#39;)&#60;/script&#62;</td><td class=\"from\">argument 2<",
      "[\\u202etuo, null, 1.5]",  // which would be drawn from right to left
      "1 values that are defaults",
      "3 over dp, 4.1 kB",
      "2.5 MFLOP",
      "&#60;host&#62;",
      "a.wav</td><td class=\"\">&#60;i&#62;HI</td><td "
      "class=\"differs\">(nothing)</td></tr>\n</table>",
      "4, 16.0 GB",
      "\\x1b[2Jcleared &#60;/pre&#62;&#60;script&#62;",
      "base64,PHN2ZyB4bWxucz0i",  // <svg xmlns="
      "<th class=\"n\">recall</th><th class=\"n\">support</th></tr>\n<tr><td>&#60;rest&#62;</td>"
      "<td class=\"n\">0.7500</td><td class=\"n\">4</td></tr>\n<tr><td>right</td><td class=\"n\">",
      "<b>Loss</b>",
      "<b>cer</b>",
      "<b>Gradient norm</b>",
      "<b>gap</b>"};
  for (size_t i = 0; i < sizeof has / sizeof *has; i++)
    CHECK(strstr(page, has[i]), "'%s' is missing", has[i]);
  CHECK(!strstr(page, "three</th>"), "a vector that is not of the classes");
  CHECK(!strstr(strstr(page, "data:image") + 1, "data:image"), "a picture of an earlier run");
  check_document(page);
  char *again = page_of(dir, true);
  CHECK(!strcmp(page, again), "the same files give another page");
  free(page), free(again);
  scratch_remove(dir);
}

// A run without an end: no results, no plan, an incomplete line.
static void unfinished(void) {
  const char *dir = scratch_dir("unfinished");
  whole_run(dir);
  char path[512];
  snprintf(path, sizeof path, "%s/training_results.json", dir);
  CHECK(!unlink(path), "%s", path);
  char *page = page_of(dir, false);
  CHECK(strstr(page, ">unfinished</span>") && strstr(page, "it was killed"), "state");
  CHECK(strstr(page, "<b>6</b><small>2 epochs"), "steps that are done");
  check_document(page);
  free(page);
  scratch_remove(dir);
}

static void failed(void) {
  const char *dir = scratch_dir("failed");
  put_file(dir, "metrics.jsonl", "");
  put_file(dir, "training_results.json",
           "{\"ended\": \"failed: no <memory>\\nat all\", \"steps\": 0}\n");
  char *page = page_of(dir, true);
  CHECK(strstr(page, ">failed</span>") && strstr(page, "failed: no &#60;memory&#62;\nat all</pre>"),
        "the reason");
  CHECK(strstr(page, "Nothing has been logged yet"), "no curves");
  check_document(page);
  free(page);
  scratch_remove(dir);
}

// Files of any content: the page is written, says so, and is balanced.
static void damaged(void) {
  static const char *const names[] = {"training_results.json", "about.json", "plan.json",
                                      "data.json"};
  static const char *const texts[] = {"", "[]",
                                      "{\"a\": ", "{\"config\": 3, \"mesh\": [], \"ended\": 7}",
                                      "{\"config\": [1, {}, {\"key\": \"k\"}], \"states\": [[]], "
                                      "\"programs\": [null, {\"name\": \"p\"}], \"machine\": [], "
                                      "\"metrics\": {\"validation.cer\": null}}"};
  const char *dir = scratch_dir("damaged");
  for (size_t n = 0; n < sizeof names / sizeof *names; n++)
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
      full_run(dir);
      put_file(dir, names[n], texts[i]);
      char *page = page_of(dir, true);
      check_document(page);
      CHECK(i > 2 || strstr(page, names[n]), "%s with '%s': no notice", names[n], texts[i]);
      free(page);
    }
  put_file(dir, "metrics.jsonl", "{\"step\": 0, \"loss\": 1}\nrubbish\n");
  char *page = page_of(dir, true);
  CHECK(strstr(page, "the line is no row of values"), "rows");
  check_document(page);
  free(page);
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
  } all[] = {{"javascript:alert(1)", "./javascript%3Aalert%281%29/"},
             {"//elsewhere.example/a", ".///elsewhere.example/a/"},
             {"lr=1e-3,seed=2", "./lr%3D1e-3%2Cseed%3D2/"},
             {"a b?c#d%41", "./a%20b%3Fc%23d%2541/"},
             {"\xc3\xa4\"'<&>\n", "./%C3%A4%22%27%3C%26%3E%0A/"},
             {"..plain_~", "./..plain_~/"}};
  const char *dir = scratch_dir("links");
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    char folder[300], want[200], *page = NULL;
    snprintf(folder, sizeof folder, "%s/%s", dir, all[i].folder);
    snprintf(want, sizeof want, "<a href=\"%s" GR_PAGE_NAME "\">", all[i].link);
    gr_page_run run = {.dir = folder, .label = "", .status = "done", .best = 1, .last = 1};
    gr_page_sweep sweep = {.dir = dir, .metric = "loss", .runs = &run, .n = 1};
    char out[300];
    snprintf(out, sizeof out, "%s/sweep.html", dir);
    MUST(gr_page_write_sweep(&sweep, out));
    size_t len;
    page = scratch_read(out, &len);
    CHECK(strstr(page, want), "'%s': expected %s in %s", all[i].folder, want,
          strstr(page, "<table"));
    check_document(page);
    free(page);
  }
  scratch_remove(dir);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"a whole run", whole}, {"an unfinished run", unfinished},
             {"a failed run", failed}, {"damaged files", damaged}, {"no place", cannot_write},
             {"links", links});
}
