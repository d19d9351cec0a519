// bpe_ranks.c - reads a file of ranks, as tiktoken has them (load_tiktoken_bpe of tiktoken/load.py
// in github.com/openai/tiktoken): on each line a token in Base64, a space and its rank, which is
// its number, too; see bpe.h.
#include <string.h>
#include "runtime/data/tokenizer/bpe.h"

enum { MAX_BYTES = 1 << 12 };  // of a token

static int digit_of(char c) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const char *p = c ? strchr(digits, c) : NULL;
  return p ? (int)(p - digits) : -1;
}

// The bytes of n characters of Base64 (RFC 4648, section 4) to `out`; -1: they are none. A single
// '=' is the token without bytes, by which Whisper's file takes one number.
static int64_t base64(const char *s, size_t n, char *out) {
  uint32_t bits = 0;
  int64_t len = 0;
  size_t pad = n && s[n - 1] == '=' ? 1 + (size_t)(n > 1 && s[n - 2] == '=') : 0;
  if (n == 1 && *s == '=') return 0;
  if (!n || n % 4 || n > 2 * MAX_BYTES) return -1;
  for (size_t i = 0; i < n; i++) {
    int digit = i < n - pad ? digit_of(s[i]) : 0;
    if (digit < 0) return -1;
    bits = bits << 6 | (uint32_t)digit;
    if (i % 4 < 3) continue;
    for (int k = 16; k >= 0; k -= 8) out[len++] = (char)(bits >> k);
    bits = 0;
  }
  return len - (int64_t)pad;
}

static gr_status read_line(gr_bpe *b, gr_loc loc, const char *line, size_t n, int64_t ids) {
  char bytes[2 * MAX_BYTES];
  const char *space = memchr(line, ' ', n);
  int64_t rank = 0, len = space ? base64(line, (size_t)(space - line), bytes) : -1;
  const char *p = space ? space + 1 : line + n;
  bool number = p < line + n && line + n - p <= 8;
  for (; number && p < line + n; p++) {
    number = *p >= '0' && *p <= '9';
    rank = 10 * rank + (*p - '0');
  }
  if (len < 0 || !number || rank >= ids)
    return gr_hint(gr_fail(GR_ERR_DATA, loc,
                           "a line of ranks is a token in Base64 and its rank, "
                           "below %lld",
                           (long long)ids),
                   "a tokenizer is a tokenizer.json, or a tiktoken file of ranks");
  char *spelling = gr_arena_alloc(b->arena, 2 * (size_t)len + 1);
  gr_bpe_spell(bytes, (size_t)len, spelling);
  if (gr_bpe_add(b, spelling, (int32_t)rank)) return GR_OK;
  return gr_fail(GR_ERR_DATA, loc, "the token or its rank %d is on an earlier line, too",
                 (int)rank);
}

// Two tokens become a third, at its rank, where their bytes are its bytes.
static void add_merges(gr_bpe *b, int32_t id) {
  const char *spelling = b->spelling[id];
  char left[4 * MAX_BYTES + 1];
  size_t n = 0;
  for (const char *p = spelling; *p; n += (size_t)gr_utf8_len(p), p = spelling + n) {
    if (p == spelling) continue;
    memcpy(left, spelling, n);
    left[n] = 0;
    int32_t l = gr_bpe_find(b, left), r = gr_bpe_find(b, p);
    if (l >= 0 && r >= 0) gr_bpe_merge(b, l, r, id, id);
  }
}

gr_status gr_bpe_read_ranks(const char *path, const char *text, size_t n, gr_bpe *b) {
  gr_loc loc = {path, 1, 1};
  for (const char *p = text, *end = text + n; p < end; loc.line++) {
    const char *stop = memchr(p, '\n', (size_t)(end - p));
    size_t len = (size_t)((stop ? stop : end) - p);
    if (len && p[len - 1] == '\r') len--;
    if (len) GR_TRY(read_line(b, loc, p, len, n < GR_BPE_TOKENS ? (int64_t)n : GR_BPE_TOKENS));
    p = stop ? stop + 1 : end;
  }
  for (int i = 0; i < 256; i++) {
    char spelling[3];
    gr_bpe_spell((char[]){(char)i}, 1, spelling);
    if (gr_bpe_find(b, spelling) < 0)
      return gr_hint(gr_fail(GR_ERR_DATA, loc, "the ranks have no token for the byte 0x%02x", i),
                     "each byte is one: the file was cut");
  }
  b->whole = true;
  for (int32_t i = 0; i < b->n; i++)
    if (b->spelling[i]) add_merges(b, i);
  return GR_OK;
}
