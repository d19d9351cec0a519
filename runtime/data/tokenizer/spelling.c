// spelling.c - bytes as printable characters; see bpe.h.
//
// A byte that is a printable character of Latin-1 stands for itself, and the others, in their
// order, for U+0100 and what follows: bytes_to_unicode of encoder.py in github.com/openai/gpt-2.
#include "runtime/data/tokenizer/bpe.h"

static bool is_printable(int byte) {
  return (byte >= 33 && byte <= 126) || (byte >= 161 && byte != 173);
}

// The three runs of other bytes: 0 to 32, 127 to 160, and 173.
static uint32_t code_of(uint32_t byte) {
  if (is_printable((int)byte)) return byte;
  return byte <= 32 ? 256 + byte : byte <= 160 ? 256 + 33 + byte - 127 : 256 + 33 + 34;
}

// The byte of a character; -1: it has none.
static int byte_of(uint32_t code) {
  if (code < 256) return is_printable((int)code) ? (int)code : -1;
  if (code < 256 + 33) return (int)code - 256;
  if (code < 256 + 33 + 34) return (int)code - 256 - 33 + 127;
  return code == 256 + 33 + 34 ? 173 : -1;
}

size_t gr_bpe_spell(const char *bytes, size_t n, char *out) {
  char *to = out;
  for (size_t i = 0; i < n; i++) {
    uint32_t code = code_of((unsigned char)bytes[i]);
    if (code >= 0x80) *to++ = (char)(0xc0 | code >> 6);
    *to++ = (char)(code < 0x80 ? code : 0x80 | (code & 0x3f));
  }
  *to = 0;
  return (size_t)(to - out);
}

int64_t gr_bpe_unspell(const char *spelling, char *out) {
  char *to = out;
  for (const char *p = spelling; *p;) {
    int n = gr_utf8_len(p), byte = n ? byte_of(gr_utf8_code(p, n)) : -1;
    if (byte < 0) return -1;
    *to++ = (char)byte;
    p += n;
  }
  return to - out;
}
