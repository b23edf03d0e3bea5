"""The worlds of the tests in mosaik itself; each writes the logs of its simulators into the folder argv[2]."""
import sys

import mosaik

folder = sys.argv[2]
world = mosaik.World({"Sim": {"python": "sim:Sim"}}, skip_greetings=True)


def start(name, gain=1.0, bias=0.0, drift=0.0, count=1, **more):
    sim = world.start("Sim", sim_id=name, log=f"{folder}/mosaik-{name}.log", **more)
    return sim.Model.create(count, gain=gain, bias=bias, drift=drift)


EVENTS = {"trigger": ["u"], "non-persistent": ["y"]}


def chain():
    """Time-based simulators with different steps."""
    (a,) = start("a", bias=0.1, drift=0.01, step_size=2)
    (b,), (c,) = start("b", gain=3.0, step_size=3), start("c", step_size=1)
    world.connect(a, b, ("y", "u"))
    world.connect(b, c, ("y", "u"))
    world.connect(a, c, ("y", "v"))
    return 13


def shifted():
    """A ring of time-based simulators, one connection shifted."""
    (a,), (b,) = start("a", gain=0.5, bias=1.0), start("b", gain=-0.7, bias=0.3)
    world.connect(a, b, ("y", "u"))
    world.connect(b, a, ("y", "u"), time_shifted=True, initial_data={"y": 4.0})
    return 20


def weak():
    """Two simulators iterate at one time until they rest; a third one behind hears where they end."""
    with world.group():
        (a,) = start("a", gain=0.5, bias=1.0, type="hybrid", model=EVENTS, step_size=3, rest=1e-3)
        (b,) = start("b", gain=-0.7, bias=0.3, type="event-based", step_size=0, rest=1e-3)
    (c,) = start("c", type="event-based", step_size=0)
    world.connect(a, b, ("y", "u"))
    world.connect(b, a, ("y", "u"), weak=True)
    world.connect(b, c, ("y", "u"))
    return 12


def mixed():
    """A source of events, a hybrid simulator that hears it and a signal, and an event-based one behind."""
    (a,) = start("a", bias=0.1, drift=0.3, step_size=2)
    (b,) = start("b", bias=5.0, drift=0.7, type="hybrid", model={"non-persistent": ["y"]}, step_size=3)
    (c,) = start("c", gain=2.0, type="hybrid", model={"trigger": ["u"]}, step_size=4)
    (d,) = start("d", type="event-based", step_size=0)
    world.connect(b, c, ("y", "u"))
    world.connect(a, c, ("y", "v"))
    world.connect(c, d, ("y", "u"))
    return 15


def later():
    """Outputs at a later time than the step's."""
    (a,) = start("a", bias=1.5, drift=0.1, type="hybrid", model={"non-persistent": ["y"]}, step_size=4, later=3)
    (b,) = start("b", type="event-based", step_size=0)
    world.connect(a, b, ("y", "u"))
    return 16


until = globals()[sys.argv[1]]()
world.run(until=until, print_progress=False)
