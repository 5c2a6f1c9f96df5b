/* CRC-64 (ECMA-182, reflected, as in the .xz format). Start with 0 and feed in pieces. */
#ifndef MD_CRC64_H
#define MD_CRC64_H
#include <stddef.h>
#include <stdint.h>

uint64_t md_crc64(uint64_t crc, const void *bytes, size_t n_bytes);
#endif
