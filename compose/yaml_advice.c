// yaml_advice.c - see yaml_advice.h. The commonest slips, each with its cure.
#include "compose/yaml_advice.h"
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

// Something in [...] or {...}: what is on the line says what to quote.
static const char *in_flow(const char *line, const char *first) {
  if (strstr(line, "${") || strstr(first, "${"))
    return "inside [...] and {...} an interpolation must be quoted: \"${...}\"";
  if (strstr(line, "???") || strstr(first, "???"))
    return "inside [...] and {...} it must be quoted: \"??\?\"";
  return "close the list or mapping that starts there; a text with ':', ',' or brackets in it must "
         "be "
         "quoted";
}

static const char *bad_character(const char *line) {
  if (line[strspn(line, " ")] == '\t') return "indent with spaces: this line starts with a tab";
  return "quote a text that starts with '@', '`' or '%'";
}

const char *gr_yaml_advice(const char *problem, const char *context, const char *line,
                           const char *first) {
  if (strstr(problem, "tab character")) return "indent with spaces: this line starts with a tab";
  if (strstr(context, "flow")) return in_flow(line, first);
  if (strstr(context, "quoted scalar")) {
    if (strstr(problem, "escape") || strstr(problem, "hexdecimal"))
      return "in double quotes '\\' begins an escape: write '\\\\', or use single quotes";
    return "close the quote that begins there; within single quotes a quote is written twice: ''";
  }
  if (strstr(problem, "cannot start any token")) return bad_character(line);
  if (strstr(problem, "mapping values are not allowed"))
    return "quote a text that contains ': ', and check the indentation";
  if (strstr(problem, "block sequence entries are not allowed"))
    return "a list begins on a line of its own; quote a text that starts with '- '";
  if (strstr(context, "tag") || strstr(context, "directive"))
    return "quote a text that starts with '!' or '%'";
  if (strstr(context, "anchor") || strstr(context, "alias"))
    return "quote a text that starts with '&' or '*'";
  if (strstr(context, "block scalar"))
    return "indent the lines below '|' or '>' with spaces, evenly";
  if (strstr(problem, "document start"))
    return "end a quoted text or a list before the next key, and check the indentation";
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
