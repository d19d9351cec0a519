// test_params.c - values of hooks_params that no script reads are errors, before anything runs.
#include <dirent.h>
#include "base/text.h"
#include "tests/runtime/hooks/script.h"

static gr_status check(const char *text, const char *key) {
  gr_param p = {.key = key, .kind = GR_PARAM_INT, .loc = {"run.yaml", 7, 9}};
  gr_hook_script s = {.path = script_put("p.lua", text)};
  return gr_hooks_check_params(&s, 1, &p, 1);
}

static void read_ones(void) {
  static const char *const all[] = {
      "local x = ctx.params.every",
      "local x = ctx.params.every or 5",
      "local p = ctx.params local x = p.every",
      "local a, p, b = 1, ctx.params, 2 x = p.every",
      "local x = ctx.params['every']",
      "local x = ctx.params[\"every\"]",
      "local x = ctx.params[ [[every]] ]",
      "local function get(p, name) return p[name] end get(ctx.params, 'every')",
      "local defaults = { every = 5 } for k, v in pairs(defaults) do end",
      "for k, v in pairs(ctx.params) do print(k, v) end",
      "local p = ctx.params for k, v in pairs(p) do print(k, v) end",
      "local function show(t) for k in pairs(t) do print(k) end end show(ctx.params)",
      "local name = 'ev' .. 'ery' local x = ctx.params[name]",
      "local p = ctx.params local x = p['ev' .. 'ery']",
      "--[==[ every ]] ]==] local x = ctx.params --[[ of ]] . every",
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    gr_status e = check(all[i], "every");
    CHECK(!e, "%s: %s", all[i], gr_status_text(e));
    gr_status_drop(e);
  }
}

static void unread_ones(void) {
  static const char *const all[] = {
      "",
      "local x = ctx.params.evry",
      "-- ctx.params.every\nlocal x = ctx.params.evry",
      "--[[ ctx.params.every ]] local x = ctx.params.evry",
      "--[=[ ]] ctx.params.every ]=] local x = ctx.params.evry",
      "local x = 'ctx.params.every'",
      "local every = ctx.params.evry",
      "local x = ctx.every",
      "local x = ctx.params.every_step",
      "for k, v in pairs(ctx.metrics) do end local x = ctx.metrics[k] .. ctx.params.evry",
      "local x = 'an end that is not there",
      "local x = [[ an end that is not there",
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    gr_status e = check(all[i], "every");
    CHECK(gr_status_code(e) == GR_ERR_CONFIG && strstr(gr_status_text(e), "hooks_params.every"),
          "passes: %s", all[i]);
    CHECK(gr_status_loc(e).line == 7 && gr_status_loc(e).col == 9, "place");
    gr_status_drop(e);
  }
}

static void guesses(void) {
  gr_status e =
      check("local p = ctx.params local x = p.warmup_steps + ctx.params.decay", "warmup_step");
  CHECK(e && strstr(gr_status_text(e), "did you mean 'warmup_steps'?"), "%s", gr_status_text(e));
  CHECK(
      e && strstr(gr_status_hint(e), "hooks read warmup_steps, decay; `~hooks_params.warmup_step`"),
      "%s", gr_status_hint(e));
  gr_status_drop(e);
  gr_param p = {.key = "every"};
  e = gr_hooks_check_params(NULL, 0, &p, 1);
  CHECK(e && strstr(gr_status_hint(e), "there are no hooks"), "%s", gr_status_text(e));
  gr_status_drop(e);
  MUST(gr_hooks_check_params(NULL, 0, NULL, 0));
}

// ---- The shipped scripts -----------------------------------------------------------------------

enum { MAX_KEYS = 32 };

// The keys that the head of a script lists, in lines "-- params.KEY".
static int listed(const char *text, gr_param *out) {
  int n = 0;
  for (const char *cursor = text; (cursor = strstr(cursor, "\n-- params.")) && n < MAX_KEYS;) {
    cursor += strlen("\n-- params.");
    char *key = gr_arena_strndup(script_arena, cursor, strcspn(cursor, " \n"));
    out[n++] = (gr_param){.key = key};
  }
  return n;
}

// Whether a hint that lists what hooks read has the key.
static bool lists(const char *hint, const char *key) {
  for (const char *cursor = hint; (cursor = strstr(cursor, key)); cursor++)
    if (cursor[-1] == ' ' && strchr(",;", cursor[strlen(key)])) return true;
  return false;
}

static void check_shipped(const char *path) {
  gr_param p[MAX_KEYS], none = {.key = "nothing_of_the_kind"};
  char *text;
  size_t len;
  MUST(gr_file_read(script_arena, path, 1 << 20, &text, &len));
  gr_hook_script s = {.path = path};
  int n = listed(text, p), commas = 0;
  CHECK(n, "%s lists no parameters", path);
  MUST(gr_hooks_check_params(&s, 1, p, n));
  gr_status e = gr_hooks_check_params(&s, 1, &none, 1);
  CHECK(e, "%s reads anything", path);
  const char *hint = e ? gr_status_hint(e) : "";
  for (int i = 0; i < n; i++)
    CHECK(lists(hint, p[i].key), "%s: %s not in %s", path, p[i].key, hint);
  for (const char *cursor = hint; *cursor && *cursor != ';'; cursor++) commas += *cursor == ',';
  CHECK(commas == n - 1, "%s: the head lists %d parameters, but %s", path, n, hint);
  gr_status_drop(e);
}

// Each shipped script reads exactly the parameters that its head lists.
static void shipped(void) {
  struct dirent **found;
  int n = scandir(HOOKS_DIR, &found, NULL, alphasort), scripts = 0;
  for (int i = 0; i < n; i++) {
    const char *end = strrchr(found[i]->d_name, '.');
    if (end && !strcmp(end, ".lua")) {
      check_shipped(gr_arena_printf(script_arena, "%s/%s", HOOKS_DIR, found[i]->d_name));
      scripts++;
    }
    free(found[i]);
  }
  if (n >= 0) free(found);
  CHECK(scripts >= 7, "%d scripts", scripts);
}

int main(int argc, char **argv) {
  script_begin("params");
  int bad = RUN(argc, argv, {"read_ones", read_ones}, {"unread_ones", unread_ones},
                {"guesses", guesses}, {"shipped", shipped});
  script_end();
  return bad;
}
