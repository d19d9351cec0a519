// table.h - the source `table`: rows of numbers from CSV, Parquet and NumPy's files, with labels.
//
// Fields: x, of data.table.dtype: the features of a row, or of a window of rows [window, ...], or a
// series [moments, channels] of either; with labels that are values, y f32. Other labels are
// classes. Then those of data.table.inputs, by their names.
#pragma once
#include "runtime/data/labels.h"
#include "runtime/data/table/columns.h"

typedef enum gr_table_label {
  GR_LABEL_AUTO,
  GR_LABEL_CLASS,
  GR_LABEL_VALUE,
  GR_LABEL_LIST,  // text: several labels, with a separator between them
} gr_table_label;

// What becomes of the channels of a series (data.table.channels).
typedef enum gr_table_channels {
  GR_CHANNELS_NONE,  // x is not a series
  GR_CHANNELS_ALL,
  GR_CHANNELS_FLATTEN,  // each is a sample
  GR_CHANNELS_AVERAGE,
  GR_CHANNELS_FIRST
} gr_table_channels;

enum {
  GR_TABLE_FEATURES = 65536,  // columns at most
  GR_TABLE_INPUTS = 65535,    // files to predict
  GR_TABLE_MORE = 4,          // inputs beside x and y
  // Rows with more values are normalised by one mean and one deviation, to keep checkpoints small.
  GR_TABLE_STATISTICS = 4096,
};

// The keys of the source, and what a request's `spec` is without a configuration.
typedef struct gr_table_spec {
  gr_names paths;     // files whose columns are joined
  gr_names eval;      // the same for validation; none: rows are split by `split` or by hash
  gr_names features;  // columns; none: all columns of numbers that have no other role
  gr_names one_hot;   // columns of which each value is a feature
  gr_names ids;       // features that stay as they are
  gr_names inputs;    // columns or arrays that are inputs of their own
  const char *label, *split, *series;  // columns, or NULL
  gr_names labels;                     // where there are several: `label` is the first
  const char *separator;               // of GR_LABEL_LIST; NULL: "|"
  bool separator_given;                // it is no default
  gr_table_label label_is;
  bool may_miss;   // labels that are values
  float missing;   // what y then has
  gr_dtype dtype;  // of x: GR_F32, GR_I32, GR_I64 or GR_U8
  gr_csv_format csv;
  bool bad_is_missing;       // a cell that is no number in a column of numbers
  bool normalize, majority;  // a window's label is its most frequent, else its last
  int32_t window, stride;    // rows; window 0: each row is a sample
  gr_table_channels channels;
} gr_table_spec;

// One set of files, for training or for validation.
typedef struct gr_table_part {
  gr_columns columns;
  int *features;             // indices of columns, in the order of x
  int label, split, series;  // indices of columns, or -1
  int *labels;               // of spec.labels
  int more[GR_TABLE_MORE];   // of spec.inputs
  uint8_t *marks;            // [rows][targets] of GR_LABEL_LIST: 1 of a label that the row has
  bool chosen;               // features are those that choose_features has found
  int32_t *classes;          // [rows], if labels are classes; -1: the label is missing
  uint32_t *series_end;      // [rows]: the first row of the next series; NULL: one series
  uint8_t *split_of;         // [rows]: gr_split, from the column; NULL: there is no such column
  // Rows with values of a column of spec.one_hot that no feature stands for, and the first of them.
  uint32_t unknown;
  const char *unknown_column;
  int64_t unknown_row;
} gr_table_part;

typedef struct gr_table_sample {
  uint32_t row;  // the first row
  uint16_t part;
  uint8_t split;       // gr_split
  uint32_t channel;    // of a series whose channels are samples
  uint32_t label_row;  // whose label it has
  int32_t label;       // if labels are classes
  uint64_t key;
} gr_table_sample;

typedef enum gr_table_skip {
  GR_TABLE_ACROSS,
  GR_TABLE_SHORT,
  GR_TABLE_REST,  // rows of no window
} gr_table_skip;  // of gr_source_ops.skips

typedef struct gr_table {
  gr_arena *arena;
  gr_table_spec spec;
  const char *section;  // whose keys messages name: data.table, or that of a list with its labels
  gr_table_part *part;  // of spec.paths, and of spec.eval if given; or of each input
  int n_parts;
  bool inputs;  // samples are files to predict: there are no labels (see gr_source_request)
  bool kept;    // it is for the weights of a run, whose features it has
  int rank;     // of a row's features
  int64_t dim[GR_ARRAY_RANK];
  int64_t width;                      // their product
  gr_field_spec more[GR_TABLE_MORE];  // of spec.inputs
  int64_t n_channels, moments;        // of a series, if samples are series
  gr_classes classes;                 // none: labels are values, or there are none
  bool numbered;                      // ... their names are whole numbers
  int64_t n_targets;                  // values of a y that is a vector; 0: it is none
  gr_classes targets;                 // names of these
  int32_t *target_number;  // of lists of labels: by place in the order in which they are found
  gr_table_sample *samples;
  uint32_t count;
  double *mean, *scale;  // [n_statistics]: x becomes (x - mean) * scale
  int64_t n_statistics;  // width, or 1, or a series' channels; 0: x is not normalised
} gr_table;

// Reads the section data.table. GR_ERR_CONFIG at the invalid key.
GR_MUST_USE gr_status gr_table_read_spec(gr_arena *, gr_conf *section, gr_table_spec *out);
// The keys of it that begin with `label`, which the section of another source may have, too.
GR_MUST_USE gr_status gr_table_read_labels(gr_arena *, gr_conf *section, gr_table_spec *out);
// Opens the files and finds the columns and the shape of x. Fails with GR_ERR_DATA.
GR_MUST_USE gr_status gr_table_open_columns(gr_table *, const gr_source_request *);
// Columns of CSV (kinds.c). For one that a key, "features" or "inputs", takes: text with numbers
// among it becomes numbers where data.table.on_bad_cell says so, else it is GR_ERR_DATA at the
// first cell that is none.
GR_MUST_USE gr_status gr_table_need_numbers(const gr_table *, const char *key, gr_table_column *);
// The same for a label whose cells are mostly numbers.
GR_MUST_USE gr_status gr_table_need_label(const gr_table *, gr_table_column *);
bool gr_table_is_empty(const gr_table_column *);  // of CSV, and no cell has a value
// Adds columns NAME=VALUE, which are 1 in the rows whose cell of a column of spec.one_hot has that
// value, else 0 (one_hot.c): those among the features, or where there are none of it and the file
// is trained on, of all its values, and puts them into a list of features that has the column.
// GR_ERR_DATA.
GR_MUST_USE gr_status gr_table_one_hot(gr_table *, gr_table_part *, int column);
// Columns that a model looks up (ids.c). Whether a column is one of spec.ids.
bool gr_table_is_id(const gr_table *, const char *column);
// That they are features, of whole numbers from 0 on. GR_ERR_DATA.
GR_MUST_USE gr_status gr_table_check_ids(const gr_table *, gr_table_part *);
// See gr_source_ops.
gr_status gr_table_check_lookup(const void *self, const gr_column_lookup *);
// Inputs beside x and y (inputs.c). What the configuration says of them. GR_ERR_CONFIG.
GR_MUST_USE gr_status gr_table_check_spec_inputs(const gr_table_spec *);
// Whether a column, by its index in the part, is one.
bool gr_table_is_input(const gr_table *, const gr_table_part *, int column);
// Reads them, and sets `more` from the first part. GR_ERR_DATA, GR_ERR_CONFIG.
GR_MUST_USE gr_status gr_table_find_inputs(gr_table *, gr_table_part *);
// Whether all values of a row are there and are held. GR_ERR_DATA.
GR_MUST_USE gr_status gr_table_check_inputs(const gr_table *, const gr_table_part *, int64_t row);
// Writes those of a row.
void gr_table_fill_inputs(const gr_table *, const gr_table_part *, int64_t row,
                          void *const field[]);
// Numbers the classes, in the order of their values, or as in the record of a run.
GR_MUST_USE gr_status gr_table_find_classes(gr_table *, const gr_json *record);
// The labels of another source's list are those of a table whose parts have `columns` alone: these
// functions, and gr_table_find_targets, find them. The indices of the columns that `spec` names;
// GR_ERR_CONFIG: there is none.
GR_MUST_USE gr_status gr_table_find_labels(const gr_table *, gr_table_part *);
// Whether they are classes, else values; *text: they are texts. GR_ERR_DATA: they cannot be what
// label_is says, or differ between the parts.
GR_MUST_USE gr_status gr_table_has_classes(gr_table *, bool *out, bool *text);
// Labels that are values (targets.c). Finds the number and the names of the targets, of lists of
// labels those of the record of a run. GR_ERR_DATA, GR_ERR_CONFIG.
GR_MUST_USE gr_status gr_table_find_targets(gr_table *, const gr_json *record);
// GR_ERR_CONFIG: label_missing is given, and labels are classes.
GR_MUST_USE gr_status gr_table_refuse_missing(const gr_table_spec *);
// Writes y of a row: one value, or n_targets.
void gr_table_targets(const gr_table *, const gr_table_part *, int64_t row, float *out);
// Appends them, as numbers, or of lists of labels the names.
void gr_table_put_targets(const gr_table *, const gr_table_part *, int64_t row, gr_text *);
void gr_table_target_field(const gr_table *, gr_field_spec *y);  // the field that has them
// Whether a row's label is there, and finite where it is a value. GR_ERR_DATA.
GR_MUST_USE gr_status gr_table_check_label(const gr_table *, const gr_table_part *, int64_t row);
int gr_table_labels(const gr_table *);                    // columns of labels
int gr_table_label_column(const gr_table_part *, int i);  // of these
// Whether a column, by its index in the part, is one of the labels.
bool gr_table_is_label(const gr_table *, const gr_table_part *, int column);
// Lists rows or windows as samples; those without a label or across series are counted as skipped.
GR_MUST_USE gr_status gr_table_list(gr_table *, const gr_source_request *);
// Appends lines that say which columns are features, and which are left out and why, and which
// other columns the files for validation have; for the weights of a run which columns it does not
// use. Nothing for arrays. See gr_source_ops.
void gr_table_notes(const void *self, gr_text *);
// Writes a row's features, not normalised: [width].
void gr_table_row(const gr_table *, const gr_table_part *, int64_t row, float *out);
// Series (series.c). Finds the numbers of channels and moments. GR_ERR_CONFIG, GR_ERR_DATA.
GR_MUST_USE gr_status gr_table_find_channels(gr_table *);
int64_t gr_table_series_samples(const gr_table *);   // that one window becomes
int64_t gr_table_series_channels(const gr_table *);  // of x
// Writes x of a sample: [moments, gr_table_series_channels], normalised.
void gr_table_series(const gr_table *, const gr_table_part *, const gr_table_sample *, float *out);
// Statistics (normalize.c), see gr_source_ops. Computes mean and scale of the training rows, or for
// files to predict only makes room for them.
gr_status gr_table_fit(void *self, gr_arena *, const gr_sample *, uint32_t n);
// Appends mean and scale as text, bit for bit.
void gr_table_save(const void *self, gr_text *);
// Sets them from that text. GR_ERR_CHECKPOINT: it is of another number of values, or damaged.
gr_status gr_table_restore(void *self, const char *text);
// Writes a row's features, normalised if there are statistics: [width].
void gr_table_scaled_row(const gr_table *, const gr_table_part *, int64_t row, float *out);
// Appends the columns of labels of every file, with types and ranges (inspect.c).
void gr_table_inspect_labels(const gr_table *, gr_text *);
// Appends the columns of every file, with types, roles and ranges (inspect.c).
void gr_table_inspect(const void *self, const gr_sample *, uint32_t n, gr_text *);
// Appends members of data.json: features, classes, mean and scale.
void gr_table_record(const void *self, gr_text *);
