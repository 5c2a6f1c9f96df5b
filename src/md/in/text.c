/* Numbers: a decimal with at most 53 bits of digits and a power of ten up to 10^22 is the quotient
 * or product of two exact doubles, so one IEEE operation rounds it correctly; this covers all that
 * coordinate files hold. Everything else goes to strtod. */
#include "md/in/text.h"

#include "base/alloc.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { BLOCK_BYTES = 1 << 16, MAX_LINE = 1 << 24 };

sundog_status md_lines_open(const char *path, md_lines *lines)
{
    memset(lines, 0, sizeof *lines);
    FILE *file = fopen(path, "r");
    if (!file) return base_fail(SUNDOG_ERR_IO, "cannot open %s: %s", path, strerror(errno));
    struct stat info;
    if (fstat(fileno(file), &info) == 0 && S_ISREG(info.st_mode)) lines->n_bytes = info.st_size;
    lines->file = file;
    lines->block = base_alloc(BLOCK_BYTES);
    lines->path = base_strdup(path);
    return SUNDOG_OK;
}

/* Append what is left of the current line to lines->text; *ended at its end or the file's. */
static sundog_status append_block(md_lines *lines, bool *ended)
{
    if (lines->at == lines->n_block) {
        lines->n_block = fread(lines->block, 1, BLOCK_BYTES, lines->file);
        lines->at = 0;
    }
    const char *begin = lines->block + lines->at;
    size_t n = lines->n_block - lines->at;
    const char *newline = n > 0 ? memchr(begin, '\n', n) : NULL;
    if (newline) n = (size_t)(newline - begin) + 1;
    if (lines->n + n > MAX_LINE)
        return base_fail(SUNDOG_ERR_INPUT, "%s:%lld: a line of more than %d characters: this is "
                         "not a text file", lines->path, (long long)lines->number + 1, MAX_LINE);
    BASE_RESERVE(lines->text, lines->capacity, lines->n + n + 1);
    if (n > 0) memcpy(lines->text + lines->n, begin, n);
    lines->n += n;
    lines->at += n;
    *ended = newline || n == 0;
    return SUNDOG_OK;
}

sundog_status md_lines_next(md_lines *lines, bool *more)
{
    lines->n = 0;
    for (bool ended = false; !ended;) BASE_TRY(append_block(lines, &ended));
    if (ferror(lines->file))
        return base_fail(SUNDOG_ERR_IO, "cannot read %s: %s", lines->path, strerror(errno));
    *more = lines->n > 0;
    if (!*more) return SUNDOG_OK;
    lines->number++;
    if (lines->number == 1 && lines->n >= 3 && memcmp(lines->text, "\xEF\xBB\xBF", 3) == 0) {
        lines->n -= 3;                  /* a byte order mark, as some editors put it */
        memmove(lines->text, lines->text + 3, lines->n);
    }
    if (lines->n > 0 && lines->text[lines->n - 1] == '\n') lines->n--;
    if (lines->n > 0 && lines->text[lines->n - 1] == '\r') lines->n--;
    lines->text[lines->n] = '\0';
    if (memchr(lines->text, '\0', lines->n))
        return md_lines_fail(lines, SUNDOG_ERR_INPUT, "a NUL byte: this is not a text file");
    return SUNDOG_OK;
}

sundog_status md_lines_fail(const md_lines *lines, sundog_status status, const char *format, ...)
{
    char text[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return base_fail(status, "%s:%lld: %s", lines->path, (long long)lines->number, text);
}

void md_lines_close(md_lines *lines)
{
    if (lines->file) fclose(lines->file);
    base_free(lines->text);
    base_free(lines->block);
    base_free(lines->path);
    memset(lines, 0, sizeof *lines);
}

/* ---- numbers -------------------------------------------------------------------------------- */

static const double power_of_ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                      1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                      1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
enum { MAX_POWER = 22, MAX_DIGITS = 18 };

/* Rare: many digits or a large exponent; the syntax has been checked. */
static bool convert_slowly(const char *s, size_t n, double *out)
{
    char local[128], *text = n < sizeof local ? local : base_alloc(n + 1);
    memcpy(text, s, n);
    text[n] = '\0';
    double value = strtod(text, NULL);
    if (text != local) base_free(text);
    if (!isfinite(value)) return false;
    *out = value;
    return true;
}

static inline bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

bool md_text_double(const char *s, size_t n, double *out)
{
    const char *end = s + n;
    while (s < end && is_blank(*s)) s++;
    while (end > s && is_blank(end[-1])) end--;
    const char *begin = s;
    bool negative = false;
    if (s < end && (*s == '-' || *s == '+')) negative = *s++ == '-';
    uint64_t digits = 0;
    int n_significant = 0, n_digits = 0, exponent = 0;
    for (bool fraction = false; s < end; s++) {
        if (is_digit(*s)) {
            n_digits = 1;
            if (digits || *s != '0') n_significant++;
            if (n_significant <= MAX_DIGITS) digits = 10 * digits + (uint64_t)(*s - '0');
            if (fraction && n_significant <= MAX_DIGITS) exponent--;
        } else if (*s == '.' && !fraction) {
            fraction = true;
        } else {
            break;
        }
    }
    if (!n_digits) return false;
    if (s < end && (*s == 'e' || *s == 'E')) {
        s++;
        bool minus = false;
        if (s < end && (*s == '-' || *s == '+')) minus = *s++ == '-';
        if (s == end) return false;
        int written = 0;
        for (; s < end && is_digit(*s); s++) {
            if (written < 100000) written = 10 * written + (*s - '0');
        }
        exponent += minus ? -written : written;
    }
    if (s != end) return false;
    if (n_significant > MAX_DIGITS || digits > (UINT64_C(1) << 53) || exponent < -MAX_POWER ||
        exponent > MAX_POWER)
        return convert_slowly(begin, (size_t)(end - begin), out);
    double value = (double)digits;
    value = exponent < 0 ? value / power_of_ten[-exponent] : value * power_of_ten[exponent];
    *out = negative ? -value : value;
    return true;
}

bool md_text_int64(const char *s, size_t n, int64_t *out)
{
    const char *end = s + n;
    while (s < end && is_blank(*s)) s++;
    while (end > s && is_blank(end[-1])) end--;
    bool negative = false;
    if (s < end && (*s == '-' || *s == '+')) negative = *s++ == '-';
    if (s == end) return false;
    uint64_t value = 0, limit = (uint64_t)INT64_MAX + (negative ? 1u : 0u);
    for (; s < end; s++) {
        if (!is_digit(*s)) return false;
        uint64_t digit = (uint64_t)(*s - '0');
        if (value > (limit - digit) / 10) return false;
        value = 10 * value + digit;
    }
    if (!negative)
        *out = (int64_t)value;
    else
        *out = value == limit ? INT64_MIN : -(int64_t)value;
    return true;
}

bool md_text_int(const char *s, size_t n, int *out)
{
    int64_t value;
    if (!md_text_int64(s, n, &value) || value < INT_MIN || value > INT_MAX) return false;
    *out = (int)value;
    return true;
}

/* ---- words ---------------------------------------------------------------------------------- */

char *md_text_trim(char *s)
{
    while (is_blank(*s)) s++;
    size_t n = strlen(s);
    while (n > 0 && is_blank(s[n - 1])) n--;
    s[n] = '\0';
    return s;
}

int md_text_split(char *s, char **word, int max)
{
    int n = 0;
    for (;;) {
        while (is_blank(*s)) s++;
        if (!*s) return n;
        if (n < max) word[n] = s;
        if (n < INT_MAX) n++;
        while (*s && !is_blank(*s)) s++;
        if (*s) *s++ = '\0';
    }
}

bool md_text_same_name(const char *a, const char *b)
{
    for (;;) {
        while (*a == '-' || *a == '_') a++;
        while (*b == '-' || *b == '_') b++;
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b)) return false;
        if (!*a) return true;
        a++;
        b++;
    }
}
