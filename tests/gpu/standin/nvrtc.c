// nvrtc.c - the stand-in compiler: CUDA C goes through g++ with device.hpp in front: preprocessed,
// its markers rewritten, compiled. A "cubin" is a shared object, with the architecture that it is
// for behind it. The shared object is kept between processes, by all that it depends on: on the
// architecture only where the text asks for that.
#define _GNU_SOURCE
#include "tests/gpu/standin/nvrtc.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <nvrtc.h>
#include <pthread.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/cache.h"

extern char **environ;
struct _nvrtcProgram {
  char *source, *name;
  int ptx;
  text log, code;
};
enum { PATH = 4200, MAX_OPTIONS = 50 };

static int read_file(const char *path, text *t) {
  FILE *f = fopen(path, "rb");
  if (!f) return -1;
  char b[65536];
  for (size_t n; (n = fread(b, 1, sizeof b, f)) > 0;) text_put(t, b, n);
  return fclose(f);
}

static int write_file(const char *path, const text *t) {
  FILE *f = fopen(path, "wb");
  if (!f) return -1;
  size_t w = fwrite(t->p, 1, t->n, f);
  return fclose(f) || w != t->n ? -1 : 0;
}

// Runs a compiler; its messages go to the log.
static int run(const char *log_path, const char *const *arg, text *log) {
  posix_spawn_file_actions_t a;
  pid_t pid;
  int status = -1;
  posix_spawn_file_actions_init(&a);
  posix_spawn_file_actions_addopen(&a, 2, log_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  int e = posix_spawnp(&pid, arg[0], &a, NULL, (char **)(uintptr_t)arg, environ);
  posix_spawn_file_actions_destroy(&a);
  if (e) return text_puts(log, "the stand-in needs g++\n"), -1;
  waitpid(pid, &status, 0);
  read_file(log_path, log);
  return status;
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram *out, const char *source, const char *name,
                               int n_headers, const char *const *headers,
                               const char *const *names) {
  (void)headers, (void)names;
  if (n_headers) return NVRTC_ERROR_INVALID_INPUT;
  nvrtcProgram p = calloc(1, sizeof *p);
  p->source = strdup(source), p->name = strdup(name ? name : "default_program");
  return *out = p, NVRTC_SUCCESS;
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram *p) {
  if (!p || !*p) return NVRTC_ERROR_INVALID_PROGRAM;
  free((*p)->source), free((*p)->name), free((*p)->log.p), free((*p)->code.p), free(*p);
  return *p = NULL, NVRTC_SUCCESS;
}

// ---- The real compiler beside this one ----------------------------------------------------------
// STANDIN_REAL_NVRTC=path: the real one must accept every source as well: it forgives less than
// g++.

static void take_real_log(void *so, nvrtcProgram real, text *log) {
  nvrtcResult (*size_of)(nvrtcProgram, size_t *) = dlsym(so, "nvrtcGetProgramLogSize");
  nvrtcResult (*get)(nvrtcProgram, char *) = dlsym(so, "nvrtcGetProgramLog");
  size_t n = 0;
  if (size_of(real, &n)) return;
  char *said = calloc(n + 1, 1);
  get(real, said);
  text_puts(log, said);
  free(said);
}

static nvrtcResult ask_real(nvrtcProgram p, int n, const char *const *options) {
  const char *path = getenv("STANDIN_REAL_NVRTC");
  if (!path || !*path) return NVRTC_SUCCESS;
  void *so = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  if (!so) return text_puts(&p->log, dlerror()), NVRTC_ERROR_INTERNAL_ERROR;
  nvrtcResult (*create)(nvrtcProgram *, const char *, const char *, int, const char *const *,
                        const char *const *) = dlsym(so, "nvrtcCreateProgram");
  nvrtcResult (*build)(nvrtcProgram, int, const char *const *) = dlsym(so, "nvrtcCompileProgram");
  nvrtcResult (*destroy)(nvrtcProgram *) = dlsym(so, "nvrtcDestroyProgram");
  nvrtcProgram real;
  nvrtcResult r = create(&real, p->source, p->name, 0, NULL, NULL);
  if (r) return r;
  if ((r = build(real, n, options))) take_real_log(so, real, &p->log);
  destroy(&real);
  return r;
}

// ---- Compiling ---------------------------------------------------------------------------------

// The architecture that the options ask for; 0: an option that is not known.
static int read_options(nvrtcProgram p, int n, const char *const *options, const char **arg,
                        int *n_arg) {
  static const char *const ignored[] = {"--std=",
                                        "-std=",
                                        "--fmad=",
                                        "-fmad=",
                                        "-lineinfo",
                                        "--generate-line-info",
                                        "-default-device",
                                        "--ptxas-options",
                                        "--maxrregcount=",
                                        "--restrict",
                                        "--extra-device-vectorization"};
  int arch = 75;
  for (int i = 0; i < n; i++) {
    const char *o = options[i];
    int known = !strncmp(o, "-D", 2);
    if (known && *n_arg < MAX_OPTIONS) arg[(*n_arg)++] = o;
    if (!strncmp(o, "--gpu-architecture=", 19)) {
      p->ptx = !strncmp(o + 19, "compute_", 8);
      arch = atoi(strchr(o, '_') + 1);
      known = arch >= 75;  // CUDA 13 begins there
    }
    for (size_t k = 0; k < sizeof ignored / sizeof *ignored; k++)
      known |= !strncmp(o, ignored[k], strlen(ignored[k]));
    if (known) continue;
    text_puts(&p->log, "nvrtc: error: unrecognized option ");
    text_puts(&p->log, o);
    return 0;
  }
  return arch;
}

typedef struct place {  // a scratch folder, and the files in it
  char dir[200], source[256], preprocessed[256], cooked[256], out[256], log[256];
} place;

static int make_place(place *files) {
  const char *tmp = getenv("TMPDIR");
  snprintf(files->dir, sizeof files->dir, "%.150s/standin-XXXXXX", tmp ? tmp : "/tmp");
  if (!mkdtemp(files->dir)) return -1;
  snprintf(files->source, sizeof files->source, "%s/in.cu", files->dir);
  snprintf(files->preprocessed, sizeof files->preprocessed, "%s/pre.ii", files->dir);
  snprintf(files->cooked, sizeof files->cooked, "%s/cooked.ii", files->dir);
  snprintf(files->out, sizeof files->out, "%s/out.so", files->dir);
  snprintf(files->log, sizeof files->log, "%s/log", files->dir);
  return 0;
}

static void remove_place(const place *files) {
  unlink(files->source), unlink(files->preprocessed), unlink(files->cooked), unlink(files->out);
  unlink(files->log), rmdir(files->dir);
}

static int preprocess(nvrtcProgram p, const place *files, const char **arg, int n) {
  const char *const rest[] = {"-I" STANDIN_DIR,    "-include", "device.hpp", files->source, "-o",
                              files->preprocessed, NULL};
  text source = {0};
  text_puts(&source, "#line 1 \"");
  text_puts(&source, p->name);
  text_puts(&source, "\"\n");
  text_puts(&source, p->source);
  int bad = write_file(files->source, &source);
  free(source.p);
  memcpy(arg + n, rest, sizeof rest);
  return bad || run(files->log, arg, &p->log);
}

// Whether calls are put before loads and stores (weak.c): those for the race detector of g++, which
// device.hpp has.
static int is_weak(void) {
  const char *e = getenv("STANDIN_MEMORY");
  return e && *e;
}

// The C library is that of the process, so that no library is searched but those of mathematics and
// of the compiler.
static int translate(nvrtcProgram p, const place *files) {
  const char *cc[] = {"g++",
                      "-x",
                      "c++-cpp-output",
                      "-std=c++17",
                      "-Og",
                      "-ftree-sra",
                      "-ftree-pta",
                      "-fmove-loop-invariants",
                      "-g1",
                      "-w",
                      "-fPIC",
                      "-shared",
                      "-nostdlib",
                      "-fno-weak",
                      "-fno-exceptions",
                      "-fno-rtti",
                      "-fno-strict-aliasing",
                      "-ffp-contract=off",
                      "-fsanitize=alignment,bounds",
                      "-fsanitize-undefined-trap-on-error",
                      is_weak() ? "-fsanitize=thread" : "-fsanitize=bounds",
                      "--param",
                      "tsan-instrument-func-entry-exit=0",
                      files->cooked,
                      "-o",
                      files->out,
                      "-x",
                      "none",
                      "-lm",
                      "-lgcc",
                      NULL};
  text in = {0}, code = {0};
  int bad = read_file(files->preprocessed, &in);
  if (!bad) nvrtc_rewrite(in.p, &code);
  bad = bad || write_file(files->cooked, &code) || run(files->log, cc, &p->log) ||
        read_file(files->out, &p->code);
  free(in.p), free(code.p);
  return bad;
}

static unsigned compiler_hash;  // of the files that code depends on
static void hash_compiler(void) {
  static const char *const files[] = {"abi.h", "device.hpp", "nvrtc.c", "nvrtc_rewrite.c"};
  compiler_hash = 5381;
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    char path[PATH];
    text t = {0};
    snprintf(path, sizeof path, "%s/%s", STANDIN_DIR, files[i]);
    read_file(path, &t);
    for (size_t k = 0; k < t.n; k++) compiler_hash = compiler_hash * 33 + (unsigned char)t.p[k];
    free(t.p);
  }
}
static unsigned compiler_version(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, hash_compiler);
  return compiler_hash;
}

static cache_key key_of(nvrtcProgram p, const char *const *arg, int n) {
  const unsigned version = compiler_version();
  cache_key key = cache_key_start();
  cache_key_add(&key, &version, sizeof version);
  cache_key_add(&key, STANDIN_GXX, strlen(STANDIN_GXX));
  cache_key_add(&key, p->name, strlen(p->name));
  for (int i = 0; i < n; i++) cache_key_add(&key, arg[i], strlen(arg[i]));
  cache_key_add(&key, p->source, strlen(p->source));
  return key;
}

// STANDIN_COMPILED=FILE gets a character for each compilation.
static void count_compilation(void) {
  const char *path = getenv("STANDIN_COMPILED");
  int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;
  if (fd >= 0 && (write(fd, "x", 1) != 1 || close(fd))) abort();
}

static nvrtcResult compile(nvrtcProgram p, const char **arg, int n) {
  place files;
  if (make_place(&files)) return NVRTC_ERROR_INTERNAL_ERROR;
  int bad = preprocess(p, &files, arg, n) || translate(p, &files);
  remove_place(&files);
  return bad ? NVRTC_ERROR_COMPILATION : NVRTC_SUCCESS;
}

// The shared object: what is kept, or else made and kept. Tests that run at once need the same
// ones.
static nvrtcResult make_object(nvrtcProgram p, const char **arg, int n) {
  cache_key key = key_of(p, arg, n);
  nvrtcResult r = NVRTC_SUCCESS;
  free(p->code.p), p->code.p = NULL;
  if (cache_read("kernels", &key, &p->code.p, &p->code.n)) return r;
  int lock = cache_lock("kernels", &key);
  if (!cache_read("kernels", &key, &p->code.p, &p->code.n)) {
    r = compile(p, arg, n);
    if (!r) cache_write("kernels", &key, p->code.p, p->code.n);
  }
  cache_unlock(lock);
  return r;
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram p, int n_options, const char *const *options) {
  const char *arg[MAX_OPTIONS + 20] = {"g++", "-E", "-x", "c++", "-std=c++17", "-nostdinc"};
  char define[40];
  int n = 6;
  p->log.n = p->code.n = 0;
  nvrtcResult r = ask_real(p, n_options, options);
  if (r) return r;
  int arch = read_options(p, n_options, options, arg, &n);
  if (!arch) return NVRTC_ERROR_INVALID_OPTION;
  count_compilation();
  snprintf(define, sizeof define, "-DSTANDIN_ARCH=%d", arch);
  if (strstr(p->source, "__CUDA_ARCH__")) arg[n++] = define;
  if (is_weak()) arg[n++] = "-DSTANDIN_WEAK";
  if ((r = make_object(p, arg, n))) return r;
  text_put(&p->code, (const char *)&arch, sizeof arch);
  return NVRTC_SUCCESS;
}

// ---- Results -----------------------------------------------------------------------------------

nvrtcResult nvrtcGetCUBINSize(nvrtcProgram p, size_t *n) {
  return *n = p->ptx ? 0 : p->code.n, NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetCUBIN(nvrtcProgram p, char *to) {
  return memcpy(to, p->code.p, p->ptx ? 0 : p->code.n), NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetPTXSize(nvrtcProgram p, size_t *n) { return *n = p->code.n, NVRTC_SUCCESS; }
nvrtcResult nvrtcGetPTX(nvrtcProgram p, char *to) {
  return memcpy(to, p->code.p, p->code.n), NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram p, size_t *n) {
  return *n = p->log.n + 1, NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetProgramLog(nvrtcProgram p, char *to) {
  return memcpy(to, p->log.n ? p->log.p : "", p->log.n + 1), NVRTC_SUCCESS;
}
// The version is a hash of what code depends on here, so that none of an older stand-in is used.
nvrtcResult nvrtcVersion(int *major, int *minor) {
  return *major = 13, *minor = (int)(compiler_version() % 1000000) + is_weak(), NVRTC_SUCCESS;
}
static const int archs[] = {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121};
nvrtcResult nvrtcGetNumSupportedArchs(int *n) {
  return *n = sizeof archs / sizeof *archs, NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetSupportedArchs(int *a) { return memcpy(a, archs, sizeof archs), NVRTC_SUCCESS; }
const char *nvrtcGetErrorString(nvrtcResult r) {
  return r == NVRTC_SUCCESS             ? "NVRTC_SUCCESS"
         : r == NVRTC_ERROR_COMPILATION ? "NVRTC_ERROR_COMPILATION"
                                        : "NVRTC_ERROR";
}
