// nvrtc_sources.c - see nvrtc_sources.h.
#include "tests/gpu/nvrtc_sources.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"
#include "base/hash.h"
#include "tests/check.h"

enum { MAX_SOURCES = 8192, SLOTS = 4 * MAX_SOURCES };
const char *const nvrtc_archs[NVRTC_ARCHS] = {"sm_75", "sm_80",  "sm_86", "sm_89",
                                              "sm_90", "sm_100", "sm_120"};
static nvrtc_source sources[MAX_SOURCES];
static int n_sources, slots[SLOTS];  // by `code`: 1 + the index of a source; 0: none

nvrtc_source *nvrtc_added(int *n) { return *n = n_sources, sources; }

// ---- Sizes -------------------------------------------------------------------------------------

static bool is_of_word(int c) { return isalnum(c) || c == '_'; }

// The end of a number in C: digits, letters, a point, and a sign behind an exponent.
static const char *end_of_number(const char *p) {
  const char *begin = p;
  bool hexadecimal = p[0] == '0' && tolower(p[1]) == 'x';
  for (; is_of_word((unsigned char)*p) || *p == '.' || *p == '+' || *p == '-'; p++)
    if ((*p == '+' || *p == '-') && (hexadecimal || p == begin || tolower(p[-1]) != 'e')) break;
  return p;
}

// Integers above 16, and fractions. Smaller ones may be how often a loop is unrolled, or how many
// elements a thread keeps: they decide what code and how many registers there are.
static bool is_size(const char *begin, const char *end) {
  enum { SMALL = 16 };
  return memchr(begin, '.', (size_t)(end - begin)) || strtoull(begin, NULL, 0) > SMALL;
}

// A hash of the text, in which every size is the same.
static uint64_t hash_code(const char *text) {
  uint64_t hash = GR_HASH_START;
  for (const char *p = text, *next; *p; p = next) {
    next = p + 1;
    if (isdigit((unsigned char)*p)) {
      next = end_of_number(p);
      bool size = is_size(p, next);
      hash = size ? gr_hash_bytes(hash, "#", 1) : gr_hash_bytes(hash, p, (size_t)(next - p));
      continue;
    }
    while (is_of_word((unsigned char)*p) && is_of_word((unsigned char)*next)) next++;
    hash = gr_hash_bytes(hash, p, (size_t)(next - p));
  }
  return hash;
}

// ---- Adding ------------------------------------------------------------------------------------

static void put_types(const gr_op_call *call, nvrtc_source *s) {
  for (int o = 0, length = 0; o < call->n_in + call->n_out && length < 50; o++)
    length +=
        snprintf(s->types + length, sizeof s->types - (size_t)length, "%s%s",
                 o == call->n_in ? " -> "
                 : o             ? " "
                                 : "",
                 gr_dtypes[(o < call->n_in ? call->in[o] : call->out[o - call->n_in]).dtype].name);
}

// Where the source is, or a new one is to be: `sizes` tells apart what differs in sizes alone.
static int *slot_of(uint64_t code, const char *arch, const char *text, bool sizes) {
  uint64_t slot = code % SLOTS;
  for (; slots[slot]; slot = (slot + 1) % SLOTS) {
    const nvrtc_source *s = &sources[slots[slot] - 1];
    if (s->code == code && s->arch == arch && (!sizes || !strcmp(s->text, text))) break;
  }
  return &slots[slot];
}

static void add_for(gr_arena *a, nvrtc_source *new, bool sizes, const gr_op_call *call) {
  int *slot = slot_of(new->code, new->arch, new->text, sizes);
  CHECK(*slot || n_sources < MAX_SOURCES, "there are more than %d sources", MAX_SOURCES);
  if (!*slot && n_sources < MAX_SOURCES) {
    new->text = gr_arena_printf(a, "%s", new->text);
    put_types(call, new);
    sources[n_sources++] = *new;
    *slot = n_sources;
  }
  if (*slot && sources[*slot - 1].threads < new->threads) sources[*slot - 1].threads = new->threads;
}

// Whether a launch like this one was added: most nodes of a model are like others.
static bool is_repeated(const gr_op *op, const char *text, int threads) {
  static uint64_t seen[SLOTS];
  uint64_t hash = gr_hash_quick((uint64_t)threads, text, strlen(text)), slot = 0;
  hash = gr_hash_quick(hash, op->name, strlen(op->name)) | 1;
  for (slot = hash % SLOTS; seen[slot] && seen[slot] != hash;) slot = (slot + 1) % SLOTS;
  bool repeated = seen[slot];
  seen[slot] = hash;
  return repeated;
}

void nvrtc_add(gr_arena *a, const nvrtc_wanted *wanted, const gr_op_call *call, const char *text,
               int threads) {
  if (is_repeated(call->op, text, threads)) return;
  uint64_t code = hash_code(text);
  int turn = wanted->each ? (int)(code / 6 % NVRTC_ARCHS) : -1;  // the same of all with this code
  for (int i = 0; i < NVRTC_ARCHS; i++) {
    if (!wanted->arch[i] && i != turn) continue;
    nvrtc_source new = {.text = text,
                        .op = call->op->name,
                        .arch = nvrtc_archs[i],
                        .code = code,
                        .kernels = "",
                        .threads = threads};
    add_for(a, &new, wanted->sizes, call);
  }
}
