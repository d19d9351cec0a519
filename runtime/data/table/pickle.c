// pickle.c - see pickle.h.
//
// A pickle is a list of instructions for a stack machine (Python's pickletools.py documents them).
// A mark on the stack is NULL.
#include "runtime/data/table/pickle.h"
#include <string.h>
#include "base/text.h"
#include "runtime/data/table/pickle_calls.h"

typedef struct machine {
  gr_arena *arena;
  const char *file;
  const unsigned char *start, *at, *end;
  const unsigned char *op;  // the instruction that runs
  gr_pickle_calls calls;
  gr_pickle **stack, **memo;
  size_t n, room, n_memo, room_memo;
} machine;

static gr_status broken(const machine *m, const char *what) {
  return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' is no pickle of arrays: at byte %zu, %s",
                         m->file, (size_t)(m->op - m->start), what),
                 "copy the file again");
}

static gr_status refused(const machine *m, const char *name) {
  return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE,
                         "'%s' calls Python's '%.80s' at byte %zu, which is not done for a pickle",
                         m->file, name, (size_t)(m->op - m->start)),
                 "only arrays, lists, dictionaries, texts and numbers are read");
}

// ---- The stack ----------------------------------------------------------------------------------

static gr_pickle *make(machine *m, gr_pickle_kind kind) {
  gr_pickle *v = GR_NEW(m->arena, gr_pickle, 1);
  v->kind = kind;
  return v;
}

static void add(gr_arena *a, gr_pickle ***at, size_t *n, size_t *room, gr_pickle *v) {
  if (*n == *room) {
    *room = 2 * *room + 16;
    gr_pickle **more = GR_NEW(a, gr_pickle *, *room);
    if (*n) memcpy(more, *at, *n * sizeof *more);
    *at = more;
  }
  (*at)[(*n)++] = v;
}

static void push(machine *m, gr_pickle *v) { add(m->arena, &m->stack, &m->n, &m->room, v); }

static void push_int(machine *m, gr_pickle_kind kind, int64_t i) {
  gr_pickle *v = make(m, kind);
  v->i = i;
  push(m, v);
}

// The value on top, which is taken off; NULL: there is none, or a mark.
static gr_pickle *pop(machine *m) { return m->n && m->stack[m->n - 1] ? m->stack[--m->n] : NULL; }

// Moves what is above the last mark, or the last `count` values, to the end of v's items.
static gr_status take_items(machine *m, gr_pickle *v, int count) {
  size_t from = m->n;
  while (count < 0 ? from && m->stack[from - 1] : from + (size_t)count > m->n && from) from--;
  if (count < 0 ? !from : m->n - from != (size_t)count) return broken(m, "the stack is empty");
  for (size_t i = from; i < m->n; i++) {
    if (!m->stack[i]) return broken(m, "a mark is where a value should be");
    add(m->arena, &v->items, &v->n, &v->room, m->stack[i]);
  }
  m->n = from - (count < 0);
  return GR_OK;
}

// ---- Values in the file -------------------------------------------------------------------------

static gr_status number(machine *m, int bytes, uint64_t *out) {
  *out = 0;
  if (m->end - m->at < bytes) return broken(m, "the file ends in an instruction");
  for (int i = bytes - 1; i >= 0; i--) *out = *out << 8 | m->at[i];
  m->at += bytes;
  return GR_OK;
}

static int64_t signed_of(uint64_t value, int bytes) {
  if (bytes && bytes < 8 && value >> (8 * bytes - 1)) value |= UINT64_MAX << 8 * bytes;
  return (int64_t)value;
}

static gr_status put_unsigned(machine *m, int bytes) {
  uint64_t value = 0;
  GR_TRY(number(m, bytes, &value));
  push_int(m, GR_PICKLE_INT, (int64_t)value);
  return GR_OK;
}

static gr_status put_signed(machine *m, int bytes) {
  uint64_t value = 0;
  GR_TRY(number(m, bytes, &value));
  push_int(m, GR_PICKLE_INT, signed_of(value, bytes));
  return GR_OK;
}

static gr_status put_long(machine *m, int unused) {
  uint64_t n = 0;
  (void)unused;
  GR_TRY(number(m, 1, &n));
  return n > 8 ? broken(m, "an integer has more than 8 bytes") : put_signed(m, (int)n);
}

static gr_status put_float(machine *m, int unused) {
  (void)unused;
  if (m->end - m->at < 8) return broken(m, "the file ends in an instruction");
  uint64_t bits = 0;
  for (int i = 0; i < 8; i++) bits = bits << 8 | *m->at++;
  gr_pickle *v = make(m, GR_PICKLE_FLOAT);
  memcpy(&v->f, &bits, 8);
  push(m, v);
  return GR_OK;
}

static gr_status put_constant(machine *m, int value) {  // -1: None
  push_int(m, value < 0 ? GR_PICKLE_NONE : GR_PICKLE_BOOL, value);
  return GR_OK;
}

static gr_status put_string(machine *m, gr_pickle_kind kind, int length_bytes) {
  uint64_t n = 0;
  GR_TRY(number(m, length_bytes, &n));
  if (n > (uint64_t)(m->end - m->at)) return broken(m, "the file ends in a text");
  gr_pickle *v = make(m, kind);
  v->len = n, v->text = (const char *)m->at;
  if (kind == GR_PICKLE_TEXT) v->text = gr_arena_strndup(m->arena, v->text, n);
  m->at += n;
  push(m, v);
  return GR_OK;
}
static gr_status put_text(machine *m, int bytes) { return put_string(m, GR_PICKLE_TEXT, bytes); }
static gr_status put_bytes(machine *m, int bytes) { return put_string(m, GR_PICKLE_BYTES, bytes); }

static gr_status skip(machine *m, int bytes) {
  uint64_t ignored = 0;
  return number(m, bytes, &ignored);
}

static gr_status line(machine *m, const char **out) {
  const unsigned char *end = memchr(m->at, '\n', (size_t)(m->end - m->at));
  if (!end) return broken(m, "the file ends in a name");
  *out = gr_arena_strndup(m->arena, (const char *)m->at, (size_t)(end - m->at));
  m->at = end + 1;
  return GR_OK;
}

static gr_status put_global(machine *m, int on_stack) {
  const char *module = NULL, *name = NULL;
  if (on_stack) {
    gr_pickle *last = pop(m), *first = last ? pop(m) : NULL;
    if (!first || last->kind != GR_PICKLE_TEXT || first->kind != GR_PICKLE_TEXT)
      return broken(m, "a name should be here");
    module = first->text, name = last->text;
  } else {
    GR_TRY(line(m, &module));
    GR_TRY(line(m, &name));
  }
  gr_pickle *v = make(m, GR_PICKLE_GLOBAL);
  v->text = gr_arena_printf(m->arena, "%s.%s", module, name);
  push(m, v);
  return GR_OK;
}

// ---- Containers ---------------------------------------------------------------------------------

static gr_status put_mark(machine *m, int unused) {
  (void)unused;
  push(m, NULL);
  return GR_OK;
}

static gr_status put_empty(machine *m, int kind) {
  push(m, make(m, (gr_pickle_kind)kind));
  return GR_OK;
}

static gr_status put_tuple(machine *m, int count) {  // -1: what is above the mark
  gr_pickle *v = make(m, GR_PICKLE_TUPLE);
  GR_TRY(take_items(m, v, count));
  push(m, v);
  return GR_OK;
}

// Adds to the container below: the last `count` values, or -1: those above the mark.
static gr_status append(machine *m, gr_pickle_kind kind, int count) {
  gr_pickle more = {0};
  GR_TRY(take_items(m, &more, count));
  gr_pickle *v = m->n ? m->stack[m->n - 1] : NULL;
  if (!v || v->kind != kind || (kind == GR_PICKLE_DICT && more.n % 2))
    return broken(m, "what is added to is no list or dictionary");
  for (size_t i = 0; i < more.n; i++) add(m->arena, &v->items, &v->n, &v->room, more.items[i]);
  return GR_OK;
}
static gr_status add_items(machine *m, int n) { return append(m, GR_PICKLE_LIST, n); }
static gr_status add_members(machine *m, int n) { return append(m, GR_PICKLE_DICT, n); }

// Python numbers what it keeps from 0 on.
static gr_status keep(machine *m, int bytes) {
  uint64_t at = m->n_memo;
  if (bytes) GR_TRY(number(m, bytes, &at));
  gr_pickle *v = m->n ? m->stack[m->n - 1] : NULL;
  if (!v || at > m->n_memo) return broken(m, "a value is kept out of order");
  if (at == m->n_memo)
    add(m->arena, &m->memo, &m->n_memo, &m->room_memo, v);
  else
    m->memo[at] = v;
  return GR_OK;
}

static gr_status get(machine *m, int bytes) {
  uint64_t at = 0;
  GR_TRY(number(m, bytes, &at));
  if (at >= m->n_memo) return broken(m, "a value that is not kept is used");
  push(m, m->memo[at]);
  return GR_OK;
}

// ---- Calls --------------------------------------------------------------------------------------

static gr_status call(machine *m, int unused) {
  gr_pickle *args = pop(m), *f = args ? pop(m) : NULL, *out = NULL;
  (void)unused;
  if (!f || f->kind != GR_PICKLE_GLOBAL || args->kind != GR_PICKLE_TUPLE)
    return broken(m, "a call should be here");
  const char *wrong = gr_pickle_call(&m->calls, f->text, args, &out);
  if (wrong) return broken(m, wrong);
  if (!out) return refused(m, f->text);
  push(m, out);
  return GR_OK;
}

static gr_status build(machine *m, int unused) {
  gr_pickle *state = pop(m), *v = state && m->n ? m->stack[m->n - 1] : NULL;
  (void)unused;
  if (!v || state->kind != GR_PICKLE_TUPLE) return broken(m, "a state should be here");
  const char *wrong = gr_pickle_build(&m->calls, v, state);
  return wrong ? broken(m, wrong) : GR_OK;
}

// ---- The machine --------------------------------------------------------------------------------

static const struct instruction {
  unsigned char op;
  gr_status (*run)(machine *, int);
  int arg;
} instructions[] = {
    {0x80, skip, 1},          // PROTO
    {0x95, skip, 8},          // FRAME
    {'N', put_constant, -1},  // NONE
    {0x88, put_constant, 1},  // NEWTRUE
    {0x89, put_constant, 0},  // NEWFALSE
    {'K', put_unsigned, 1},   // BININT1
    {'M', put_unsigned, 2},   // BININT2
    {'J', put_signed, 4},     // BININT
    {0x8a, put_long, 0},      // LONG1
    {'G', put_float, 0},      // BINFLOAT
    {'X', put_text, 4},       // BINUNICODE
    {0x8c, put_text, 1},      // SHORT_BINUNICODE
    {'U', put_text, 1},       // SHORT_BINSTRING
    {'T', put_bytes, 4},      // BINSTRING
    {'B', put_bytes, 4},      // BINBYTES
    {'C', put_bytes, 1},      // SHORT_BINBYTES
    {0x8e, put_bytes, 8},     // BINBYTES8
    {'c', put_global, 0},     // GLOBAL
    {0x93, put_global, 1},    // STACK_GLOBAL
    {'(', put_mark, 0},       // MARK
    {')', put_empty, GR_PICKLE_TUPLE},
    {']', put_empty, GR_PICKLE_LIST},
    {'}', put_empty, GR_PICKLE_DICT},
    {'t', put_tuple, -1},
    {0x85, put_tuple, 1},  // TUPLE1, ...
    {0x86, put_tuple, 2},
    {0x87, put_tuple, 3},
    {'a', add_items, 1},     // APPEND
    {'e', add_items, -1},    // APPENDS
    {'s', add_members, 2},   // SETITEM
    {'u', add_members, -1},  // SETITEMS
    {'q', keep, 1},          // BINPUT
    {'r', keep, 4},          // LONG_BINPUT
    {0x94, keep, 0},         // MEMOIZE
    {'h', get, 1},           // BINGET
    {'j', get, 4},           // LONG_BINGET
    {'R', call, 0},          // REDUCE
    {'b', build, 0},         // BUILD
};

static gr_status step(machine *m) {
  m->op = m->at++;
  for (size_t i = 0; i < sizeof instructions / sizeof *instructions; i++)
    if (instructions[i].op == *m->op) return instructions[i].run(m, instructions[i].arg);
  return broken(m, "an instruction that is not known");
}

gr_status gr_pickle_read(gr_arena *a, const char *file, const unsigned char *bytes, size_t n,
                         gr_pickle **out) {
  machine m = {.arena = a,
               .file = file,
               .start = bytes,
               .at = bytes,
               .op = bytes,
               .end = bytes + n,
               .calls = {a, file, 4 * n}};
  while (m.at < m.end && *m.at != '.') GR_TRY(step(&m));
  m.op = m.at;
  *out = pop(&m);
  if (m.at == m.end) return broken(&m, "the file ends before the pickle does");
  return *out && !m.n ? GR_OK : broken(&m, "more or less than one value is left");
}

const gr_pickle *gr_pickle_member(const gr_pickle *dict, const char *key) {
  for (size_t i = 0; dict->kind == GR_PICKLE_DICT && i + 1 < dict->n; i += 2)
    if (dict->items[i]->kind == GR_PICKLE_TEXT && !strcmp(dict->items[i]->text, key))
      return dict->items[i + 1];
  return NULL;
}
