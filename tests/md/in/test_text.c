/* Numbers in text: the same bits as strtod for whatever is a decimal, a refusal for all else. Lines
 * of a file, longer than what is read at once or than any text has. */
#include "md/in/text.h"
#include "scratch.h"

#include <math.h>
#include <string.h>

static void expect_same(const char *text)
{
    double ours, theirs = strtod(text, NULL);
    if (!md_text_double(text, strlen(text), &ours) || memcmp(&ours, &theirs, sizeof ours) != 0) {
        fprintf(stderr, "%s: differs from strtod\n", text);
        exit(1);
    }
}

static uint64_t state = 88172645463325252u;
static uint64_t draw(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static void test_doubles(void)
{
    static const char *const good[] = {
        "0", "-0", "0.0", "1", "-1", "+1", "1.", ".5", "-.5", "1e5", "1E-5", "1.e+3", "0.000",
        "-0.0e0", "9007199254740992", "9007199254740993", "9007199254740994", "1e22", "1e23",
            "1e-22",
        "123456789012345678", "1234567890123456789", "12345678901234567890123", "0.1", "0.3",
        "2.2250738585072014e-308", "4.9e-324", "1e-400", "1.7976931348623157e308", "  7.25  ",
        "0.00000000000000000000000000000000000000012345", "100000000000000000000000000000000",
        "8.5e-00000003", "000012.5", "179769313486231570000e288",
            "0.500000000000000166533453693773481063544750213623046875"};
    for (size_t k = 0; k < sizeof good / sizeof good[0]; k++) expect_same(good[k]);
    static const char *const bad[] = {"", " ", "-", "+", ".", "e5", "1e", "1e+", "1.2.3", "1 2",
                                      "x",
                                      "1x", "nan", "inf", "-inf", "0x10", "1e400", "--1", "1,5"};
    double unused;
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++)
        CHECK(!md_text_double(bad[k], strlen(bad[k]), &unused));
    CHECK(md_text_double("12.345", 4, &unused) && unused == 12.3);     /* length counts */
}

static void test_random_doubles(void)
{
    char text[64];
    for (int k = 0; k < 200000; k++) {
        uint64_t digits = draw() >> (draw() % 64);
        int decimals = (int)(draw() % 12);
        double value = (double)(int64_t)digits / pow(10.0, decimals);
        snprintf(text, sizeof text, "%.*f", decimals, value);       /* as in coordinate files */
        expect_same(text);
        snprintf(text, sizeof text, "%.*e", (int)(draw() % 18), value);
        expect_same(text);
        snprintf(text, sizeof text, "%llu.%llue%d", (unsigned long long)(digits % 100000000),
                 (unsigned long long)(draw() % 1000000000), (int)(draw() % 60) - 30);
        expect_same(text);
        memcpy(&value, &digits, sizeof value);                      /* any bits */
        if (!isfinite(value)) continue;
        snprintf(text, sizeof text, "%.17g", value);
        expect_same(text);
    }
}

static void test_integers(void)
{
    int64_t wide;
    int small;
    CHECK(md_text_int64("9223372036854775807", 19, &wide) && wide == INT64_MAX);
    CHECK(md_text_int64("-9223372036854775808", 20, &wide) && wide == INT64_MIN);
    CHECK(!md_text_int64("9223372036854775808", 19, &wide));
    CHECK(!md_text_int64("-9223372036854775809", 20, &wide));
    CHECK(!md_text_int64("99999999999999999999", 20, &wide));
    CHECK(md_text_int("  -12 ", 6, &small) && small == -12);
    CHECK(!md_text_int("2147483648", 10, &small) && !md_text_int("1.0", 3, &small));
    CHECK(!md_text_int("", 0, &small) && !md_text_int("-", 1, &small) && !md_text_int("1 2", 3,
        &small));
}

static void test_words(void)
{
    char line[] = "  one\ttwo  three ", *word[2];
    CHECK(md_text_split(line, word, 2) == 3);
    CHECK(strcmp(word[0], "one") == 0 && strcmp(word[1], "two") == 0);
    CHECK(md_text_same_name("nstxout-compressed", "NSTXOUT_Compressed"));
    CHECK(md_text_same_name("refcoord-scaling", "refcoordscaling"));
    CHECK(!md_text_same_name("nstxout", "nstxoutx") && !md_text_same_name("a", ""));
}

/* Lines around the size of a block; the last one ends with the file. */
static void test_lines(void)
{
    enum { BLOCK = 1 << 16, N = 4 * BLOCK };
    char *text = malloc(N);
    CHECK(text);
    static const size_t length[] = {0, 1, BLOCK - 5, 2, BLOCK, BLOCK - 1, 7};
    size_t n = 0, n_lines = sizeof length / sizeof *length;
    for (size_t k = 0; k < n_lines; k++) {
        memset(text + n, 'a' + (int)k, length[k]);
        n += length[k];
        if (k % 2 == 0) text[n++] = '\r';
        if (k + 1 < n_lines) text[n++] = '\n';
    }
    md_lines lines;
    bool more;
    CHECK_OK(md_lines_open(scratch_write_bytes("lines", text, n), &lines));
    for (size_t k = 0; k < n_lines; k++) {
        CHECK_OK(md_lines_next(&lines, &more));
        CHECK(more && (size_t)lines.number == k + 1 && strlen(lines.text) == lines.n);
        CHECK(lines.n == length[k]);
        CHECK(lines.n == 0 || (lines.text[0] == 'a' + (int)k && lines.text[length[k] - 1] ==
                               lines.text[0]));
    }
    CHECK_OK(md_lines_next(&lines, &more));
    CHECK(!more);
    md_lines_close(&lines);
    free(text);
}

/* A device gives bytes for ever; its only line must not be read to the end. */
/* At the start alone; elsewhere it is text like any other. */
static void test_byte_order_mark(void)
{
    md_lines lines;
    bool more;
    CHECK_OK(md_lines_open(scratch_write("a.txt", "\xEF\xBB\xBFone\n\xEF\xBB\xBFtwo\n"), &lines));
    CHECK_OK(md_lines_next(&lines, &more));
    CHECK(more && strcmp(lines.text, "one") == 0);
    CHECK_OK(md_lines_next(&lines, &more));
    CHECK(more && strcmp(lines.text, "\xEF\xBB\xBFtwo") == 0);
    md_lines_close(&lines);
    CHECK_OK(md_lines_open(scratch_write("b.txt", "\xEF\xBB\xBF"), &lines));
    CHECK_OK(md_lines_next(&lines, &more));
    CHECK(more && lines.n == 0);
    CHECK_OK(md_lines_next(&lines, &more));
    CHECK(!more);
    md_lines_close(&lines);
}

static void test_endless_line(void)
{
    md_lines lines;
    bool more;
    CHECK_OK(md_lines_open("/dev/zero", &lines));
    scratch_expect(md_lines_next(&lines, &more),
                   "/dev/zero:1: a line of more than 16777216 characters", "/dev/zero");
    md_lines_close(&lines);
}

/* What a message quotes may move no cursor and begin no line. */
static void test_message_is_one_line(void)
{
    md_lines lines;
    bool more;
    CHECK_OK(md_lines_open(scratch_write("a\x1b.txt", "x\n"), &lines));
    CHECK_OK(md_lines_next(&lines, &more));
    md_lines_fail(&lines, SUNDOG_ERR_INPUT, "found \"%s\"", "\x1b[2J\ta\nb\x7f\xc3\xa9");
    CHECK(strstr(sundog_last_error(), "/a?.txt:1: found \"?[2J a b?\xc3\xa9\""));
    md_lines_close(&lines);
}

int main(void)
{
    test_lines();
    test_byte_order_mark();
    test_endless_line();
    test_message_is_one_line();
    test_doubles();
    test_random_doubles();
    test_integers();
    test_words();
    return 0;
}
