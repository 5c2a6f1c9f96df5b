#!/usr/bin/env python3
"""Make the references of position restraints of peptide/ala_dipeptide.

    posres_reference.py         needs gmx_d (double precision) of GROMACS 2022 on PATH

restraints.gro: the positions of conf.gro displaced by up to 0.03 nm, in a box 2 % larger, so that the
three ways of refcoord-scaling differ. sp_rf_posres_{no,all,com}: mdp, energies, pressure, forces.
"""
import json
import lzma
import math
import os
import re
import subprocess
import sys
import tempfile

SYSTEMS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SYSTEM = os.path.join(SYSTEMS, "peptide", "ala_dipeptide")
REFERENCE = os.path.join(SYSTEMS, "reference", "peptide", "ala_dipeptide")
PRESSURES = ["Pres-XX", "Pres-YY", "Pres-ZZ"]


def run(command, folder, stdin=""):
    done = subprocess.run(command, cwd=folder, input=stdin, text=True, capture_output=True)
    if done.returncode != 0:
        sys.exit("%s\n%s%s" % (" ".join(command), done.stdout, done.stderr))


def write_restraints():
    with open(os.path.join(SYSTEM, "conf.gro")) as file:
        lines = file.read().splitlines()
    first = lines[2][20:]
    points = [i for i, c in enumerate(first) if c == "."]
    width, n = points[1] - points[0], int(lines[1])
    out = ["reference positions of restraints", "%5d" % n]
    for i, line in enumerate(lines[2:2 + n]):
        x = [float(line[20 + width * k:20 + width * (k + 1)]) for k in range(3)]
        x = [c + 0.03 * math.sin(1.0 + 2.0 * i + 0.7 * k) for k, c in enumerate(x)]
        out.append("%s%8.3f%8.3f%8.3f" % (line[:20], *x))
    box = [1.02 * float(word) for word in lines[2 + n].split()[:3]]
    out.append("%10.5f%10.5f%10.5f" % tuple(box))
    with open(os.path.join(SYSTEM, "restraints.gro"), "w") as file:
        file.write("\n".join(out) + "\n")


def energies(folder):
    run(["gmx_d", "energy", "-f", "run.edr", "-dp", "-o", "energy.xvg"], folder,
        "\n".join(str(k) for k in range(1, 80)) + "\n\n")
    names, values = [], []
    with open(os.path.join(folder, "energy.xvg")) as file:
        for line in file:
            match = re.match(r'@ s\d+ legend "(.*)"', line)
            if match:
                names.append(match.group(1))
            elif line[0] not in "#@":
                values = [float(word) for word in line.split()[1:]]
    return dict(zip(names, values))


def reference(scaling):
    name = "sp_rf_posres_" + scaling
    with open(os.path.join(REFERENCE, "sp_rf.mdp")) as file:
        mdp = file.read()
    mdp += "define                   = -DPOSRES\nrefcoord-scaling         = %s\n" % scaling
    with open(os.path.join(REFERENCE, name + ".mdp"), "w") as file:
        file.write(mdp)
    with tempfile.TemporaryDirectory() as folder:
        run(["gmx_d", "grompp", "-f", os.path.join(REFERENCE, name + ".mdp"), "-c", os.path.join(SYSTEM, "conf.gro"), "-r",
             os.path.join(SYSTEM, "restraints.gro"), "-p", os.path.join(SYSTEM, "topol.top"),
             "-o", "run.tpr", "-maxwarn", "5"], folder)
        run(["gmx_d", "mdrun", "-s", "run.tpr", "-deffnm", "run", "-ntmpi", "1", "-ntomp", "1"],
            folder)
        terms = energies(folder)
        run(["gmx_d", "traj", "-f", "run.trr", "-s", "run.tpr", "-of", "forces.xvg", "-fp"],
            folder, "0\n")
        with open(os.path.join(folder, "forces.xvg")) as file:
            row = [line for line in file if line[0] not in "#@"][0].split()[1:]
    kept = {}
    for term, value in terms.items():
        kept[term] = value
        if term == "Potential":
            break
    pressure = {term: terms[term] for term in PRESSURES}
    with open(os.path.join(REFERENCE, name + ".energy.json"), "w") as file:
        json.dump({"energies_kJ_per_mol": kept, "pressure_bar": pressure, "precision": "double"},
                  file, indent=1)
        file.write("\n")
    text = "".join("%.8e %.8e %.8e\n" % tuple(float(w) for w in row[3 * i:3 * i + 3])
                   for i in range(len(row) // 3))
    with open(os.path.join(REFERENCE, name + ".forces.txt.xz"), "wb") as file:
        file.write(lzma.compress(text.encode(), preset=9))
    print(name, kept["Position Rest."], pressure)


write_restraints()
for way in ("no", "all", "com"):
    reference(way)
