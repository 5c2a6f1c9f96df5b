#!/usr/bin/env python3
"""Make the systems of this folder and their references: see README.md.

    make.py [CASE ...]      needs gmx and gmx_d (double precision) of GROMACS 2022 on PATH

A case is the solute of a system of ../peptide, built anew by gmx pdb2gmx with a stock force field,
with the ions of that system and the water around the solute.
"""
import json
import lzma
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SYSTEMS = os.path.dirname(HERE)
WATER_WITHIN = 0.45     # nm of the solute

# case: peptide system, force field, water model, other options of pdb2gmx
CASES = {
    "amber_ala": ("ala_dipeptide", "amber99sb-ildn", "tip3p", []),
    "amber_wkdpys": ("wkdpys_amber", "amber99sb-ildn", "tip3p", []),
    "opls_ala": ("ala_dipeptide", "oplsaa", "spce", []),
    "opls_wkdpys": ("wkdpys_amber", "oplsaa", "tip3p", []),
    "opls_fre": ("fre_opls", "oplsaa", "tip3p", []),
    "charmm_ala": ("ala_dipeptide", "charmm27", "tip3p", ["-nocmap"]),
    "charmm_wkdpys": ("wkdpys_amber", "charmm27", "tip3p", ["-nocmap"]),
    "charmm_fre": ("fre_opls", "charmm27", "tip3p", ["-nocmap"]),
    "gromos_ala": ("ala_dipeptide", "gromos54a7", "spc", []),
    "gromos_wkdpys": ("wkdpys_amber", "gromos54a7", "spc", []),
    "gromos_fre": ("fre_opls", "gromos54a7", "spc", []),
}
# The cap NME by force field: residue, and which of its atoms are kept
CAPS = {"amber99sb-ildn": ("NME", "N CH3"), "oplsaa": ("NAC", "N CH3"),
        "charmm27": ("CT3", "N CH3"), "gromos54a7": ("NH2", "N")}
MDP = """; Single point: energies and forces at step 0 of the positions exactly as in conf.gro
integrator               = md
continuation             = yes
dt                       = 0.0005
nsteps                   = 0
nstlist                  = 10
verlet-buffer-tolerance  = -1
rlist                    = 1.05
nstcalcenergy            = 1
nstenergy                = 1
nstfout                  = 1
cutoff-scheme            = Verlet
coulombtype              = reaction-field
rcoulomb                 = 0.9
epsilon-rf               = 0
vdwtype                  = cut-off
rvdw                     = 0.9
vdw-modifier             = potential-shift
DispCorr                 = no
constraints              = none
"""


def run(command, folder, stdin=""):
    done = subprocess.run(command, cwd=folder, input=stdin, text=True, capture_output=True)
    if done.returncode != 0:
        sys.exit("%s\n%s%s" % (" ".join(command), done.stdout, done.stderr))
    return done.stdout


def read_gro(path):
    with open(path) as file:
        lines = file.read().splitlines()
    atoms = []
    first = lines[2][20:]
    points = [i for i, c in enumerate(first) if c == "."]
    width = points[1] - points[0]
    for line in lines[2:2 + int(lines[1])]:
        x = [float(line[20 + width * k:20 + width * (k + 1)]) for k in range(3)]
        atoms.append((int(line[:5]), line[5:10].strip(), line[10:15].strip(), x))
    return atoms, [float(word) for word in lines[-1].split()[:3]]


def write_gro(path, title, atoms, box):
    with open(path, "w") as file:
        file.write("%s\n%5d\n" % (title, len(atoms)))
        for i, (residue, name, atom, x) in enumerate(atoms):
            file.write("%5d%-5s%5s%5d%8.3f%8.3f%8.3f\n" % (residue, name, atom, i + 1, *x))
        file.write("%10.5f%10.5f%10.5f\n" % tuple(box))


def near(x, solute, box):
    for y in solute:
        d = [a - b - l * round((a - b) / l) for a, b, l in zip(x, y[3], box)]
        if sum(c * c for c in d) < WATER_WITHIN ** 2:
            return True
    return False


def build(case, folder):
    """pdb2gmx for the solute; then water and ions of the system behind it."""
    peptide, field, water, options = CASES[case]
    atoms, box = read_gro(os.path.join(SYSTEMS, "peptide", peptide, "conf.gro"))
    solute = [a for a in atoms if a[1] not in ("SOL", "NA", "CL")]
    cap, kept = CAPS[field]
    given = []
    for residue, name, atom, x in solute:
        if name == "NME":
            if atom not in kept.split():
                continue
            name = cap
        if name == "ACE" and atom == "CH3" and field.startswith("gromos"):
            atom = "CA"
        given.append((residue, name, atom, x))
    write_gro(os.path.join(folder, "given.gro"), peptide, given, box)
    # no charged ends where there are caps: the last entry of each list of termini
    command = ["gmx", "pdb2gmx", "-f", "given.gro", "-ff", field, "-water", "none", "-ignh",
               "-o", "built.gro", "-p", "built.top"] + options
    stdin = ""
    if peptide != "fre_opls":
        command.append("-ter")
        stdin = terminus_answers(command, folder)
    run(command, folder, stdin)
    built, _ = read_gro(os.path.join(folder, "built.gro"))
    for i in range(0, len(atoms)):
        if atoms[i][1] == "SOL" and atoms[i][2] == "OW" and near(atoms[i][3], solute, box):
            built += atoms[i:i + 3]
    n_water = sum(a[2] == "OW" for a in built)
    ions = [a for a in atoms if a[1] in ("NA", "CL")]
    built += ions
    write_gro(os.path.join(folder, "conf.gro"), "%s with %s" % (peptide, field), built, box)
    write_top(folder, case, n_water, ions)


def terminus_answers(command, folder):
    """The menus that -ter shows, with the number of None in each."""
    done = subprocess.run(command, cwd=folder, input="0\n0\n", text=True, capture_output=True)
    answers, wanted = [], None
    for line in (done.stdout + done.stderr).splitlines():
        if re.match(r"Select (start|end) terminus", line):
            answers.append("0")
        match = re.match(r" *(\d+): None", line)
        if match and answers:
            answers[-1] = match.group(1)
    return "\n".join(answers) + "\n"


def write_top(folder, case, n_water, ions):
    peptide, field, water, _ = CASES[case]
    with open(os.path.join(folder, "built.top")) as file:
        text = file.read()
    lines, skipping = [], False
    for line in text.splitlines():
        line = line.split(";")[0].rstrip()
        if line.startswith("#ifdef POSRES"):
            skipping = True
        if skipping:
            skipping = not line.startswith("#endif")
            continue
        if line:
            lines.append(" ".join(line.split()))
    at = lines.index("[ system ]")
    molecule = lines[1:at]
    name = molecule[1].split()[0]
    molecule[1] = "SOLUTE 3"
    out = ["; %s as gmx pdb2gmx builds it with %s" % (peptide, field), lines[0]] + molecule
    out += ['#include "%s.ff/%s.itp"' % (field, water)]
    out += ['#include "%s.ff/ions.itp"' % field, "[ system ]", "%s with %s" % (peptide, field)]
    out += ["[ molecules ]", "SOLUTE 1", "SOL %d" % n_water]
    for ion in ("NA", "CL"):
        n = sum(a[1] == ion for a in ions)
        if n:
            out.append("%s %d" % (ion, n))
    assert name in lines[-1]
    with open(os.path.join(folder, "topol.top"), "w") as file:
        file.write("\n".join(out) + "\n")


def reference(folder):
    with open(os.path.join(folder, "sp_rf_nocons.mdp"), "w") as file:
        file.write(MDP)
    run(["gmx_d", "grompp", "-f", "sp_rf_nocons.mdp", "-c", "conf.gro", "-p", "topol.top", "-o",
         "run.tpr", "-maxwarn", "2"], folder)
    run(["gmx_d", "mdrun", "-s", "run.tpr", "-deffnm", "run", "-ntmpi", "1", "-ntomp", "1"], folder)
    run(["gmx_d", "energy", "-f", "run.edr", "-dp", "-o", "energy.xvg"], folder,
        "\n".join(str(k) for k in range(1, 25)) + "\n\n")
    names, values = [], []
    with open(os.path.join(folder, "energy.xvg")) as file:
        for line in file:
            match = re.match(r'@ s\d+ legend "(.*)"', line)
            if match:
                names.append(match.group(1))
            elif line[0] not in "#@":
                values = [float(word) for word in line.split()[1:]]
    energies = {}
    for name, value in zip(names, values):
        energies[name] = value
        if name == "Potential":
            break
    run(["gmx_d", "traj", "-f", "run.trr", "-s", "run.tpr", "-of", "forces.xvg", "-fp"], folder,
        "0\n")
    with open(os.path.join(folder, "forces.xvg")) as file:
        row = [line for line in file if line[0] not in "#@"][0].split()[1:]
    forces = [[float(word) for word in row[3 * i:3 * i + 3]] for i in range(len(row) // 3)]
    rms = math.sqrt(sum(c * c for f in forces for c in f) / len(forces))
    _, box = read_gro(os.path.join(folder, "conf.gro"))
    result = {"energies_kJ_per_mol": energies, "box_nm": box, "atoms": len(forces),
              "precision": "double", "force_rms": rms}
    with open(os.path.join(folder, "sp_rf_nocons.energy.json"), "w") as file:
        json.dump(result, file, indent=1)
        file.write("\n")
    text = "".join("%.8e %.8e %.8e\n" % tuple(f) for f in forces)
    with open(os.path.join(folder, "sp_rf_nocons.forces.txt.xz"), "wb") as file:
        file.write(lzma.compress(text.encode(), preset=9))


def make(case):
    with tempfile.TemporaryDirectory() as folder:
        build(case, folder)
        reference(folder)
        for names, place in ((("conf.gro", "topol.top"), os.path.join(HERE, case)),
                             (("sp_rf_nocons.mdp", "sp_rf_nocons.energy.json",
                               "sp_rf_nocons.forces.txt.xz"),
                              os.path.join(SYSTEMS, "reference", "forcefields", case))):
            os.makedirs(place, exist_ok=True)
            for name in names:
                shutil.copy(os.path.join(folder, name), os.path.join(place, name))
    print(case)


for wanted in sys.argv[1:] or CASES:
    make(wanted)
