// main.c - selects the command, prints its error and sets the exit code.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
#include "base/base.h"
#include "cli/commands.h"
#include "cli/multirun.h"
#include "cli/optimizer.h"
#include "runtime/hooks/hooks.h"
#include "runtime/launch/launch.h"

static const struct command {
  const char *name, *usage, *doc;
  gr_status (*run)(int argc, char **argv);
} commands[] = {
#define GR_COMMAND(name, usage, doc, run) {name, usage, doc, run},
#include "cli/commands.def"
#undef GR_COMMAND
};
enum { N_COMMANDS = sizeof commands / sizeof *commands };

static void usage(FILE *f) {
  fputs(
      "graphrun trains neural networks from configuration alone.\n\n"
      "    graphrun CONFIG.yaml [key=value ...]\n\n",
      f);
  for (int i = 0; i < N_COMMANDS; i++)
    fprintf(f, "    graphrun %-7s %s\n%21s%s\n", commands[i].name, commands[i].usage, "",
            commands[i].doc);
  fputs(
      "\nExit codes: 0 done, 2 usage, 65 configuration or model, 66 data, 69 launch, 70 hook,\n"
      "71 a rank died, 72 hang, 74 files, 75 stopped and saved, 76 non-finite loss,\n"
      "78 checkpoint refused.\n",
      f);
}

static bool is_config(const char *arg) {
  size_t n = strlen(arg);
  return (n > 5 && !strcmp(arg + n - 5, ".yaml")) || (n > 4 && !strcmp(arg + n - 4, ".yml")) ||
         gr_is_file(arg);
}

static gr_status no_command(const char *word) {
  const char *names[N_COMMANDS];
  char file[4096];
  snprintf(file, sizeof file, "%s.yaml", word);
  for (int i = 0; i < N_COMMANDS; i++) names[i] = commands[i].name;
  const char *near = gr_text_nearest(word, names, N_COMMANDS);
  gr_status s =
      gr_fail(GR_ERR_USAGE, GR_NOWHERE, "'%s' is neither a command nor a configuration file", word);
  if (gr_is_dir(word)) return gr_hint(s, "it is a folder: give the path of one of its .yaml files");
  if (gr_is_file(file)) return gr_hint(s, "did you mean 'graphrun %s'?", file);
  return near ? gr_hint(s, "did you mean 'graphrun %s'?", near)
              : gr_hint(s, "`graphrun --help` lists the commands");
}

static const struct command *find_command(const char *word) {
  for (int i = 0; i < N_COMMANDS; i++)
    if (!strcmp(word, commands[i].name)) return &commands[i];
  return NULL;
}

static bool has_word(int argc, char **argv, const char *word) {
  size_t n = strlen(word);
  for (int i = 1; i < argc; i++)
    if (!strncmp(argv[i], word, n) && (!argv[i][n] || argv[i][n] == '=')) return true;
  return false;
}

static gr_status train(int argc, char **argv) {
  if (has_word(argc, argv, "-m") || has_word(argc, argv, "--multirun"))
    return gr_cli_multirun(argc, argv);
  if (has_word(argc, argv, "--jobs") || has_word(argc, argv, "--dry-run"))
    return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE, "--jobs and --dry-run are for sweeps"),
                   "add -m: graphrun -m CONFIG.yaml training.lr=1e-3,2e-3 --dry-run");
  return gr_cmd_train(argc, argv);
}

static gr_status run(int argc, char **argv) {
  const struct command *c = find_command(argv[1]);
  if (c && c->run != gr_cmd_train) return c->run(argc, argv);
  if (c || argv[1][0] == '-' || is_config(argv[1])) return train(argc, argv);
  return no_command(argv[1]);
}

// Whether a command's help is requested. `config` is excepted, because it has help of its own.
static bool wants_help(int argc, char **argv) {
  bool config = argc > 1 && !strcmp(argv[1], "config");
  for (int i = 1; i < argc && !config; i++)
    if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) return true;
  return false;
}

// Opens descriptors 0-2 if they are closed, so that a file of the run cannot get one of these
// numbers and receive what is printed.
static void open_standard_files(void) {
  for (int fd = 0; fd < 3; fd++)
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd) _exit(74);
}

// Fails when output could not be written. EPIPE is no error: the reader (`| head`) has seen enough.
static gr_status check_output(void) {
  struct pollfd out = {.fd = STDOUT_FILENO};
  bool lost = fflush(stdout) || ferror(stdout);
  if (!lost || (poll(&out, 1, 0) > 0 && (out.revents & POLLERR))) return GR_OK;
  return gr_fail(GR_ERR_IO, GR_NOWHERE, "cannot write to standard output");
}

// Ranks that mpirun has started meet the same error at the same time. The others wait, so that rank
// 0 reports it and mpirun ends the others because of it.
static void yield_to_rank_0(void) {
  int rank;
  if (gr_launch_started(&rank, NULL) < 2 || rank == 0) return;
  signal(SIGTERM, SIG_DFL);
  sleep(3);
}

int main(int argc, char **argv) {
  gr_hooks_enter(argc, argv);
  gr_optimizer_register();
  open_standard_files();
  signal(SIGXFSZ, SIG_IGN);  // makes writes beyond `ulimit -f` fail, as on a full disk
  bool help = wants_help(argc, argv);
  if (argc < 2 || help) usage(help ? stdout : stderr);
  if (argc < 2) return 2;
  gr_status s = help ? GR_OK : run(argc, argv);
  if (!s) s = check_output();
  int code = gr_status_exit(s);
  if (s) yield_to_rank_0(), gr_status_print(stderr, s);
  gr_status_drop(s);
  return code;
}
