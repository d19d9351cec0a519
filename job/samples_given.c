// samples_given.c - see samples_given.h.
#include "job/samples_given.h"
#include <dirent.h>
#include <string.h>
#include <strings.h>
#include "base/port.h"

static const struct kind {
  const char *ending, *what, *source;
  const char *key;      // that names such a file; NULL: a list in another file does
  const char *project;  // of `graphrun new --data`; NULL: none is alike
} kinds[] = {
    {".csv", "a table", "table", "data.table.path", "table"},
    {".tsv", "a table", "table", "data.table.path", "table"},
    {".txt", "a text", "corpus", "data.corpus.path", "text"},
    {".npz", "a file of arrays", "table", "data.table.path", "table"},
    {".npy", "an array", "table", "data.table.path", "table"},
    {".jsonl", "a manifest of recordings", "speech", "data.manifest", "speech"},
    {".wav", "a recording", "speech", NULL, "speech"},
    {".flac", "a recording", "speech", NULL, "speech"},
    {".png", "an image", "image", NULL, "image"},
    {".jpg", "an image", "image", NULL, "image"},
    {".jpeg", "an image", "image", NULL, "image"},
    {".mp4", "a video", "video", NULL, NULL},
};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

static const struct kind *kind_of(const char *path) {
  size_t n = strlen(path);
  for (int i = 0; i < N_KINDS; i++) {
    size_t m = strlen(kinds[i].ending);
    if (n > m && !strcasecmp(path + n - m, kinds[i].ending)) return &kinds[i];
  }
  return NULL;
}

// How the command is called with a configuration.
static const char *call_of(const char *command) {
  if (!strcmp(command, "data")) return "graphrun data inspect CONFIG.yaml";
  if (!strcmp(command, "plan")) return "graphrun plan CONFIG.yaml";
  if (!strcmp(command, "config")) return "graphrun config CONFIG.yaml";
  return "graphrun CONFIG.yaml";
}

static gr_status hint_new(gr_status s, const char *project) {
  if (!project) return s;
  return gr_hint(s, "`graphrun new NAME --data=%s` makes such a project", project);
}

static bool has_yaml(const char *path) {
  bool has = false;
  DIR *d = opendir(path);
  for (const struct dirent *e; d && !has && (e = readdir(d));) {
    size_t n = strlen(e->d_name);
    has = n > 5 && !strcmp(e->d_name + n - 5, ".yaml");
  }
  if (d) closedir(d);
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
      call_of(command), path);
  return hint_new(s, "image");
}

const char *gr_samples_key(const char *path) {
  const struct kind *k = kind_of(path);
  return k ? k->key : NULL;
}

gr_status gr_samples_given(const char *command, const char *path) {
  const struct kind *k = kind_of(path);
  if (!k) return gr_is_dir(path) ? is_folder(command, path) : GR_OK;
  bool there = gr_is_file(path);
  gr_status s = gr_fail(GR_ERR_USAGE, GR_NOWHERE, "'%s' is %s, not a configuration%s", path,
                        k->what, there ? "" : ", and does not exist");
  s = k->key ? gr_hint(s, "%s data.source=%s %s=%s", call_of(command), k->source, k->key, path)
             : gr_hint(s, "%s data.source=%s, with a file that lists such files", call_of(command),
                       k->source);
  return hint_new(s, k->project);
}
