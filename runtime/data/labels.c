// labels.c - see labels.h.
#include "runtime/data/labels.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "base/grow.h"
#include "base/shown.h"
#include "runtime/data/bar.h"

gr_names gr_names_read(gr_arena *a, gr_conf *conf, const char *key) {
  gr_conf *c = gr_conf_find(conf, key);
  bool list = c && c->kind == GR_CONF_LIST, text = c && c->kind == GR_CONF_TEXT;
  gr_names out = {.items = GR_NEW(a, const char *, (list ? c->n : 1) + 1)};
  if (text) out.items[out.n++] = c->text;
  for (int i = 0; list && i < c->n; i++) {
    c->items[i]->read = true;
    out.items[out.n++] = c->items[i]->text;  // the schema admits only strings
  }
  return out;
}

gr_names gr_names_recorded(gr_arena *a, const gr_json *record, const char *name) {
  const gr_json *list = record ? gr_json_get(record, name, GR_JSON_ARRAY) : NULL;
  gr_names out = {.items = GR_NEW(a, const char *, (list ? list->n : 0) + 1)};
  for (const gr_json *v = list ? list->first : NULL; v; v = v->next)
    if (v->kind == GR_JSON_TEXT) out.items[out.n++] = v->text;
  return out;
}

// ---- Numbers ------------------------------------------------------------------------------------

gr_classes gr_classes_make(gr_arena *a) { return (gr_classes){.found = gr_map_make(a)}; }

void gr_classes_declare(gr_classes *c, gr_arena *a, const gr_array *labels) {
  if (c->declared.n || !labels->n_names) return;
  c->declared = (gr_names){GR_NEW(a, const char *, labels->n_names), labels->n_names};
  for (int i = 0; i < labels->n_names; i++)
    c->declared.items[i] = gr_arena_strdup(a, labels->names[i]);
}

gr_status gr_classes_add(gr_classes *c, gr_arena *a, const char *name, gr_loc loc, int32_t *found) {
  uint32_t i = c->found.n;
  if (!gr_map_find(&c->found, name, &i)) {
    if (i == GR_CLASSES)
      return gr_about(gr_fail(GR_ERR_DATA, loc, "there are more than %d classes", GR_CLASSES),
                      "label");
    GR_GROW(a, c->first, i, c->room);
    c->first[i] = loc;
    gr_map_put(&c->found, gr_arena_strdup(a, name), i);
  }
  *found = (int32_t)i;
  return GR_OK;
}

typedef struct named {
  const char *name;
  int64_t number;  // if all names are integers
  int32_t found;
} named;

static int by_number(const void *x, const void *y) {
  const named *a = x, *b = y;
  return (a->number > b->number) - (a->number < b->number);
}
static int by_name(const void *x, const void *y) {
  return strcmp(((const named *)x)->name, ((const named *)y)->name);
}

static void sort_names(gr_classes *c, gr_arena *a, bool text, int32_t *place) {
  int n = (int)c->found.n;
  named *all = GR_NEW(a, named, n + 1);
  for (int32_t i = 0; i < n; i++)
    all[i] = (named){c->found.keys[i], strtoll(c->found.keys[i], NULL, 10), i};
  qsort(all, (size_t)n, sizeof *all, text ? by_name : by_number);
  c->names = GR_NEW(a, const char *, n + 1), c->n = n;
  for (int32_t i = 0; i < n; i++) place[all[i].found] = i, c->names[i] = all[i].name;
}

static gr_status unknown_class(gr_arena *a, const char *label, gr_loc loc, const gr_names *known,
                               const char *of) {
  enum { MAX_LISTED = 10 };
  bool more = known->n > MAX_LISTED;
  const char *list = gr_text_names(a, known->items, more ? (int)MAX_LISTED : known->n);
  gr_status s =
      gr_about(gr_fail(GR_ERR_DATA, loc, "the label '%s' is none of the %d classes of the %s",
                       label, known->n, of),
               "label");
  return gr_hint(gr_hint_near(s, label, known->items, known->n),
                 "its classes: %s%s; leave out the samples of others", list,
                 more ? ", ..., as the data.json of its folder lists them" : "");
}

// A run knows a name, or where it has read the numbers that stand for names as they are, its
// number.
static bool find_known(const gr_classes *c, const gr_map *known, const char *name, uint32_t *out) {
  char number[16];
  if (gr_map_find(known, name, out)) return true;
  for (int i = 0; i < c->declared.n; i++) {
    if (strcmp(c->declared.items[i], name) != 0) continue;
    snprintf(number, sizeof number, "%d", i);
    return gr_map_find(known, number, out);
  }
  return false;
}

gr_status gr_classes_number(gr_classes *c, gr_arena *a, bool text, const gr_names *recorded,
                            int32_t **place) {
  assert(!c->names);  // once
  *place = GR_NEW(a, int32_t, c->found.n + 1);
  const char *of = recorded->n ? "run" : "file";
  if (!recorded->n) recorded = &c->declared;
  if (!recorded->n) {
    sort_names(c, a, text, *place);
    return GR_OK;
  }
  gr_map known = gr_map_make(a);
  for (int i = 0; i < recorded->n; i++) gr_map_put(&known, recorded->items[i], (uint32_t)i);
  for (uint32_t i = 0, number; i < c->found.n; i++) {
    if (!find_known(c, &known, c->found.keys[i], &number))
      return unknown_class(a, c->found.keys[i], c->first[i], recorded, of);
    (*place)[i] = (int32_t)number;
  }
  c->names = recorded->items, c->n = recorded->n;
  return GR_OK;
}

gr_status gr_classes_recall(gr_classes *c, gr_arena *a, const gr_json *record) {
  if (!record)
    return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE,
                           "the run's data.json, which names its classes, is not there"),
                   "every run writes it into its folder: copy the whole folder");
  gr_names recorded = gr_names_recorded(a, record, "class_names");
  c->names = recorded.items, c->n = recorded.n;
  return GR_OK;
}

// ---- Weights ------------------------------------------------------------------------------------

typedef struct class_count {
  uint64_t of[2];  // by gr_split: numbers of samples
} class_count;

// Numbers of samples by class and split: [classes]. *train becomes that of training samples.
static class_count *count_samples(const gr_classes *c, gr_arena *a, const gr_sample *all,
                                  uint32_t n, uint64_t *train) {
  class_count *out = GR_NEW(a, class_count, c->n + 1);
  *train = 0;
  for (uint32_t i = 0; i < n; i++) {
    assert(all[i].label > 0 && all[i].label <= c->n);
    out[all[i].label - 1].of[all[i].split]++;
    *train += all[i].split == GR_SPLIT_TRAIN;
  }
  return out;
}

void gr_classes_weigh(gr_classes *c, gr_arena *a, const gr_sample *all, uint32_t n) {
  uint64_t train;
  const class_count *count = count_samples(c, a, all, n, &train);
  c->weight = GR_NEW(a, float, c->n + 1);
  for (int i = 0; i < c->n; i++) {
    double of_class = (double)count[i].of[GR_SPLIT_TRAIN];
    c->weight[i] = of_class > 0 ? (float)((double)train / (c->n * of_class)) : 1.0f;
  }
}

// ---- Texts --------------------------------------------------------------------------------------

void gr_classes_put(const gr_classes *c, const gr_sample *all, uint32_t n, gr_text *out) {
  uint64_t most = 0, train;
  const class_count *count = count_samples(c, out->arena, all, n, &train);
  for (int i = 0; i < c->n; i++)
    most = count[i].of[0] + count[i].of[1] > most ? count[i].of[0] + count[i].of[1] : most;
  gr_text_printf(out, "classes (%d)%26s train validation   share   weight\n", c->n, "");
  for (int i = 0; i < c->n; i++) {
    gr_text_printf(out, "  %5d %-28.60s %8llu %10llu %6.2f%% %8.4f ", i,
                   gr_name_shown(out->arena, c->names[i]), (unsigned long long)count[i].of[0],
                   (unsigned long long)count[i].of[1],
                   train ? 100.0 * (double)count[i].of[0] / (double)train : 0,
                   c->weight ? (double)c->weight[i] : 1);
    gr_text_bar(out, count[i].of[0] + count[i].of[1], most);
  }
}

void gr_classes_record_as(const gr_classes *c, const char *name, gr_text *json) {
  gr_text_json_key(json, name);
  gr_text_json_texts(json, c->names, c->n);
}

void gr_classes_record(const gr_classes *c, gr_text *json) {
  assert(!c->n || c->weight);
  gr_classes_record_as(c, "class_names", json);
  gr_text_put(json, ", \"class_weights\": [");
  for (int i = 0; i < c->n; i++) {
    gr_text_json_next(json);
    gr_text_json_rounded(json, (double)c->weight[i], 6);
  }
  gr_text_put(json, "]");
}

void gr_classes_decode(const gr_classes *c, const int32_t *ids, int64_t n, gr_text *out) {
  for (int64_t i = 0; i < n; i++) {
    if (i) gr_text_put(out, " ");
    if (ids[i] >= 0 && ids[i] < c->n)
      gr_text_put(out, c->names[ids[i]]);
    else
      gr_text_printf(out, "%d", ids[i]);
  }
}

bool gr_split_by_word(const char *word, gr_split *out) {
  static const char *const words[][6] = {{"train", "training", "0", "false"},
                                         {"validation", "valid", "val", "dev", "1", "true"}};
  for (int split = 0; split < 2; split++)
    for (int i = 0; i < 6 && words[split][i]; i++)
      if (!strcasecmp(word, words[split][i])) {
        *out = (gr_split)split;
        return true;
      }
  return false;
}
