// args.c - see args.h.
#include "cli/args.h"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef enum flag_kind { SET, TEXT, NUMBER, DIRS, WITHOUT } flag_kind;

static const struct flag {
  const char *name;
  flag_kind kind;
  size_t offset;
} flags[] = {
    {"--config-dir", DIRS, 0},
    {"--dump", TEXT, offsetof(gr_args, dump)},
    {"--stop-after", TEXT, offsetof(gr_args, stop_after)},
    {"--without", WITHOUT, 0},
    {"--dot", TEXT, offsetof(gr_args, dot)},
    {"--svg", TEXT, offsetof(gr_args, svg)},
    {"--ranks", NUMBER, offsetof(gr_args, ranks)},
    {"--json", SET, offsetof(gr_args, json)},
    {"--plain", SET, offsetof(gr_args, plain)},
    {"--profile", SET, offsetof(gr_args, profile)},
    {"--help", SET, offsetof(gr_args, help)},
};
enum { N_FLAGS = sizeof flags / sizeof *flags };

static const struct flag *flag_of(const char *arg, size_t len) {
  for (int i = 0; i < N_FLAGS; i++)
    if (strlen(flags[i].name) == len && !strncmp(flags[i].name, arg, len)) return &flags[i];
  return NULL;
}

static gr_status unknown_flag(gr_arena *a, const char *arg, size_t len) {
  const char *names[N_FLAGS], *word = gr_arena_strndup(a, arg, len);
  for (int i = 0; i < N_FLAGS; i++) names[i] = flags[i].name;
  const char *near = gr_text_nearest(word, names, N_FLAGS);
  gr_status s = gr_fail(GR_ERR_USAGE, GR_NOWHERE, "there is no flag %s", word);
  return near ? gr_hint(s, "did you mean %s?", near) : s;
}

static gr_status number(const char *name, const char *value, int64_t *out) {
  char *end;
  *out = strtoll(value, &end, 10);
  if (!*value || *end || *out < 1)
    return gr_fail(GR_ERR_USAGE, GR_NOWHERE, "%s takes a number above 0, not '%s'", name, value);
  return GR_OK;
}

static gr_status apply(gr_args *a, const struct flag *f, const char *value) {
  char *base = (char *)a + f->offset;
  if (f->kind == SET) {
    if (value) return gr_fail(GR_ERR_USAGE, GR_NOWHERE, "%s takes no value", f->name);
    *(bool *)base = true;
  } else if (f->kind == TEXT) {
    *(const char **)base = value;
  } else if (f->kind == NUMBER) {
    return number(f->name, value, (int64_t *)base);
  } else if (f->kind == DIRS) {
    a->config_dirs[a->n_config_dirs++] = value;
  } else if (a->n_without == GR_MAX_WITHOUT) {
    return gr_fail(GR_ERR_USAGE, GR_NOWHERE, "--without is given too often");
  } else {
    a->without[a->n_without++] = value;
  }
  return GR_OK;
}

static gr_status one_flag(gr_arena *arena, gr_args *a, int argc, char **argv, int *i) {
  const char *arg = argv[*i], *value = strchr(arg, '=');
  size_t len = value ? (size_t)(value - arg) : strlen(arg);
  const struct flag *f = flag_of(arg, len);
  if (!f) return unknown_flag(arena, arg, len);
  if (value) value++;
  if (!value && f->kind != SET) {
    if (*i + 1 >= argc) return gr_fail(GR_ERR_USAGE, GR_NOWHERE, "%s needs a value", f->name);
    value = argv[++*i];
  }
  return apply(a, f, value);
}

gr_status gr_args_parse(gr_arena *arena, int argc, char **argv, int first, gr_args *out) {
  *out = (gr_args){.program = argv[0], .argc = argc, .argv = argv};
  out->overrides = GR_NEW(arena, const char *, argc + 1);
  out->config_dirs = GR_NEW(arena, const char *, argc + 1);
  for (int i = first; i < argc; i++) {
    if (!strncmp(argv[i], "--", 2))
      GR_TRY(one_flag(arena, out, argc, argv, &i));
    else if (!out->config && !strchr(argv[i], '=') && !strchr("~+", argv[i][0]))
      out->config = argv[i];
    else
      out->overrides[out->n_overrides++] = argv[i];
  }
  return GR_OK;
}
