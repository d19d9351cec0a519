// compile.c - sources to loaded modules. A source is compiled once in a process, whatever number of
// kernels and devices needs it, and once on a machine: compiled code is kept on disk (cache.c).
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "base/hash.h"
#include "base/tasks.h"
#include "runtime/device/cuda/parts.h"

// Code of this process, by key: ranks that are threads compile for each other.
typedef struct made {
  struct made *next;
  uint64_t key[2];
  const char *code;
  size_t bytes;
} made;
static made *all_made;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static const made *find_made(const uint64_t key[2]) {
  pthread_mutex_lock(&lock);
  const made *m = all_made;
  while (m && memcmp(m->key, key, sizeof m->key)) m = m->next;
  pthread_mutex_unlock(&lock);
  return m;
}

// Takes the unit's code over for the life of the process.
static void keep(gr_unit *u) {
  made *m = malloc(sizeof *m);
  if (!m) return;
  *m = (made){.key = {u->key[0], u->key[1]}, .code = u->code, .bytes = u->bytes};
  pthread_mutex_lock(&lock);
  m->next = all_made, all_made = m;
  pthread_mutex_unlock(&lock);
}

// ---- Options -----------------------------------------------------------------------------------

// The newest architecture that the compiler knows and the GPU runs. Code of one generation runs on
// later members of it; for a later generation the driver compiles PTX.
static gr_status choose_arch(const gr_cuda *c, int *arch, bool *virtual) {
  int n = 0, known[64];
  RTC_TRY(nvrtcGetNumSupportedArchs(&n));
  if (n > (int)(sizeof known / sizeof *known))
    return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "NVRTC knows %d architectures", n);
  RTC_TRY(nvrtcGetSupportedArchs(known));
  *arch = 0;
  for (int i = 0; i < n; i++)
    if (known[i] <= c->arch && known[i] > *arch) *arch = known[i];
  *virtual = *arch / 10 != c->arch / 10;
  if (*arch) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_LAUNCH, GR_NOWHERE,
                         "GPU %d (%s, compute capability %d.%d) is older than what this NVRTC "
                         "compiles for",
                         c->index, c->name, c->arch / 10, c->arch % 10),
                 "use a toolkit that knows it, or device=cpu");
}

gr_status gr_units_open(gr_cuda *c) {
  int arch = 0, major = 0, minor = 0;
  GR_TRY(choose_arch(c, &arch, &c->virtual));
  RTC_TRY(nvrtcVersion(&major, &minor));
  c->options[c->n_options++] =
      gr_arena_printf(c->arena, "--gpu-architecture=%s_%d", c->virtual ? "compute" : "sm", arch);
  c->options[c->n_options++] = gr_arena_strdup(c->arena, "--std=c++17");
  c->options[c->n_options++] = gr_arena_strdup(c->arena, "--fmad=true");
  c->toolchain = GR_HASH_START;
  char *version = gr_arena_printf(c->arena, "nvrtc %d.%d, format 1", major, minor);
  c->toolchain = gr_hash_bytes(c->toolchain, version, strlen(version) + 1);
  for (int i = 0; i < c->n_options; i++)
    c->toolchain = gr_hash_bytes(c->toolchain, c->options[i], strlen(c->options[i]) + 1);
  return GR_OK;
}

void gr_units_close(gr_cuda *c) {
  for (gr_unit *u = c->units; u; u = u->next)
    if (u->module) gr_cu.cuModuleUnload(u->module);
}

// ---- Units -------------------------------------------------------------------------------------

gr_status gr_unit_add(gr_cuda *c, const char *text, const gr_op_call *call, gr_unit **out) {
  size_t n = strlen(text);
  uint64_t key[2] = {gr_hash_bytes(c->toolchain, text, n),
                     gr_hash_bytes(c->toolchain ^ UINT64_C(0x9e3779b97f4a7c15), text, n)};
  for (gr_unit *u = c->units; u; u = u->next)
    if (!memcmp(u->key, key, sizeof key)) {
      *out = u;
      return GR_OK;
    }
  gr_unit *u = *out = GR_NEW(c->arena, gr_unit, 1);
  *u = (gr_unit){.next = c->units,
                 .key = {key[0], key[1]},
                 .source = gr_arena_strndup(c->arena, text, n),
                 .op = call->op,
                 .loc = call->loc};
  c->units = u;
  return GR_OK;
}

static gr_status show_log(nvrtcProgram p, const gr_unit *u, nvrtcResult r) {
  size_t n = 0;
  if (gr_rtc.nvrtcGetProgramLogSize(p, &n)) n = 0;
  char *log = calloc(n + 1, 1);
  if (log && n) gr_rtc.nvrtcGetProgramLog(p, log);
  gr_status s = gr_fail(GR_ERR_BUG, u->loc, "the kernel of op '%s' does not compile (%s): %.700s",
                        u->op->name, gr_rtc.nvrtcGetErrorString(r), log ? log : "");
  free(log);
  return gr_hint(s, "device=cpu runs every op; please report the kernel");
}

static gr_status take_code(const gr_cuda *c, nvrtcProgram p, gr_unit *u) {
  if (c->virtual)
    RTC_TRY(nvrtcGetPTXSize(p, &u->bytes));
  else
    RTC_TRY(nvrtcGetCUBINSize(p, &u->bytes));
  u->code = malloc(u->bytes + 1);
  if (!u->code) return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no memory for compiled kernels");
  if (c->virtual)
    RTC_TRY(nvrtcGetPTX(p, u->code));
  else
    RTC_TRY(nvrtcGetCUBIN(p, u->code));
  u->code[u->bytes] = 0;
  return GR_OK;
}

static gr_status compile(const gr_cuda *c, gr_unit *u) {
  nvrtcProgram p;
  char name[128];
  snprintf(name, sizeof name, "%s.cu", u->op->name);
  RTC_TRY(nvrtcCreateProgram(&p, u->source, name, 0, NULL, NULL));
  nvrtcResult r = gr_rtc.nvrtcCompileProgram(p, c->n_options, (const char *const *)c->options);
  gr_status s = r ? show_log(p, u, r) : take_code(c, p, u);
  gr_rtc.nvrtcDestroyProgram(&p);
  return s;
}

typedef struct building {
  const gr_cuda *device;
  gr_unit **unit;
} building;

static gr_status build(void *arg, int i) {
  const building *b = arg;
  gr_unit *u = b->unit[i];
  const made *m = find_made(u->key);
  if (m) {
    u->code = (char *)m->code, u->bytes = m->bytes, u->cached = true;
    return GR_OK;
  }
  u->cached = gr_kernel_cache_read(u->key, &u->code, &u->bytes);
  if (!u->cached) {
    GR_TRY(compile(b->device, u));
    gr_kernel_cache_write(u->key, u->code, u->bytes);
  }
  keep(u);
  return GR_OK;
}

static gr_status load(gr_unit *u) {
  CU_TRY(cuModuleLoadData(&u->module, u->code));
  return GR_OK;
}

gr_status gr_units_build(gr_cuda *c) {
  int n = 0;
  for (gr_unit *u = c->units; u; u = u->next) n += !u->module;
  if (!n) return GR_OK;
  building b = {c, GR_NEW(c->arena, gr_unit *, n)};
  n = 0;
  for (gr_unit *u = c->units; u; u = u->next)
    if (!u->module) b.unit[n++] = u;
  GR_TRY(gr_tasks_run(0, n, build, &b));
  for (int i = 0; i < n; i++)
    GR_TRY(gr_note(load(b.unit[i]), b.unit[i]->loc, "while loading the kernel of op '%s'",
                   b.unit[i]->op->name));
  return GR_OK;
}

void gr_units_report(const gr_cuda *c, gr_text *t) {
  int n = 0, cached = 0;
  for (gr_unit *u = c->units; u; u = u->next) n++, cached += u->cached;
  gr_text_printf(t, "%d source%s of kernels, %d of them compiled before", n, gr_text_s(n), cached);
}
