// end_log.c - what the launcher adds to a run's log. See state.h.
#include <string.h>
#include <unistd.h>
#include "base/base.h"
#include "base/output.h"
#include "runtime/launch/state.h"

// Whether the log ends with this error already; only its first line is compared.
static bool is_logged(FILE *log, const char *text) {
  static char end[2 * GR_LAUNCH_STATE_TEXT];
  char line[512];
  snprintf(line, sizeof line, "%.*s", (int)strcspn(text, "\n"), text);
  if (fseek(log, -(long)(sizeof end - 1), SEEK_END)) rewind(log);
  end[fread(end, 1, sizeof end - 1, log)] = 0;
  return strstr(end, line) != NULL;
}

gr_status gr_launch_state_append_log(const char *path, const char *text) {
  FILE *log;
  int fd = -1;
  GR_TRY(gr_file_stream(path, GR_ERR_IO, &log));
  bool logged = is_logged(log, text);
  fclose(log);
  if (!logged) GR_TRY(gr_output_append(NULL, path, &fd));
  if (!logged) gr_output_put(fd, text, strlen(text)), close(fd);
  return GR_OK;
}
