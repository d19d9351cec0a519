// labels.h - what a list says of its samples: the names of their classes, and their split.
#pragma once
#include "base/json.h"
#include "base/map.h"
#include "base/text.h"
#include "runtime/data/array.h"
#include "runtime/data/source.h"

enum { GR_CLASSES = 65536 };  // of a data set at most

typedef struct gr_names {
  const char **items;
  int n;
} gr_names;

typedef struct gr_classes {
  const char **names;  // [n], by number
  int n;               // 0: there are none
  float *weight;       // [n], by gr_classes_weigh
  gr_map found;        // names in the order in which they are added, until they are numbered
  gr_names declared;   // all of them in their order, where the data say so
  gr_loc *first;       // by place in that order: where the name is first
  uint32_t room;
} gr_classes;

// The texts of a key that is a text or a list of them; no texts: it is null, or not there.
gr_names gr_names_read(gr_arena *, gr_conf *, const char *key);
// The texts of a list in data.json; no texts: it has no such list.
gr_names gr_names_recorded(gr_arena *, const gr_json *record, const char *name);

gr_classes gr_classes_make(gr_arena *);  // without names
// Where labels are numbers that stand for names, these are the classes, in their order. The first
// labels that say so count.
void gr_classes_declare(gr_classes *, gr_arena *, const gr_array *labels);
// Adds a name that is at loc, unless it is there; *found becomes its place in the order of such
// additions. The name is copied. Fails with GR_ERR_DATA beyond GR_CLASSES.
GR_MUST_USE gr_status gr_classes_add(gr_classes *, gr_arena *, const char *name, gr_loc,
                                     int32_t *found);
// Numbers the names: in the order of the recorded ones, which may be the numbers of declared names,
// else of those that are declared, and it is GR_ERR_DATA that one is not among them; without these
// in their own order, that of texts or else of integers. (*place)[i] is the number of the name that
// was found as i.
GR_MUST_USE gr_status gr_classes_number(gr_classes *, gr_arena *, bool text,
                                        const gr_names *recorded, int32_t **place);
// The classes of the run whose weights are used, for files to predict, which have no labels.
// GR_ERR_DATA: `record`, the run's data.json, is NULL.
GR_MUST_USE gr_status gr_classes_recall(gr_classes *, gr_arena *, const gr_json *record);
// Weights of n samples' classes: m / (k m_c) for m training samples of k classes, m_c of them of
// this class (as scikit-learn's class_weight="balanced"); 1 of a class without any.
void gr_classes_weigh(gr_classes *, gr_arena *, const gr_sample *, uint32_t n);
// Appends a table of n samples' classes: counts, shares of the training samples, weights.
void gr_classes_put(const gr_classes *, const gr_sample *, uint32_t n, gr_text *out);
// Appends members of data.json, each after a comma: names, and weights, which are there.
void gr_classes_record(const gr_classes *, gr_text *json);
// Appends a member of data.json, after a comma: the names, as a list of that name.
void gr_classes_record_as(const gr_classes *, const char *name, gr_text *json);
// Appends the names of n classes by their numbers, after blanks; a number that is none as it is.
void gr_classes_decode(const gr_classes *, const int32_t *ids, int64_t n, gr_text *out);

// Whether the word says a split: train or validation and words alike, 0 or 1.
bool gr_split_by_word(const char *word, gr_split *out);
#define GR_SPLIT_WORDS                                                                   \
  "it is train or validation, or 0 or 1; samples for a later test are taken to another " \
  "file, for `graphrun eval RUN`"
