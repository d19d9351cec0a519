// english_numbers.c - see parts.h. A number is a text of decimal digits, because words
// such as "one decillion" exceed every integer.
#include <string.h>
#include "runtime/text/parts.h"

// ---- Words --------------------------------------------------------------------------------------

typedef enum kind {
  NONE,
  ZERO,
  ONES,  // below twenty
  TENS,
  MULTIPLIER,
  SIGN,      // before a number
  CURRENCY,  // behind one
  PERCENT,
  PER,
  AND,
  TIMES,  // "double": of the next digit
  POINT,
} kind;

typedef struct word {
  const char *text;
  kind kind;
  const char *value;   // digits; of MULTIPLIER the zeros; of signs what is written
  const char *suffix;  // of ordinals and plurals, which end a number; "" of all else
} word;

static const word irregular[] = {
    {"o", ZERO, "0", ""},           {"oh", ZERO, "0", ""},        {"zero", ZERO, "0", ""},
    {"zeroth", ONES, "0", "th"},    {"first", ONES, "1", "st"},   {"second", ONES, "2", "nd"},
    {"third", ONES, "3", "rd"},     {"fifth", ONES, "5", "th"},   {"twelfth", ONES, "12", "th"},
    {"minus", SIGN, "-", ""},       {"negative", SIGN, "-", ""},  {"plus", SIGN, "+", ""},
    {"positive", SIGN, "+", ""},    {"pound", CURRENCY, "£", ""}, {"pounds", CURRENCY, "£", ""},
    {"euro", CURRENCY, "€", ""},    {"euros", CURRENCY, "€", ""}, {"dollar", CURRENCY, "$", ""},
    {"dollars", CURRENCY, "$", ""}, {"cent", CURRENCY, "¢", ""},  {"cents", CURRENCY, "¢", ""},
    {"percent", PERCENT, "%", ""},  {"per", PER, "%", ""},        {"and", AND, "", ""},
    {"double", TIMES, "2", ""},     {"triple", TIMES, "3", ""},   {"point", POINT, ".", ""},
};
static const char *const ones[] = {"one",     "two",       "three",    "four",     "five",
                                   "six",     "seven",     "eight",    "nine",     "ten",
                                   "eleven",  "twelve",    "thirteen", "fourteen", "fifteen",
                                   "sixteen", "seventeen", "eighteen", "nineteen", NULL};
static const char *const tens[] = {"twent",  "thirt", "fort",  "fift", "sixt",
                                   "sevent", "eight", "ninet", NULL};
static const char *const powers[] = {
    "hundred",    "thousand",   "million",   "billion",   "trillion",  "quadrillion", "quintillion",
    "sextillion", "septillion", "octillion", "nonillion", "decillion", NULL};
static const char most_zeros[] = "000000000000000000000000000000000";

// What is behind the stem of a word: nothing, or what several or an order have; NULL: another word.
static const char *ending(const char *text, const char *stem, const char *plain, const char *plural,
                          const char *ordinal) {
  size_t n = strlen(stem);
  const char *end = text + n;
  if (strncmp(text, stem, n)) return NULL;
  if (!strcmp(end, plain)) return "";
  if (!strcmp(end, plural)) return "s";
  return ordinal && !strcmp(end, ordinal) ? "th" : NULL;
}

// As openai-whisper has it, "nineth" is an order and "ninth" is none.
static word word_of(gr_arena *a, const char *text) {
  const char *suffix;
  for (size_t i = 0; i < sizeof irregular / sizeof *irregular; i++)
    if (!strcmp(text, irregular[i].text)) return irregular[i];
  for (int i = 1; ones[i - 1]; i++) {
    const char *ordinal = i < 4 || i == 5 || i == 12 ? NULL : i == 8 ? "h" : "th";
    if ((suffix = ending(text, ones[i - 1], "", i == 6 ? "es" : "s", ordinal)))
      return (word){text, ONES, gr_arena_printf(a, "%d", i), suffix};
  }
  for (int i = 0; tens[i]; i++)
    if ((suffix = ending(text, tens[i], "y", "ies", "ieth")))
      return (word){text, TENS, gr_arena_printf(a, "%d0", i + 2), suffix};
  for (int i = 0; powers[i]; i++)
    if ((suffix = ending(text, powers[i], "", "s", "th")))
      return (word){text, MULTIPLIER, most_zeros + sizeof most_zeros - 1 - (i ? 3 * i : 2), suffix};
  return (word){text, NONE, "", ""};
}

static bool is_plain(const word *w, kind k) { return w->kind == k && !*w->suffix; }
// Whether the word may follow a point.
static bool is_decimal(const word *w) {
  return is_plain(w, ONES) || is_plain(w, TENS) || w->kind == ZERO;
}

// Digits, with a point between them or none.
static bool is_number(const char *s) {
  size_t n = strspn(s, "0123456789");
  if (!n || !s[n]) return n > 0;
  size_t more = s[n] == '.' ? strspn(s + n + 1, "0123456789") : 0;
  return more && !s[n + 1 + more];
}

// ---- Decimal numbers ----------------------------------------------------------------------------

static const char *without_zeros(const char *digits) {
  digits += strspn(digits, "0");
  return *digits ? digits : "0";
}

static const char *sum(gr_arena *a, const char *x, const char *y) {
  int n = (int)strlen(x), m = (int)strlen(y), most = (n > m ? n : m) + 1, carry = 0;
  char *out = gr_arena_alloc(a, (size_t)most + 1);
  out[most] = 0;
  for (int i = 1; i <= most; i++) {
    int digits = carry + (i <= n ? x[n - i] - '0' : 0) + (i <= m ? y[m - i] - '0' : 0);
    out[most - i] = (char)('0' + digits % 10), carry = digits / 10;
  }
  return without_zeros(out);
}

// Whether the last n digits are zeros, and those before them are not lost.
static bool ends_in_zeros(const char *digits, size_t n) {
  size_t len = strlen(digits);
  return !strcmp(digits, "0") || (len >= n && strspn(digits + len - n, "0") == n);
}

// A number with a point, times a one with zeros; NULL: it is none, or the product has decimals.
static const char *product(gr_arena *a, const char *number, const char *zeros) {
  size_t whole = strspn(number, "0123456789");
  const char *decimals = number[whole] == '.' ? number + whole + 1 : number + whole;
  size_t n = strspn(decimals, "0123456789");
  if (decimals[n] || whole + n == 0) return NULL;
  while (n && decimals[n - 1] == '0') n--;
  if (n > strlen(zeros)) return NULL;
  return without_zeros(
      gr_arena_printf(a, "%.*s%.*s%s", (int)whole, number, (int)n, decimals, zeros + n));
}

// ---- A text -------------------------------------------------------------------------------------

typedef struct reader {
  gr_arena *arena;
  gr_text out;
  const char *prefix;  // of the number; ""
  const char *value;   // of the number so far; NULL: there is none
  bool spelt;          // its digits were said one after the other, or it has a point
} reader;

static void put(reader *r, const char *text, const char *suffix) {
  gr_text_printf(&r->out, "%s%s%s%s", r->out.len ? " " : "", r->prefix, text, suffix);
  r->prefix = "", r->value = NULL;
}

static void flush(reader *r) {
  if (r->value) put(r, r->value, "");
}

static void set(reader *r, const char *value, bool spelt) { r->value = value, r->spelt = spelt; }

// Behind what was spelt so far: a zero that was computed is nothing.
static void append(reader *r, const char *digits) {
  bool nothing = !r->value || (!r->spelt && !strcmp(r->value, "0"));
  set(r, gr_arena_printf(r->arena, "%s%s", nothing ? "" : r->value, digits), true);
}

static void add_digits(reader *r, const word *before, const word *w) {
  bool digit = w->kind == ONES && !w->value[1];
  bool follows = r->value && (r->spelt || (w->kind == ONES && is_plain(before, ONES)));
  int n = r->value ? (int)strlen(r->value) : 0;
  if (!r->value)
    set(r, w->value, false);
  else if (follows && digit && is_plain(before, TENS))
    set(r, gr_arena_printf(r->arena, "%.*s%s", n - 1, r->value, w->value), true);
  else if (follows || !ends_in_zeros(r->value, digit ? 1 : 2))
    set(r, gr_arena_printf(r->arena, "%s%s", r->value, w->value), true);
  else
    set(r, sum(r->arena, r->value, w->value), false);
}

// The last three digits are multiplied: "two thousand three hundred".
static void multiply(reader *r, const char *zeros) {
  gr_arena *a = r->arena;
  const char *all = r->value ? product(a, r->value, zeros) : NULL;
  size_t n = r->value ? strlen(r->value) : 0;
  if (!all) {
    flush(r);
    set(r, gr_arena_printf(a, "1%s", zeros), false);
  } else if (r->spelt || n <= 3) {
    set(r, all, false);
  } else {
    const char *above = gr_arena_printf(a, "%.*s000", (int)n - 3, r->value);
    set(r, sum(a, above, product(a, r->value + n - 3, zeros)), false);
  }
}

static void end_number(reader *r, const char *suffix) {
  if (*suffix) put(r, r->value, suffix);
}

// A number in digits, with the sign of a currency or without.
static bool read_digits(reader *r, const char *text) {
  int len = gr_utf8_len(text);
  const char *sign = gr_arena_strndup(r->arena, text, (size_t)len);
  bool has_sign = strstr("$¢£€", sign) != NULL;
  const char *number = has_sign ? text + len : text;
  if (!is_number(number)) return false;
  if (r->value && r->spelt && r->value[strlen(r->value) - 1] == '.') {
    append(r, text);
    return true;
  }
  flush(r);
  if (has_sign) r->prefix = sign;
  const char *whole = product(r->arena, number, "");
  set(r, whole ? whole : number, !whole);
  return true;
}

// Words that make a number only beside one. Returns whether the next word is read, too.
static bool read_special(reader *r, const word *before, const word *w, const word *next) {
  bool more = next->kind || is_number(next->text);
  if (w->kind == AND && more && is_plain(before, MULTIPLIER)) return false;
  if (w->kind == POINT && more) {
    if (is_decimal(next) || is_number(next->text)) append(r, ".");
    return false;
  }
  if (w->kind == TIMES && (is_plain(next, ONES) || next->kind == ZERO)) {
    append(r, next->value);
    for (int i = 1; i < *w->value - '0'; i++) append(r, next->value);
    return true;
  }
  flush(r);
  put(r, w->text, "");
  return false;
}

static bool read_sign(reader *r, const word *w, const word *next) {
  bool cent = w->kind == PER && !strcmp(next->text, "cent");
  if (w->kind == SIGN) {
    flush(r);
    if (next->kind || is_number(next->text))
      r->prefix = w->value;
    else
      put(r, w->text, "");
  } else if (r->value && w->kind == CURRENCY) {
    r->prefix = w->value;
    flush(r);
  } else if (r->value && (w->kind == PERCENT || cent)) {
    put(r, r->value, "%");
    return cent;
  } else {
    flush(r);
    put(r, w->text, "");
  }
  return false;
}

// Returns whether the next word is read, too.
static bool read_word(reader *r, const word *before, const word *w, const word *next) {
  if (read_digits(r, w->text)) return false;
  switch (w->kind) {
    case ZERO:
      append(r, "0");
      return false;
    case ONES:
    case TENS:
      add_digits(r, before, w);
      end_number(r, w->suffix);
      return false;
    case MULTIPLIER:
      multiply(r, w->value);
      end_number(r, w->suffix);
      return false;
    case SIGN:
    case CURRENCY:
    case PERCENT:
    case PER:
      return read_sign(r, w, next);
    default:
      return read_special(r, before, w, next);
  }
}

static word *words_of(gr_arena *a, const char *text, int *n) {
  word *words = GR_NEW(a, word, strlen(text) / 2 + 2);
  char *rest = NULL, *copy = gr_arena_strdup(a, text);
  *n = 0;
  for (char *w = strtok_r(copy, " \t\n\v\f\r", &rest); w; w = strtok_r(NULL, " \t\n\v\f\r", &rest))
    words[(*n)++] = word_of(a, w);
  words[*n] = (word){"", NONE, "", ""};
  return words;
}

const char *gr_english_numbers(gr_arena *a, const gr_normaliser_options *o, const char *text) {
  int n;
  const word *words = words_of(a, text, &n), *none = words + n;
  reader r = {.arena = a, .out = gr_text_make(a), .prefix = ""};
  (void)o;
  for (int i = 0; i < n; i++)
    i += read_word(&r, i ? words + i - 1 : none, words + i, words + i + 1);
  flush(&r);
  return r.out.chars;
}

const char *gr_english_halves(gr_arena *a, const gr_normaliser_options *o, const char *text) {
  int n, begin = 0;  // begin: of what is between two of them
  const word *words = words_of(a, text, &n);
  gr_text t = gr_text_make(a);
  (void)o;
  for (int i = 0; i < n; i++) {
    bool half = i + 2 < n && !strcmp(words[i].text, "and") && !strcmp(words[i + 1].text, "a") &&
                !strcmp(words[i + 2].text, "half");
    const word *last = i > begin ? &words[i - 1] : NULL;
    bool number = last && (is_decimal(last) || is_plain(last, MULTIPLIER));
    const char *said = !half ? words[i].text : number ? "point five" : last ? "and a half" : "";
    gr_text_printf(&t, "%s%s", t.len && *said ? " " : "", said);
    if (half) begin = i += 2, begin++;
  }
  return t.chars;
}
