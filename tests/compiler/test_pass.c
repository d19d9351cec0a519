// test_pass.c - one pass on one graph: tests/compiler/passes/*.gr hold a graph, the pass and its
// options, and the graph it must make. `test_pass NAME --update` writes what it does make; read the
// diff.
//
//   ! shard optimizer=adam zero=dp rule=w*:dp:0
//   mesh dp=2
//   ...
//   ----
//   ...
#include <dirent.h>
#include <string.h>
#include "compiler/pass.h"
#include "ir/text.h"
#include "tests/check.h"
#include "tests/compiler/optim.h"
#include "tests/ir/parse.h"

enum { MOST = 120, ROOM = 1 << 20 };
static bool update;
static const char *only;

typedef struct request {
  char pass[32];
  gr_options o;
  gr_layout_rule rules[8];
  const char *freeze[8], *freezable[8];
  gr_map units, parts;
  gr_map scopes;  // of nodes, by the number of their first value
  gr_precision_rule precision[8];
  gr_loss_scale scale;
} request;

static const char *take(gr_arena *a, const char *p, size_t n) { return gr_arena_strndup(a, p, n); }

static void add_rule(gr_arena *a, request *r, const char *text) {  // w*:dp:0
  size_t pattern = strcspn(text, ":"), axis = strcspn(text + pattern + 1, ":");
  const char *lay = text + pattern + axis + 2;
  r->rules[r->o.sharding.n_rules++] =
      (gr_layout_rule){take(a, text, pattern), take(a, text + pattern + 1, axis),
                       (gr_axis_placement)(strcmp(lay, "any") ? atoi(lay) : GR_ANY_DIM)};
  r->o.sharding.rules = r->rules;
}

static gr_dtype dtype_of(const char *name) {
  gr_dtype d = 0;
  while (d < GR_DTYPE_COUNT && strcmp(gr_dtypes[d].name, name)) d++;
  CHECK(d < GR_DTYPE_COUNT, "there is no dtype %s", name);
  return d;
}

static void add_precision_rule(gr_arena *a, request *r, const char *text) {  // *.tanh:f32
  size_t pattern = strcspn(text, ":");
  r->precision[r->o.precision.n_rules++] =
      (gr_precision_rule){.pattern = take(a, text, pattern), .dtype = dtype_of(text + pattern + 1)};
  r->o.precision.rules = r->precision;
}

static void option(gr_arena *a, request *r, const char *word) {
  const char *value = strchr(word, '=');
  if (!value) return;
  value++;
  if (!strncmp(word, "optimizer=", 10)) r->o.optimizer.name = value;
  if (!strncmp(word, "momentum=", 9)) r->o.optimizer.attr = optim_attr(a, "sgd", word);
  if (!strncmp(word, "clip=", 5)) r->o.optimizer.grad_clip = atof(value);
  if (!strncmp(word, "coalesce_bytes=", 15)) r->o.debug.coalesce_bytes = (size_t)atol(value);
  if (!strncmp(word, "zero=", 5)) r->o.sharding.zero_axis = value;
  if (!strncmp(word, "replicate_below=", 16)) r->o.sharding.replicate_below = (size_t)atol(value);
  if (!strncmp(word, "unit=", 5))
    gr_map_put(&r->units, value, r->units.n), r->o.sharding.units = &r->units;
  if (!strncmp(word, "part=", 5))
    gr_map_put(&r->parts, value, r->parts.n), r->o.memory.recomputed = &r->parts;
  for (int k = 0; k < GR_RECOMPUTE_WORDS; k++)
    if (!strncmp(word, "again=", 6) && !strcmp(value, gr_recompute_words[k]))
      r->o.memory.given[k] = true, r->o.memory.recomputed = &r->parts;
  if (!strncmp(word, "scope=", 6)) gr_map_put(&r->scopes, value, (uint32_t)atoi(value));
  if (!strcmp(word, "prefetch=pre")) r->o.sharding.prefetch = GR_PREFETCH_PRE;
  if (!strcmp(word, "prefetch=forward")) r->o.sharding.forward_prefetch = true;
  if (!strcmp(word, "prefetch=post")) r->o.sharding.prefetch = GR_PREFETCH_POST;
  if (!strncmp(word, "micro_batches=", 14)) r->o.batch.micro_batches = atoi(value);
  if (!strcmp(word, "phase=micro_batch")) r->o.program.phase = GR_PHASE_MICRO_BATCH;
  if (!strcmp(word, "phase=update")) r->o.program.phase = GR_PHASE_UPDATE;
  if (!strcmp(word, "offload_params=true")) r->o.sharding.offload_params = true;
  if (!strcmp(word, "scatter=true")) r->o.sharding.scatter = true;
  if (!strncmp(word, "rule=", 5)) add_rule(a, r, value);
  if (!strncmp(word, "precision=", 10)) r->o.precision.dtype = dtype_of(value);
  if (!strncmp(word, "reduce_dtype=", 13)) r->o.precision.sent = dtype_of(value);
  if (!strncmp(word, "dtype=", 6)) add_precision_rule(a, r, value);
  if (!strncmp(word, "loss_scale=", 11)) {
    r->scale = (gr_loss_scale){atof(value), 2, 0.5, 1, 2000};
    r->o.precision.loss_scale = &r->scale;
  }
  if (!strcmp(word, "ema=update")) r->o.program.ema = GR_EMA_UPDATE;
  if (!strcmp(word, "ema=read")) r->o.program.ema = GR_EMA_READ;
  if (!strcmp(word, "ema=begin")) r->o.program.ema = GR_EMA_BEGIN;
  if (!strncmp(word, "ema_decay=", 10)) r->o.optimizer.ema_decay.value = atof(value);
  if (!strcmp(word, "adjustable=true")) r->o.optimizer.adjustable = true;
  if (!strncmp(word, "freezable=", 10))
    r->freezable[r->o.optimizer.freezable.n++] = value,
    r->o.optimizer.freezable.text = r->freezable;
  if (!strncmp(word, "frozen=", 7)) r->o.program.frozen = (unsigned)atoi(value);
  if (!strncmp(word, "freeze=", 7))
    r->freeze[r->o.optimizer.freeze.n++] = value, r->o.optimizer.freeze.text = r->freeze;
}

// The line "! PASS key=value ...".
static void read_request(gr_arena *a, const char *line, request *r) {
  *r = (request){.o = {.optimizer.name = "sgd"}, .units = gr_map_make(a)};
  r->parts = gr_map_make(a), r->scopes = gr_map_make(a);
  size_t n = strcspn(line, "\n");
  char *text = gr_arena_strndup(a, line, n), *save = NULL;
  for (char *w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save))
    if (!*r->pass)
      snprintf(r->pass, sizeof r->pass, "%s", w);
    else
      option(a, r, w);
}

static void rewrite(const char *path, const char *head, size_t n, const char *text) {
  FILE *f = fopen(path, "w");
  CHECK(f != NULL, "%s cannot be written", path);
  if (!f) return;
  fprintf(f, "%.*s----\n%s", (int)n, head, text);
  fclose(f);
}

static void run_file(const char *path) {
  gr_arena *a = gr_arena_create();
  char *text;
  request r;
  gr_graph *in, *out, *back;
  MUST(gr_file_read(a, path, ROOM, &text, NULL));
  char *ask = strstr(text, "! "), *cut = strstr(text, "----\n");
  CHECK(ask && (cut || update), "%s is not a pass test", path);
  if (!ask) return;
  size_t head = cut ? (size_t)(cut - text) : strlen(text);
  const char *graph = strchr(ask, '\n') + 1;
  read_request(a, ask + 2, &r);
  MUST(graph_parse(a, gr_op_find, path, take(a, graph, head - (size_t)(graph - text)), &in));
  for (uint32_t i = 0; i < r.scopes.n; i++)  // 6:layers.0
    in->nodes[in->values[r.scopes.values[i]].node].scope = strchr(r.scopes.keys[i], ':') + 1;
  MUST(gr_pass_run(a, r.pass, in, &r.o, &out));
  gr_text got = gr_text_make(a);
  gr_graph_text(&got, out, false);
  if (update) rewrite(path, text, head, got.chars);
  CHECK(update || !strcmp(got.chars, cut + 5), "%s: the pass makes\n%s", path, got.chars);
  MUST(graph_parse(a, gr_op_find, path, got.chars, &back));
  CHECK(gr_graph_same(out, back), "%s: what it makes does not read back", path);
  gr_arena_destroy(a);
}

static int by_name(const void *a, const void *b) { return strcmp(a, b); }

static void files(void) {
  static char names[MOST][256];
  size_t n = 0;
  DIR *d = opendir(GR_SOURCE_DIR "/tests/compiler/passes");
  CHECK(d != NULL, "no tests/compiler/passes");
  if (!d) return;
  for (struct dirent *e; (e = readdir(d)) && n < MOST;)
    if (strstr(e->d_name, ".gr") && (!only || strstr(e->d_name, only)))
      snprintf(names[n++], sizeof names[0], "%s", e->d_name);
  closedir(d);
  qsort(names, n, sizeof names[0], by_name);
  for (size_t i = 0; i < n; i++) {
    char path[32768];
    snprintf(path, sizeof path, "%s/tests/compiler/passes/%s", GR_SOURCE_DIR, names[i]);
    run_file(path);
  }
  CHECK(n > 0 && n < MOST, "%zu pass tests", n);
  printf("  %zu graphs\n", n);
}

int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++)
    if (!strcmp(argv[i], "--update"))
      update = true;
    else
      only = argv[i];
  return RUN(1, argv, {"files", files});
}
