// import.c - converts Debian's Asterisk voice prompts to a manifest; see manifest.h.
//
// Transcripts are lines "name: text"; comments begin with ';'. Text in brackets is not spoken:
// "[beep]", "dollar [$]", "IAX (note: ...)", "<beep ascending>".
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/file.h"
#include "base/map.h"
#include "base/port.h"
#include "base/text.h"
#include "base/work.h"
#include "runtime/data/speech/audio.h"
#include "runtime/data/speech/manifest.h"
#ifdef GR_HAVE_ZLIB
#include <zlib.h>
#endif

enum { MAX_BYTES = 1 << 26 };

#ifdef GR_HAVE_ZLIB
// gzread also reads files that are not compressed.
static gr_status unpack(gr_arena *a, const char *path, char **out, size_t *len) {
  gr_text t = gr_text_make(a);
  char buf[1 << 14];
  int n = -1, code = Z_OK;
  int fd;
  GR_TRY(gr_file_open(path, GR_ERR_IO, &fd));
  gzFile f = gzdopen(fd, "rb");
  if (!f) {
    close(fd);
    return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no memory to unpack '%s'", path);
  }
  while ((n = gzread(f, buf, sizeof buf)) > 0 && t.len < MAX_BYTES)
    gr_text_putn(&t, buf, (size_t)n);
  gr_status s = GR_OK;
  if (n)
    s = gr_fail(GR_ERR_DATA, GR_NOWHERE, "cannot unpack '%s': %s", path,
                n > 0 ? "it is too large" : gzerror(f, &code));
  code = gzclose(f);
  if (code != Z_OK && !s) s = gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' is cut short", path);
  *out = t.chars, *len = t.len;
  return s;
}
#else
static gr_status unpack(gr_arena *a, const char *path, char **out, size_t *len) {
  GR_TRY(gr_file_read(a, path, MAX_BYTES, out, len));
  if (*len > 1 && !memcmp(*out, "\x1f\x8b", 2))
    return gr_hint(gr_fail(GR_ERR_UNSUPPORTED, GR_NOWHERE, "'%s' is compressed", path),
                   "unpack it with gunzip, or build with zlib (zlib1g-dev)");
  return GR_OK;
}
#endif

// Copies the text without bracketed parts; an unclosed bracket is kept.
static char *without_brackets(gr_arena *a, const char *s) {
  static const char open[] = "[(<", shut[] = "])>";
  gr_text t = gr_text_make(a);
  while (*s) {
    const char *kind = strchr(open, *s), *end = kind ? strchr(s, shut[kind - open]) : NULL;
    if (!end) gr_text_putn(&t, s, 1);
    s = end ? end + 1 : s + 1;
  }
  return t.chars;
}

static char *trimmed(char *s) {
  while (isspace((unsigned char)*s)) s++;
  for (size_t n = strlen(s); n && isspace((unsigned char)s[n - 1]); n--) s[n - 1] = 0;
  return s;
}

static bool has_letter_or_digit(const char *s) {
  for (; *s; s++)
    if (isalnum((unsigned char)*s) || (unsigned char)*s >= 128) return true;
  return false;
}

typedef struct importer {
  const gr_import_asterisk *spec;
  const char *sounds;
  gr_arena *arena;
  gr_utterance *items;
  gr_import_counts *counts;
  gr_map names;  // of the recordings so far
} importer;

static gr_status add_recording(importer *im, const char *name, char *text) {
  text = trimmed(without_brackets(im->arena, text));
  if (!has_letter_or_digit(text)) {
    im->counts->sounds++;
    return GR_OK;
  }
  if (im->spec->no_digits && strpbrk(text, "0123456789#*$@%&+=")) {
    im->counts->digits++;
    return GR_OK;
  }
  const char *audio = gr_arena_printf(im->arena, "%s/%s.wav", im->sounds, name);
  if (!gr_is_file(audio)) {
    im->counts->missing++;
    return GR_OK;
  }
  if (gr_map_find(&im->names, name, NULL)) {
    im->counts->repeated++;
    return GR_OK;
  }
  gr_map_put(&im->names, name, 0);
  gr_audio_info info;
  GR_TRY(gr_audio_probe(audio, &info));
  double seconds = (double)info.samples / info.rate;
  im->items[im->counts->written++] =
      (gr_utterance){.name = name, .audio = audio, .text = text, .seconds = seconds};
  im->counts->seconds += seconds;
  return GR_OK;
}

static gr_status add_line(importer *im, char *line) {
  line = trimmed(line);
  if (!*line || *line == ';') return GR_OK;
  char *colon = strchr(line, ':');
  if (!colon || colon == line)
    return gr_fail(GR_ERR_DATA, GR_NOWHERE, "expected 'name: text', found '%.60s'", line);
  *colon = 0;
  return add_recording(im, trimmed(line), colon + 1);
}

static gr_status check_there(const char *language, const char *sounds, const char *transcripts) {
  if (!gr_is_dir(sounds))
    return gr_hint(
        gr_fail(GR_ERR_DATA, GR_NOWHERE, "there is no folder of recordings '%s'", sounds),
        "apt-get install asterisk-core-sounds-%s-wav", language);
  if (!gr_is_file(transcripts))
    return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE, "there are no transcripts '%s'", transcripts),
                   "apt-get install asterisk-core-sounds-%s; on machines that leave out "
                   "/usr/share/doc (see /etc/dpkg/dpkg.cfg.d) add "
                   "-o Dpkg::Options::=--path-include='/usr/share/doc/asterisk*' --reinstall",
                   language);
  return GR_OK;
}

// A part of two paths and of a shell command.
static gr_status check_language(const char *language) {
  size_t n = strspn(language, "abcdefghijklmnopqrstuvwxyz");
  if (n == 2 && !language[n]) return GR_OK;
  return gr_hint(
      gr_fail(GR_ERR_USAGE, GR_NOWHERE, "'%.20s' is no language of Debian's recordings", language),
      "two letters, such as en, es, fr, it or ru");
}

static gr_status import_lines(importer *im, const char *transcripts) {
  char *text;
  size_t len;
  GR_TRY(unpack(im->arena, transcripts, &text, &len));
  uint32_t lines = 1;
  for (size_t i = 0; i < len; i++) lines += text[i] == '\n';
  im->items = GR_NEW(im->arena, gr_utterance, lines);
  gr_work work;
  gr_work_begin_items(&work, gr_arena_printf(im->arena, "importing %u lines", lines), lines);
  gr_status s = GR_OK;
  int number = 1;
  for (char *p = text, *next; p && !s; p = next, number++) {
    next = strchr(p, '\n');
    if (next) *next++ = 0;
    s = gr_note(add_line(im, p), GR_NOWHERE, "on line %d of '%s'", number, transcripts);
    s = s ? s : gr_work_step(1);
  }
  gr_work_end(&work);
  if (s) return s;
  if (!im->counts->written)
    return gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' has no transcript of a recording in '%s'",
                   transcripts, im->sounds);
  return GR_OK;
}

gr_status gr_import_asterisk_run(const gr_import_asterisk *spec, const char *out_path,
                                 gr_import_counts *counts) {
  const char *language = spec->language ? spec->language : "en";
  *counts = (gr_import_counts){0};
  GR_TRY(check_language(language));
  gr_arena *a = gr_arena_create();
  const char *transcripts = spec->transcripts, *sounds = spec->sounds;
  if (!sounds) sounds = gr_arena_printf(a, "/usr/share/asterisk/sounds/%s", language);
  if (!transcripts)
    transcripts = gr_arena_printf(a, "/usr/share/doc/asterisk-core-sounds-%s/core-sounds-%s.txt.gz",
                                  language, language);
  gr_status s = check_there(language, sounds, transcripts);
  // Relative paths in a manifest start from its folder, and the package's folder is a link.
  char *whole = s ? NULL : realpath(sounds, NULL);
  if (!s && !whole) s = gr_fail_errno(GR_ERR_DATA, errno, "cannot find '%s'", sounds);
  importer im = {spec, whole, a, NULL, counts, gr_map_make(a)};
  s = s ? s : import_lines(&im, transcripts);
  s = s ? s : gr_manifest_write(out_path, im.items, counts->written);
  gr_arena_destroy(a);
  free(whole);
  return s;
}
