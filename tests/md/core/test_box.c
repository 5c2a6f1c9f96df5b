/* The box: fractions, wrapping, nearest images against a brute force over many images. */
#include "check.h"
#include "md/core/box.h"
#include "md/core/vec.h"

static double uniform(void)
{
    return rand() / (double)RAND_MAX;
}

static double brute_nearest2(const md_box *box, const double d[3])
{
    double best = 1e30;
    for (int i = -3; i <= 3; i++)
        for (int j = -3; j <= 3; j++)
            for (int k = -3; k <= 3; k++) {
                double s[3] = { i, j, k }, shift[3], t[3];
                md_box_from_fractional(box, s, shift);
                for (int a = 0; a < 3; a++) t[a] = d[a] + shift[a];
                best = fmin(best, vec_norm2(t));
            }
    return best;
}

static void test_one(const md_box *box)
{
    CHECK_OK(md_box_check(box));
    for (int trial = 0; trial < 2000; trial++) {
        double s[3], a[3], b[3], d[3], back[3];
        for (int k = 0; k < 3; k++) s[k] = 2 * uniform() - 1;
        md_box_from_fractional(box, s, a);
        md_box_to_fractional(box, a, back);
        for (int k = 0; k < 3; k++) CHECK_NEAR(s[k], back[k], 1e-13);
        for (int k = 0; k < 3; k++) s[k] = 2 * uniform() - 1;
        md_box_from_fractional(box, s, b);
        md_box_nearest(box, a, b, d);
        double raw[3];
        vec_sub(a, b, raw);
        CHECK_NEAR(vec_norm2(d), brute_nearest2(box, raw), 1e-12);

        double w[3] = { a[0], a[1], a[2] }, rebuilt[3];
        int moved[3];
        md_box_wrap(box, w, moved);
        md_box_to_fractional(box, w, s);
        double whole[3] = { moved[0], moved[1], moved[2] };
        md_box_from_fractional(box, whole, rebuilt);
        for (int k = 0; k < 3; k++) {
            CHECK(s[k] >= 0 && s[k] < 1);
            CHECK_NEAR(w[k], a[k] + rebuilt[k], 1e-13);
        }
    }
    double tiny[3] = { -1e-18, -1e-18, -1e-18 }, s[3];
    md_box_wrap(box, tiny, NULL);
    md_box_to_fractional(box, tiny, s);
    for (int k = 0; k < 3; k++) CHECK(s[k] >= 0 && s[k] < 1);
}

int main(void)
{
    md_box cube = { { { 3, 0, 0 }, { 0, 4, 0 }, { 0, 0, 5 } } };
    md_box dodecahedron = { { { 3.84292, 0, 0 }, { 0, 3.84292, 0 }, { 1.92146, 1.92146,
        2.71735 } } };
    md_box skewed = { { { 3, 0, 0 }, { -1.2, 2.8, 0 }, { 1.4, -1.3, 2.9 } } };
    test_one(&cube);
    test_one(&dodecahedron);
    test_one(&skewed);
    CHECK_NEAR(md_box_max_range(&cube), 1.5, 1e-14);
    CHECK_NEAR(md_box_thickness(&dodecahedron, 2), 2.71735, 1e-12);
    CHECK_NEAR(md_box_volume(&cube), 60, 1e-12);

    md_box bad = cube;
    bad.m[2][0] = 2;
    CHECK(md_box_check(&bad) == SUNDOG_ERR_INPUT);
    bad = cube;
    bad.m[1][1] = 0;
    CHECK(md_box_check(&bad) == SUNDOG_ERR_INPUT);
    bad = cube;
    bad.m[0][1] = 0.1;
    CHECK(md_box_check(&bad) == SUNDOG_ERR_INPUT);
    return 0;
}
