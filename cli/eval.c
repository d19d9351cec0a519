// eval.c - `graphrun eval RUN`: evaluates a checkpoint of a run.
#include "cli/commands.h"
#include "cli/start.h"

gr_status gr_cmd_eval(int argc, char **argv) {
  return gr_cli_start(argc, argv, gr_job_compose_kept);
}
