// snappy.c - unpacks what Snappy has compressed, with libsnappy. Module "snappy".
#include <snappy-c.h>
#include "runtime/data/parquet/parts.h"

static bool unpack_all(const unsigned char *source, size_t n, unsigned char *target, size_t size) {
  size_t claimed = 0, written = size;
  if (snappy_uncompressed_length((const char *)source, n, &claimed) != SNAPPY_OK || claimed != size)
    return false;
  return snappy_uncompress((const char *)source, n, (char *)target, &written) == SNAPPY_OK &&
         written == size;
}

const gr_snappy_module gr_module = {unpack_all};
