// crc.h - 32-bit cyclic redundancy checks of file formats: of PNG and ZIP, and of TensorBoard.
#pragma once
#include <stddef.h>
#include <stdint.h>

typedef enum gr_crc_kind {
  GR_CRC32,   // ISO-HDLC: PNG (RFC 2083), ZIP, zlib's crc32
  GR_CRC32C,  // Castagnoli's polynomial: iSCSI (RFC 3720, appendix B.4), TensorBoard's records
} gr_crc_kind;
// The checksum of the bytes that `previous` is the checksum of, followed by these; 0 to start with.
// Eight bytes at a time. May be called by several threads.
uint32_t gr_crc(gr_crc_kind, uint32_t previous, const void *, size_t bytes);
