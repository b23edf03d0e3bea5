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
    """Forty bounces in two ways: a loop in Python that runs from event to event and resets the speed,
    and one run whose event has a callback in Python that does. Yields name, seconds, steps, samples."""
    x, v = hy.make_vars("x", "v")
    equations, begin = [(x, v), (v, hy.expression(-9.81))], [10.0, 0.0]

    def bounce(integrator, sign=None):
        integrator.state[0] = 0.0
        integrator.state[1] = -0.9 * integrator.state[1]
        return True

    def integrator(**callback):
        event = hy.t_event(x, direction=hy.event_direction.negative, **callback)
        return hy.taylor_adaptive(equations, begin, t_events=[event])

    def restart(ta):
        ta.time = 0.0
        ta.state[:] = begin
        ta.reset_cooldowns()

    def loop(ta):
        steps = 0
        while True:
            outcome, _, _, made = ta.propagate_until(end)[:4]
            steps += made
            if outcome == hy.taylor_outcome.time_limit:
                return steps
            bounce(ta)

    looping, calling = integrator(), integrator(callback=bounce)
    restart(calling)
    states = calling.propagate_grid([0.0] + samples)[-1][1:].tolist()
    ways = [
        ("taylor, loop", looping, loop),
        ("taylor, callback", calling, lambda ta: ta.propagate_until(end)[3]),
    ]
    for way, ta, run in ways:
        times, steps = [], 0
        for _ in range(20):
            restart(ta)
            begun = time.process_time()
            steps = run(ta)
            times.append(time.process_time() - begun)
        yield way, float(np.median(times)), steps, states


def tell(method, seconds, steps, states):
    """One run as a line of JSON."""
    flat = [value for row in states for value in row]
    run = {"method": method, "tolerance": 2.0**-52, "seconds": seconds, "steps": steps, "states": flat}
    print(json.dumps(run), flush=True)


def main():
    if name == "bounces":
        for way in bounces():
            tell(*way)
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
        tell("taylor", seconds, steps, states)


main()
