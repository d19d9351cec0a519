// schema.h - the keys of a training configuration: one table with type, default, unit and a line of
// documentation per key, from which checking, help, docs/config.md, the JSON Schema and completion
// are derived. A new key is one line in schema.def.
#pragma once
#include "compose/tree/conf.h"

// A type is alternatives joined by '|': int, float, bool, string, path, null, mapping, any, a word
// that is meant literally, or [type] for a list. 'null' in quotes is a word, which YAML's null
// spells, too, unless it is written as ~ or as nothing. Numbers may have bounds: "int >= 1", "float
// > 0 < 1"; lists a length: "[float; 2]". An integer without a bound has that of 32 bits, since
// most of them end up in an int: only a row that says otherwise takes more.
typedef struct gr_schema_key {
  const char *path;
  const char *type;
  const char *default_value;  // as YAML; "???": must be given; "": stays out when it is not given
  const char *unit;           // or ""
  const char *doc;
  const char *alias_of;  // the key that it is another name of, or NULL
} gr_schema_key;

extern gr_schema_key gr_schema_keys[];
extern const int gr_schema_count;

// Sets the valid words of a key whose values only a layer above knows, up to NULL. Called before
// any configuration is checked; compose/ knows no ops and no devices.
void gr_schema_set_words(const char *path, const char *const *words);

// Memory for gr_schema_share, in the arena: the values of keys with two names after the last merge.
const gr_conf **gr_schema_aliases(gr_arena *);
// Gives both names of a key the value that was merged last; called after every merge into `root`,
// with what gr_schema_aliases made. GR_ERR_CONFIG where one merge gives both names, with different
// values.
GR_MUST_USE gr_status gr_schema_share(gr_arena *, gr_conf *root, const gr_conf **seen);

// Gives keys the values that are given under their other names; the schema has filled in every
// default.
void gr_schema_rename(gr_conf *root);

enum { GR_MAX_COMPAT = 64 };
// Translates compat.huggingface, the settings of Transformers, in a composed and resolved
// configuration to keys of the schema (compat.def); lines: what each became, in the arena. Values
// of wrong types are left to gr_schema_check, which is called after it. GR_ERR_CONFIG at each
// setting that cannot be honoured, or whose key has another value. *n: number of lines; 0: there is
// no such section.
GR_MUST_USE gr_status gr_schema_translate(gr_arena *, gr_conf *root,
                                          const char *lines[GR_MAX_COMPAT], int *n);

// Checks a composed and resolved configuration and, in one that is whole, fills in what is not
// given (marked as preset) and gives keys the values of their other names. Errors: unknown keys,
// wrong types, values out of range, and, in one that is whole, ??? left and keys that must be
// given; up to 20 at once.
GR_MUST_USE gr_status gr_schema_check(gr_arena *, gr_conf *job, bool whole);

// Whether another value of the key leaves what a run computes as it is: how long and where it runs,
// and what it writes (GR_NEUTRAL). Keys that hold paths of input files are not neutral.
bool gr_schema_is_neutral(const char *path);
// Whether the key says how a model is trained, and nothing where a run's weights are only used, as
// by `predict` (GR_FOR_TRAINING).
bool gr_schema_is_for_training(const char *path);

const gr_schema_key *gr_schema_find(const char *path);        // NULL: no such key
const char *gr_schema_doc(const char *path);                  // its line of doc; NULL: no such key
const char *gr_schema_nearest(gr_arena *, const char *path);  // by a wrong one; NULL: no idea

// A setting of another program (foreign.def): the key that takes its place, or "", and what differs
// or is done instead, or "".
typedef struct gr_foreign {
  const char *program, *name, *key, *text;
} gr_foreign;
extern const gr_foreign gr_foreign_names[];  // ends with an entry whose name is NULL

const gr_foreign *gr_schema_foreign(const char *name);  // a flag with its dashes; NULL: not known
// What is done instead of a setting of another program for which there is no key, as a sentence.
// NULL: it is not known, or there is a key.
const char *gr_schema_replacement(const char *path);
// All of them: for a terminal, or as a table in Markdown.
void gr_schema_other_names(gr_text *, bool markdown);

bool gr_schema_takes(const char *path);    // a key, or below one of any kind
bool gr_schema_section(const char *path);  // it has keys below it
// The literal words of a key's type ("sgd", "adam", "true"); out has room for `most`.
int gr_schema_choices(gr_arena *, const gr_schema_key *, const char **out, int most);

// The value of a key that is not given; *out is NULL where there is none.
GR_MUST_USE gr_status gr_schema_default(gr_arena *, const gr_schema_key *, gr_conf **out);

void gr_schema_help(gr_text *, const char *prefix);  // keys that start so, for a terminal
void gr_schema_markdown(gr_text *);                  // docs/config.md
void gr_schema_json(gr_text *);                      // JSON Schema (2020-12), for editors

// ---- Types (type.c) -------------------------------------------------------------
typedef enum gr_schema_kind {
  GR_SCHEMA_INT,
  GR_SCHEMA_FLOAT,
  GR_SCHEMA_BOOL,
  GR_SCHEMA_TEXT,
  GR_SCHEMA_PATH,
  GR_SCHEMA_NULL,
  GR_SCHEMA_ANY,
  GR_SCHEMA_MAP,
  GR_SCHEMA_WORD,
  GR_SCHEMA_LIST,
} gr_schema_kind;

typedef struct gr_schema_type gr_schema_type;
struct gr_schema_type {
  gr_schema_kind kind;
  const char *word;
  double least, most;  // bounds of a float; infinite where there are none
  bool open_least, open_most;
  int64_t min, max;  // bounds of an integer, both within
  int length;        // of a list; 0: any
  gr_schema_type *item;
  gr_schema_type *next;  // the next alternative
};

// Parses a type's notation (gr_schema_key.type), which is trusted.
gr_schema_type *gr_schema_type_read(gr_arena *, const char *text);
// Whether the value is of the type. A word is matched in any case, and then spelt as the type
// spells it.
bool gr_schema_type_fits(const gr_schema_type *, gr_conf *);
// GR_ERR_CONFIG, with its place and what is expected, at a value that is not of the key's type;
// what is missing, or refers to something that is not known yet, is accepted.
GR_MUST_USE gr_status gr_schema_check_value(gr_arena *, const gr_schema_key *, gr_conf *);
// Whether a key's type has an alternative, or lists of one, of that kind.
bool gr_schema_holds(gr_arena *, const gr_schema_key *, gr_schema_kind);
// "an integer of at least 1, or 'auto'"
void gr_schema_type_write(gr_text *, const gr_schema_type *);
// "must be an integer, but is [1]", of a type as it is written; NULL: the value is of it.
const char *gr_schema_misfit(gr_arena *, const char *type, gr_conf *);
