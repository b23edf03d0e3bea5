"""Federations and distribution beside their peers, in one run: medians of REPEAT measurements, and their ratios.

    python3 benches/federation/compare.py [--program target/release/superdense] [--repeat 5] [--only WORD]

The virtual environments are those of `tests/run`: target/helics, target/mosaik, target/mpi and target/python. What is not
there is left out, and said. A row is `what: ours, theirs, ratio, target`. Ours and theirs are measured in turn.
"""
import argparse
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
HERE = Path(__file__).resolve().parent


def run(words, **more):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, **more)
    if done.returncode != 0:
        raise RuntimeError(f"{words}: {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def timed(words, **more):
    begun = time.perf_counter()
    run(words, **more)
    return time.perf_counter() - begun


def free_port(first=24000):
    for port in range(first, first + 20000, 20):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return port
    raise RuntimeError("no free port")


class Bench:
    def __init__(self, options):
        self.program = Path(options.program).resolve()
        self.repeat, self.only, self.rows = options.repeat, options.only, []
        self.dir = Path(tempfile.mkdtemp(prefix="federations-"))

    def write(self, name, text):
        (self.dir / name).write_text(textwrap.dedent(text))

    def ours(self, *words, **more):
        return timed([self.program, *words, "--quiet", "--force"], cwd=self.dir, **more)

    def row(self, what, unit, ours, theirs, target, at_most=True):
        """Measures both in turn; the target bounds ours over theirs."""
        pairs = [(ours(), theirs()) for _ in range(self.repeat)]
        a, b = (statistics.median(p[k] for p in pairs) for k in (0, 1))
        ratio = a / b
        met = ratio <= target if at_most else ratio >= target
        self.rows.append(met)
        word = "<=" if at_most else ">="
        print(f"{what}: {a:.4g} {unit}, {b:.4g} {unit}: {ratio:.3f} {word} {target} {'met' if met else 'MISSED'}", flush=True)

    def wanted(self, word):
        return self.only in word


def helics(bench):
    python = ROOT / "target/helics/bin/python"
    package = run([python, "-c", "import helics, pathlib; print(pathlib.Path(helics.__file__).parent)"]).strip()
    install = Path(package) / "install"
    library = install / "lib64"
    loop = bench.dir / "loop"
    run(["cc", "-O2", "-I", install / "include", HERE / "loop.c", "-o", loop, "-L", library, "-l:libhelics.so.3",
         f"-Wl,-rpath,{library}"])
    steps = 2000

    def theirs():
        port = free_port()
        broker = subprocess.Popen([install / "bin/helics_broker", "-tzmq", "-f2", f"--port={port}", "--broker_key=k",
                                   "--loglevel=no_print"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.5)
        words = lambda own, other: [str(loop), str(port), "k", own, other, str(steps)]
        other = subprocess.Popen(words("b", "a"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        told = float(run(words("a", "b")))
        other.wait(), broker.wait()
        return told

    scenario = """
        stop = "{stop} ms"
        sample = "none"
        record = []
        [unit.tick]
        kind = "clock"
        period = "1 ms"
        offset = "1 ms"
        value = 1.5
        [unit.heard]
        kind = "hold"
        initial = 0.0
        [federate]
        engine = "helics"
        name = "{own}"
        broker = "{broker}"
        key = "k"
        require = ["{other}"]
        [[federate.input]]
        from = "{other}/x"
        to = "heard.u"
        [[federate.output]]
        from = "tick.y"
        as = "{own}/x"
    """

    def lasts(stop):
        port = free_port()
        broker = subprocess.Popen([install / "bin/helics_broker", "-tzmq", "-f2", f"--port={port}", "--broker_key=k",
                                   "--loglevel=no_print"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.5)
        for own, other in (("a", "b"), ("b", "a")):
            bench.write(f"{own}.toml", scenario.format(stop=stop, own=own, other=other, broker=f"127.0.0.1:{port}"))
        more = dict(env={**os.environ, "HELICS_LIBRARY": str(library / "libhelics.so.3")})
        beside = subprocess.Popen([str(bench.program), "run", "b.toml", "--quiet", "--force"], cwd=bench.dir, **more)
        bench.ours("run", "a.toml", **more)
        beside.wait(), broker.wait()
        lines = (bench.dir / "out/a/federation/inbound.csv").read_text().count("\n") - 1
        assert lines >= stop - 1, lines
        return float(json.loads((bench.dir / "out/a/performance.json").read_text())["wall_seconds"])

    # What joining and leaving costs is in both, and not in the difference.
    ours = lambda: 1e6 * (lasts(steps + 200) - lasts(200)) / steps
    bench.row("two federates, a double each way, zmq, against C", "us/step", ours, theirs, 1.15)


def mosaik(bench):
    python = ROOT / "target/mosaik/bin/python"
    shutil.copy(HERE / "sims.py", bench.dir)
    steps = 4000
    bench.write("host.toml", f"""
        sample = "none"
        record = []
        connections = ["a.y -> b.u", "b.y -> a.u"]
        [unit.a]
        kind = "mosaik"
        command = "{python} sims.py {{address}}"
        resolution = "1 s"
        [unit.a.create.adder]
        model = "Adder"
        inputs.u = {{ attribute = "u", shifted = true, initial = 0.0 }}
        outputs.y = {{ attribute = "y", initial = 0.0 }}
        [unit.b]
        kind = "mosaik"
        command = "{python} sims.py {{address}}"
        resolution = "1 s"
        [unit.b.create.adder]
        model = "Adder"
        inputs.u = {{ attribute = "u", initial = 0.0 }}
        outputs.y = {{ attribute = "y", initial = 0.0 }}
    """)
    bench.write("world.py", f"""
        import sys
        import time
        import mosaik
        world = mosaik.World({{"A": {{"cmd": "{python} sims.py %(addr)s"}}, "B": {{"cmd": "{python} sims.py %(addr)s"}}}})
        a, b = (world.start(name).Adder() for name in "AB")
        world.connect(a, b, ("y", "u"))
        world.connect(b, a, ("y", "u"), time_shifted=True, initial_data={{"y": 0.0}})
        begun = time.perf_counter()
        world.run(until=int(sys.argv[1]), print_progress=False)
        print("took", time.perf_counter() - begun)
    """)

    def theirs():
        told = run([python, "world.py", steps], cwd=bench.dir)
        return 1e3 * float(told.split("took ")[1].split()[0]) / steps

    def lasts(stop):
        bench.ours("run", "host.toml", "--until", stop)
        return float(json.loads((bench.dir / "out/host/performance.json").read_text())["wall_seconds"])

    ours = lambda: 1e3 * (lasts(steps + 200) - lasts(200)) / steps
    bench.row("mosaik host, two simulators in Python, against mosaik", "ms/step", ours, theirs, 0.75)


def ranks(bench):
    mpi = ROOT / "target/mpi"
    file = ROOT / "scenarios/library/network/s4b.toml"
    sizes = ["--set", "torus.n=100", "--set", "duration=1.5s", "--set", "warm_up=0.2s", "--sample", "none"]

    def speed(words, **more):
        bench.ours("run", file, "--out", "ranks", *sizes, *words, **more)
        return 1 / float(json.loads((bench.dir / "ranks/performance.json").read_text())["wall_seconds"])

    theirs = lambda: speed(["--executor", "conservative", "--workers", 2])
    over = ["--hosts", "localhost:2", "--mpi", mpi]
    bench.row("two ranks, shared memory, against `conservative`", "1/s", lambda: speed(over), theirs, 0.9, False)
    tcp = {**os.environ, "MPIR_CVAR_NOLOCAL": "1", "MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp"}
    bench.row("two ranks over TCP, against `conservative`", "1/s", lambda: speed(over, env=tcp), theirs, 0.8, False)


def dask(bench):
    python = ROOT / "target/python/bin/python"
    bench.write("small.toml", """
        stop = "1 s"
        sample = "none"
        [parameters]
        k = 1.0
        [unit.ramp]
        kind = "equations"
        states = { x = 1.0 }
        derivatives = { x = "k" }
        outputs = { x = "x" }
        [result]
        top = "final(ramp.x)"
    """)
    jobs = 300
    bench.write("small.study.toml", f"""
        scenario = "small.toml"
        [vary]
        k = {{ from = 0.0, to = 1.0 }}
        [ask.all]
        method = "grid"
        over = {{ k = {jobs} }}
    """)
    bench.write("cluster.py", f"""
        import subprocess, sys, time
        from distributed import Client, LocalCluster

        def job(k):
            return subprocess.run(["true"], check=True).returncode

        if __name__ == "__main__":
            with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
                client.gather(client.map(job, range(20), pure=False))
                if sys.argv[1] == "jobs":
                    begun = time.perf_counter()
                    client.gather(client.map(job, range({jobs}), pure=False))
                    print("took", time.perf_counter() - begun)
                else:
                    import superdense
                    client.gather(client.map(lambda k: __import__("superdense").__name__, range(20), pure=False))
                    study = superdense.Study("small.study.toml", out=sys.argv[2])
                    begun = time.perf_counter()
                    study.run(executor=client.get_executor(pure=False), workers=8)
                    print("took", time.perf_counter() - begun)
    """)

    number = iter(range(10**6))

    def took(*words):
        told = run([python, "cluster.py", *words], cwd=bench.dir)
        return 1e3 * float(told.split("took ")[1].split()[0]) / jobs

    ours = lambda: took("study", f"out/study-{next(number)}")
    bench.row("300 runs by Dask, against subprocesses by Dask", "ms/job", ours, lambda: took("jobs"), 1.5)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=ROOT / "target/release/superdense")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--only", default="", help="helics, mosaik, ranks or dask")
    options = parser.parse_args()
    bench = Bench(options)
    for suite in (helics, mosaik, ranks, dask):
        if not bench.wanted(suite.__name__):
            continue
        try:
            suite(bench)
        except (RuntimeError, OSError) as why:
            print(f"{suite.__name__}: left out: {why}", flush=True)
    shutil.rmtree(bench.dir, ignore_errors=True)
    missed = bench.rows.count(False)
    print(f"{missed} targets not met" if missed else "all targets met")


if __name__ == "__main__":
    sys.exit(main())
