// yaml_advice.c - the most common syntax errors, each with a hint. See yaml_advice.h.
#include "compose/tree/yaml_advice.h"
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

// For errors inside [...] or {...}: looks for something on the line that must be quoted.
static const char *in_flow(const char *line, const char *first) {
  if (strstr(line, "${") || strstr(first, "${"))
    return "inside [...] and {...} an interpolation must be quoted: \"${...}\"";
  if (strstr(line, "???") || strstr(first, "???"))
    return "inside [...] and {...} it must be quoted: \"??\?\"";
  return "close the list or mapping that starts there; a string with ':', ',' or brackets in it "
         "must "
         "be "
         "quoted";
}

static const char *bad_character(const char *line) {
  if (line[strspn(line, " ")] == '\t') return "indent with spaces: this line starts with a tab";
  return "quote a string that starts with '@', '`' or '%'";
}

const char *gr_yaml_unfinished(const char *problem, const char *context, bool at_end) {
  if (strstr(problem, "could not find expected ':'")) return "there is no ':' after this key";
  if (!at_end) return NULL;
  if (strstr(context, "quoted scalar")) return "this quote is never closed";
  if (strstr(context, "flow sequence")) return "this '[' is never closed";
  return strstr(context, "flow mapping") ? "this '{' is never closed" : NULL;
}

// "a: b: c" on one line, or a line with another indentation than its neighbours.
static const char *second_key(const char *line) {
  const char *colon = strstr(line, ": ");
  if (colon && strchr(colon + 2, ':'))
    return "a line holds one 'key: value': put the second on a line of its own, or quote the text";
  return "indent this line as its neighbours; a string that contains ': ' must be quoted";
}

const char *gr_yaml_advice(const char *problem, const char *context, const char *line,
                           const char *first) {
  if (strstr(problem, "tab character")) return "indent with spaces: this line starts with a tab";
  if (strstr(context, "flow")) return in_flow(line, first);
  if (strstr(context, "quoted scalar")) {
    if (strstr(problem, "escape") || strstr(problem, "hexdecimal"))
      return "in double quotes '\\' begins an escape: write '\\\\', or use single quotes";
    return "close the quote that begins there; inside single quotes a quote is written twice: ''";
  }
  if (strstr(problem, "cannot start any token")) return bad_character(line);
  if (strstr(problem, "mapping values are not allowed")) return second_key(line);
  if (strstr(problem, "block sequence entries are not allowed"))
    return "start a list on a line of its own; quote a string that starts with '- '";
  if (strstr(context, "tag") || strstr(context, "directive"))
    return "quote a string that starts with '!' or '%'";
  if (strstr(context, "anchor") || strstr(context, "alias"))
    return "quote a string that starts with '&' or '*'";
  if (strstr(context, "block scalar"))
    return "indent the lines below '|' or '>' with spaces, evenly";
  if (strstr(problem, "document start"))
    return "end a quoted text or a list before the next key, and check the indentation";
  if (strstr(problem, "expected key") && !strncmp(line + strspn(line, " "), "- ", 2))
    return "a list must be the value of a key: add one, or remove '- '";
  if (strstr(problem, "could not find expected ':'") || strstr(problem, "expected key") ||
      strstr(problem, "expected '-' indicator"))
    return "check the indentation, and that every key is followed by ': '";
  return NULL;
}

const char *gr_yaml_skip(const char *s, size_t n) {
  for (; n && *s; n--) {
    s += strcspn(s, "\n");
    s += *s == '\n';
  }
  return s;
}

bool gr_yaml_starts_key(const char *line) {
  size_t n = strcspn(line, ":\r\n");
  return !strchr(" \t#\r\n-]}[{,&*!|>'\"%@`?", *line) && line[n] == ':';
}

gr_loc gr_yaml_place(const char *file, const char *text, size_t line, size_t byte) {
  gr_loc loc = {file, (int)line + 1, 1};
  const char *s = gr_yaml_skip(text, line);
  for (; byte && *s; byte--, s++) {
    loc.col += (*s & 0xc0) != 0x80;
    if (*s == '\n') loc.line++, loc.col = 1;
  }
  return loc;
}
