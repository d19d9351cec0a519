// test_hash.c - hashes and cyclic redundancy checks that files hold: known answers.
#include "base/base.h"
#include "base/crc.h"
#include "tests/check.h"

// As xxhsum -H1 prints them, of bytes i * i * 7 + i.
static void data_hashes(void) {
  static const struct {
    size_t bytes;
    uint64_t hash;
  } known[] = {{0, UINT64_C(0xef46db3751d8e999)},   {1, UINT64_C(0xe934a84adb052768)},
               {3, UINT64_C(0x0a8b0eaaa44d36dc)},   {4, UINT64_C(0xa52c40dc1e458cb4)},
               {7, UINT64_C(0xa327711b1bc04318)},   {8, UINT64_C(0x7966fb2834796e77)},
               {12, UINT64_C(0xfb41c9031996f3e9)},  {31, UINT64_C(0xbdb87f28fde1ec91)},
               {32, UINT64_C(0x70e7f6563e61b260)},  {33, UINT64_C(0x9dd01335c51ac88f)},
               {63, UINT64_C(0x6a3ef85d3e6d755e)},  {64, UINT64_C(0xfe8083554c30b401)},
               {100, UINT64_C(0xd52ddaaf21127aa9)}, {255, UINT64_C(0xb18d4cc00af2c58e)},
               {390, UINT64_C(0x8a590edbcb65db7c)}};
  unsigned char bytes[400];
  for (int shift = 0; shift < 8; shift++) {
    for (int i = 0; i < 392; i++) bytes[i + shift] = (unsigned char)(i * i * 7 + i);
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
      CHECK(gr_hash_data(bytes + shift, known[k].bytes) == known[k].hash, "%zu bytes at %d",
            known[k].bytes, shift);
  }
}

// As zlib's crc32 gives them, and RFC 3720, appendix B.4; in parts as in one.
static void checks_of_files(void) {
  unsigned char zeros[32] = {0};
  const char *digits = "123456789";
  CHECK(gr_crc(GR_CRC32, 0, digits, 9) == 0xcbf43926, "%08x", gr_crc(GR_CRC32, 0, digits, 9));
  CHECK(gr_crc(GR_CRC32, 0, zeros, 32) == 0x190a55ad, "%08x", gr_crc(GR_CRC32, 0, zeros, 32));
  CHECK(gr_crc(GR_CRC32C, 0, digits, 9) == 0xe3069283, "%08x", gr_crc(GR_CRC32C, 0, digits, 9));
  CHECK(gr_crc(GR_CRC32C, 0, zeros, 32) == 0x8a9136aa, "%08x", gr_crc(GR_CRC32C, 0, zeros, 32));
  for (int kind = GR_CRC32; kind <= GR_CRC32C; kind++)
    for (size_t n = 0; n <= 32; n++) {
      uint32_t parts = gr_crc(kind, gr_crc(kind, 0, zeros, n), zeros + n, 32 - n);
      CHECK(parts == gr_crc(kind, 0, zeros, 32), "%zu bytes and the rest: %08x", n, parts);
    }
}

// Zeros count: data that are more of them have another hash.
static void quick_hashes(void) {
  static const char zeros[24] = "";
  for (size_t n = 0; n <= sizeof zeros; n++)
    for (size_t k = 0; k < n; k++)
      CHECK(gr_hash_quick(GR_HASH_START, zeros, n) != gr_hash_quick(GR_HASH_START, zeros, k),
            "%zu and %zu zeros", n, k);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"data_hashes", data_hashes}, {"quick_hashes", quick_hashes},
             {"checks_of_files", checks_of_files});
}
