// new.c - `graphrun new NAME`: a folder to start from, which trains in less than a minute.
#include "cli/new/new.h"
#include <stddef.h>
#include <string.h>
#include "cli/commands.h"

typedef struct options {
  const char *data;
} options;

static gr_status find_kind(const char *name, const gr_new_kind **out) {
  const char *names[16];
  gr_arena *a = gr_arena_create();
  gr_text list = gr_text_make(a);
  int n = 0;
  *out = NULL;
  for (const gr_new_kind *k = gr_new_kinds; k->name && n < 16; k++) {
    if (!strcmp(k->name, name)) *out = k;
    gr_text_printf(&list, "%s%s (%s)", n ? ", " : "", k->name, k->doc);
    names[n++] = k->name;
  }
  const char *near = gr_text_nearest(name, names, n);
  gr_status s =
      *out ? GR_OK : gr_fail(GR_ERR_USAGE, GR_NOWHERE, "there is no kind of project '%s'", name);
  s = near ? gr_hint(s, "did you mean '%s'? there are %s", near, list.at)
           : gr_hint(s, "there are %s", list.at);
  gr_arena_destroy(a);
  return s;
}

// Nothing that is there is changed.
static gr_status make_folder(gr_arena *a, const char *dir) {
  bool made = false;
  const char *slash = strrchr(dir, '/');
  if (slash && slash != dir) GR_TRY(gr_make_dirs(gr_arena_strndup(a, dir, (size_t)(slash - dir))));
  GR_TRY(gr_make_dir(dir, &made));
  if (made) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE, "'%s' is there already", dir),
                 "`graphrun new` makes a folder of its own: give it another name");
}

static gr_status make(gr_arena *a, const gr_args *args) {
  const options *own = args->options;
  const gr_new_kind *kind;
  if (!args->config || args->n_overrides)
    return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE, "graphrun new NAME [--data=KIND]"),
                   "NAME is the folder to make, without spaces around or '='");
  GR_TRY(find_kind(own->data ? own->data : gr_new_kinds[0].name, &kind));
  size_t n = strlen(args->config);
  while (n > 1 && args->config[n - 1] == '/') n--;
  const char *dir = gr_arena_strndup(a, args->config, n);
  GR_TRY(make_folder(a, dir));
  for (int i = 0; i < GR_NEW_FILES; i++)
    GR_TRY(gr_new_write(dir, gr_new_names[i], kind->texts[i], strlen(kind->texts[i])));
  GR_TRY(kind->generate(a, dir));
  gr_text t = gr_text_make(a);
  gr_text_printf(&t,
                 "%s: a project for %s. README.md says what is in it. To train:\n"
                 "  cd %s && graphrun config.yaml output.dir=run\n",
                 dir, kind->doc, dir);
  gr_print_lines(stdout, t.at);
  return GR_OK;
}

static gr_status run(int argc, char **argv) {
  return gr_command_parsed(&gr_command_new, argc, argv, make);
}

#define GR_NEW_KIND(name, doc) " " #name
static const char kinds[] = "the kind of project, or the first:"
#include "cli/new/kinds.def"
    ;
#undef GR_NEW_KIND

static const gr_flag own_flags[] = {
    {"--data", NULL, "KIND", GR_FLAG_TEXT, offsetof(options, data), kinds}, {0}};

const gr_command gr_command_new = {
    .name = "new",
    .usage = "NAME [--data=KIND]",
    .doc = "makes a folder to start from, which trains in less than a minute",
    .example = "graphrun new fruit --data=table",
    .keys = "",
    .takes = {GR_FOLDER, GR_NO_OPERAND, false},
    .own = own_flags,
    .options = sizeof(options),
    .run = run,
};
