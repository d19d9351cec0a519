// new.c - `graphrun new NAME`: a folder to start from, which trains in less than a minute.
#include "cli/new/new.h"
#include <stddef.h>
#include <string.h>
#include "base/output.h"
#include "base/work.h"
#include "cli/commands.h"
#include "cli/new_own.h"
#include "compose/schema/schema.h"
#include "job/job.h"
#include "runtime/launch/launch.h"

typedef struct options {
  const char *data, *user_data, *label;
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
  s = near ? gr_hint(s, "did you mean '%s'? there are %s", near, list.chars)
           : gr_hint(s, "there are %s", list.chars);
  return gr_arena_end(a, s);
}

// The project's files; those of a kind with generated data, or for the user's own.
static gr_status write_files(gr_arena *a, const char *dir, const gr_new_own *p) {
  for (int i = 0; i < GR_NEW_FILES; i++) {
    const char *text = p->kind->texts[i];
    if (p->config && !strcmp(gr_new_names[i], "config.yaml")) text = p->config;
    if (p->graph && !strcmp(gr_new_names[i], "graph.yaml")) text = p->graph;
    if (p->config && !strcmp(gr_new_names[i], "README.md")) text = gr_new_text_own;
    GR_TRY(gr_output_write(dir, gr_new_names[i], text, strlen(text)));
  }
  if (p->lines) GR_TRY(gr_output_write(dir, p->lines_file, p->lines, strlen(p->lines)));
  if (p->validation)
    GR_TRY(gr_output_write(dir, "validation.jsonl", p->validation, strlen(p->validation)));
  return p->config ? GR_OK : p->kind->generate(a, dir);
}

static gr_status check(const gr_args *args) {
  const options *flags = args->options;
  const char *more = args->n_overrides ? args->overrides[0] : "";
  if (gr_is_file(more) || gr_is_dir(more))
    return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE, "'%s' is one argument too many", more),
                   "did you mean --from=%s?", more);
  if (!args->config || args->n_overrides)
    return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE,
                           args->config ? "a project takes no key=value" : "no name is given"),
                   "graphrun new NAME [--data=KIND | --from=DATA [--label=COLUMN]]: NAME is the "
                   "folder to make, without spaces around or '='");
  if (flags->user_data && flags->data)
    return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE, "--data and --from are two projects"),
                   "--from=DATA finds the kind; without it data is generated");
  if (flags->label && !flags->user_data)
    return gr_fail(GR_ERR_USAGE, GR_NOWHERE, "--label is a column of the table of --from");
  return GR_OK;
}

// ---- Errors ------------------------------------------------------------------------------------

static bool names_key(gr_arena *a, const char *clause) {
  static const char word[] = "abcdefghijklmnopqrstuvwxyz_.0123456789";
  for (const char *c = clause; *c; c += *c != 0) {
    size_t n = strspn(c, word), dots = n;
    while (dots && c[dots - 1] == '.') dots--;
    if (dots && gr_schema_doc(gr_arena_strndup(a, c, dots))) return true;
    c += n;
  }
  return strstr(clause, "CONFIG.yaml") != NULL;
}

// Of what an error advises, what can be done without the configuration, which will not be there.
static gr_status advise(gr_arena *a, gr_status s, const char *hint) {
  gr_text kept = gr_text_make(a);
  if (!names_key(a, hint)) return gr_hint(s, "%s", hint);
  for (const char *c = hint, *end; *c; c = end + strspn(end, ";, ")) {
    const char *other = strstr(c, ", or "), *more = strstr(c, "; ");
    end = more && (!other || more < other) ? more : other ? other : c + strlen(c);
    const char *clause = gr_arena_strndup(a, c, (size_t)(end - c));
    const char *label = strstr(clause, "data.table.label");
    if (label && label[strlen("data.table.label")] != '_')
      clause = "--label=COLUMN predicts another column";
    if (!names_key(a, clause)) gr_text_printf(&kept, "%s%s", kept.len ? "; " : "", clause);
  }
  if (!kept.len) gr_text_put(&kept, "correct the data, or write a configuration for them");
  return gr_hint(s, "%s", kept.chars);
}

// The place is the line of the data, or the data, where it is in the project, which will not be
// there.
static gr_status of_data(const gr_new_own *p, gr_status s, const char *dir, const char *data) {
  gr_arena *a = p->arena;
  gr_loc found = gr_status_loc(s), loc = gr_new_place(p, found);
  const char *hint = gr_status_hint(s);
  bool moved = loc.file != found.file;
  bool within = !moved && loc.file && !strncmp(loc.file, dir, strlen(dir));
  if (!s || (!moved && !within && !(hint && names_key(a, hint)))) return s;
  gr_status e = gr_fail(gr_status_code(s), within ? GR_NOWHERE : loc, "%s%s%s", within ? data : "",
                        within ? ": " : "", gr_status_text(s));
  if (within && gr_status_code(s) == GR_ERR_TYPE)
    e = gr_hint(e, "the samples are too small for this kind of project: longer or larger ones");
  else if (hint)
    e = advise(a, e, hint);
  gr_status_drop(s);
  return e;
}

// An override that names a file of the project, in single quotes.
static const char *project_file(gr_arena *a, const char *before, const char *dir, const char *file,
                                const char *after) {
  gr_text t = gr_text_make(a);
  gr_text_printf(&t, "%s'", before);
  for (const char *c = gr_arena_printf(a, "%s/%s", dir, file); *c; c++)
    gr_text_printf(&t, "%s%c", *c == '\'' || *c == '\\' ? "\\" : "", *c);
  gr_text_printf(&t, "'%s", after);
  return t.chars;
}

// Reads a few samples of both splits: that of which the heads alone are good is no project.
static gr_status try_samples(gr_arena *a, gr_dataset *d) {
  enum { TRIED = 16 };
  gr_text ignored = gr_text_make(a);
  uint32_t sample[TRIED];
  for (int split = GR_SPLIT_TRAIN; split <= GR_SPLIT_VALIDATION; split++) {
    uint32_t n = gr_dataset_count(d, (gr_split)split);
    n = n < TRIED ? n : TRIED;
    gr_dataset_sample_evenly(d, (gr_split)split, n, sample);
    for (uint32_t i = 0; i < n; i++) GR_TRY(gr_dataset_preview(d, sample[i], &ignored));
  }
  return GR_OK;
}

// Overrides of the keys that name lists of the project; returns how many.
enum { LISTS = 4 };
static int project_lists(const gr_new_own *p, const char *dir, const char **out) {
  static const char *const keys[LISTS] = {"path", "eval_path", "manifest", "eval_manifest"};
  const char *source = strstr(p->config, "source: ") + strlen("source: ");
  int n = 0;
  source += *source == '[';  // the first has the list
  for (int i = 0; i < LISTS; i++) {
    const char *file = gr_new_file(p, keys[i]);
    if (!file) continue;
    const char *key =
        gr_arena_printf(p->arena, "data.%.*s.%s=", (int)strcspn(source, " ,\n"), source, keys[i]);
    out[n++] = project_file(p->arena, key, dir, file, "");
  }
  return n;
}

// Opens the data and plans as training does: what that would refuse is no project. Files of the
// current folder, where paths are looked for first, may have the names of the project's.
static gr_status try_training(gr_new_own *p, const char *dir, const char *data) {
  const char *overrides[2 + LISTS] = {project_file(p->arena, "model.graph=", dir, "graph.yaml", ""),
                                      project_file(p->arena, "hooks=[", dir, "hook.lua", "]")};
  const gr_args args = {.config = gr_arena_printf(p->arena, "%s/config.yaml", dir),
                        .overrides = overrides,
                        .n_overrides = 2 + project_lists(p, dir, overrides + 2)};
  gr_text notes = gr_text_make(p->arena);
  gr_job j = {0};
  gr_work work;
  gr_work_begin(&work, gr_launch_work_shown(), "trying the project", 0);
  gr_status s = gr_job_compose(p->arena, &args, &j);
  s = s ? s : gr_job_plan(&j, 1);
  s = s ? s : gr_dataset_check_files(j.spec.data, 0, 1);
  s = s ? s : try_samples(p->arena, j.spec.data);
  gr_work_end(&work);
  if (!s) gr_dataset_notes(j.spec.data, &notes);
  if (notes.len) gr_text_printf(&p->said, "%s\n", notes.chars);
  gr_job_close(&j);
  return of_data(p, s, dir, data);
}

static const char *copy(gr_arena *a, const char *text) {
  return text ? gr_arena_strdup(a, text) : NULL;
}

static void copy_lists(gr_new_own *to, const gr_new_own *o) {
  for (int i = 0; i < GR_NEW_LISTS && o->lists[i].name; i++) {
    const gr_new_lines *l = &o->lists[i];
    to->lists[i] = (gr_new_lines){.name = l->name, .source = copy(to->arena, l->source), .n = l->n};
    to->lists[i].line = memcpy(GR_NEW(to->arena, int, l->n), l->line, sizeof(int) * (size_t)l->n);
  }
}

// What is read is in an arena of its own, which ends before the project opens the data again: a
// table may take gigabytes.
static gr_status look(gr_new_own *p, const char *dir, const char *data) {
  gr_arena *scratch = gr_arena_create();
  gr_new_own found = {
      .arena = scratch, .dir = dir, .label = p->label, .said = gr_text_make(scratch)};
  gr_work work;
  gr_work_begin(&work, gr_launch_work_shown(), "reading the data", 0);
  gr_status s = gr_new_look(&found, data);
  gr_work_end(&work);
  p->kind = found.kind, p->config = copy(p->arena, found.config);
  p->graph = copy(p->arena, found.graph), p->lines = copy(p->arena, found.lines);
  p->validation = copy(p->arena, found.validation);
  p->lines_file = found.lines_file;  // is static
  copy_lists(p, &found);
  gr_text_put(&p->said, found.said.chars);
  return gr_arena_end(scratch, s);
}

static gr_status make(gr_arena *a, const gr_args *args) {
  const options *flags = args->options;
  gr_new_own p = {.arena = a, .label = flags->label, .said = gr_text_make(a)};
  GR_TRY(check(args));
  if (!flags->user_data)
    GR_TRY(find_kind(flags->data ? flags->data : gr_new_kinds[0].name, &p.kind));
  const char *dir = gr_path_trimmed(a, args->config);
  gr_output_folder *folder;  // whole, or not there at all
  GR_TRY(gr_output_folder_open(dir, &folder));
  const char *made = p.dir = gr_output_folder_path(folder), *data = flags->user_data;
  gr_status s = data ? of_data(&p, look(&p, made, data), made, data) : GR_OK;
  s = s ? s : write_files(a, made, &p);
  if (!s && data) s = try_training(&p, made, data);
  GR_TRY(gr_output_folder_close(folder, s));
  const char *quote = dir[strcspn(dir, " $&;()<>*?\"")] ? "'" : "";  // for a shell
  gr_text_printf(&p.said,
                 "%s: a project for %s. README.md says what is in it. To train:\n"
                 "  cd %s%s%s && graphrun config.yaml output.dir=run\n",
                 dir, p.kind->doc, quote, dir, quote);
  gr_print_lines(stdout, p.said.chars);
  return GR_OK;
}

#define GR_NEW_KIND(name, doc) " " #name
static const char kinds[] = "the kind of project, or the first:"
#include "cli/new/kinds.def"
    ;
#undef GR_NEW_KIND

static const gr_flag own_flags[] = {
    {"--data", NULL, "KIND", GR_FLAG_TEXT, offsetof(options, data), kinds},
    {"--from", NULL, "FILE", GR_FLAG_TEXT, offsetof(options, user_data),
     "for your own data: a table or a folder of them, arrays, a folder of images, recordings, videos or "
     "texts by class, of images with masks or of recordings with texts, a list, a text or a "
     "manifest"},
    {"--label", NULL, "COLUMN", GR_FLAG_TEXT, offsetof(options, label),
     "of --from with a table, a list or a manifest: the column to predict"},
    {0}};

const gr_command gr_command_new = {
    .name = "new",
    .usage = "NAME [--data=KIND | --from=DATA [--label=COLUMN]]",
    .doc = "makes a folder to start from, which trains in less than a minute",
    .example = "graphrun new fruit --data=table",
    .keys = "",
    .takes = {GR_FOLDER, GR_NO_OPERAND, false},
    .own_flags = own_flags,
    .options = sizeof(options),
    .run = make,
};
