// predict.c - writes the outputs that the model's `predict:` names, one JSON object for each
// sample, in the order of the samples and the same on any number of ranks. See run.h.
//
// `tokens` with `lengths` are decoded to text, and `logits` of classes are written as the most
// likely class and the probabilities. All other outputs are written as numbers, sequences without
// their padding. With --tokens each
// sequence is continued instead, and the text of the new tokens is written.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/output.h"
#include "ops/kernels/cpu.h"
#include "runtime/train/predict_images.h"
#include "runtime/train/run.h"

enum { MAX_OUTPUTS = 16 };

typedef struct output {
  const char *name;
  gr_exec_tensor tensor;
  char *staging;
  const void *values;  // of the current batch
} output;

typedef struct outputs {
  output of[MAX_OUTPUTS];
  int n;
} outputs;

typedef struct predictions {
  gr_run *run;
  gr_rank *r;
  gr_arena *arena;             // of the lines
  outputs in[GR_MAX_BUCKETS];  // by bucket
  const char **lines;          // by sample, on rank 0
  const char **classes;        // their names
  int64_t n_classes;           // 0: the data has none
  int64_t n_targets;           // values of a label that is a vector; 0: it is none
  gr_generated made;           // what continues the sequences of the batch; or no tokens
  gr_output *out;              // on rank 0; NULL: standard output
  gr_predict_images images;    // of --out=FOLDER/
  gr_status failed;            // writing an image of the batch has
} predictions;

// ---- Opening --------------------------------------------------------------------------------

static gr_status add_output(gr_rank *r, const gr_program *p, const char *result, outputs *to) {
  const char *name = result + strlen("predict.");
  gr_exec_tensor t = gr_exec_result(r->exec, p, result);
  if (!t.type.rank)
    return gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
                   "predict: '%s' is one number of a whole batch, not of each sample", name);
  if (to->n == MAX_OUTPUTS)
    return gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "predict: has more than %d outputs", MAX_OUTPUTS);
  char *staging = gr_arena_alloc(r->arena, gr_exec_staging(r->exec, &t) + 1);
  to->of[to->n++] = (output){.name = name, .tensor = t, .staging = staging};
  return GR_OK;
}

static gr_status find_outputs(predictions *p) {
  gr_rank *r = p->r;
  for (int b = 0; b < GR_MAX_BUCKETS && r->eval && r->eval->of_bucket[b]; b++) {
    const gr_graph *g = r->eval->of_bucket[b]->frame.g;
    for (uint32_t i = 0; i < g->n_results; i++)
      if (gr_result_begins(g, i, "predict."))
        GR_TRY(add_output(r, r->eval->of_bucket[b], g->result_names[i], &p->in[b]));
  }
  const char *graph = r->spec->set.model.graph;
  if (!p->in[0].n)
    return gr_hint(
        gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "the model '%s' has no `predict:`", graph),
        "docs/graph-language.md: `predict: {logits: logits}` names what is written");
  if (r->eval->takes_batch) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
                         "the evaluation of the model '%s' reads nothing of the data, of which "
                         "there is a line for each sample",
                         graph),
                 "compute its loss, or a metric, of an input");
}

static void find_classes(predictions *p) {
  gr_metadata m[GR_MAX_METADATA];
  int n = gr_dataset_metadata(p->r->spec->data, m);
  for (int i = 0; i < n; i++) {
    if (!strcmp(m[i].name, "classes")) p->n_classes = m[i].value;
    if (!strcmp(m[i].name, "targets")) p->n_targets = m[i].value;
  }
  int64_t named = p->n_classes ? p->n_classes : p->n_targets;
  p->classes = GR_NEW(p->arena, const char *, named + 1);
  for (int32_t c = 0; c < named; c++) {
    gr_text t = gr_text_make(p->arena);
    gr_dataset_decode(p->r->spec->data, &c, 1, &t);
    p->classes[c] = t.chars;
  }
}

// The file is opened before anything is computed, and takes its name when it is complete.
static gr_status open_file(predictions *p) {
  const char *path = p->r->spec->weights.out;
  bool folder = gr_predict_is_folder(path);
  if (p->r->rank || !path) return GR_OK;
  if (folder) GR_TRY(gr_make_dirs(path));
  return gr_output_open(folder ? path : NULL, folder ? "predictions.jsonl" : path, &p->out);
}

// With a folder there is an image to write.
static gr_status open_images(predictions *p) {
  const char *out = p->r->spec->weights.out;
  bool images = false;
  for (int i = 0; i < p->in[0].n; i++) images |= gr_predict_is_image(&p->in[0].of[i].tensor.type);
  if (out && images && !gr_predict_is_folder(out) && !p->r->rank)
    gr_log(GR_INFO, "images are lists of numbers in '%s': --out=%s/, with a slash, writes PNG", out,
           out);
  if (!gr_predict_is_folder(out)) return GR_OK;
  p->images = gr_predict_images_make(p->arena, p->r->spec->data, out);
  if (images) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE,
                         "--out=%s is a folder for images, and the model predicts none", out),
                 "an image is a value of `predict:` that is u8 or f32, [n, height, width] or "
                 "[n, height, width, 1 or 3]; else --out=FILE.jsonl");
}

// ---- A sample -------------------------------------------------------------------------------

// The shortest decimal that parses back to the same f32.
static void put_f32(gr_text *t, float v) {
  char text[40];
  if (!isfinite(v)) {
    gr_text_json_float(t, (double)v);
    return;
  }
  for (int digits = 6; digits <= 9; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, (double)v);
    if (strtof(text, NULL) == v) break;
  }
  gr_text_put(t, text);
  if (!strpbrk(text, ".e")) gr_text_put(t, ".0");
}

static void put_number(gr_text *t, const gr_exec_tensor *x, const void *values, int64_t i) {
  gr_dtype d = x->type.dtype;
  double v = gr_get(values, d, i);
  if (d == GR_I32 || d == GR_I64 || d == GR_U8)
    gr_text_put_int(t, (int64_t)v);
  else
    put_f32(t, (float)v);
}

// Row `row` of an output: a number, or nested lists of its dimensions from `axis` on, of which the
// first has `steps` elements.
static void put_values(gr_text *t, const output *o, int axis, int64_t first, int64_t steps) {
  const gr_type *type = &o->tensor.type;
  if (axis == type->rank) {
    put_number(t, &o->tensor, o->values, first);
    return;
  }
  int64_t stride = 1;
  for (int d = axis + 1; d < type->rank; d++) stride *= type->dim[d];
  gr_text_put(t, "[");
  for (int64_t i = 0, n = axis == 1 ? steps : type->dim[axis]; i < n; i++) {
    if (i) gr_text_put(t, ", ");
    put_values(t, o, axis + 1, first + i * stride, steps);
  }
  gr_text_put(t, "]");
}

// Softmax in double, by the largest logit, so that no exponential overflows.
static void put_classes(const predictions *p, gr_text *t, const output *o, int64_t row) {
  int64_t n = p->n_classes, best = 0;
  double *x = GR_NEW(t->arena, double, n), sum = 0;
  for (int64_t i = 0; i < n; i++) {
    x[i] = gr_get(o->values, o->tensor.type.dtype, row * n + i);
    if (x[i] > x[best]) best = i;
  }
  for (int64_t i = 0; i < n; i++) sum += exp(x[i] - x[best]);
  gr_text_json_member(t, "class", p->classes[best]);
  gr_text_put(t, ", \"probabilities\": {");
  for (int64_t i = 0; i < n; i++) {
    gr_text_json_key(t, p->classes[i]);
    put_f32(t, (float)(exp(x[i] - x[best]) / sum));
  }
  gr_text_put(t, "}");
}

// One value of each target, by its name.
static void put_targets(const predictions *p, gr_text *t, const output *o, int64_t row) {
  gr_text_json_key(t, o->name);
  gr_text_put(t, "{");
  for (int64_t i = 0; i < p->n_targets; i++) {
    gr_text_json_key(t, p->classes[i]);
    put_number(t, &o->tensor, o->values, row * p->n_targets + i);
  }
  gr_text_put(t, "}");
}

static const output *find(const outputs *all, const char *name, gr_dtype dtype, int rank) {
  for (int i = 0; i < all->n; i++) {
    const output *o = &all->of[i];
    if (!strcmp(o->name, name) && o->tensor.type.dtype == dtype && o->tensor.type.rank == rank)
      return o;
  }
  return NULL;
}

// The output NAME_lengths i32 [n] of a sequence NAME [n, t, ...], or NULL.
static const output *lengths_of(const outputs *all, const output *o) {
  char name[256];
  snprintf(name, sizeof name, "%s_lengths", o->name);
  return o->tensor.type.rank > 1 ? find(all, name, GR_I32, 1) : NULL;
}

static bool are_lengths(const outputs *all, const output *o) {
  for (int i = 0; i < all->n; i++)
    if (lengths_of(all, &all->of[i]) == o) return true;
  return false;
}

// The length of the sample itself, or -1 if the data has samples of one size only.
static int64_t length_of(const gr_batch *b, int64_t row) {
  for (int i = 0; i < b->n_fields; i++) {
    const gr_field *f = &b->field[i];
    if (!strcmp(f->name, "lengths") && f->type.dtype == GR_I32 && f->type.rank == 1)
      return ((const int32_t *)f->data)[row];
  }
  return -1;
}

// How many elements of axis 1 are the sample's: the rest are padding.
static int64_t steps_of(const predictions *p, const outputs *all, const output *o,
                        const gr_batch *b, int64_t row) {
  if (o->tensor.type.rank < 2) return 1;
  const output *given = lengths_of(all, o);
  int64_t most = o->tensor.type.dim[1], n = given ? ((const int32_t *)given->values)[row] : -1;
  if (!given && most == gr_dataset_bucket(p->r->spec->data, b->bucket)->length)
    n = length_of(b, row);
  return n < 0 && !given ? most : gr_clamp_length(n, most);
}

static void put_decoded(const predictions *p, gr_text *t, const int32_t *ids, int64_t n) {
  gr_text said = gr_text_make(t->arena);
  gr_dataset_decode(p->r->spec->data, ids, n, &said);
  gr_text_json_member(t, "text", said.chars);
}

static void put_text(const predictions *p, gr_text *t, const output *tokens, const output *lengths,
                     int64_t row) {
  int64_t most = tokens->tensor.type.dim[1], n = ((const int32_t *)lengths->values)[row];
  put_decoded(p, t, (const int32_t *)tokens->values + row * most, gr_clamp_length(n, most));
}

static void put_outputs(predictions *p, gr_text *t, const gr_batch *b, int64_t row) {
  const outputs *all = &p->in[b->bucket];
  const output *tokens = find(all, "tokens", GR_I32, 2), *lengths = find(all, "lengths", GR_I32, 1);
  bool text = tokens && lengths;
  for (int i = 0; i < all->n; i++) {
    const output *o = &all->of[i];
    if ((text && o == lengths) || are_lengths(all, o)) continue;
    if (text && o == tokens) {
      put_text(p, t, tokens, lengths, row);
    } else if (p->n_classes && find(all, "logits", GR_F32, 2) == o &&
               o->tensor.type.dim[1] == p->n_classes) {
      put_classes(p, t, o, row);
    } else if (!p->n_classes && p->n_targets && o->tensor.type.rank == 2 &&
               o->tensor.type.dim[1] == p->n_targets) {
      put_targets(p, t, o, row);
    } else if (p->images.folder && gr_predict_is_image(&o->tensor.type)) {
      gr_text_json_key(t, o->name);
      p->failed = gr_also(p->failed, gr_predict_image(&p->images, o->name, &o->tensor.type,
                                                      o->values, row, b->sample[row], t));
    } else {
      int64_t each = 1;
      for (int d = 1; d < o->tensor.type.rank; d++) each *= o->tensor.type.dim[d];
      gr_text_json_key(t, o->name);
      put_values(t, o, 1, row * each, steps_of(p, all, o, b, row));
    }
  }
}

static const char *line_of(predictions *p, gr_arena *a, const gr_batch *b, int64_t row) {
  int64_t tokens = p->r->spec->weights.tokens;
  gr_text t = gr_text_make(a);
  gr_text_put(&t, "{");
  gr_text_json_member(&t, "input", gr_dataset_sample_name(a, p->r->spec->data, b->sample[row]));
  if (p->made.tokens)
    put_decoded(p, &t, p->made.tokens + row * tokens, p->made.n[row]);
  else
    put_outputs(p, &t, b, row);
  gr_text_put(&t, "}");
  return t.chars;
}

// ---- A batch --------------------------------------------------------------------------------

// This rank's lines: the sample, the length in words, and the text, padded with NULs.
static gr_text pack(predictions *p, gr_arena *a, const gr_batch *b) {
  gr_text t = gr_text_make(a);
  for (int row = 0; row < b->rows; row++) {
    if (!gr_batch_counts(b, row)) continue;
    const char *line = line_of(p, a, b, row);
    size_t len = strlen(line) + 1;
    int32_t head[2] = {(int32_t)b->sample[row], (int32_t)((len + 3) / 4)};
    gr_text_putn(&t, (const char *)head, sizeof head);
    gr_text_putn(&t, line, len);
    gr_text_putn(&t, "\0\0\0", (size_t)head[1] * 4 - len);
  }
  return t;
}

static void unpack(predictions *p, const int32_t *words, const int32_t *end) {
  for (; words < end; words += 2 + words[1])
    p->lines[words[0]] = gr_arena_strdup(p->arena, (const char *)(words + 2));
}

static gr_status gather(predictions *p, gr_arena *a, const gr_text *packed) {
  gr_rank *r = p->r;
  gr_comm_gathered all;
  GR_TRY(gr_comm_gather(r->world, a, packed->chars, packed->len, &all));
  for (int i = 0; i < r->ranks && !r->rank && all.of_rank; i++)
    unpack(p, all.of_rank[i], all.of_rank[i] + all.bytes[i] / 4);
  return GR_OK;
}

static gr_status view_outputs(predictions *p, const gr_batch *b) {
  outputs *all = &p->in[b->bucket];
  for (int i = 0; i < all->n; i++)
    GR_TRY(gr_exec_view(p->r->exec, &all->of[i].tensor, all->of[i].staging, &all->of[i].values));
  return GR_OK;
}

static gr_status take_batch(predictions *p, gr_arena *a, const gr_batch *b) {
  int64_t tokens = p->r->spec->weights.tokens;
  p->made = (gr_generated){0};
  GR_TRY(tokens ? gr_run_generate(p->r, &p->run->control.values, a, b, tokens, &p->made)
                : view_outputs(p, b));
  gr_text packed = pack(p, a, b);
  if (p->images.folder) GR_TRY(gr_comm_all_ok(p->r->world, p->failed));
  return gather(p, a, &packed);
}

static gr_status take(void *self, const gr_batch *b) {
  gr_arena *a = gr_arena_create();
  return gr_arena_end(a, take_batch(self, a, b));
}

// ---- All ------------------------------------------------------------------------------------

static void write_lines(const predictions *p) {
  uint32_t n = gr_dataset_samples(p->r->spec->data);
  FILE *to = p->out ? gr_output_stream(p->out) : stdout;
  for (uint32_t i = 0; i < n; i++) {
    if (!p->lines[i]) continue;
    if (p->out)
      fputs(p->lines[i], to);
    else
      gr_print_line(to, p->lines[i], strlen(p->lines[i]));
    fputc('\n', to);
  }
}

static gr_status run(predictions *p) {
  gr_rank *r = p->r;
  gr_metrics ignored;
  GR_TRY(find_outputs(p));
  GR_TRY(open_images(p));
  GR_TRY(gr_comm_all_ok(r->world, open_file(p)));
  find_classes(p);
  if (!r->rank) p->lines = GR_NEW(p->arena, const char *, gr_dataset_samples(r->spec->data) + 1);
  gr_batch_taker taker = {take, p};
  GR_TRY(gr_run_eval_each(p->run, GR_SPLIT_VALIDATION, &taker, &ignored));
  if (!r->rank) write_lines(p);
  return GR_OK;
}

gr_status gr_run_predict(gr_run *r) {
  predictions p = {.run = r, .r = &r->me, .arena = gr_arena_create()};
  gr_status s = run(&p);
  s = gr_output_close(p.out, s);
  return gr_arena_end(p.arena, s);
}
