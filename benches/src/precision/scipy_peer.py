"""scipy on a problem: python3 scipy_peer.py PROBLEM LIMIT TOTAL SAMPLES ABSOLUTE END."""
import json
import sys
import time

import numpy as np
from scipy import sparse
from scipy.integrate import solve_ivp

name, limit, total = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
count, absolute, end = int(sys.argv[4]), float(sys.argv[5]), float(sys.argv[6])
samples = end * np.arange(1, count + 1) / count


class Slow(Exception):
    pass


class Problem:
    events = None
    lower = upper = None
    jacobian = None
    phases = [(end, 0.0)]


def advection():
    p, n = Problem(), 1000
    p.start = np.where(np.arange(n) < n // 3, 1.0, 0.0)

    def f(t, u, _):
        left = np.empty(n)
        left[0], left[1:] = 1.0, u[:-1]
        return n * (left - u) - 1000.0 * u * (u - 0.5) * (u - 1.0)

    def jacobian(t, u, _):
        diagonal = -n - 1000.0 * (3.0 * u * u - 3.0 * u + 0.5)
        return sparse.diags([diagonal, np.full(n - 1, float(n))], [0, -1], format="csc")

    p.f, p.jacobian, p.lower, p.upper = f, jacobian, 1, 0
    return p


def line():
    p, n = Problem(), 200
    p.start = np.zeros(n)

    def f(t, x, source):
        d = np.empty(n)
        d[0] = source - x[1]
        d[1:-1] = x[:-2] - x[2:]
        d[-1] = x[-2]
        return d

    matrix = sparse.diags([np.ones(n - 1), -np.ones(n - 1)], [-1, 1], format="csc")
    p.f, p.jacobian, p.lower, p.upper = f, lambda t, x, _: matrix, 1, 1
    p.phases = [(1.0, 1.0), (end, 0.0)]
    return p


def van_der_pol(mu):
    p = Problem()
    p.start = np.array([2.0, 0.0])
    p.f = lambda t, x, _: [x[1], mu * (1.0 - x[0] * x[0]) * x[1] - x[0]]
    p.jacobian = lambda t, x, _: [[0.0, 1.0], [-2.0 * mu * x[0] * x[1] - 1.0, mu * (1.0 - x[0] * x[0])]]
    return p


def lotka():
    p = Problem()
    p.start = np.array([10.0, 10.0])
    p.f = lambda t, x, _: [(1.1 - 0.4 * x[1]) * x[0], (0.1 * x[0] - 0.4) * x[1]]
    p.jacobian = lambda t, x, _: [[1.1 - 0.4 * x[1], -0.4 * x[0]], [0.1 * x[1], 0.1 * x[0] - 0.4]]
    return p


def bounces():
    p = Problem()
    p.start = np.array([10.0, 0.0])
    p.f = lambda t, x, _: [x[1], -9.81]
    p.jacobian = lambda t, x, _: [[0.0, 1.0], [0.0, 0.0]]

    def floor(t, x, _):
        return x[0]

    floor.terminal, floor.direction = True, -1
    p.events = floor
    return p


PROBLEMS = {
    "advection": advection,
    "lc-line": line,
    "van-der-pol": lambda: van_der_pol(1.0),
    "stiff": lambda: van_der_pol(1000.0),
    "lotka": lotka,
    "bounces": bounces,
}


def solve(p, method, tolerance):
    begun, steps, states = time.process_time(), 0, []
    calls = 0

    def f(t, x, source):
        nonlocal calls
        calls += 1
        if calls % 256 == 0 and time.process_time() - begun > limit:
            raise Slow
        return p.f(t, x, source)

    options = {}
    if method in ("Radau", "BDF"):
        options["jac"] = p.jacobian
    if method == "LSODA" and p.lower is not None:
        options["lband"], options["uband"] = p.lower, p.upper
    t, x = 0.0, p.start
    for until, source in p.phases:
        while t < until:
            wanted = samples[(samples > t) & (samples <= until)]
            found = solve_ivp(
                f, (t, until), x, method, dense_output=True, events=p.events, args=(source,),
                rtol=tolerance, atol=tolerance * absolute, **options,
            )
            if found.status < 0:
                raise RuntimeError(found.message)
            steps += len(found.t) - 1
            last = found.t[-1]
            for sample in wanted[wanted <= last]:
                states.append(found.sol(sample))
            t, x = last, found.y[:, -1]
            if found.status == 1:
                x = np.array([0.0, -0.9 * x[1]])
    return time.process_time() - begun, steps, np.concatenate(states)


def main():
    if name not in PROBLEMS:
        return
    p = PROBLEMS[name]()
    for method in ["RK45", "DOP853", "LSODA", "Radau", "BDF"]:
        for exponent in range(2, 13):
            tolerance = 10.0 ** -exponent
            run = {"method": method, "tolerance": tolerance}
            try:
                seconds, steps, states = solve(p, method, tolerance)
                times = [seconds]
                for _ in range(min(int(total / max(seconds, 1e-6)), 20)):
                    times.append(solve(p, method, tolerance)[0])
                run |= {"seconds": float(np.median(times)), "steps": steps, "states": states.tolist()}
            except Slow:
                run["failed"] = f"takes more than {limit} s"
            except Exception as error:
                run["failed"] = str(error)
            print(json.dumps(run), flush=True)
            if "failed" in run:
                break


main()
