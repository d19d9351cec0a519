// archive.c - see archive.h. The formats are those of IEEE Std 1003.1, pax: ustar and pax
// interchange; and GNU tar's types L and K, and its numbers in base 256.
#include "runtime/data/archive.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "base/json.h"
#include "base/map.h"
#include "base/work.h"
#include "runtime/data/source.h"

#define NAMES "members of a sample are called KEY.jpg, KEY.cls, KEY.json, KEY.txt"
enum { BLOCK = 512, MAX_TEXT = 1 << 24 };

bool gr_archive_named(const char *path) {
  const char *dot = strrchr(path, '.');
  return dot && !strcasecmp(dot, ".tar");
}

// ---- Members ------------------------------------------------------------------------------------

typedef struct member {
  const char *name;
  uint64_t offset, bytes;
  char type;
} member;

typedef struct tar {
  gr_arena *arena;
  gr_mapping map;
  uint64_t cursor;
  const char *long_name;  // of the next member, by a member before it; or NULL
  uint64_t long_size;     // likewise; UINT64_MAX: none
} tar;

static gr_status damaged(const tar *t, const char *what) {
  return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE, "the archive '%s' is damaged at byte %llu: %s",
                         t->map.path, (unsigned long long)t->cursor, what),
                 "copy it again; `tar -tf` lists what can be read of it");
}

// A number in octal digits, or in GNU's base 256.
static bool read_number(const unsigned char *p, int n, uint64_t *out) {
  int i = 0;
  *out = 0;
  if (p[0] & 0x80) {
    for (*out = p[0] & 0x7f, i = 1; i < n; i++) {
      if (*out >> 55) return false;
      *out = *out << 8 | p[i];
    }
    return true;
  }
  while (i < n && p[i] == ' ') i++;
  for (; i < n && p[i] >= '0' && p[i] <= '7'; i++) *out = *out << 3 | (uint64_t)(p[i] - '0');
  return i == n || !p[i] || p[i] == ' ';
}

// The sum of a header's bytes, with blanks in place of the sum.
static bool sum_is_right(const unsigned char *head) {
  uint64_t stored, sum = 0;
  for (int i = 0; i < BLOCK; i++) sum += i >= 148 && i < 156 ? ' ' : head[i];
  return read_number(head + 148, 8, &stored) && stored == sum;
}

// The name of a header: of ustar its prefix, too.
static const char *name_of(tar *t, const unsigned char *head) {
  const char *name = (const char *)head, *prefix = (const char *)head + 345;
  int n = (int)strnlen(name, 100), m = (int)strnlen(prefix, 155);
  if (t->long_name) return t->long_name;
  bool joined = !memcmp(head + 257, "ustar\0", 6) && m;
  return joined ? gr_arena_printf(t->arena, "%.*s/%.*s", m, prefix, n, name)
                : gr_arena_strndup(t->arena, name, (size_t)n);
}

// A record of pax, "27 path=...\n": the next member's name or size.
static bool take_record(tar *t, const char *key, size_t n_key, const char *value, size_t n) {
  if (n_key == 4 && !memcmp(key, "path", 4))
    t->long_name = gr_arena_strndup(t->arena, value, n);
  else if (n_key == 4 && !memcmp(key, "size", 4)) {
    char *end, *text = gr_arena_strndup(t->arena, value, n);
    t->long_size = strtoull(text, &end, 10);
    return n && !*end;
  }
  return true;
}

// `p` ends in a NUL behind its n bytes: a mapping may end there, where a number would go on.
static gr_status read_records(tar *t, const char *p, size_t n) {
  for (const char *end = p + n; p < end;) {
    char *blank;
    unsigned long long len = *p >= '1' && *p <= '9' ? strtoull(p, &blank, 10) : 0;
    if (!len || len > (size_t)(end - p) || *blank != ' ' || blank >= p + len || p[len - 1] != '\n')
      return damaged(t, "it has a pax header that cannot be read");
    const char *key = blank + 1, *equals = memchr(key, '=', (size_t)(p + len - key));
    if (!equals || !take_record(t, key, (size_t)(equals - key), equals + 1,
                                (size_t)(p + len - 1 - (equals + 1))))
      return damaged(t, "it has a pax header that cannot be read");
    p += len;
  }
  return GR_OK;
}

// A member that says something of the next one.
static gr_status take_extension(tar *t, const member *m) {
  const char *p = (const char *)t->map.data + m->offset;
  if (m->bytes > MAX_TEXT) return damaged(t, "it has a header of more than 16 MB");
  if (m->type == 'L') t->long_name = gr_arena_strndup(t->arena, p, strnlen(p, (size_t)m->bytes));
  if (m->type != 'x') return GR_OK;
  return read_records(t, gr_arena_strndup(t->arena, p, (size_t)m->bytes), (size_t)m->bytes);
}

// The header at the cursor, which goes behind the member.
static gr_status read_head(tar *t, member *out) {
  const unsigned char *head = t->map.data + t->cursor;
  uint64_t left = t->map.bytes - t->cursor - BLOCK;
  if (!sum_is_right(head)) return damaged(t, "there is no header of a member");
  *out = (member){.offset = t->cursor + BLOCK, .type = (char)head[156]};
  if (!read_number(head + 124, 12, &out->bytes)) return damaged(t, "a member's size is no number");
  bool extends = out->type && strchr("xgLK", out->type);
  if (!extends && t->long_size != UINT64_MAX) out->bytes = t->long_size;
  out->name = name_of(t, head);
  if (out->bytes > left)
    return gr_hint(
        gr_fail(GR_ERR_DATA, GR_NOWHERE,
                "the archive '%s' is cut short: '%s' has %llu bytes, and %llu are there",
                t->map.path, out->name, (unsigned long long)out->bytes, (unsigned long long)left),
        "copy it again");
  uint64_t padded = (out->bytes + BLOCK - 1) / BLOCK * BLOCK;
  t->cursor += BLOCK + (padded < left ? padded : left);
  return GR_OK;
}

static bool is_zero(const unsigned char *p) {
  for (int i = 0; i < BLOCK; i++)
    if (p[i]) return false;
  return true;
}

// The next regular file; *there is false at the end.
static gr_status next_member(tar *t, member *out, bool *there) {
  for (;;) {
    *there = false;
    if (t->map.bytes - t->cursor < BLOCK)
      return gr_hint(
          gr_fail(GR_ERR_DATA, GR_NOWHERE,
                  "the archive '%s' is cut short: it has no mark of its end", t->map.path),
          "copy it again");
    if (is_zero(t->map.data + t->cursor)) return GR_OK;
    GR_TRY(read_head(t, out));
    if (out->type && strchr("xgLK", out->type)) {
      GR_TRY(take_extension(t, out));
      continue;
    }
    t->long_name = NULL, t->long_size = UINT64_MAX;
    if (out->type == '5') continue;
    if (*there = !out->type || strchr("07", out->type), *there) return GR_OK;
    return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' in '%s' is no file but a %s", out->name,
                           t->map.path, strchr("12", out->type) ? "link" : "special one"),
                   "write the files themselves: tar --dereference --hard-dereference");
  }
}

// ---- Samples ------------------------------------------------------------------------------------

typedef struct sample {
  const char *key;  // NULL: there is none
  gr_arena *arena;  // of its texts
  member file, mask;
  bool has_file, has_mask;
  const char *text, *label;
  const gr_json *object;  // of .json
  gr_text others;         // columns of members with other endings, behind a brace
} sample;

typedef struct listing {
  tar tar;
  const char *file;  // what the column of files is called
  gr_map seen;       // keys
  sample now;
  gr_text *out;
} listing;

static gr_status refuse(const listing *l, const member *m, const char *what) {
  return gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' in '%s' %s", m->name, l->tar.map.path, what);
}

static gr_status text_of(const listing *l, const member *m, const char **out) {
  const char *p = (const char *)l->tar.map.data + m->offset;
  size_t n = (size_t)m->bytes;
  while (n && p[n - 1] && strchr(" \t\r\n", p[n - 1])) n--;
  if (m->bytes > MAX_TEXT)
    return refuse(l, m, "has more than 16 MB: no text of a sample is so long");
  *out = gr_arena_strndup(l->now.arena, n ? p : "", n);
  if (strlen(*out) == n && gr_utf8_valid(*out)) return GR_OK;
  return gr_hint(refuse(l, m, "is no text in UTF-8"), "write it again as UTF-8");
}

static gr_status read_object(listing *l, const member *m) {
  const char *text;
  gr_json_error why;
  GR_TRY(text_of(l, m, &text));
  if (!gr_json_read(l->now.arena, text, strlen(text), &l->now.object, &why))
    return gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' in '%s', line %d, column %d: %s, found %s",
                   m->name, l->tar.map.path, why.line, why.col, why.why, why.found);
  if (l->now.object->kind == GR_JSON_OBJECT) return GR_OK;
  return gr_hint(refuse(l, m, "is no object of JSON"),
                 "members of an object are columns: {\"label\": 3}");
}

static void put_member(const listing *l, const char *column, const member *m) {
  char key[80];
  gr_text_json_member(l->out, column, m->name);
  snprintf(key, sizeof key, "%s.offset", column);
  gr_text_json_key(l->out, key), gr_text_printf(l->out, "%llu", (unsigned long long)m->offset);
  snprintf(key, sizeof key, "%s.bytes", column);
  gr_text_json_key(l->out, key), gr_text_printf(l->out, "%llu", (unsigned long long)m->bytes);
}

// A class is a whole number where it is written as one.
static void put_label(const listing *l, const char *label) {
  size_t n = strspn(label, "0123456789");
  bool whole = n && n < 19 && !label[n] && (*label != '0' || n == 1);
  gr_text_json_key(l->out, "label");
  if (whole)
    gr_text_put(l->out, label);
  else
    gr_text_json(l->out, label);
}

// Whether a column is called as what a member of its own says.
static bool is_taken(const listing *l, const char *name) {
  const sample *s = &l->now;
  if (!strcmp(name, "text")) return s->text;
  if (!strcmp(name, "label")) return s->label;
  const char *dot = strchr(name, '.');
  size_t n = dot ? (size_t)(dot - name) : strlen(name);
  if (dot && strcmp(dot, ".offset") != 0 && strcmp(dot, ".bytes") != 0) return false;
  return (n == strlen(l->file) && !strncmp(name, l->file, n)) ||
         (n == 4 && !strncmp(name, "mask", 4));
}

static void end_sample(listing *l) {
  sample *s = &l->now;
  if (!s->key) return;
  gr_text_put(l->out, "{");
  if (s->has_file) put_member(l, l->file, &s->file);
  if (s->has_mask) put_member(l, "mask", &s->mask);
  if (s->label) put_label(l, s->label);
  if (s->text) gr_text_json_member(l->out, "text", s->text);
  for (const gr_json *v = s->object ? s->object->first : NULL; v; v = v->next)
    if (!is_taken(l, v->name)) gr_text_json_key(l->out, v->name), gr_json_put(l->out, v);
  bool alone = l->out->chars[l->out->len - 1] == '{';
  if (s->others.len > 1) gr_text_printf(l->out, "%s%s", alone ? "" : ", ", s->others.chars + 1);
  gr_text_put(l->out, "}\n");
  gr_arena_destroy(s->arena);
  *s = (sample){0};
}

static gr_status begin_sample(listing *l, const member *m, size_t n_key) {
  const char *key = gr_arena_strndup(l->tar.arena, m->name, n_key);
  if (l->now.key && !strcmp(l->now.key, key)) return GR_OK;
  end_sample(l);
  GR_TRY(gr_work_step(0));
  if (gr_map_find(&l->seen, key, NULL))
    return gr_hint(refuse(l, m, "is apart from the other members of its sample"),
                   "write them side by side: tar --sort=name -cf FILE.tar FOLDER");
  gr_map_put(&l->seen, key, 1);
  l->now = (sample){.key = key, .arena = gr_arena_create()};
  l->now.others = gr_text_make(l->now.arena);
  return gr_text_put(&l->now.others, "{"), GR_OK;
}

static gr_status take_file(listing *l, const member *m, member *out, bool *has) {
  if (*has)
    return gr_hint(
        refuse(l, m,
               gr_arena_printf(l->now.arena, "is a second file of its sample, beside '%s'",
                               out->name)),
        "a sample has one image, recording or video, and one mask");
  *out = *m, *has = true;
  return GR_OK;
}

// Images, recordings and videos are what lists of sources name.
static bool is_media(const char *name) {
  const gr_source_ending *ending;
  return gr_source_of_file(name, &ending) && ending->in_lists;
}

static gr_status take_member(listing *l, const member *m) {
  const char *slash = strrchr(m->name, '/'), *base = slash ? slash + 1 : m->name;
  const char *dot = strchr(base, '.');
  sample *s = &l->now;
  if (dot == base) return GR_OK;  // hidden, as of folders
  if (!dot) return gr_hint(refuse(l, m, "has no ending"), NAMES);
  GR_TRY(begin_sample(l, m, (size_t)(dot - m->name)));
  bool mask = !strncasecmp(dot, ".mask.", 6) || !strncasecmp(dot, ".seg.", 5);
  if (!strcasecmp(dot, ".json")) return read_object(l, m);
  if (!strcasecmp(dot, ".cls")) return text_of(l, m, &s->label);
  if (!strcasecmp(dot, ".txt")) return text_of(l, m, &s->text);
  if (mask && is_media(base)) return take_file(l, m, &s->mask, &s->has_mask);
  if (is_media(dot)) return take_file(l, m, &s->file, &s->has_file);
  gr_text_json_member(&s->others, dot + 1, m->name);
  return GR_OK;
}

static gr_status list_members(listing *l) {
  member m;
  bool there;
  GR_TRY(next_member(&l->tar, &m, &there));
  for (; there;) {
    while (!strncmp(m.name, "./", 2)) m.name += 2;
    GR_TRY(take_member(l, &m));
    GR_TRY(next_member(&l->tar, &m, &there));
  }
  end_sample(l);
  if (l->seen.n) return GR_OK;
  return gr_hint(
      gr_fail(GR_ERR_DATA, GR_NOWHERE, "the archive '%s' has no samples", l->tar.map.path), NAMES);
}

gr_status gr_archive_lines(gr_arena *a, const char *path, const char *file, char **out, size_t *n) {
  gr_arena *names = gr_arena_create();
  gr_text lines = gr_text_make(a);
  listing l = {.tar = {.arena = names, .long_size = UINT64_MAX},
               .file = file,
               .seen = gr_map_make(names),
               .out = &lines};
  gr_status s = gr_mapping_open(path, &l.tar.map);
  if (!s) {
    gr_mapping_expect_few(&l.tar.map);
    s = gr_mapping_end(&l.tar.map, list_members(&l));
  }
  if (l.now.key) gr_arena_destroy(l.now.arena);
  *out = lines.chars, *n = lines.len;
  return gr_arena_end(names, s);
}

gr_status gr_member_open(const gr_member *m, const char *path, gr_mapping *map,
                         const unsigned char **out) {
  GR_TRY(gr_mapping_open(m->archive, map));
  gr_mapping_expect_few(map);
  bool there = m->offset <= map->bytes && m->bytes <= map->bytes - m->offset;
  *out = there && map->data ? map->data + m->offset : NULL;
  if (*out) return GR_OK;
  gr_mapping_close(map);
  return gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' is not there any more: '%s' was cut short", path,
                 m->archive);
}
