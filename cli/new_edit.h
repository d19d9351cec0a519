// new_edit.h - changes lines of a configuration's text that `graphrun new` writes, and keeps their
// comments. A key is the first of its name, at any depth; without it the text stays as it is.
#pragma once
#include "cli/new/new.h"
#include "cli/new_columns.h"

// The lines of the data of which a list is made that is written into the project.
typedef struct gr_new_lines {
  const char *name;    // of the list
  const char *source;  // the table
  int *line;           // [n] by line of the list: that of the table
  int n, room;
} gr_new_lines;
enum { GR_NEW_LISTS = 2 };  // to train on, and for validation

// What a project for the data is made of; all in the arena.
typedef struct gr_new_own {
  gr_arena *arena;
  const char *dir;    // where its files are written
  const char *label;  // the column to predict of a table; NULL: one with a usual name, or the last
  const char *untested;  // where it is NULL: the column that a table for tests lacks; or NULL
  gr_text said;          // what was found
  const gr_new_kind *kind;
  const char *config;  // the kind's config.yaml with the data's path, columns and format
  const char *graph;   // its graph.yaml; NULL: as the kind has it
  // Lines of the lines_file (manifest.jsonl) and validation.jsonl of the project;
  // NULL: it has none.
  const char *lines, *validation, *lines_file;
  gr_new_lines lists[GR_NEW_LISTS];  // those that are written, then NULL for a name
} gr_new_own;

// A place in a list of the project as that in the data; in others as it is.
gr_loc gr_new_place(const gr_new_own *, gr_loc);

// Begins the project of a kind, with the data's path as the value of a key; of a file of the
// project its name.
void gr_new_begin(gr_new_own *, const char *kind, const char *key, const char *path);
void gr_new_set(gr_new_own *, const char *key, const char *value);      // in YAML
void gr_new_name(gr_new_own *, const char *key, const char *value);     // a text, in double quotes
const char *gr_new_quoted(gr_new_own *, const char *text);              // it, with escapes
void gr_new_put_cell(gr_text *, const char *before, const char *text);  // of CSV
// The file of the project that is the value of a key; NULL: there is none.
const char *gr_new_file(const gr_new_own *, const char *key);
// Adds a line after that of a key, as deep as it.
void gr_new_add(gr_new_own *, const char *after, const char *line);
void gr_new_drop(gr_new_own *, const char *key);  // the line of a key
// Leaves out the confusion matrix, and what is computed from it, where the data have so many
// classes that its counts would take more memory and time than the model.
void gr_new_set_classes(gr_new_own *, uint32_t classes);
// Adds the lines that say how a table's text is written, where that is not as usual.
void gr_new_set_format(gr_new_own *, const gr_csv *);
// Adds the line of its columns of few texts (gr_new_is_one_hot), but the label.
void gr_new_set_one_hot(gr_new_own *, const gr_csv *, int label);
// Adds the data for validation beside those to train on, the value of a key, in place of a share of
// these. NULL: there are none.
void gr_new_set_evaluation(gr_new_own *, const char *key, const char *path);
