/* CRC-64 (crc64.h), eight bytes a step.
 *
 * The remainder of the bytes, as a polynomial over GF(2), modulo x^64 + ... . table[0][b] is the
 * remainder that the byte b leaves; table[k][b] the same when k zero bytes follow, so that the
 * eight bytes of a step are looked up independently of one another: faster than most disks.
 */
#include "md/out/crc64.h"

#include <pthread.h>

static uint64_t table[8][256];
static pthread_once_t table_made = PTHREAD_ONCE_INIT;

static void make_table(void)
{
    const uint64_t polynomial = 0xc96c5795d7870f42;
    for (unsigned b = 0; b < 256; b++) {
        uint64_t rest = b;
        for (int bit = 0; bit < 8; bit++) rest = rest & 1 ? rest >> 1 ^ polynomial : rest >> 1;
        table[0][b] = rest;
    }
    for (int k = 1; k < 8; k++)
        for (unsigned b = 0; b < 256; b++)
            table[k][b] = table[k - 1][b] >> 8 ^ table[0][table[k - 1][b] & 255];
}

uint64_t md_crc64(uint64_t crc, const void *bytes, size_t n_bytes)
{
    pthread_once(&table_made, make_table);
    const unsigned char *p = bytes;
    crc = ~crc;
    for (; n_bytes >= 8; n_bytes -= 8, p += 8) {
        for (int k = 0; k < 8; k++) crc ^= (uint64_t)p[k] << (8 * k);
        crc = table[7][crc & 255] ^ table[6][crc >> 8 & 255] ^ table[5][crc >> 16 & 255] ^
              table[4][crc >> 24 & 255] ^ table[3][crc >> 32 & 255] ^ table[2][crc >> 40 & 255] ^
              table[1][crc >> 48 & 255] ^ table[0][crc >> 56];
    }
    for (; n_bytes > 0; n_bytes--, p++) crc = crc >> 8 ^ table[0][(crc ^ *p) & 255];
    return ~crc;
}
