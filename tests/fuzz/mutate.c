/* Mutations for text files, beside those that libFuzzer knows: it moves bytes, this moves lines and
 * words, which is how input files go wrong and how sections come into an order that nobody thought
 * of. Linked into the targets for text alone. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

static uint64_t state;
static size_t draw(size_t n)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (size_t)((state >> 33) % n);
}

typedef struct piece {
    size_t begin, end;
} piece;

static bool is_blank(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

static piece pick_line(const uint8_t *data, size_t size)
{
    piece p = {draw(size), 0};
    p.end = p.begin;
    while (p.begin > 0 && data[p.begin - 1] != '\n') p.begin--;
    while (p.end < size && data[p.end] != '\n') p.end++;
    if (p.end < size) p.end++;
    return p;
}

static piece pick_word(const uint8_t *data, size_t size)
{
    piece p = {draw(size), 0};
    while (p.begin + 1 < size && is_blank(data[p.begin])) p.begin++;
    p.end = p.begin;
    while (p.begin > 0 && !is_blank(data[p.begin - 1])) p.begin--;
    while (p.end < size && !is_blank(data[p.end])) p.end++;
    return p;
}

/* Put `n` bytes in place of a piece; the new size, or the old one when there is no room. */
static size_t replace(uint8_t *data, size_t size, size_t max_size, piece old, const uint8_t *bytes,
                      size_t n)
{
    size_t fresh = size - (old.end - old.begin) + n;
    if (fresh > max_size || fresh == 0) return size;
    uint8_t *copy = malloc(n ? n : 1);
    FUZZ_CHECK(copy);
    memcpy(copy, bytes, n);
    memmove(data + old.begin + n, data + old.end, size - old.end);
    memcpy(data + old.begin, copy, n);
    free(copy);
    return fresh;
}

static size_t mutate_number(uint8_t *data, size_t size, size_t max_size)
{
    static const char *const numbers[] = {
        "0",          "-1",         "1",      "2147483647", "2147483648", "-2147483649",
        "4294967296", "1e308",      "1e-320", "-0.0",       "1e400",      "9223372036854775807",
        "0.5",        "99999",      "nan",    "inf",        "1e10",       "100000",
        "3",          "4294967295", "1e200",  "",           "0x10",       "1000000000",
    };
    const char *number = numbers[draw(sizeof numbers / sizeof *numbers)];
    return replace(data, size, max_size, pick_word(data, size), (const uint8_t *)number,
                   strlen(number));
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    state = seed;
    if (size == 0 || draw(2) == 0) return LLVMFuzzerMutate(data, size, max_size);
    piece line = pick_line(data, size), other = pick_line(data, size), at = other;
    piece word = pick_word(data, size), place = pick_word(data, size);
    at.end = at.begin;
    switch (draw(6)) {
    case 0: return replace(data, size, max_size, line, data, 0);
    case 1: return replace(data, size, max_size, at, data + line.begin, line.end - line.begin);
    case 2: return replace(data, size, max_size, other, data + line.begin, line.end - line.begin);
    case 3: return replace(data, size, max_size, place, data + word.begin, word.end - word.begin);
    case 4: return replace(data, size, max_size, word, data, 0);
    default: return mutate_number(data, size, max_size);
    }
}
