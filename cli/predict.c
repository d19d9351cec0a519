// predict.c - `graphrun predict RUN INPUT ...`: writes what a run's model predicts of files.
#include "cli/commands.h"
#include "cli/start.h"

gr_status gr_cmd_predict(int argc, char **argv) {
  return gr_cli_start(argc, argv, gr_job_compose_kept);
}
