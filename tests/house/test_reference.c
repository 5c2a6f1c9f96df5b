/* The reader of the reference values: numbers of known files, and files that it must refuse. */
#include "check.h"
#include "reference.h"
#include <math.h>
#include <string.h>
#include <unistd.h>

static void json_values(void)
{
    double value, error, tensor[3][3];
    const char *single = reference_path("reference/grappa-like/%s/sp_rf.energy.json", "0006");
    CHECK(reference_energy(single, "Potential", &value));
    CHECK_NEAR(value, -77424.7928752, 1e-9);
    CHECK(!reference_energy(single, "Potentia", &value));
    CHECK(reference_tensor(single, "box_nm", tensor));
    CHECK(tensor[0][0] == 3.92627 && tensor[2][2] == 3.92627 && tensor[2][0] == 0);
    CHECK(!reference_energy(reference_path("reference/none.json"), "Potential", &value));

    const char *step0 = reference_path("reference/grappa-like/0006/traj_rf.step0.json");
    CHECK(reference_energy(step0, "Pressure", &value));
    CHECK_NEAR(value, -225.823032982, 1e-9);
    CHECK(reference_tensor(step0, "virial_kJ_per_mol", tensor));
    CHECK_NEAR(tensor[1][2], -636.76732896, 1e-9);

    const char *folder = "reference/grappa-like/0001.5";
    CHECK(reference_number(reference_path("%s/nve_drift.json", folder),
                           "rf_mixed/drift_kJ_per_mol_per_ps_per_atom", &value));
    CHECK_NEAR(value, 0.00064, 1e-12);
    CHECK(reference_average(reference_path("%s/averages.json", folder), "rf", "Temperature", &value,
                            &error));
    CHECK_NEAR(value, 299.7125, 1e-9);
    CHECK_NEAR(error, 0.33, 1e-9);
}

static void tables(void)
{
    double *values, force_rms;
    size_t rows;
    int column, columns;
    CHECK(reference_table(reference_path("reference/grappa-like/0006/sp_rf.forces.txt.xz"), 3,
                          &values, &rows));
    CHECK(rows == 6000);
    CHECK_NEAR(values[4], 1.11487690e+01, 1e-12);
    CHECK(reference_number(reference_path("reference/grappa-like/0006/sp_rf.energy.json"),
                           "force_rms", &force_rms));
    double(*moved)[3] = calloc(rows, sizeof *moved);
    CHECK(moved);
    memcpy(moved, values, rows * sizeof *moved);
    moved[7][1] += 3;
    moved[7][2] -= 4;
    reference_deviation deviation =
        reference_compare(values, 3, 0, rows, (const double(*)[3])moved);
    CHECK_NEAR(deviation.rms_reference, force_rms, 1e-6 * force_rms);
    CHECK_NEAR(deviation.largest, 5, 1e-9);
    CHECK_NEAR(deviation.rms, 5 / sqrt(6000), 1e-9);
    CHECK_NEAR(deviation.relative, deviation.rms / force_rms, 1e-9);
    CHECK(deviation.worst == 7);
    moved[3][0] = NAN;
    deviation = reference_compare(values, 3, 0, rows, (const double(*)[3])moved);
    CHECK(!(deviation.relative < 1) && !(deviation.largest < 1));
    free(moved);
    free(values);

    const char *series = reference_path("reference/grappa-like/0006/traj_rf.energy.txt");
    CHECK(reference_n_columns(series, &columns) && columns == 13);
    CHECK(reference_table(series, columns, &values, &rows));
    CHECK(rows == 101);
    CHECK(reference_column(series, "Potential", &column) && column == 8);
    CHECK_NEAR(values[1 * columns + column], -77468.37132, 1e-9);
    CHECK(!reference_column(series, "Pot", &column));
    free(values);
    CHECK(!reference_table(series, 12, &values, &rows));
    CHECK(!reference_table(reference_path("reference/none.txt.xz"), 3, &values, &rows));
}

int main(void)
{
    json_values();
    tables();
    return 0;
}
