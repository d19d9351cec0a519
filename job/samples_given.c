// samples_given.c - see samples_given.h.
#include "job/samples_given.h"
#include <string.h>
#include "base/port.h"
#include "runtime/data/source.h"

const char *gr_samples_call(const char *command) {
  if (!strcmp(command, "data")) return "graphrun data inspect CONFIG.yaml";
  if (!strcmp(command, "plan")) return "graphrun plan CONFIG.yaml";
  if (!strcmp(command, "config")) return "graphrun config CONFIG.yaml";
  return "graphrun CONFIG.yaml";
}

// data: data that a project can be made for; NULL: they are not there, or a file of many.
static gr_status hint_new(gr_status s, const gr_source_ops *source, const char *data) {
  if (!source->project) return s;
  if (data) return gr_hint(s, "`graphrun new NAME --from=%s` makes a project for it", data);
  return gr_hint(s, "`graphrun new NAME --data=%s` makes such a project", source->project);
}

static bool has_yaml(const char *path) {
  bool has = false;
  int n;
  gr_arena *a = gr_arena_create();
  const char **names = gr_list_dir(a, path, &n);
  for (int i = 0; i < n; i++) has |= gr_ends_in(names[i], ".yaml");
  gr_arena_destroy(a);
  return has;
}

static gr_status is_folder(const char *command, const char *path) {
  char run[4096];
  snprintf(run, sizeof run, "%s/.hydra/config.yaml", path);
  gr_status s = gr_fail(GR_ERR_USAGE, GR_NOWHERE, "'%s' is a folder, not a configuration", path);
  if (gr_is_file(run)) return gr_hint(s, "the configuration of this run is %s", run);
  if (has_yaml(path)) return gr_hint(s, "give the path of one of its .yaml files");
  s = gr_hint(
      s, "%s data.source=image data.image.path=%s, if it has a folder of images for each class",
      gr_samples_call(command), path);
  return hint_new(s, &gr_source_image, path);
}

bool gr_samples_key(const char *path, char key[GR_SAMPLES_KEY]) {
  const gr_source_ending *ending;
  const gr_source_ops *source = gr_source_of_file(path, &ending);
  if (!source || ending->in_lists) return false;
  snprintf(key, GR_SAMPLES_KEY, "data.%s.%s", source->name, source->path_key);
  return true;
}

gr_status gr_samples_given(const char *command, const char *path) {
  const gr_source_ending *ending;
  const gr_source_ops *source = gr_source_of_file(path, &ending);
  char key[GR_SAMPLES_KEY];
  if (!source) return gr_is_dir(path) ? is_folder(command, path) : GR_OK;
  bool there = gr_is_file(path);
  gr_status s = gr_fail(GR_ERR_USAGE, GR_NOWHERE, "'%s' is %s, not a configuration%s", path,
                        ending->what, there ? "" : ", and does not exist");
  bool whole = gr_samples_key(path, key);
  s = whole
          ? gr_hint(s, "%s data.source=%s %s=%s", gr_samples_call(command), source->name, key, path)
          : gr_hint(s, "%s data.source=%s, with a file that lists such files",
                    gr_samples_call(command), source->name);
  return hint_new(s, source,
                  whole && there && (ending->text || gr_ends_in(path, ".parquet")) ? path : NULL);
}
