// train.c - `graphrun CONFIG.yaml`: trains.
#include "cli/commands.h"
#include "cli/start.h"

gr_status gr_cmd_train(int argc, char **argv) { return gr_cli_start(argc, argv, gr_job_compose); }
