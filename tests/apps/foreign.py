"""What MDAnalysis and pyedr read from a run of sundog, against its own energy.csv and traj.trr.

    foreign.py FOLDER PRECISION [read_mdanalysis] [read_pyedr]

Positions of the .xtc must be those of the .trr, rounded to 1/PRECISION nm; every term of the .edr
must be the column of energy.csv, which has ten digits.
"""
import csv
import sys


def fail(text):
    sys.exit("FAILED: " + text)


def read_csv(folder):
    with open(folder + "/energy.csv", newline="") as file:
        rows = list(csv.reader(file))
    return rows[0], [[float(word) for word in row] for row in rows[1:]]


def check_edr(folder):
    import pyedr
    names, rows = read_csv(folder)
    terms = pyedr.edr_to_dict(folder + "/ener.edr")
    if len(terms) != len(names):
        fail("%d terms in ener.edr, %d columns in energy.csv" % (len(terms), len(names)))
    for column, name in enumerate(names):
        term = name.rpartition(" (")[0] or name         # without the unit, if there is one
        found = terms.get(term)
        if found is None:
            fail("ener.edr has no term " + term)
        if len(found) != len(rows):
            fail("%d frames in ener.edr, %d rows in energy.csv" % (len(found), len(rows)))
        for value, row in zip(found, rows):
            if abs(value - row[column]) > 1e-9 * max(abs(value), 1e-30):
                fail("%s at %g ps: %.12g in ener.edr, %.12g in energy.csv" %
                     (term, row[0], value, row[column]))
    print("pyedr: %d terms in %d frames" % (len(terms), len(rows)))


def check_trajectories(folder, precision):
    import MDAnalysis
    import numpy
    xtc = MDAnalysis.coordinates.XTC.XTCReader(folder + "/traj_comp.xtc", convert_units=False)
    trr = MDAnalysis.coordinates.TRR.TRRReader(folder + "/traj.trr", convert_units=False)
    if xtc.n_frames != trr.n_frames or xtc.n_frames < 2:
        fail("%d frames in the .xtc, %d in the .trr" % (xtc.n_frames, trr.n_frames))
    worst = 0.0
    for a, b in zip(xtc, trr):
        if a.time != b.time or a.n_atoms != b.n_atoms:
            fail("frames at %g and %g ps, of %d and %d atoms" %
                 (a.time, b.time, a.n_atoms, b.n_atoms))
        if numpy.abs(a.triclinic_dimensions - b.triclinic_dimensions).max() > 1e-6:
            fail("different boxes at %g ps" % a.time)
        if not b.has_velocities or not b.has_forces or not numpy.isfinite(b.forces).all():
            fail("no velocities or forces at %g ps" % a.time)
        worst = max(worst, float(numpy.abs(a.positions - b.positions).max()))
        # the grid of the compressed positions, in the single precision of the reader
        grid = a.positions.astype(float) * precision
        if a.n_atoms > 9 and numpy.abs(grid - numpy.rint(grid)).max() > 0.02:
            fail("positions are no multiples of 1/%g nm" % precision)
    # half a grid step, and rounding of coordinates of some 10 nm to single precision
    limit = (0.5 / precision if a.n_atoms > 9 else 0.0) + 4e-6
    if worst > limit:
        fail(".xtc and .trr differ by %g nm, more than %g" % (worst, limit))
    if a.n_atoms > 9 and worst < 0.4 / precision:
        fail(".xtc and .trr differ by %g nm at most: finer than asked for" % worst)
    print("MDAnalysis: %d frames of %d atoms, .xtc within %.3g nm of .trr" %
          (xtc.n_frames, a.n_atoms, worst))


if __name__ == "__main__":
    check_trajectories(sys.argv[1], float(sys.argv[2]))
    check_edr(sys.argv[1])
