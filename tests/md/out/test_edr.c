/* ener.edr: exact bytes of a small file, a reader of its own for larger ones, appending with the
 * steps counted on, files that do not fit, a full disk. */
#include "folder.h"
#include "md/out/edr.h"

#include <math.h>
#include <signal.h>
#include <sys/resource.h>

static void test_exact_bytes(void)
{
    static const unsigned char wanted[] = {
        0xff, 0xff, 0x26, 0xfd, 0,    0,   0,   5,   0, 0,  0,   2, /* -55555, 5, terms */
        0,    0,    0,    4,    'B',  'o', 'n', 'd', 0, 0,  0,   6,   'k', 'J',
        '/',  'm',  'o',  'l',  0,    0,   0,   0,   0, 12, 'C', 'o', 'n', 's',
        't',  'r',  '.',  ' ',  'r',  'm', 's', 'd', 0, 0,  0,   0, /* no unit */
        0xc2, 0x12, 0xa0, 0x5f, 0x20, 0,   0,   0,                  /* -2e10 */
        0xff, 0x89, 0x52, 0x0f, 0,    0,   0,   5,                  /* -7777777, 5 */
        0x3f, 0xe0, 0,    0,    0,    0,   0,   0,                  /* 0.5 ps */
        0,    0,    0,    1,    0,    0,   0,   2,                  /* step 2^32 + 2 */
        0,    0,    0,    0,    0,    0,   0,   0,   0, 0,  0,   1, /* sums, steps */
        0x3f, 0xd0, 0,    0,    0,    0,   0,   0,                  /* dt 0.25 ps */
        0,    0,    0,    2,    0,    0,   0,   0,   0, 0,  0,   0, /* terms, 0, blocks */
        0,    0,    0,    64,   0,    0,   0,   0,   0, 0,  0,   0, /* 2 * 4 * 8 bytes */
        0xbf, 0xf8, 0,    0,    0,    0,   0,   0,                  /* -1.5 */
        0x3e, 0xb0, 0,    0,    0,    0,   0,   0,                  /* 2^-20 */
    };
    static const md_edr_term terms[] = {{"Bond", "kJ/mol"}, {"Constr. rmsd", ""}};
    md_edr *edr;
    CHECK_OK(md_edr_open(in_folder("a.edr"), -1, terms, 2, 0.25, &edr));
    CHECK(md_edr_offset(edr) == 52);
    CHECK_OK(md_edr_write(edr, (INT64_C(1) << 32) + 2, 0.5, (const double[]){-1.5, 0x1p-20}, NULL));
    CHECK(md_edr_offset(edr) == (int64_t)sizeof wanted);
    CHECK_OK(md_edr_close(&edr));
    CHECK_OK(md_edr_close(&edr));
    size_t n;
    unsigned char *bytes = file_read(in_folder("a.edr"), &n);
    CHECK(n == sizeof wanted && memcmp(bytes, wanted, n) == 0);
    free(bytes);
}

/* ---- a reader ------------------------------------------------------------------------------- */

static int64_t read_int(const unsigned char **p, int n_bytes)
{
    uint64_t word = **p & 0x80 ? UINT64_MAX : 0;
    for (int k = 0; k < n_bytes; k++) word = word << 8 | *(*p)++;
    return (int64_t)word;
}

static double read_double(const unsigned char **p)
{
    int64_t bits = read_int(p, 8);
    double value;
    memcpy(&value, &bits, 8);
    return value;
}

static void check_string(const unsigned char **p, const char *wanted)
{
    size_t n = (size_t)read_int(p, 4);
    CHECK(n == strlen(wanted) && memcmp(*p, wanted, n) == 0);
    for (*p += n; n % 4 != 0; n++) CHECK(*(*p)++ == 0);
}

enum { N = 7 };
static const md_edr_term seven[N] = {
    {"U-B", "kJ/mol"},   {"Ryckaert-Bell.", "kJ/mol"}, {"LJ (SR)", "kJ/mol"}, {"Temperature", "K"},
    {"Pres. DC", "bar"}, {"Constr. rmsd", ""},         {"Vir-ZX", "kJ/mol"}};

static double value_of(int64_t step, int term)
{
    return term == 5 ? (step == 30 ? NAN : 1e-300) : (double)(step - 20) * exp(20.0 * term) / 3;
}

/* Frames at multiples of 10 but 0 have sums over two samples: this step and the fifth before. */
static bool has_sums(int64_t step)
{
    return step > 0 && step % 10 == 0;
}

static void check_sums(const unsigned char **p, int64_t step, int term)
{
    double a = value_of(step - 5, term), b = value_of(step, term);
    double square = read_double(p), sum = read_double(p);
    if (isnan(a + b)) return;
    CHECK(sum == a + b);
    CHECK_NEAR(square, 0.5 * (a - b) * (a - b), 1e-12 * fabs(a - b) * fabs(a - b));
}

/* Frames of value_of at these steps, and nothing behind. */
static void check_file(const char *path, const int64_t *steps, int n_steps)
{
    size_t n_bytes;
    unsigned char *bytes = file_read(path, &n_bytes);
    const unsigned char *p = bytes;
    CHECK(read_int(&p, 4) == -55555 && read_int(&p, 4) == 5 && read_int(&p, 4) == N);
    for (int k = 0; k < N; k++) {
        check_string(&p, seven[k].name);
        check_string(&p, seven[k].unit);
    }
    for (int i = 0; i < n_steps; i++) {
        CHECK((size_t)(p - bytes) + 76 + 8 * N <= n_bytes);
        CHECK(read_double(&p) == -2e10);
        CHECK(read_int(&p, 4) == -7777777 && read_int(&p, 4) == 5);
        CHECK(read_double(&p) == 0.002 * (double)steps[i] && read_int(&p, 8) == steps[i]);
        CHECK(read_int(&p, 4) == (has_sums(steps[i]) ? 2 : 0));
        CHECK(read_int(&p, 8) == (i > 0 ? steps[i] - steps[i - 1] : 1));
        CHECK(read_double(&p) == 0.002);
        CHECK(read_int(&p, 4) == N && read_int(&p, 8) == 0);
        CHECK(read_int(&p, 4) == 4 * 8 * N && read_int(&p, 8) == 0);
        for (int k = 0; k < N; k++) {
            double found = read_double(&p), wanted = value_of(steps[i], k);
            CHECK(memcmp(&found, &wanted, sizeof found) == 0);
            if (has_sums(steps[i])) check_sums(&p, steps[i], k);
        }
    }
    CHECK(p == bytes + n_bytes);
    free(bytes);
}

static sundog_status write_step(md_edr *edr, int64_t step)
{
    double values[N], before[N];
    md_averages between;
    md_averages_create(N, &between);
    for (int k = 0; k < N; k++) {
        values[k] = value_of(step, k);
        before[k] = value_of(step - 5, k);
    }
    if (has_sums(step)) md_averages_add(&between, before);
    md_averages_add(&between, values); /* one sample alone is no sum */
    sundog_status status = md_edr_write(edr, step, 0.002 * (double)step, values, &between);
    md_averages_destroy(&between);
    return status;
}

/* ---- growing -------------------------------------------------------------------------------- */

static void test_append(void)
{
    const char *path = in_folder("b.edr");
    md_edr *edr;
    CHECK_OK(md_edr_open(path, -1, seven, N, 0.002, &edr));
    int64_t none = md_edr_offset(edr);
    CHECK_OK(write_step(edr, 0));
    check_file(path, (const int64_t[]){0}, 1); /* there before it is closed */
    CHECK_OK(write_step(edr, 10));
    int64_t two = md_edr_offset(edr);
    CHECK_OK(write_step(edr, 17)); /* the last step of a run, which the next one cuts off */
    CHECK_OK(md_edr_close(&edr));
    check_file(path, (const int64_t[]){0, 10, 17}, 3);

    CHECK_OK(md_edr_open(path, two, seven, N, 0.002, &edr));
    check_file(path, (const int64_t[]){0, 10}, 2);
    CHECK_OK(write_step(edr, 20));
    CHECK_OK(write_step(edr, 30));
    CHECK_OK(md_edr_close(&edr));
    check_file(path, (const int64_t[]){0, 10, 20, 30}, 4);

    CHECK_OK(md_edr_open(path, none, seven, N, 0.002, &edr)); /* no frame is left */
    CHECK_OK(write_step(edr, 4));
    CHECK_OK(md_edr_close(&edr));
    check_file(path, (const int64_t[]){4}, 1);

    CHECK_OK(md_edr_open(path, -1, seven, N, 0.002, &edr));
    CHECK_OK(md_edr_close(&edr));
    check_file(path, NULL, 0);
}

/* What does not fit is refused before anything is cut. */
static void test_refused(void)
{
    const char *path = in_folder("c.edr");
    const int64_t steps[] = {0, 10, 20};
    md_edr *edr;
    CHECK_OK(md_edr_open(path, -1, seven, N, 0.002, &edr));
    int64_t none = md_edr_offset(edr);
    int64_t end[3];
    for (int i = 0; i < 3; i++) {
        CHECK_OK(write_step(edr, steps[i]));
        end[i] = md_edr_offset(edr);
    }
    int64_t three = end[2], frame = end[2] - end[1];
    CHECK(end[0] - none == 76 + 8 * N && frame == 76 + 3 * 8 * N && end[1] - end[0] == frame);
    CHECK_OK(md_edr_close(&edr));

    md_edr_term others[N];
    memcpy(others, seven, sizeof others);
    others[6].unit = "bar nm";
    CHECK(md_edr_open(path, three, others, N, 0.002, &edr) == SUNDOG_ERR_INPUT);
    CHECK(error_says("other terms") && error_says("c.edr"));
    CHECK(md_edr_open(path, three, seven, N - 1, 0.002, &edr) == SUNDOG_ERR_INPUT);
    CHECK(md_edr_open(path, none - 4, seven, N, 0.002, &edr) == SUNDOG_ERR_INPUT);
    for (int64_t at = none + 1; at < three; at++)
        if (at != end[0] && at != end[1]) {
            CHECK(md_edr_open(path, at, seven, N, 0.002, &edr) == SUNDOG_ERR_INPUT);
            CHECK(error_says("no frame"));
        }
    CHECK(md_edr_open(path, three + frame, seven, N, 0.002, &edr) ==
          SUNDOG_ERR_INPUT); /* shorter than the checkpoint says */
    CHECK(md_edr_open(in_folder("no.edr"), 0, seven, N, 0.002, &edr) == SUNDOG_ERR_IO);
    CHECK(error_says("no.edr"));
    CHECK(md_edr_open(path, -1, seven, 0, 0.002, &edr) == SUNDOG_ERR_ARGUMENT);
    check_file(path, steps, 3);

    size_t n;
    unsigned char *bytes = file_read(path, &n);
    bytes[three - frame + 9] ^= 1; /* in the magic of the last frame */
    file_write(in_folder("d.edr"), bytes, n);
    free(bytes);
    CHECK(md_edr_open(in_folder("d.edr"), three, seven, N, 0.002, &edr) == SUNDOG_ERR_INPUT);
    CHECK(error_says("no frame"));
}

static void test_disk_full(void)
{
    const char *path = in_folder("e.edr");
    md_edr *edr;
    struct rlimit old, limited;
    CHECK(getrlimit(RLIMIT_FSIZE, &old) == 0);
    limited = old;
    limited.rlim_cur = 20;
    CHECK(setrlimit(RLIMIT_FSIZE, &limited) == 0);
    CHECK(md_edr_open(path, -1, seven, N, 0.002, &edr) == SUNDOG_ERR_IO);
    CHECK(setrlimit(RLIMIT_FSIZE, &old) == 0);
    CHECK_OK(md_edr_open(path, -1, seven, N, 0.002, &edr));
    CHECK_OK(write_step(edr, 0));
    int64_t one = md_edr_offset(edr);
    for (int room = 0; room < 76 + 8 * N; room += 11) {
        limited.rlim_cur = (rlim_t)(one + room);
        CHECK(setrlimit(RLIMIT_FSIZE, &limited) == 0);
        CHECK(write_step(edr, 10) == SUNDOG_ERR_IO);
        CHECK(error_says("e.edr") && md_edr_offset(edr) == one);
        check_file(path, (const int64_t[]){0}, 1);
    }
    CHECK(setrlimit(RLIMIT_FSIZE, &old) == 0);
    CHECK_OK(write_step(edr, 20));
    CHECK_OK(md_edr_close(&edr));
    check_file(path, (const int64_t[]){0, 20}, 2);
}

/* Mean and fluctuation of many samples around a large mean, against two passes. */
static void test_averages(void)
{
    enum { N_SAMPLES = 1000 };
    md_averages averages;
    md_averages_create(2, &averages);
    double sum[2] = {0}, square[2] = {0}, values[2];
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < N_SAMPLES; i++) {
            values[0] = -1e7 + sin(i), values[1] = i;
            if (pass == 0) md_averages_add(&averages, values);
            for (int t = 0; t < 2; t++) {
                double off = values[t] - sum[t] / N_SAMPLES;
                if (pass == 0) sum[t] += values[t];
                if (pass == 1) square[t] += off * off;
            }
        }
    CHECK(md_averages_count(&averages) == N_SAMPLES);
    for (int t = 0; t < 2; t++) {
        CHECK(md_averages_sum(&averages, t) == sum[t]);
        CHECK_NEAR(md_averages_square(&averages, t), square[t], 1e-6 * square[t]);
    }
    md_averages_clear(&averages);
    CHECK(md_averages_count(&averages) == 0 && md_averages_square(&averages, 1) == 0);
    md_averages_destroy(&averages);
}

int main(void)
{
    signal(SIGXFSZ, SIG_IGN);
    folder_create("test_edr");
    test_exact_bytes();
    test_append();
    test_averages();
    test_refused();
    test_disk_full();
    folder_remove();
    return 0;
}
