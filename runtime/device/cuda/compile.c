// compile.c - sources to loaded modules. A source is compiled once in a process, whatever number of
// kernels and devices needs it, and once on a machine: compiled code is kept on disk (cache.c).
// Ranks that need a source at the same time share the work: the first one compiles it, while the
// others go on with what none has begun, and wait for it at the end.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "base/hash.h"
#include "base/tasks.h"
#include "runtime/device/cuda/parts.h"

// Code of this process, by key, for its life: ranks that are threads compile for each other.
typedef struct made {
  struct made *next;
  uint64_t key[2];
  const char *code;  // NULL: no thread has compiled it
  size_t bytes;
  bool begun;  // one thread compiles it
} made;
static made *all_made;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;

// The entry of a key, which is made where there is none; NULL: no memory. Under the lock.
static made *entry_of(const uint64_t key[2]) {
  made *m = all_made;
  while (m && memcmp(m->key, key, sizeof m->key)) m = m->next;
  if (m || !(m = calloc(1, sizeof *m))) return m;
  memcpy(m->key, key, sizeof m->key);
  m->next = all_made;
  return all_made = m;
}

// Takes the code of a unit, if there is some; else *claimed: the caller compiles it, and says so by
// `end`. Neither: another thread does, which it waits for if it is `last`.
static void take(gr_unit *u, bool last, bool *claimed) {
  pthread_mutex_lock(&lock);
  made *m = entry_of(u->key);
  while (m && m->begun && last) pthread_cond_wait(&ended, &lock);
  if (m && m->code) u->code = (char *)m->code, u->bytes = m->bytes, u->cached = true;
  *claimed = !u->code && !(m && m->begun);
  if (*claimed && m) m->begun = true;
  pthread_mutex_unlock(&lock);
}

// Keeps the unit's code for the other threads; where it has none, the next one tries.
static void end(const gr_unit *u) {
  pthread_mutex_lock(&lock);
  made *m = entry_of(u->key);
  if (m) m->code = u->code, m->bytes = u->bytes, m->begun = false;
  pthread_cond_broadcast(&ended);
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

static gr_status read_code(const gr_cuda *c, nvrtcProgram p, char *code) {
  if (c->virtual)
    RTC_TRY(nvrtcGetPTX(p, code));
  else
    RTC_TRY(nvrtcGetCUBIN(p, code));
  return GR_OK;
}

// The unit has code, which other ranks of the process may take, when all of it is there.
static gr_status take_code(const gr_cuda *c, nvrtcProgram p, gr_unit *u) {
  if (c->virtual)
    RTC_TRY(nvrtcGetPTXSize(p, &u->bytes));
  else
    RTC_TRY(nvrtcGetCUBINSize(p, &u->bytes));
  char *code = malloc(u->bytes + 1);
  if (!code) return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no memory for compiled kernels");
  gr_status s = read_code(c, p, code);
  if (s) {
    free(code);
    return s;
  }
  code[u->bytes] = 0;
  u->code = code;
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
  bool last;  // what others compile is waited for
} building;
static const double patience = 60;  // seconds, for a process that may have been stopped

// Without code: another process makes it.
static gr_status read_or_compile(const building *b, gr_unit *u) {
  int claim;
  gr_status s = GR_OK;
  bool free = gr_kernel_cache_claim(u->key, b->last ? patience : 0, &claim);
  u->cached = gr_kernel_cache_read(u->key, &u->code, &u->bytes);
  if (!u->cached && (free || b->last)) {
    s = compile(b->device, u);
    if (!s) gr_kernel_cache_write(u->key, u->code, u->bytes);
  }
  gr_kernel_cache_release(claim);
  return s;
}

static gr_status build(void *arg, int i) {
  const building *b = arg;
  gr_unit *u = b->unit[i];
  bool claimed;
  if (u->code) return GR_OK;
  take(u, b->last, &claimed);
  if (!claimed) return GR_OK;
  gr_status s = read_or_compile(b, u);
  end(u);
  return s;
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
  b.last = true;
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
