/* .trr: exact bytes of a tiny frame, round trip of large ones, append, failing writes. */
#include "folder.h"
#include "md/out/traj.h"

#include <math.h>
#include <signal.h>
#include <sys/resource.h>

static const md_box box = {{{5, 0, 0}, {0, 6, 0}, {1, 2, 7}}};

static uint32_t word_at(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static float float_at(const unsigned char *p)
{
    uint32_t word = word_at(p);
    float value;
    memcpy(&value, &word, 4);
    return value;
}

static void test_exact_bytes(void)
{
    static const unsigned char wanted[] =
        {
            0,    0,    7,   0xc9, 0,    0,    0,   13,  0,    0,    0,   12, /* 1993, 13, 12 */
            'G',  'M',  'X', '_',  't',  'r',  'n', '_', 'f',  'i',  'l', 'e',
            0,    0,    0,   0,    0,    0,    0,   0,   0,    0,    0,   36, /* ir e box */
            0,    0,    0,   0,    0,    0,    0,   0,   0,    0,    0,   0,
            0,    0,    0,   0,                                               /* vir pres top sym */
            0,    0,    0,   12,   0,    0,    0,   0,   0,    0,    0,   12, /* x v f */
            0,    0,    0,   1,    0,    0,    0,   10,  0,    0,    0,   0,  /* atoms step nre */
            0x3f, 0x80, 0,   0,    0,    0,    0,   0,                        /* 1 ps, lambda 0 */
            0x40, 0xa0, 0,   0,    0,    0,    0,   0,   0,    0,    0,   0,
            0,    0,    0,   0,    0x40, 0xc0, 0,   0,   0,    0,    0,   0,
            0x3f, 0x80, 0,   0,    0x40, 0,    0,   0,   0x40, 0xe0, 0,   0,
            0x3f, 0,    0,   0,    0x3e, 0x80, 0,   0,   0xbf, 0x80, 0,   0,  /* 0.5 0.25 -1 */
            0x41, 0x20, 0,   0,    0xc0, 0,    0,   0,   0,    0,    0,   0}; /* 10 -2 0 */
    const double x[1][3] = {{0.5, 0.25, -1}};
    const float f[1][3] = {{10, -2, 0}};
    md_trr *trr;
    CHECK_OK(md_trr_open(in_folder("a.trr"), -1, &trr));
    CHECK_OK(md_trr_write(trr, 10, 1, &box, 1, x, NULL, f));
    CHECK(md_trr_offset(trr) == (int64_t)sizeof wanted);
    CHECK_OK(md_trr_close(&trr));
    size_t n;
    unsigned char *bytes = file_read(in_folder("a.trr"), &n);
    CHECK(n == sizeof wanted && memcmp(bytes, wanted, n) == 0);
    free(bytes);
}

enum { N = 20011, HEADER = 84, BOX = 36 };
static double x[N][3], v[N][3];
static float f[N][3];

static void fill(void)
{
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 3; k++) {
            x[i][k] = i * 0.37 - k * 1000.1;
            v[i][k] = sin(i + k);
            f[i][k] = (float)(i - 3 * k) * 1e-3f;
        }
}

/* Check the blocks of a frame; returns the bytes behind it. */
static const unsigned char *check_frame(const unsigned char *p, int step, bool has_x, bool has_v,
                                        bool has_f)
{
    const unsigned char *sizes = p + 24 + 7 * 4, *data = p + HEADER + BOX;
    CHECK(word_at(p) == 1993 && (int)word_at(p + 68) == step);
    CHECK(word_at(sizes) == (has_x ? N * 12 : 0) && word_at(sizes + 4) == (has_v ? N * 12 : 0) &&
          word_at(sizes + 8) == (has_f ? N * 12 : 0) && word_at(sizes + 12) == N);
    for (int block = 0; block < 3; block++) {
        if (!(block == 0 ? has_x : block == 1 ? has_v : has_f)) continue;
        for (int i = 0; i < 3 * N; i++, data += 4) {
            float wanted = block == 0   ? (float)x[i / 3][i % 3]
                           : block == 1 ? (float)v[i / 3][i % 3]
                                        : f[i / 3][i % 3];
            CHECK(float_at(data) == wanted);
        }
    }
    return data;
}

static void test_round_trip_and_append(void)
{
    const double(*cx)[3] = (const double(*)[3])x, (*cv)[3] = (const double(*)[3])v;
    const float(*cf)[3] = (const float(*)[3])f;
    const char *path = in_folder("b.trr");
    md_trr *trr;
    fill();
    CHECK_OK(md_trr_open(path, -1, &trr));
    CHECK_OK(md_trr_write(trr, 1, 0, &box, N, cx, cv, cf));
    CHECK_OK(md_trr_write(trr, 2, 0, &box, N, NULL, cv, NULL));
    int64_t two = md_trr_offset(trr);
    CHECK_OK(md_trr_write(trr, 3, 0, &box, N, cx, NULL, NULL));
    CHECK_OK(md_trr_close(&trr));
    CHECK_OK(md_trr_open(path, two, &trr));
    CHECK_OK(md_trr_write(trr, 4, 0, &box, N, NULL, NULL, cf));
    CHECK(md_trr_write(trr, 5, 0, &box, INT32_MAX / 12 + 1, cx, NULL, NULL) ==
          SUNDOG_ERR_UNSUPPORTED);
    CHECK(error_says("178956970"));
    CHECK_OK(md_trr_close(&trr));
    size_t n;
    unsigned char *bytes = file_read(path, &n);
    const unsigned char *p = check_frame(bytes, 1, true, true, true);
    p = check_frame(p, 2, false, true, false);
    CHECK(p == bytes + two);
    p = check_frame(p, 4, false, false, true);
    CHECK(p == bytes + n);
    free(bytes);
}

static void test_disk_full(void)
{
    const double(*cx)[3] = (const double(*)[3])x;
    const char *path = in_folder("c.trr");
    md_trr *trr;
    CHECK_OK(md_trr_open(path, -1, &trr));
    CHECK_OK(md_trr_write(trr, 1, 0, &box, N, cx, NULL, NULL));
    int64_t one = md_trr_offset(trr);
    struct rlimit old, limited;
    CHECK(getrlimit(RLIMIT_FSIZE, &old) == 0);
    for (int64_t room = 1; room < one; room += one / 7) {
        limited = old;
        limited.rlim_cur = (rlim_t)(one + room);
        CHECK(setrlimit(RLIMIT_FSIZE, &limited) == 0);
        CHECK(md_trr_write(trr, 2, 0, &box, N, cx, NULL, NULL) == SUNDOG_ERR_IO);
        CHECK(error_says("c.trr"));
        struct stat info;
        CHECK(stat(path, &info) == 0 && info.st_size == one && md_trr_offset(trr) == one);
    }
    CHECK(setrlimit(RLIMIT_FSIZE, &old) == 0);
    CHECK_OK(md_trr_write(trr, 3, 0, &box, N, cx, NULL, NULL));
    CHECK_OK(md_trr_close(&trr));
    size_t n;
    unsigned char *bytes = file_read(path, &n);
    const unsigned char *p = check_frame(bytes, 1, true, false, false);
    CHECK(check_frame(p, 3, true, false, false) == bytes + n);
    free(bytes);
}

int main(void)
{
    signal(SIGXFSZ, SIG_IGN);
    folder_create("test_trr");
    test_exact_bytes();
    test_round_trip_and_append();
    test_disk_full();
    folder_remove();
    return 0;
}
