"""heyoka on a problem: python3 heyoka_peer.py PROBLEM LIMIT TOTAL SAMPLES END; equations that are
not written here come as programs on standard input."""
import json
import sys
import time

import heyoka as hy
import numpy as np

name, total = sys.argv[1], float(sys.argv[3])
count, end = int(sys.argv[4]), float(sys.argv[5])
samples = [end * k / count for k in range(1, count + 1)]


def van_der_pol():
    x, v = hy.make_vars("x", "v")
    return [(x, v), (v, (1.0 - x * x) * v - x)], [2.0, 0.0]


def lotka():
    x, y = hy.make_vars("x", "y")
    return [(x, (1.1 - 0.4 * y) * x), (y, (0.1 * x - 0.4) * y)], [10.0, 10.0]


def of_program(program, discrete):
    """The program's registers as expressions, with discrete values as numbers."""
    states = hy.make_vars(*[f"x{i}" for i in range(program["states"])])
    first = 1 + program["states"]
    registers = list(program["constants"])
    for variable in program["inputs"]:
        if variable == 0:
            registers.append(hy.time)
        elif variable < first:
            registers.append(states[variable - 1])
        else:
            registers.append(discrete[variable - first])
    operations = {
        "Add": lambda a, b: a + b,
        "Sub": lambda a, b: a - b,
        "Mul": lambda a, b: a * b,
        "Div": lambda a, b: a / b,
        "Neg": lambda a, b: -a,
        "Sin": lambda a, b: hy.sin(a),
        "Cos": lambda a, b: hy.cos(a),
    }
    for operation, args in program["code"]:
        a, b = registers[args[0]], registers[args[1]]
        registers.append(operations[operation](a, b))
    return [(x, hy.expression(registers[k])) for x, k in zip(states, program["outputs"])]


def smooth(integrators, start):
    """Seconds, steps and samples of one run through all phases."""
    states, steps, seconds = [], 0, 0.0
    x, begin = start, 0.0
    for integrator, until in integrators:
        integrator.time = begin
        integrator.state[:] = x
        begun = time.process_time()
        steps += integrator.propagate_until(until)[3]
        seconds += time.process_time() - begun
        x, last = list(integrator.state), until
        # The samples, which are not timed.
        wanted = [s for s in samples if begin < s <= until]
        if wanted:
            integrator.time = begin
            integrator.state[:] = states_at[begin]
            grid = integrator.propagate_grid([begin] + wanted)[-1]
            states.extend(grid[1:].tolist())
        states_at[until] = x
        begin = last
    return seconds, steps, states


states_at = {}


def bounces():
    """Forty bounces, driven from Python: the callback of a terminal event resets the speed."""
    x, v = hy.make_vars("x", "v")

    def bounce(integrator, sign):
        integrator.state[0] = 0.0
        integrator.state[1] = -0.9 * integrator.state[1]
        return True

    event = hy.t_event(x, callback=bounce, direction=hy.event_direction.negative)
    integrator = hy.taylor_adaptive([(x, v), (v, hy.expression(-9.81))], [10.0, 0.0], t_events=[event])

    def run(grid):
        integrator.time = 0.0
        integrator.state[:] = [10.0, 0.0]
        integrator.reset_cooldowns()
        begun = time.process_time()
        if grid:
            return 0.0, 0, integrator.propagate_grid([0.0] + samples)[-1][1:].tolist()
        steps = integrator.propagate_until(end)[3]
        return time.process_time() - begun, steps, None

    states = run(True)[2]
    times, steps = [], 0
    for _ in range(20):
        seconds, steps, _ = run(False)
        times.append(seconds)
    return float(np.median(times)), steps, states


def main():
    if name == "bounces":
        seconds, steps, states = bounces()
    else:
        if name == "s1a":
            program = json.load(sys.stdin)
            start = program["start"]
            phases = [(of_program(program, d), until) for d, until in program["phases"]]
        else:
            equations, start = {"van-der-pol": van_der_pol, "lotka": lotka}[name]()
            phases = [(equations, end)]
        large = len(start) > 10
        integrators = [
            (hy.taylor_adaptive(e, start, compact_mode=large), until) for e, until in phases
        ]
        states_at[0.0] = start
        times = []
        for _ in range(20):
            seconds, steps, states = smooth(integrators, start)
            times.append(seconds)
            if sum(times) > total:
                break
        seconds = float(np.median(times))
        if name == "s1a":
            states = [row[: len(row) // 2] for row in states]
    flat = [value for row in states for value in row]
    run = {"method": "taylor", "tolerance": 2.0**-52, "seconds": seconds, "steps": steps, "states": flat}
    print(json.dumps(run), flush=True)


main()
