/* state.cpt: bit-exact round trip; every kind of bad file refused with its own text, truncation at
 * every length and damage in every byte included; a failing write leaves the old file alone. */
#include "base/alloc.h"
#include "folder.h"
#include "md/out/checkpoint.h"
#include "md/out/crc64.h"

#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static md_checkpoint make_checkpoint(int64_t n_atoms, int64_t step)
{
    md_checkpoint c = {.topology_hash = 0x123456789abcdef0,
                       .params_hash = ~UINT64_C(5),
                       .seed = -77,
                       .output_offset = {1, INT64_C(1) << 40, -1, 0, 5},
                       .output_tail = {7, ~UINT64_C(0), 0, 9, 11},
                       .has_tails = true};
    c.n_averages = 5;
    c.averages = base_alloc(5 * sizeof *c.averages);
    for (int k = 0; k < 5; k++) c.averages[k] = k ? -1.0 / k : 12;
    md_state_create(n_atoms, &c.state);
    c.state.step = step;
    c.state.time = 0.1 * (double)step;
    c.state.thermostat_work[0] = -1.0 / 3.0;
    c.state.thermostat_work[MD_MAX_GROUPS - 1] = 1.0 / 7.0;
    c.state.barostat_work = 1.0 / 9.0;
    c.state.has_velocities = true;
    for (int k = 0; k < 9; k++) c.state.box.m[k / 3][k % 3] = k + 0.1;
    for (int64_t i = 0; i < n_atoms; i++)
        for (int k = 0; k < 3; k++) {
            c.state.x[i][k] = sin((double)(3 * i + k + step)) * 1e3;
            c.state.v[i][k] = i == 1 ? -0.0 : i == 2 ? 4.9e-324 : i == 3 ? NAN : cos((double)i);
        }
    return c;
}

static void check_same(const md_checkpoint *a, const md_checkpoint *b)
{
    size_t n_bytes = (size_t)a->state.n_atoms * sizeof *a->state.x;
    CHECK(a->state.n_atoms == b->state.n_atoms && a->state.step == b->state.step);
    CHECK(memcmp(&a->state.time, &b->state.time, sizeof(double)) == 0);
    CHECK(memcmp(a->state.thermostat_work, b->state.thermostat_work,
                 sizeof a->state.thermostat_work) == 0);
    CHECK(a->state.barostat_work == b->state.barostat_work);
    CHECK(a->state.has_velocities == b->state.has_velocities);
    CHECK(memcmp(&a->state.box, &b->state.box, sizeof a->state.box) == 0);
    CHECK(memcmp(a->state.x, b->state.x, n_bytes) == 0);
    if (a->state.has_velocities) CHECK(memcmp(a->state.v, b->state.v, n_bytes) == 0);
    CHECK(a->topology_hash == b->topology_hash && a->params_hash == b->params_hash);
    CHECK(a->seed == b->seed);
    CHECK(memcmp(a->output_offset, b->output_offset, sizeof a->output_offset) == 0);
    CHECK(memcmp(a->output_tail, b->output_tail, sizeof a->output_tail) == 0);
    CHECK(a->has_tails == b->has_tails && a->n_averages == b->n_averages);
    CHECK(memcmp(a->averages, b->averages, a->n_averages * sizeof *a->averages) == 0);
}

static void check_file(const char *path, const md_checkpoint *wanted)
{
    md_checkpoint read;
    CHECK_OK(md_checkpoint_read(path, &read));
    check_same(wanted, &read);
    md_checkpoint_destroy(&read);
}

static void refuse(const char *path, sundog_status status, const char *words)
{
    md_checkpoint read;
    CHECK(md_checkpoint_read(path, &read) == status);
    CHECK(error_says(words) && error_says(path));
}

static void test_crc(void)
{
    const char *digits = "123456789";
    CHECK(md_crc64(0, digits, 9) == 0x995dc9bbdf1939fa); /* the standard's own example */
    for (size_t cut = 0; cut <= 9; cut++)
        CHECK(md_crc64(md_crc64(0, digits, cut), digits + cut, 9 - cut) == 0x995dc9bbdf1939fa);
}

static void test_round_trip(void)
{
    const char *path = in_folder("state.cpt"), *previous = in_folder("state_prev.cpt");
    md_checkpoint one = make_checkpoint(1000, 1), two = make_checkpoint(1000, 2);
    md_checkpoint none = make_checkpoint(0, 3);
    CHECK_OK(md_checkpoint_write(path, &one));
    check_file(path, &one);
    CHECK(access(previous, F_OK) != 0);
    CHECK_OK(md_checkpoint_write(path, &two));
    check_file(path, &two);
    check_file(previous, &one);
    two.state.has_velocities = false;
    CHECK_OK(md_checkpoint_write(path, &two));
    check_file(path, &two);
    CHECK_OK(md_checkpoint_write(path, &none));
    check_file(path, &none);
    check_file(previous, &two);
    CHECK(folder_count() == 2); /* nothing temporary stays */
    md_checkpoint_destroy(&one);
    md_checkpoint_destroy(&two);
    md_checkpoint_destroy(&none);
}

/* A kill in mid-write, at every length. */
static void test_truncated(void)
{
    const char *path = in_folder("state.cpt"), *cut = in_folder("cut.cpt");
    md_checkpoint c = make_checkpoint(5, 1);
    CHECK_OK(md_checkpoint_write(path, &c));
    size_t n;
    unsigned char *bytes = file_read(path, &n);
    CHECK(n > 400);
    for (size_t length = 0; length < n; length++) {
        file_write(cut, bytes, length);
        refuse(cut, SUNDOG_ERR_INPUT, "cut short");
    }
    file_write(cut, bytes, n + 1); /* file_read leaves a zero behind */
    refuse(cut, SUNDOG_ERR_INPUT, "damaged");
    free(bytes);
    md_checkpoint_destroy(&c);
}

/* Any bit flipped anywhere is noticed, and named as what it looks like. */
static void test_damaged(void)
{
    const char *path = in_folder("state.cpt"), *bad = in_folder("bad.cpt");
    md_checkpoint c = make_checkpoint(5, 1);
    CHECK_OK(md_checkpoint_write(path, &c));
    size_t n;
    unsigned char *bytes = file_read(path, &n);
    for (size_t bit = 0; bit < 8 * n; bit++) {
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        file_write(bad, bytes, n);
        refuse(bad, SUNDOG_ERR_INPUT, bit < 64 ? "not a checkpoint" : "damaged");
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    memset(bytes + n / 2, 0, 64); /* a block that the disk lost */
    file_write(bad, bytes, n);
    refuse(bad, SUNDOG_ERR_INPUT, "damaged");
    free(bytes);
    md_checkpoint_destroy(&c);
}

/* Give the first 40 bytes a right sum again, and the file a right one at its end. */
static void sign(unsigned char *bytes, size_t n)
{
    uint64_t sum = md_crc64(0, bytes, 32);
    memcpy(bytes + 32, &sum, 8);
    sum = md_crc64(0, bytes, n - 8);
    memcpy(bytes + n - 8, &sum, 8);
}

static void test_foreign(void)
{
    const char *path = in_folder("state.cpt"), *bad = in_folder("foreign.cpt");
    refuse(in_folder("absent.cpt"), SUNDOG_ERR_IO, "cannot be opened");
    refuse(folder, SUNDOG_ERR_IO, "reading failed");
    file_write(bad, "[ atoms ]\n", 10);
    refuse(bad, SUNDOG_ERR_INPUT, "not a checkpoint");
    file_write(bad, "", 0);
    refuse(bad, SUNDOG_ERR_INPUT, "empty");

    md_checkpoint c = make_checkpoint(5, 1);
    CHECK_OK(md_checkpoint_write(path, &c));
    size_t n;
    unsigned char *bytes = file_read(path, &n);
    bytes[12] = 4;
    sign(bytes, n);
    file_write(bad, bytes, n);
    refuse(bad, SUNDOG_ERR_UNSUPPORTED, "version 4");
    bytes[12] = 3;
    for (int k = 0; k < 2; k++) { /* the byte-order mark as the other side writes it */
        unsigned char swap = bytes[8 + k];
        bytes[8 + k] = bytes[11 - k];
        bytes[11 - k] = swap;
    }
    file_write(bad, bytes, n);
    refuse(bad, SUNDOG_ERR_UNSUPPORTED, "byte order");
    free(bytes);
    md_checkpoint_destroy(&c);
}

/* Version 1 had four offsets; the fifth then reads as not open. */
static void test_version_1(void)
{
    const char *path = in_folder("state.cpt"), *old = in_folder("old.cpt");
    md_checkpoint c = make_checkpoint(5, 1);
    CHECK_OK(md_checkpoint_write(path, &c));
    size_t n, at = 40;
    unsigned char *bytes = file_read(path, &n);
    while (memcmp(bytes + at, "OUTPUTS ", 8) != 0) at++;
    CHECK(bytes[at + 8] == 40 && bytes[16] == (n & 255) && bytes[17] == n >> 8);
    bytes[12] = 1;
    sign(bytes, n);
    file_write(old, bytes, n);
    refuse(old, SUNDOG_ERR_INPUT, "wrong size");

    bytes[at + 8] = 32;
    memmove(bytes + at + 16 + 32, bytes + at + 16 + 40, n - at - 16 - 40);
    n -= 8;
    bytes[16] = (unsigned char)n;
    bytes[17] = (unsigned char)(n >> 8);
    sign(bytes, n);
    file_write(old, bytes, n);
    c.output_offset[4] = -1;
    check_file(old, &c);

    bytes[12] = 2;
    sign(bytes, n);
    file_write(old, bytes, n);
    refuse(old, SUNDOG_ERR_INPUT, "wrong size");
    free(bytes);
    md_checkpoint_destroy(&c);
}

/* Version 2 had the grid of domains where sums of the outputs are now. */
static void test_version_2(void)
{
    const char *path = in_folder("state.cpt"), *old = in_folder("old.cpt");
    md_checkpoint c = make_checkpoint(5, 1);
    CHECK_OK(md_checkpoint_write(path, &c));
    size_t n, at = 40;
    unsigned char *bytes = file_read(path, &n);
    while (memcmp(bytes + at, "TAILS   ", 8) != 0) at++;
    memcpy(bytes + at, "GRID    ", 8);
    sign(bytes, n);
    file_write(old, bytes, n);
    refuse(old, SUNDOG_ERR_INPUT, "a section is missing");
    bytes[12] = 2;
    sign(bytes, n);
    file_write(old, bytes, n);
    memset(c.output_tail, 0, sizeof c.output_tail);
    c.has_tails = false;
    check_file(old, &c);
    free(bytes);
    md_checkpoint_destroy(&c);
}

/* Files whose sums are right but whose contents make no sense. */
static void test_senseless(void)
{
    const char *path = in_folder("state.cpt"), *bad = in_folder("bad.cpt");
    md_checkpoint c = make_checkpoint(5, 1);
    CHECK_OK(md_checkpoint_write(path, &c));
    size_t n;
    unsigned char *bytes = file_read(path, &n), *copy = malloc(n);
    static const struct {
        size_t at;
        unsigned char value;
    } change[] = {
        {40, 'h'},  /* name of HEAD: unknown, so HEAD is missing */
        {48, 1},    /* its size */
        {54, 1},    /* its size, beyond any file */
        {56, 9},    /* atoms: more than there are rows */
        {63, 0x7f}, /* atoms: beyond any memory */
        {63, 0xff}, /* atoms: negative */
    };
    for (size_t k = 0; k < sizeof change / sizeof *change; k++) {
        memcpy(copy, bytes, n);
        copy[change[k].at] = change[k].value;
        sign(copy, n);
        file_write(bad, copy, n);
        refuse(bad, SUNDOG_ERR_INPUT, "damaged");
    }
    free(copy);
    free(bytes);
    md_checkpoint_destroy(&c);
}

/* The disk fills up at many places of the write. */
static void test_disk_full(void)
{
    const char *path = in_folder("full.cpt"), *previous = in_folder("full_prev.cpt");
    md_checkpoint one = make_checkpoint(5000, 1), two = make_checkpoint(5000, 2);
    CHECK_OK(md_checkpoint_write(path, &one));
    CHECK_OK(md_checkpoint_write(path, &two));
    int n_names = folder_count();
    struct rlimit old, limited;
    CHECK(getrlimit(RLIMIT_FSIZE, &old) == 0);
    limited = old;
    for (rlim_t room = 0; room < 240000; room = room * 3 + 1) {
        limited.rlim_cur = room;
        CHECK(setrlimit(RLIMIT_FSIZE, &limited) == 0);
        CHECK(md_checkpoint_write(path, &one) == SUNDOG_ERR_IO);
        CHECK(error_says("full.cpt") && error_says("unchanged"));
        CHECK(folder_count() == n_names);
        check_file(path, &two);
        check_file(previous, &one);
    }
    CHECK(setrlimit(RLIMIT_FSIZE, &old) == 0);
    CHECK(md_checkpoint_write(in_folder("absent/state.cpt"), &one) == SUNDOG_ERR_IO);
    CHECK(error_says("cannot be created"));
    md_checkpoint_destroy(&one);
    md_checkpoint_destroy(&two);
}

/* Killed at random moments: there is always a whole checkpoint. */
static void test_killed(void)
{
    const char *path = in_folder("killed.cpt");
    md_checkpoint c = make_checkpoint(3000, 0);
    CHECK_OK(md_checkpoint_write(path, &c));
    for (int round = 0; round < 30; round++) {
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0)
            for (;; c.state.step++) CHECK_OK(md_checkpoint_write(path, &c));
        usleep(2000 + 700 * (useconds_t)round);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        md_checkpoint read;
        CHECK_OK(md_checkpoint_read(path, &read));
        md_checkpoint_destroy(&read);
        if (access(in_folder("killed_prev.cpt"), F_OK) == 0) {
            CHECK_OK(md_checkpoint_read(in_folder("killed_prev.cpt"), &read));
            md_checkpoint_destroy(&read);
        }
    }
    md_checkpoint_destroy(&c);
}

int main(void)
{
    signal(SIGXFSZ, SIG_IGN);
    folder_create("test_checkpoint");
    test_crc();
    test_round_trip();
    test_truncated();
    test_damaged();
    test_foreign();
    test_version_1();
    test_version_2();
    test_senseless();
    test_disk_full();
    test_killed();
    folder_remove();
    return 0;
}
