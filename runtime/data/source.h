// source.h - where samples come from: the functions that a kind of data implements.
//
// A source lists samples, declares their fields and lengths, and writes one sample into a row of a
// batch. It does not know about ranks, batches, epochs, threads or caches: what is common to all
// kinds of data (dataset.h, loader.h) is implemented once, over named fields.
// docs/add-a-data-source.md shows how to add one.
#pragma once
#include "base/json.h"
#include "compose/tree/conf.h"
#include "ir/graph.h"
#include "runtime/data/omitted.h"
#include "runtime/data/tokenizer/tokenizer.h"
#include "runtime/data/unreadable.h"

enum { GR_MAX_FIELDS = 16, GR_MAX_METADATA = 16, GR_MAX_TABLES = 8, GR_MAX_SKIPS = 16 };
enum { GR_MAX_ENDINGS = 32 };

typedef enum gr_split {
  GR_SPLIT_TRAIN,
  GR_SPLIT_VALIDATION,
  GR_SPLIT_BY_KEY,  // of a source's sample: the data set decides, by the sample's key
} gr_split;

// A tensor that every sample has. Models bind their inputs to fields by name. Added to those of the
// source are, if it has classes, "y" i32, the number of a sample's class, and "class_weight" f32
// (labels.h), and always "weight" f32, 1 for a sample and 0 for a row that repeats one.
enum { GR_DIM_LENGTH = -1, GR_DIM_EXTENT = -2 };  // instead of a size
enum { GR_NO_LABEL = -100 };  // a label that losses and metrics pass over: their ignore_index
typedef struct gr_field_spec {
  const char *name;
  gr_dtype dtype;  // GR_F32, GR_I32, GR_I64 or GR_U8
  int rank;        // of one sample: 0 to GR_MAX_RANK - 1
  // Of one sample. GR_DIM_LENGTH: the length of the bucket. GR_DIM_EXTENT: as much as the sample of
  // the batch's bucket takes that has the most (gr_source_ops.extent).
  int64_t dim[GR_MAX_RANK - 1];
  int32_t pad;  // of a field i32: what it holds beyond a sample's extent; else 0
  // i32 [height, width], a label for each pixel of x, or an image of x's type: it is transformed as
  // x is.
  bool mask;
} gr_field_spec;

// Whether a field has a dimension of that kind, GR_DIM_LENGTH or GR_DIM_EXTENT.
static inline bool gr_field_has(const gr_field_spec *f, int64_t dim) {
  bool has = false;
  for (int k = 0; k < f->rank; k++) has |= f->dim[k] == dim;
  return has;
}

// A number that the data determines, such as the number of classes. It becomes the value of the
// model's parameter of that name, if there is one.
typedef struct gr_metadata {
  const char *name;
  int64_t value;
} gr_metadata;

// A value of the whole data set, which every rank has: the initial value of the model's buffers of
// that name that say `init: data`.
typedef struct gr_data_table {
  const char *name;
  gr_type type;
  const void *data;
} gr_data_table;

// A kind of file, by the ending of its name.
typedef struct gr_source_ending {
  const char *ending;  // ".csv", in lower case; files may have it in capitals
  // What such a file is: "a table". It is taken to be of the first source that says so. NULL: the
  // source reads such files, which are more likely to be another's.
  const char *what;
  bool in_lists;  // a list in another file names such files, and not the key of the source
  bool text;      // it has lines of text
} gr_source_ending;

// What is for validation of the samples that are split by key: those whose keys, as numbers in
// [0, 1), are at least fold * fraction and below (fold + 1) * fraction.
typedef struct gr_share {
  double fraction;
  int32_t fold;
  bool used;  // set where a sample is split so
} gr_share;

// The arguments of a source's open.
typedef struct gr_source_request {
  const struct gr_source_ops *ops;  // of the source that is opened
  gr_arena *arena;                  // for all that lives as long as the source does
  gr_conf *conf;  // the section data.NAME, of joined sources `data`; NULL: `spec` is used instead
  const void *spec;
  const gr_tokenizer *tokenizer;  // of data.tokenizer; it outlives the source. NULL: none is given
  // To predict: the files that are the samples, instead of those that the keys name. They have no
  // labels, all are in the validation split, and what fit computes is restored from a checkpoint.
  const char *const *inputs;
  int n_inputs;   // 0: none, or those that are joined read them
  bool predicts;  // files are given to predict
  const struct gr_json
      *record;         // data.json of the run whose weights are used (base/json.h); or NULL
  uint32_t limit;      // samples to list of each file, the first ones; 0: all
  size_t cache_bytes;  // of what is decoded that the source may keep, beside what load makes
  gr_share *validation;
  int32_t
      max_length;  // longer samples are left out; 0: there is no limit. The source may lower it.
  gr_unreadable *unreadable;  // where to report samples that cannot be used
  gr_omitted *skipped;        // [GR_MAX_SKIPS], by reason (gr_source_ops.skips): counted here
  gr_omitted *limited;        // samples that `limit` leaves out, counted here
  gr_loc place;  // set by the source: of errors about all samples, such as a manifest's first line
} gr_source_request;

// Of a sample, as the source lists it.
typedef struct gr_sample_info {
  uint64_t key;  // a hash of what names it (gr_hash_text): the same on every machine
  gr_split split;
  int32_t length;  // at least 1; 1 where no field has GR_DIM_LENGTH
  gr_loc loc;      // the line that lists it; its file lives as long as the configuration does
  int32_t label;   // 1 + the number of its class (gr_source_ops.classes); 0: it has none
  bool has_weight;
  float weight;  // for data.sampler=weighted, if it has one: at least 0
} gr_sample_info;

// The split of a sample with that key, a hash of what names it. The same on any machine and in any
// order of the samples.
static inline gr_split gr_split_by_key(uint64_t key, gr_share *validation) {
  double x = (double)(key >> 11) * 0x1p-53, first = validation->fold * validation->fraction;
  double end = (validation->fold + 1) * validation->fraction;
  bool last = end > 1 - 1e-9;  // 1 but for rounding
  validation->used = true;
  return x >= first && (x < end || last) ? GR_SPLIT_VALIDATION : GR_SPLIT_TRAIN;
}

// What is read of a sample, and kept while there is room: load makes it, fill uses it.
typedef struct gr_loaded {
  void *data;  // malloc; the data set frees it
  size_t bytes;
  int32_t length;
} gr_loaded;

// The counters from which a sample's random numbers are drawn (base/rng.h): they may depend on
// nothing else, so that batches are the same on any number of ranks and workers.
typedef struct gr_draw {
  uint64_t seed;
  uint64_t
      epoch;  // its number; in bits 32 to 63, how often it has had the sample before (data.sampler)
  uint32_t number;  // the sample's, in the data set
  bool augment;
} gr_draw;

// One row of a batch: memory of each field of the source, in its order. All of it is 0, or what the
// field says of padding (pad).
typedef struct gr_row {
  void *field[GR_MAX_FIELDS];
  int32_t length;  // of the bucket
} gr_row;

// The data set's view of a listed sample.
typedef struct gr_sample {
  uint32_t index;  // in the source's list
  int32_t length;
  int bucket;
  gr_split split;
  int32_t label;  // as in gr_sample_info
  float weight;   // 1 if it has none
} gr_sample;

// What a model makes of the x of a sample, as a picture.
typedef struct gr_source_picture {
  int64_t height, width;
  int channels;           // 1 or 3
  bool classes;           // values are numbers of classes, which cannot be mixed
  unsigned char *pixels;  // malloc, with GR_SOURCE_SPARE bytes behind them that may be read
} gr_source_picture;
enum { GR_SOURCE_SPARE = 4 };

// Numbers of x that a model looks up in a table.
typedef struct gr_column_lookup {
  gr_loc loc;              // in the model
  int64_t rows;            // of the table
  const int32_t *columns;  // n numbers of columns of x
  int n;
  const int32_t *all;  // n_all: those of all tables of the model
  int n_all;
} gr_column_lookup;

struct gr_classes;  // labels.h

// `self` is what open returned. Samples are numbers below count(self). Functions marked optional
// may be NULL. All but open, close, fit and restore may be called by several threads at once, so
// they must not change `self`.
typedef struct gr_source_ops {
  const char *name;  // of data.source
  // Sources that are one (join.h), n_joined of them; else 0.
  const struct gr_source_ops *const *joined;
  int n_joined;
  const char *sample;    // one of them, for messages: "utterance"
  const char *unit;      // of lengths: "frame"; NULL: all samples are of one size, in one bucket
  const char *inputs;    // what `graphrun predict` takes: "WAV files"; NULL: it takes none of these
  bool empty;            // it has no samples, and one bucket
  bool tokens;           // it makes tokens of texts, and takes data.tokenizer
  const char *path_key;  // names its files; NULL: no key does
  bool one_path;         // there is no key eval_PATH for validation
  const char *path_hint;                     // what it names, for errors (gr_source_need_path)
  const char *project;                       // of `graphrun new --data`; NULL: none is alike
  gr_source_ending endings[GR_MAX_ENDINGS];  // of its files, up to one without an ending
  const char *file_key;  // a key that, where it is null, leaves nothing to read of files of single
                         // samples; NULL: none does
  gr_skip_reason skips[GR_MAX_SKIPS];  // up to one without a reason

  // Reads its keys and lists samples. Errors have the location of what is wrong, or name keys
  // (gr_about) by what follows data.NAME. *out_self is set as soon as there is something to close,
  // also by an open that then fails: check and close are called after it.
  gr_status (*open)(gr_source_request *, void **out_self);
  void (*close)(void *self);  // optional
  // The fields of its own; returns how many: at most GR_MAX_FIELDS - 1, and 2 fewer with classes.
  int (*fields)(const void *self, gr_field_spec out[GR_MAX_FIELDS]);
  uint32_t (*count)(const void *self);
  gr_sample_info (*info)(const void *self, uint32_t sample);
  // The frames that CTC needs to align a sample's targets. Optional.
  int64_t (*alignment)(const void *self, uint32_t sample);
  // Of a sample, the size of the field's dimension GR_DIM_EXTENT. Optional without such a field.
  int32_t (*extent)(const void *self, uint32_t sample, int field);
  // Does what is slow or may fail, such as decoding a file. At most `most` of the sample's length
  // is used. Optional.
  gr_status (*load)(const void *self, uint32_t sample, int32_t most, gr_loaded *out);
  // Changes the bytes that it may keep of what is decoded (gr_source_request.cache_bytes): called
  // as loaded samples take them. Optional.
  void (*keep)(const void *self, size_t bytes);
  // The bytes of all that it would keep. Where the cache does not hold all loaded samples, so much
  // of it is left for `keep`, but half at most. Optional.
  size_t (*keepable)(const void *self);
  // Writes a sample into a row that has room for it. `loaded` is the result of load, or NULL.
  // Optional beside load: what it has read is then the first field.
  void (*fill)(const void *self, uint32_t sample, const gr_loaded *loaded, const gr_draw *,
               gr_row *);

  // The path of the file that the sample is, or is a part of, by which a run finds what is in both
  // splits; NULL: it has none of its own. Optional.
  const char *(*file)(const void *self, uint32_t sample);
  // What is wrong with the sample's own file, by its head alone: the error that load would give. A
  // run asks it of every sample before it begins, by many threads. Optional.
  gr_status (*probe)(const void *self, uint32_t sample);
  // Whether all that open, fit and fill have read so far was there: called when samples have been
  // read and before they are used. Optional.
  gr_status (*check)(const void *self);

  // The classes of the labels in gr_sample_info, or NULL: they are none. With classes, the data set
  // weighs them, adds the fields "y" and "class_weight" and fills them in, names references and
  // predictions, and prints and records a table of them. Called once, after open. Optional.
  struct gr_classes *(*classes)(void *self);
  // Returns how many. NULL: the number of its classes.
  int (*metadata)(const void *self, gr_metadata out[GR_MAX_METADATA]);
  // After fit, and again after restore. Optional.
  int (*tables)(const void *self, gr_data_table out[GR_MAX_TABLES]);
  // Once the split is known: computes what depends on the training samples. Optional.
  gr_status (*fit)(void *self, gr_arena *, const gr_sample *, uint32_t n);
  // What fit computed, as text for a checkpoint; and back. Optional, both or none.
  void (*save)(const void *self, gr_text *out);
  gr_status (*restore)(void *self, const char *text);

  // Texts to print. Optional; without name_of a sample is called by its number. The expected output
  // and predicted symbols of a source with classes are their names.
  void (*name_of)(const void *self, uint32_t sample, gr_text *);
  void (*reference)(const void *self, uint32_t sample, gr_text *);
  void (*decode)(const void *self, const int32_t *ids, int64_t n, gr_text *);
  // Appends to the report of `data inspect`: to a split's line, and in a section of its own.
  void (*summary)(const void *self, const gr_sample *, uint32_t n, gr_split, gr_text *);
  void (*inspect)(const void *self, const gr_sample *, uint32_t n, gr_text *);
  void (*notes)(const void *self, gr_text *);  // lines that a run prints when it begins
  // Makes a picture that has the size of x as large as the sample's file. Optional.
  gr_status (*resize_back)(const void *self, uint32_t sample, gr_source_picture *);
  // Whether all numbers of these columns are rows of the table that they are looked up in.
  // Optional.
  gr_status (*check_lookup)(const void *self, const gr_column_lookup *);
  // Which keys to change if a model's input of that name is not given, or of another dtype; NULL:
  // none. Optional.
  const char *(*advice)(const void *self, const char *field);
  // Appends how x is made of a file, for who makes it in another program: what an exported model
  // does not do. Nothing: x is what the file has. Of sources with `inputs`.
  void (*preprocessing)(const void *self, gr_text *);
  // Members of data.json, each after a comma. NULL: those of its classes.
  void (*record)(const void *self, gr_text *json);

  // A hash by which ranks compare what they read; with_file: also of the size of the sample's file.
  // Optional; without it the key is compared.
  uint64_t (*fingerprint)(const void *self, uint32_t sample, bool with_file);
  void (*describe)(const void *self, uint32_t sample, gr_text *);
} gr_source_ops;

#define GR_SOURCE(name, doc) extern const gr_source_ops gr_source_##name;
#include "runtime/data/sources.def"
#undef GR_SOURCE
extern const gr_source_ops *const gr_data_sources[];  // ends with NULL

const gr_source_ops *gr_source_named(const char *name);  // NULL: there is none
// The source that a file is taken to be of by its name, and the row of its ending in *ending, which
// may be NULL. NULL: of none.
const gr_source_ops *gr_source_of_file(const char *path, const gr_source_ending **ending);
// The row of the ending of a file that a source reads, by its name; NULL: it does not.
const gr_source_ending *gr_source_reads(const gr_source_ops *, const char *path);
// Appends the endings of the files that a source reads: ".csv, .tsv and .npy", with `last` for
// "and".
void gr_source_put_endings(const gr_source_ops *, const char *last, gr_text *out);

// For a source's open. GR_ERR_CONFIG about ops->path_key, unless `given` or there are files to
// predict.
GR_MUST_USE gr_status gr_source_need_path(const gr_source_request *, bool given);
// A key that does not apply, and why.
typedef struct gr_source_unused {
  const char *key;
  const char *usual;  // a value, as text, that says nothing; NULL: null
  const char *why, *hint;
} gr_source_unused;
// Marks such a key of a section as read. GR_ERR_CONFIG where another value than `usual` is given:
// it would have no effect.
GR_MUST_USE gr_status gr_source_refuse(gr_conf *section, const gr_source_unused *);
// Reads a height and a width, or one number for both, in pixels; 0: the key is null.
GR_MUST_USE gr_status gr_source_read_size(gr_conf *section, const char *key, int64_t *height,
                                          int64_t *width);
// Reads an integer that an int holds; 0: there is no such key.
GR_MUST_USE gr_status gr_source_read_int(gr_conf *section, const char *key, int *out);
