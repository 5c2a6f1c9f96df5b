/* .xtc: what is written is read back by a decoder of the test's own, one bit at a time, which is
 * first tried on a frame that GROMACS wrote. Cannot catch: a fault of both decoder and that frame's
 * kind (it uses ranges 21 to 26 only). */
#include "folder.h"
#include "md/out/traj.h"

#include <math.h>
#include <signal.h>
#include <sys/resource.h>

/* ---- reader --------------------------------------------------------------------------------- */

typedef struct frame {
    int n, step;
    float time, box[9], precision;
    int32_t (*q)[3]; /* packed frames */
    float (*x)[3];   /* plain frames */
    int n_bytes, first_range, last_range;
} frame;

typedef struct cursor {
    const unsigned char *at, *end;
    int bit;
} cursor;

static uint32_t take_word(cursor *in)
{
    CHECK(in->end - in->at >= 4);
    uint32_t word = 0;
    for (int k = 0; k < 4; k++) word = word * 256 + *in->at++;
    return word;
}

static float take_float(cursor *in)
{
    uint32_t word = take_word(in);
    float value;
    memcpy(&value, &word, 4);
    return value;
}

static uint32_t take_bits(cursor *in, int n)
{
    uint32_t value = 0;
    while (n-- > 0) {
        CHECK(in->at < in->end);
        value = value * 2 + (*in->at >> (7 - in->bit) & 1u);
        if (++in->bit == 8) {
            in->bit = 0;
            in->at++;
        }
    }
    return value;
}

static int length_of(unsigned __int128 value)
{
    int n = 0;
    for (; value; value >>= 1) n++;
    return n;
}

/* Three numbers in mixed radix, n bits, lowest byte first. */
static void take_three(cursor *in, int n, const uint32_t size[3], int32_t out[3])
{
    unsigned __int128 number = 0;
    for (int done = 0; done < n; done += 8)
        number |= (unsigned __int128)take_bits(in, n - done < 8 ? n - done : 8) << done;
    out[2] = (int32_t)(number % size[2]);
    number /= size[2];
    out[1] = (int32_t)(number % size[1]);
    number /= size[1];
    CHECK(number < size[0]);
    out[0] = (int32_t)number;
}

static uint32_t side_of(int range)
{
    static const uint32_t side[] = {
        8,       10,       12,       16,      20,      25,      32,      40,      50,      64,
        80,      101,      128,      161,     203,     256,     322,     406,     512,     645,
        812,     1024,     1290,     1625,    2048,    2580,    3250,    4096,    5060,    6501,
        8192,    10321,    13003,    16384,   20642,   26007,   32768,   41285,   52015,   65536,
        82570,   104031,   131072,   165140,  208063,  262144,  330280,  416127,  524287,  660561,
        832255,  1048576,  1321122,  1664510, 2097152, 2642245, 3329021, 4194304, 5284491, 6658042,
        8388607, 10568983, 13316085, 16777216};
    CHECK(range >= 9 && range - 9 < (int)(sizeof side / sizeof *side));
    return side[range - 9];
}

static void take_group(cursor *in, const int32_t min[3], const uint32_t size[3], int *run,
                       int *range, frame *f, int *done)
{
    int32_t place[3], previous[3];
    if (size[0] > 0xffffff || size[1] > 0xffffff || size[2] > 0xffffff)
        for (int k = 0; k < 3; k++) place[k] = (int32_t)take_bits(in, length_of(size[k]));
    else
        take_three(in, length_of((unsigned __int128)size[0] * size[1] * size[2]), size, place);
    for (int k = 0; k < 3; k++) {
        CHECK((uint32_t)place[k] < size[k]);
        place[k] = (int32_t)((uint32_t)place[k] + (uint32_t)min[k]);
    }
    int change = 0;
    if (take_bits(in, 1)) {
        int code = (int)take_bits(in, 5);
        change = code % 3 - 1;
        *run = code / 3;
    }
    CHECK(*done + 1 + *run <= f->n);
    memcpy(f->q[*done + (*run > 0)], place, sizeof place);
    const uint32_t small[3] = {side_of(*range), side_of(*range), side_of(*range)};
    memcpy(previous, place, sizeof place);
    for (int r = 0; r < *run; r++) {
        int32_t d[3];
        take_three(in, *range, small, d);
        for (int k = 0; k < 3; k++) previous[k] += d[k] - (int32_t)small[k] / 2;
        memcpy(f->q[*done + (r == 0 ? 0 : r + 1)], previous, sizeof previous);
    }
    *done += 1 + *run;
    *range += change;
}

static void take_packed(cursor *in, frame *f)
{
    int32_t min[3], max[3];
    uint32_t size[3];
    f->precision = take_float(in);
    for (int k = 0; k < 3; k++) min[k] = (int32_t)take_word(in);
    for (int k = 0; k < 3; k++) max[k] = (int32_t)take_word(in);
    for (int k = 0; k < 3; k++) size[k] = (uint32_t)max[k] - (uint32_t)min[k] + 1;
    int range = f->first_range = (int)take_word(in);
    f->n_bytes = (int)take_word(in);
    CHECK(in->end - in->at >= (f->n_bytes + 3) / 4 * 4);
    cursor bits = {.at = in->at, .end = in->at + f->n_bytes};
    f->q = malloc((size_t)f->n * sizeof *f->q);
    int run = 0;
    for (int done = 0; done < f->n;) take_group(&bits, min, size, &run, &range, f, &done);
    f->last_range = range;
    CHECK(bits.end - bits.at <= (bits.bit > 0)); /* all bytes were needed */
    in->at += f->n_bytes;
    for (; (f->n_bytes + (in->at - bits.end)) % 4 != 0; in->at++) CHECK(*in->at == 0);
}

static frame take_frame(cursor *in)
{
    frame f = {0};
    CHECK(take_word(in) == 1995);
    f.n = (int)take_word(in);
    f.step = (int)take_word(in);
    f.time = take_float(in);
    for (int k = 0; k < 9; k++) f.box[k] = take_float(in);
    CHECK((int)take_word(in) == f.n);
    if (f.n > 9) {
        take_packed(in, &f);
        return f;
    }
    f.x = malloc((size_t)f.n * sizeof *f.x + 1);
    for (int i = 0; i < f.n; i++)
        for (int k = 0; k < 3; k++) f.x[i][k] = take_float(in);
    return f;
}

static void frame_free(frame *f)
{
    free(f->q);
    free(f->x);
}

/* ---- tests ---------------------------------------------------------------------------------- */

static const md_box box = {{{5, 0, 0}, {0, 6, 0}, {1, 2, 7}}};

/* 51 atoms, written by GROMACS 2022.5 from positions with three decimals. */
static void test_decoder(void)
{
    static const char hex[] = "000007cb000000330000000000000000401e4c30000000000000000000000000401e"
                              "4c300000000000000000000"
                              "00000401e4c3000000033447a0000ffffffef0000007effffffd50000085c000007f"
                              "6000009b700000016000000"
                              "b888a74e90211a1cd29922ce49a27822da98d18822ae6ed0b52e9f17d23ab0de8062"
                              "bf28050ad68ce030939c531"
                              "8c838228138e549e2078cdfcb77dbe2da20999bb7eafc01ad179a84b0f42746bd7b7"
                              "c2b50a10e74e6769f8768d4"
                              "e323d327cb3aa92545fc30e704cc911fb2c5f666d30833608cd381b22403f42ed57c"
                              "efb1368d9b2c53e0edd79cc"
                              "b742f0c5a36bc1d0cd27cc97ae275f44e865f0f4813214d476d4d51e5e8ff228c190"
                              "948d052ddea61a0cf253b31"
                              "26c500";
    static const int32_t some[][4] = {
        {0, 483, 194, 149},    {1, 516, 127, 229},    {2, 401, 137, 108},
        {15, -17, 348, 1984},  {16, 158, 284, 1908},  {27, 1307, 183, 2056},
        {28, 1322, 273, 2097}, {48, 2025, 1949, 472}, {50, 1956, 1877, 477}};
    size_t n = (sizeof hex - 1) / 2;
    unsigned char bytes[sizeof hex];
    for (size_t i = 0; i < n; i++) {
        unsigned value;
        CHECK(sscanf(hex + 2 * i, "%2x", &value) == 1);
        bytes[i] = (unsigned char)value;
    }
    cursor in = {.at = bytes, .end = bytes + n};
    frame f = take_frame(&in);
    CHECK(in.at == in.end && f.n == 51);
    for (size_t k = 0; k < sizeof some / sizeof *some; k++)
        for (int axis = 0; axis < 3; axis++) CHECK(f.q[some[k][0]][axis] == some[k][1 + axis]);
    frame_free(&f);
}

static frame read_only_frame(const char *path)
{
    size_t n;
    unsigned char *bytes = file_read(path, &n);
    CHECK(n % 4 == 0);
    cursor in = {.at = bytes, .end = bytes + n};
    frame f = take_frame(&in);
    CHECK(in.at == in.end);
    free(bytes);
    return f;
}

/* Write, read, compare every integer; returns the packed bytes. */
static int round_trip(const char *what, int n, const double (*x)[3], double precision)
{
    md_xtc *xtc;
    const char *path = in_folder("a.xtc");
    CHECK_OK(md_xtc_open(path, -1, precision, &xtc));
    CHECK_OK(md_xtc_write(xtc, 123456, 2.5, &box, n, x));
    struct stat info;
    CHECK(stat(path, &info) == 0 && info.st_size == md_xtc_offset(xtc)); /* before close */
    CHECK_OK(md_xtc_close(&xtc));
    CHECK(xtc == NULL);
    frame f = read_only_frame(path);
    CHECK(f.n == n && f.step == 123456 && f.time == 2.5f);
    for (int k = 0; k < 9; k++) CHECK(f.box[k] == (float)box.m[k / 3][k % 3]);
    CHECK(f.precision == (float)precision);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 3; k++) {
            double q = x[i][k] * (double)(float)precision;
            if (fabs(q - f.q[i][k]) <= 0.5 + 1e-6) continue;
            fprintf(stderr, "%s: atom %d: %.6f wanted, %d found\n", what, i, q, f.q[i][k]);
            exit(1);
        }
    int n_bytes = f.n_bytes;
    frame_free(&f);
    return n_bytes;
}

static double uniform(void)
{
    return (double)random() / 2147483648.0;
}

enum { N = 3001 };
static double x_of_test[N][3];

static void fill(double low, double high)
{
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 3; k++) x_of_test[i][k] = low + (high - low) * uniform();
}

/* Chains whose step length changes along the way, so that the range must travel. */
static void fill_chains(double shortest, double longest)
{
    for (int i = 1; i < N; i++) {
        double length = shortest * pow(longest / shortest, 0.5 - 0.5 * cos(i * 0.01));
        for (int k = 0; k < 3; k++)
            x_of_test[i][k] =
                i % 37 == 0 ? 9 * uniform() : x_of_test[i - 1][k] + length * (2 * uniform() - 1);
    }
}

static void test_round_trips(void)
{
    const double(*x)[3] = (const double(*)[3])x_of_test;
    for (int n = 10; n < 40; n++) {
        fill(0, 3);
        round_trip("few atoms", n, x, 1000);
    }
    fill(0, 8);
    round_trip("gas", N, x, 1000);
    fill(-40, 60);
    round_trip("outside the box", N, x, 1000);
    fill(-900, 900);
    round_trip("place of 63 bits", N, x, 1000);
    fill(-2500, 2400);
    round_trip("place of 67 bits", N, x, 1000);
    fill(-8388, 8388);
    round_trip("place of 72 bits", N, x, 1000);
    fill(-16000, 16000);
    round_trip("places one by one", N, x, 1000);
    fill(-1073741, 1073741);
    round_trip("widest span", N, x, 1000);
    fill(1.0, 1.0);
    round_trip("all in one point", N, x, 1000);
    fill(-0.004, 0.004);
    round_trip("smallest range", N, x, 1000);
    fill_chains(0.0005, 0.01);
    round_trip("short chains", N, x, 1000);
    fill_chains(0.005, 1.0);
    round_trip("chains", N, x, 1000);
    round_trip("coarse", N, x, 10);
    round_trip("fine", N, x, 1e6);
    fill_chains(0.5, 300.0);
    round_trip("long chains", N, x, 1000);
    for (int i = 0; i < N; i++) /* one axis wide, the others flat */
        for (int k = 0; k < 3; k++) x_of_test[i][k] = k == 1 ? 20000 * uniform() : 0.5;
    round_trip("needle", N, x, 1000);
}

/* A real system, three decimals. GROMACS 2022.5 packs it into 5175 bytes. */
static void test_real_system(void)
{
    FILE *file = fopen(SUNDOG_SOURCE_DIR "/systems/grappa-like/0001.5/conf.gro", "r");
    CHECK(file != NULL);
    char line[256];
    int n;
    CHECK(fgets(line, sizeof line, file) && fscanf(file, "%d ", &n) == 1 && n == 1500);
    for (int i = 0; i < n; i++) {
        CHECK(fgets(line, sizeof line, file));
        char *p = line + 20;
        for (int k = 0; k < 3; k++) x_of_test[i][k] = strtod(p, &p);
    }
    fclose(file);
    int n_bytes = round_trip("0001.5", n, (const double(*)[3])x_of_test, 1000);
    printf("water and ethanol: %.3f bytes per atom\n", (double)n_bytes / n);
    CHECK(n_bytes <= 5175);
}

/* A gas, in which no range helps, then water: the range must find its way from the one to the
 * other. A lone atom takes 51 bits of place and 1, a water molecule then 51 + 1 + 2 * 23. */
static void test_range_climbs(void)
{
    fill(0, 120);
    int n_gas = N / 2;
    for (int i = n_gas; i < N; i++)
        for (int k = 0; k < 3; k++)
            if ((i - n_gas) % 3 != 0)
                x_of_test[i][k] = x_of_test[i - (i - n_gas) % 3][k] + 0.2 * (uniform() - 0.5);
    int n_bytes = round_trip("gas and water", N, (const double(*)[3])x_of_test, 1000);
    CHECK(n_bytes < n_gas * 52 / 8 + (N - n_gas) / 3 * 98 / 8 + 100);
}

/* Every byte of two small frames, worked out by hand. */
static void test_exact_bytes(void)
{
    static const unsigned char head[52] = {
        0,    0,    7, 203, 0,    0,    0, 2, 0,    0,    0, 7,
        0x3f, 0x80, 0, 0,                                        /* 1995, 2, 7, 1.0 */
        0x40, 0xa0, 0, 0,   0,    0,    0, 0, 0,    0,    0, 0,  /* 5 0 0 */
        0,    0,    0, 0,   0x40, 0xc0, 0, 0, 0,    0,    0, 0,  /* 0 6 0 */
        0x3f, 0x80, 0, 0,   0x40, 0,    0, 0, 0x40, 0xe0, 0, 0}; /* 1 2 7 */
    static const unsigned char plain[28] = {
        0, 0, 0, 2, 0x3f, 0, 0, 0, 0x3e, 0x80, 0, 0, 0xbf, 0x80, 0, 0, /* 0.5 0.25 -1 */
        0, 0, 0, 0, 0x40, 0, 0, 0, 0x41, 0x20, 0, 0};                  /* 0 2 10 */
    /* Ten atoms far apart along x, 0 1000 ... 9000, each alone: size 9001 x 1 x 1, 14 bits, low
     * byte first, then a bit 0 (the first time 1 and 00001: run 0, no change). */
    static const unsigned char packed[44] = {
        0x44, 0x7a, 0,    0,    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, /* precision, min */
        0,    0,    0x23, 0x28, 0, 0, 0, 0, 0, 0, 0, 0};            /* max, rest below */
    const double two[2][3] = {{0.5, 0.25, -1}, {0, 2, 10}};
    double ten[10][3];
    for (int i = 0; i < 10; i++)
        for (int k = 0; k < 3; k++) ten[i][k] = k == 0 ? i : 0;

    md_xtc *xtc;
    CHECK_OK(md_xtc_open(in_folder("b.xtc"), -1, 1000, &xtc));
    CHECK_OK(md_xtc_write(xtc, 7, 1, &box, 2, two));
    CHECK(md_xtc_offset(xtc) == 80);
    CHECK_OK(md_xtc_write(xtc, 7, 1, &box, 10, (const double(*)[3])ten));
    CHECK_OK(md_xtc_close(&xtc));
    size_t n;
    unsigned char *bytes = file_read(in_folder("b.xtc"), &n);
    CHECK(memcmp(bytes, head, 52) == 0);
    CHECK(memcmp(bytes + 52, plain, 28) == 0);
    CHECK(memcmp(bytes + 80 + 56, packed, 28) == 0);

    char bits[256] = "";
    for (int i = 0; i < 10; i++) {
        int q = 1000 * i;
        for (int b = 7; b >= 0; b--) strcat(bits, q >> b & 1 ? "1" : "0");
        for (int b = 13; b >= 8; b--) strcat(bits, q >> b & 1 ? "1" : "0");
        strcat(bits, i == 0 ? "100001" : "0");
    }
    size_t n_packed = (strlen(bits) + 7) / 8;
    CHECK(bytes[171] == n_packed && n == 172 + (n_packed + 3) / 4 * 4);
    for (size_t b = 0; b < n_packed * 8; b++) {
        int wanted = b < strlen(bits) ? bits[b] - '0' : 0;
        CHECK((bytes[172 + b / 8] >> (7 - b % 8) & 1) == wanted);
    }
    free(bytes);
}

static void test_refusals(void)
{
    md_xtc *xtc;
    CHECK(md_xtc_open(in_folder("c.xtc"), -1, 0, &xtc) == SUNDOG_ERR_ARGUMENT);
    CHECK(md_xtc_open(in_folder("c.xtc"), -1, NAN, &xtc) == SUNDOG_ERR_ARGUMENT);
    CHECK(md_xtc_open(in_folder("no/c.xtc"), -1, 1000, &xtc) == SUNDOG_ERR_IO);
    CHECK_OK(md_xtc_open(in_folder("c.xtc"), -1, 1000, &xtc));
    const double(*x)[3] = (const double(*)[3])x_of_test;
    fill(0, 5);
    x_of_test[41][2] = NAN;
    CHECK(md_xtc_write(xtc, 0, 0, &box, N, x) == SUNDOG_ERR_PHYSICS);
    CHECK(error_says("atom 42"));
    x_of_test[41][2] = 3e6; /* above 2^31 / 1000 */
    CHECK(md_xtc_write(xtc, 0, 0, &box, N, x) == SUNDOG_ERR_UNSUPPORTED);
    CHECK(error_says("compressed-x-precision"));
    x_of_test[41][2] = 1.2e6; /* each fits, the span does not */
    x_of_test[43][2] = -1.2e6;
    CHECK(md_xtc_write(xtc, 0, 0, &box, N, x) == SUNDOG_ERR_UNSUPPORTED);
    CHECK(error_says("along z"));
    CHECK(md_xtc_write(xtc, 0, 0, &box, 298261618, x) == SUNDOG_ERR_UNSUPPORTED);
    CHECK(error_says("298261617"));
    CHECK(md_xtc_offset(xtc) == 0);
    x_of_test[41][2] = x_of_test[43][2] = 1;
    CHECK_OK(md_xtc_write(xtc, 0, 0, &box, N, x)); /* a refusal leaves nothing behind */
    CHECK_OK(md_xtc_close(&xtc));
    frame f = read_only_frame(in_folder("c.xtc"));
    frame_free(&f);
    CHECK_OK(md_xtc_close(&xtc)); /* NULL is fine */
}

/* Two frames, a third one cut off by a kill; the restart goes on behind the first. */
static void test_append(void)
{
    const double(*x)[3] = (const double(*)[3])x_of_test;
    const char *path = in_folder("d.xtc");
    md_xtc *xtc;
    fill(0, 5);
    CHECK_OK(md_xtc_open(path, -1, 1000, &xtc));
    CHECK_OK(md_xtc_write(xtc, 1, 1, &box, N, x));
    int64_t one = md_xtc_offset(xtc);
    CHECK_OK(md_xtc_write(xtc, 2, 2, &box, N, x));
    int64_t two = md_xtc_offset(xtc);
    CHECK_OK(md_xtc_close(&xtc));
    CHECK(truncate(path, two - 5) == 0);
    CHECK(md_xtc_open(path, two, 1000, &xtc) == SUNDOG_ERR_IO);
    CHECK(error_says("bytes but the restart"));
    CHECK(md_xtc_open(in_folder("none.xtc"), 0, 1000, &xtc) == SUNDOG_ERR_IO);
    CHECK_OK(md_xtc_open(path, one, 1000, &xtc));
    CHECK(md_xtc_offset(xtc) == one);
    CHECK_OK(md_xtc_write(xtc, (INT64_C(1) << 33) + 9, 3, &box, N, x));
    CHECK_OK(md_xtc_close(&xtc));
    size_t n;
    unsigned char *bytes = file_read(path, &n);
    cursor in = {.at = bytes, .end = bytes + n};
    for (int k = 0; k < 2; k++) {
        frame f = take_frame(&in);
        CHECK(f.step == (k == 0 ? 1 : 9)); /* low 32 bits */
        frame_free(&f);
    }
    CHECK(in.at == in.end);
    free(bytes);
}

static void test_disk_full(void)
{
    const double(*x)[3] = (const double(*)[3])x_of_test;
    md_xtc *xtc;
    fill(0, 5);
    if (access("/dev/full", W_OK) == 0) {
        CHECK_OK(md_xtc_open("/dev/full", -1, 1000, &xtc));
        CHECK(md_xtc_write(xtc, 0, 0, &box, N, x) == SUNDOG_ERR_IO);
        CHECK(error_says("No space left"));
        CHECK_OK(md_xtc_close(&xtc));
    }
    const char *path = in_folder("e.xtc");
    CHECK_OK(md_xtc_open(path, -1, 1000, &xtc));
    CHECK_OK(md_xtc_write(xtc, 1, 0, &box, N, x));
    int64_t one = md_xtc_offset(xtc);
    struct rlimit old, limited;
    CHECK(getrlimit(RLIMIT_FSIZE, &old) == 0);
    limited = old;
    limited.rlim_cur = (rlim_t)(one + one / 2);
    CHECK(setrlimit(RLIMIT_FSIZE, &limited) == 0);
    CHECK(md_xtc_write(xtc, 2, 0, &box, N, x) == SUNDOG_ERR_IO);
    CHECK(error_says("e.xtc"));
    CHECK(setrlimit(RLIMIT_FSIZE, &old) == 0);
    struct stat info;
    CHECK(stat(path, &info) == 0 && info.st_size == one);
    CHECK_OK(md_xtc_write(xtc, 3, 0, &box, N, x)); /* room again: goes on */
    CHECK(md_xtc_offset(xtc) == 2 * one);
    CHECK_OK(md_xtc_close(&xtc));
    size_t n;
    unsigned char *bytes = file_read(path, &n);
    cursor in = {.at = bytes + one, .end = bytes + n};
    frame f = take_frame(&in);
    CHECK(f.step == 3 && in.at == in.end);
    frame_free(&f);
    free(bytes);
}

int main(void)
{
    signal(SIGXFSZ, SIG_IGN);
    folder_create("test_xtc");
    test_decoder();
    test_exact_bytes();
    test_round_trips();
    test_real_system();
    test_range_climbs();
    test_refusals();
    test_append();
    test_disk_full();
    folder_remove();
    return 0;
}
