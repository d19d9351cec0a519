// crc.c - see crc.h.
#include "base/crc.h"
#include <assert.h>
#include <pthread.h>

// The polynomials, lowest bit first.
static const uint32_t polynomials[] = {[GR_CRC32] = 0xedb88320, [GR_CRC32C] = 0x82f63b78};
enum { KINDS = sizeof polynomials / sizeof *polynomials };

// tables[kind][k] is the check of a byte that k zero bytes follow.
static uint32_t tables[KINDS][8][256];

static void make_table(uint32_t table[8][256], uint32_t polynomial) {
  for (uint32_t i = 0; i < 256; i++) {
    uint32_t c = i;
    for (int bit = 0; bit < 8; bit++) c = c >> 1 ^ (c & 1 ? polynomial : 0);
    table[0][i] = c;
  }
  for (int k = 1; k < 8; k++)
    for (int i = 0; i < 256; i++)
      table[k][i] = table[k - 1][i] >> 8 ^ table[0][table[k - 1][i] & 255];
}

static void make_tables(void) {
  for (int kind = 0; kind < KINDS; kind++) make_table(tables[kind], polynomials[kind]);
}

uint32_t gr_crc(gr_crc_kind kind, uint32_t previous, const void *data, size_t n) {
  assert(data || !n);
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, make_tables);
  const uint32_t(*table)[256] = (const uint32_t(*)[256])tables[kind];
  const unsigned char *p = data;
  uint32_t crc = ~previous;
  for (; n >= 8; p += 8, n -= 8) {
    uint32_t next = 0;
    crc ^= (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
    for (int k = 0; k < 4; k++) {
      next ^= table[7 - k][crc >> (8 * k) & 255];
      next ^= table[3 - k][p[4 + k]];
    }
    crc = next;
  }
  for (; n; p++, n--) crc = crc >> 8 ^ table[0][(crc ^ *p) & 255];
  return ~crc;
}
