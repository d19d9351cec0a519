// main.c - selects the command, prints its error and sets the exit code.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
#include "base/base.h"
#include "base/output.h"
#include "base/thread.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/man.h"
#include "job/samples_given.h"
#include "job/settings.h"
#include "job/version.h"
#include "runtime/hooks/hooks.h"
#include "runtime/launch/launch.h"

enum { MAX_COMMANDS = 64 };

static bool is_config(const char *arg) {
  return gr_ends_in(arg, ".yaml") || gr_ends_in(arg, ".yml") || gr_is_file(arg);
}

// What other programs call it. NULL: none does.
static const char *called(const char *word) {
  static const char *const others[][2] = {{"completion", "config --completion=bash"},
                                          {"test", "eval RUN"},
                                          {"validate", "eval RUN"},
                                          {"fit", "train CONFIG.yaml"},
                                          {"infer", "predict RUN INPUT"},
                                          {"inference", "predict RUN INPUT"},
                                          {"sweep", "-m CONFIG.yaml KEY=A,B"},
                                          {"tune", "-m CONFIG.yaml KEY=A,B"},
                                          {"init", "new NAME"},
                                          {"create", "new NAME"},
                                          {"inspect", "data inspect CONFIG.yaml"},
                                          {"ls", "runs"},
                                          {"list", "runs"},
                                          {"resume", "CONFIG.yaml output.dir=RUN"},
                                          {"convert", "export RUN FILE"},
                                          {"version", "--version"}};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (!strcmp(word, others[i][0])) return others[i][1];
  return NULL;
}

static gr_status no_command(const char *word) {
  const char *names[MAX_COMMANDS];
  int n = 0;
  char file[4096];
  if (gr_is_dir(word)) return gr_samples_given("train", word);
  snprintf(file, sizeof file, "%s.yaml", word);
  for (; gr_commands[n] && n < MAX_COMMANDS; n++) names[n] = gr_commands[n]->name;
  const char *near = gr_text_nearest(word, names, n);
  for (int i = 0; i < n && !near; i++)  // evaluate
    if (!strncmp(word, names[i], strlen(names[i]))) near = names[i];
  gr_status s =
      gr_fail(GR_ERR_USAGE, GR_NOWHERE, "'%s' is neither a command nor a configuration file", word);
  if (gr_is_file(file)) return gr_hint(s, "did you mean 'graphrun %s'?", file);
  size_t len = strlen(word);
  if (!strncmp(word, "python", 6) || (len > 3 && !strcmp(word + len - 3, ".py")))
    return gr_hint(s, "there is no script: graphrun CONFIG.yaml; `graphrun new NAME` makes one");
  if (called(word)) near = called(word);
  return near ? gr_hint(s, "did you mean 'graphrun %s'?", near)
              : gr_hint(s, "`graphrun --help` lists the commands");
}

// Prints what one of the functions of man.h writes.
static gr_status print_text(void (*write)(gr_text *)) {
  gr_arena *a = gr_arena_create();
  gr_text t = gr_text_make(a);
  write(&t);
  fputs(t.chars, stdout);
  gr_arena_destroy(a);
  return GR_OK;
}

static gr_status print_version(int argc, char **argv) {
  if (argc == 2) return print_text(gr_version);
  if (argc == 3 && !strcmp(argv[2], "--json")) return print_text(gr_version_json);
  return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE, "'--version' does not take '%s'", argv[2]),
                 "graphrun --version [--json]");
}

// An error of a call that says no more shows how the command is called.
static gr_status with_usage(const gr_command *c, gr_status s) {
  bool bare = gr_status_code(s) == GR_ERR_USAGE && !gr_status_hint(s) && !gr_status_loc(s).file;
  return bare ? gr_hint(s, "graphrun %s %s", c->name, c->usage) : s;
}

static gr_status main_run(int argc, char **argv) {
  if (!strcmp(argv[1], "--version")) return print_version(argc, argv);
  if (!strcmp(argv[1], "--man")) return print_text(gr_man);
  GR_TRY(gr_thread_begin());
  const gr_command *c = gr_command_find(argv[1]);
  if (!c && argv[1][0] != '-' && !is_config(argv[1])) return no_command(argv[1]);
  if (!c) c = gr_commands[0];
  return with_usage(c, gr_command_run(c, argc, argv));
}

// `graphrun help [COMMAND]` is `graphrun [COMMAND] --help`.
static bool is_help(int argc, char **argv) {
  return argc > 1 && !strcmp(argv[1], "help") && !gr_is_file("help");
}

static bool is_help_of_nothing(int argc, char **argv) {
  return is_help(argc, argv) && argc > 2 && !gr_command_find(argv[2]) && !is_config(argv[2]);
}

// Whether a command's help is requested. `config` is excepted, because it has help of its own.
static bool wants_help(int argc, char **argv) {
  if (is_help(argc, argv)) return true;
  bool config = argc > 1 && !strcmp(argv[1], "config");
  for (int i = 1; i < argc && !config; i++)
    if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) return true;
  return false;
}

// `graphrun --help` is about all commands, `graphrun run.yaml --help` about training.
static void print_help(int argc, char **argv) {
  const char *word = is_help(argc, argv) && argc > 2 ? argv[2] : argv[1];
  const gr_command *c = gr_command_find(word);
  if (c || (argc > 2 && is_config(argv[1])))
    gr_help_command(stdout, c ? c : gr_commands[0]);
  else
    gr_help_all(stdout);
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
  errno = 0;
  bool lost = fflush(stdout) || ferror(stdout);
  int why = errno ? errno : EIO;
  if (!lost || (poll(&out, 1, 0) > 0 && (out.revents & POLLERR))) return GR_OK;
  return gr_output_lost(why);
}

// Ranks that mpirun has started meet the same error at the same time. The others wait, so that rank
// 0 reports it and mpirun ends the others because of it.
static void yield_to_rank_0(void) {
  int rank;
  if (gr_launch_started(&rank, NULL) < 2 || rank == 0) return;
  signal(SIGTERM, SIG_DFL);
  sleep(3);
}

// What the compiler was allowed to use; checked before any of it is executed. Neither a status nor
// formatted text, whose code may use it, too.
static void check_processor(void) {
  const char *lacks = NULL;
#ifdef __AVX2__
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) lacks = "AVX2 and FMA";
#endif
#ifdef __AVX512F__
  if (!__builtin_cpu_supports("avx512f")) lacks = "AVX-512";
#endif
  if (!lacks) return;
  fputs("error: this graphrun was built for processors with ", stderr);
  fputs(lacks, stderr);
  fputs(", which this one lacks\nhint: build it on this machine (docs/install.md)\n", stderr);
  _exit(69);
}

int main(int argc, char **argv) {
  check_processor();
  gr_hooks_enter(argc, argv);
  gr_settings_register();
  open_standard_files();
  setvbuf(stderr, NULL, _IOLBF, BUFSIZ);  // a line is one write: launchers mix those of ranks
  signal(SIGXFSZ, SIG_IGN);               // makes writes beyond `ulimit -f` fail, as on a full disk
  bool nothing = is_help_of_nothing(argc, argv), help = !nothing && wants_help(argc, argv);
  if (argc < 2) return gr_help_all(stderr), 2;
  if (help) print_help(argc, argv);
  gr_status s = nothing ? no_command(argv[2]) : help ? GR_OK : main_run(argc, argv);
  if (!s) s = check_output();
  int code = gr_status_exit(s);
  if (s) yield_to_rank_0(), gr_status_print(stderr, s);
  gr_status_drop(s);
  return code;
}
