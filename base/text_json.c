// text_json.c - the words, numbers and separators of JSON (text.h).
#include <math.h>
#include <string.h>
#include "base/text.h"

void gr_text_json(gr_text *t, const char *s) {
  static const char *const named[32] = {
      ['\b'] = "\\b", ['\f'] = "\\f", ['\n'] = "\\n", ['\r'] = "\\r", ['\t'] = "\\t"};
  if (!s) {
    gr_text_put(t, "null");
    return;
  }
  gr_text_put(t, "\"");
  for (const unsigned char *p = (const unsigned char *)s; *p;) {
    int n = gr_utf8_len((const char *)p);
    if (!n)
      gr_text_put(t, "\xef\xbf\xbd"), n = 1;
    else if (*p < 32 && named[*p])
      gr_text_put(t, named[*p]);
    else if (*p < 32)
      gr_text_printf(t, "\\u%04x", *p);
    else if (*p == '"' || *p == '\\')
      gr_text_printf(t, "\\%c", *p);
    else
      gr_text_putn(t, (const char *)p, (size_t)n);
    p += n;
  }
  gr_text_put(t, "\"");
}

static char last_of(const gr_text *t) { return t->len ? t->chars[t->len - 1] : '{'; }

void gr_text_json_next(gr_text *t) {
  if (!strchr("{[ \n", last_of(t))) gr_text_put(t, ", ");
}

void gr_text_json_line(gr_text *t, const char *space) {
  if (!strchr("{[", last_of(t))) gr_text_put(t, ",");
  gr_text_put(t, space);
}

void gr_text_json_key(gr_text *t, const char *name) {
  gr_text_json_next(t);
  gr_text_json(t, name);
  gr_text_put(t, ": ");
}

void gr_text_json_member(gr_text *t, const char *name, const char *s) {
  gr_text_json_key(t, name);
  gr_text_json(t, s);
}

void gr_text_json_texts(gr_text *t, const char *const *texts, int n) {
  gr_text_put(t, "[");
  for (int i = 0; i < n; i++) gr_text_json_next(t), gr_text_json(t, texts[i]);
  gr_text_put(t, "]");
}

void gr_text_json_float(gr_text *t, double x) {
  const char *quote = isnan(x) || isinf(x) ? "\"" : "";
  gr_text_put(t, quote);
  gr_text_put_float(t, x);
  gr_text_put(t, quote);
}

void gr_text_json_rounded(gr_text *t, double x, int digits) {
  if (isnan(x) || isinf(x))
    gr_text_json_float(t, x);
  else
    gr_text_printf(t, "%.*g", digits, x);
}

void gr_text_json_known(gr_text *t, double x) {
  if (isnan(x))
    gr_text_put(t, "null");
  else
    gr_text_json_float(t, x);
}

void gr_text_base64(gr_text *t, const unsigned char *p, size_t n) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < n; i += 3) {
    uint32_t v = (uint32_t)p[i] << 16;
    if (i + 1 < n) v |= (uint32_t)p[i + 1] << 8;
    if (i + 2 < n) v |= p[i + 2];
    char out[4] = {digits[v >> 18], digits[v >> 12 & 63], digits[v >> 6 & 63], digits[v & 63]};
    if (i + 2 >= n) out[3] = '=';
    if (i + 1 >= n) out[2] = '=';
    gr_text_putn(t, out, 4);
  }
}
