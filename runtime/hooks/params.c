// params.c - checks that scripts use every key of hooks_params. See gr_hooks_check_params.
//
// The check runs before the run starts and looks at tokens only: a schedule may read a value for
// the first time after a thousand steps. A key counts as read if its name occurs in a script where
// a key may: after a dot (but not in ctx.NAME), in quotes, or in a table constructor. All keys
// count as read if a script iterates over them (pairs) or computes names.
#include <ctype.h>
#include <string.h>
#include "base/text.h"
#include "runtime/hooks/hooks.h"

enum { MAX_SCRIPT = 1 << 20, MAX_NAMES = 64 };

// -- Tokens ------------------------------------------------------------------------------

typedef enum kind { NAME, STRING, MARK } kind;  // MARK: punctuation and numbers
typedef struct token {
  kind kind;
  const char *text;  // for strings, without quotes
  size_t len;
} token;

typedef struct script {
  token *t;
  int n;
  bool all;                      // it may read any key
  const char *alias[MAX_NAMES];  // local names of ctx.params
  int n_aliases;
} script;

// The length of a long bracket "[[", "[=[", ... at s; 0: there is none.
static size_t long_bracket(const char *s) {
  size_t n = 1;
  if (*s != '[') return 0;
  while (s[n] == '=') n++;
  return s[n] == '[' ? n + 1 : 0;
}

// The end of the long string or comment that opens at s, after its closing bracket.
static const char *long_end(const char *s, size_t open) {
  for (const char *p = s + open; *p; p++) {
    if (*p != ']') continue;
    size_t n = 1;
    while (p[n] == '=') n++;
    if (p[n] == ']' && n + 1 == open) return p + n + 1;
  }
  return s + strlen(s);
}

static const char *short_end(const char *s) {
  const char *p = s + 1;
  while (*p && *p != *s && *p != '\n') p += *p == '\\' && p[1] ? 2 : 1;
  return p;
}

static const char *comment_end(const char *s) {
  size_t open = long_bracket(s + 2);
  if (open) return long_end(s + 2, open);
  const char *end = strchr(s, '\n');
  return end ? end : s + strlen(s);
}

// Reads the token at s, which is not white space. Returns its end.
static const char *next_token(const char *s, token *t) {
  size_t open = long_bracket(s);
  *t = (token){MARK, s, 1};
  if (*s == '"' || *s == '\'') {
    const char *end = short_end(s);
    *t = (token){STRING, s + 1, (size_t)(end - s - 1)};
    return *end ? end + 1 : end;
  }
  if (open) {
    const char *end = long_end(s, open);
    size_t len = (size_t)(end - s);
    *t = (token){STRING, s + open, len >= 2 * open ? len - 2 * open : 0};
    return end;
  }
  if (!isalnum((unsigned char)*s) && *s != '_') return s + 1;
  while (isalnum((unsigned char)s[t->len]) || s[t->len] == '_') t->len++;
  t->kind = isdigit((unsigned char)*s) ? MARK : NAME;
  return s + t->len;
}

static void read_tokens(gr_arena *a, const char *s, script *out) {
  out->t = GR_NEW(a, token, strlen(s) + 2);
  while (*s) {
    if (isspace((unsigned char)*s))
      s++;
    else if (s[0] == '-' && s[1] == '-')
      s = comment_end(s);
    else
      s = next_token(s, &out->t[out->n++]);
  }
}

static bool token_is(const script *s, int i, const char *text) {
  size_t n = strlen(text);
  return i >= 0 && i < s->n && s->t[i].kind != STRING && s->t[i].len == n &&
         !memcmp(s->t[i].text, text, n);
}

// -- Reading -----------------------------------------------------------------------------

// Whether the name at i is ctx.params itself or an alias of it.
static bool is_params(const script *s, int i) {
  if (i < 0 || i >= s->n || s->t[i].kind != NAME) return false;
  if (token_is(s, i, "params")) return token_is(s, i - 1, ".");
  bool found = false;
  for (int k = 0; k < s->n_aliases && !token_is(s, i - 1, "."); k++)
    found |= token_is(s, i, s->alias[k]);
  return found;
}

// Collects aliases: in `local p, q = ctx.params, ...` all names left of the '=', to be safe.
static void find_aliases(gr_arena *a, script *s, int params) {
  int i = params;
  while (i > 0 && !token_is(s, i, "=") && !token_is(s, i, "local") && !token_is(s, i, "(") &&
         !token_is(s, i, "{"))
    i--;
  if (!token_is(s, i, "=")) return;
  for (i--; i >= 0 && (s->t[i].kind == NAME || token_is(s, i, ",")); i--) {
    if (token_is(s, i, "local")) return;
    if (s->t[i].kind == NAME && s->n_aliases < MAX_NAMES)
      s->alias[s->n_aliases++] = gr_arena_strndup(a, s->t[i].text, s->t[i].len);
  }
}

// Sets s->all if the use of ctx.params at i may read any key.
static void look_at_use(script *s, int i, bool pairs) {
  int begin = token_is(s, i - 1, ".") ? i - 2 : i;
  bool literal = i + 3 < s->n && s->t[i + 2].kind == STRING && token_is(s, i + 3, "]");
  bool argument = (token_is(s, begin - 1, "(") || token_is(s, begin - 1, ",")) &&
                  (token_is(s, i + 1, ")") || token_is(s, i + 1, ","));
  s->all |= token_is(s, i + 1, "[") && !literal;
  s->all |= argument && pairs;
}

static void look_through(gr_arena *a, script *s) {
  bool pairs = false;
  for (int i = 0; i < s->n; i++) {
    pairs |= token_is(s, i, "pairs");
    if (token_is(s, i, "params") && token_is(s, i - 1, ".") && !token_is(s, i + 1, "."))
      find_aliases(a, s, i);
  }
  for (int i = 0; i < s->n; i++)
    if (is_params(s, i)) look_at_use(s, i, pairs);
}

static gr_status read_script(gr_arena *a, const char *path, script *out) {
  char *text;
  size_t len;
  GR_TRY(gr_file_read(a, path, MAX_SCRIPT, &text, &len));
  read_tokens(a, text, out);
  look_through(a, out);
  return GR_OK;
}

// Whether the token at i may be the name of a key that is read.
static bool is_key(const script *s, int i) {
  if (s->t[i].kind == STRING) return true;
  if (s->t[i].kind != NAME) return false;
  if (token_is(s, i - 1, ".")) return !token_is(s, i - 2, "ctx");
  return token_is(s, i + 1, "=") &&
         (token_is(s, i - 1, "{") || token_is(s, i - 1, ",") || token_is(s, i - 1, ";"));
}

static bool reads(const script *s, const char *key) {
  size_t n = strlen(key);
  bool found = s->all;
  for (int i = 0; i < s->n && !found; i++)
    found = s->t[i].len == n && !memcmp(s->t[i].text, key, n) && is_key(s, i);
  return found;
}

// -- Errors ------------------------------------------------------------------------------

// The distinct names that scripts read from ctx.params.
static int names_read(gr_arena *a, const script *s, int n, const char **out) {
  int count = 0;
  for (int k = 0; k < n; k++)
    for (int i = 2; i < s[k].n && count < MAX_NAMES; i++) {
      if (s[k].t[i].kind != NAME || !token_is(&s[k], i - 1, ".") || !is_params(&s[k], i - 2))
        continue;
      const char *name = gr_arena_strndup(a, s[k].t[i].text, s[k].t[i].len);
      bool known = false;
      for (int j = 0; j < count; j++) known |= !strcmp(out[j], name);
      if (!known) out[count++] = name;
    }
  return count;
}

static gr_status unread(gr_arena *a, const script *s, int n, const gr_param *p) {
  const char *names[MAX_NAMES] = {NULL};
  int count = names_read(a, s, n, names);
  const char *near = gr_text_nearest(p->key, names, count);
  gr_status e = gr_fail(GR_ERR_CONFIG, p->loc, "no hook reads hooks_params.%s%s%s%s", p->key,
                        near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
  if (!n)
    return gr_hint(e,
                   "there are no hooks; `~hooks_params` on the command line removes all of them");
  return gr_hint(e, "hooks read %s; `~hooks_params.%s` on the command line removes this one",
                 count ? gr_text_names(a, names, count) : "none", p->key);
}

static bool has_word(const char *text, const char *word) {
  size_t n = strlen(word);
  for (const char *found = text; (found = strstr(found, word)); found += n) {
    bool begins = found == text || !(isalnum((unsigned char)found[-1]) || found[-1] == '_');
    if (begins && !(isalnum((unsigned char)found[n]) || found[n] == '_')) return true;
  }
  return false;
}

static bool is_given(const gr_hook_script *hook, const char *key) {
  for (int i = 0; i < hook->n_params; i++)
    if (!strcmp(hook->params[i].key, key)) return true;
  return false;
}

bool gr_hooks_missing_param(const gr_hook_script *hook, const char *message, char *out,
                            size_t size) {
  gr_arena *a = gr_arena_create();
  script s = {0};
  const char *names[MAX_NAMES], *found = NULL;
  gr_status e = read_script(a, hook->path, &s);
  int n = e ? 0 : names_read(a, &s, 1, names);
  for (int i = 0; i < n && !found; i++)
    if (!is_given(hook, names[i]) && has_word(message, names[i])) found = names[i];
  if (found) snprintf(out, size, "%s", found);
  gr_status_drop(e);
  gr_arena_destroy(a);
  return found != NULL;
}

gr_status gr_hooks_check_params(const gr_hook_script *scripts, int n, const gr_param *params,
                                int n_params) {
  gr_arena *a = gr_arena_create();
  script *s = GR_NEW(a, script, n + 1);
  gr_status e = GR_OK;
  for (int i = 0; i < n && !e; i++) e = read_script(a, scripts[i].path, &s[i]);
  for (int k = 0; k < n_params && !e; k++) {
    bool found = false;
    for (int i = 0; i < n; i++) found |= reads(&s[i], params[k].key);
    if (!found) e = unread(a, s, n, &params[k]);
  }
  return gr_arena_end(a, e);
}
