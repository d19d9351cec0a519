// ckpt.c - `graphrun ckpt`: lists, shows and verifies checkpoints.
#include <string.h>
#include "base/base.h"
#include "cli/commands.h"
#include "runtime/checkpoint/checkpoint.h"

gr_status gr_cmd_ckpt(int argc, char **argv) {
  static const struct {
    const char *name;
    gr_status (*print)(FILE *, const char *path);
  } verbs[] = {{"list", gr_checkpoint_print_list},
               {"show", gr_checkpoint_print_show},
               {"verify", gr_checkpoint_print_verify}};
  char inner[4096];
  bool json = argc == 5 && !strcmp(argv[4], "--json");
  for (int i = 0; (argc == 4 || json) && i < 3; i++)
    if (!strcmp(argv[2], verbs[i].name)) {
      snprintf(inner, sizeof inner, "%s/checkpoints", argv[3]);  // of a run's folder
      if (json)
        return gr_checkpoint_print_json(stdout, argv[2], gr_is_dir(inner) ? inner : argv[3]);
      gr_visible_out out;
      gr_status s = verbs[i].print(gr_visible_begin(&out), gr_is_dir(inner) ? inner : argv[3]);
      gr_visible_end(&out);
      return s;
    }
  return gr_hint(
      gr_fail(GR_ERR_USAGE, GR_NOWHERE, "graphrun ckpt list|show|verify DIRECTORY [--json]"),
      "DIRECTORY is a run's folder, its checkpoints/, or one checkpoint");
}
