# An M/M/1 queue, a torus of queues, or the drop-tail bottleneck S4a on SimPy. argv: load, size,
# horizon in seconds. Events are arrivals and departures at stations; of S4a packets sent, received
# by the router, and received by the collector.
import math, random, sys
import simpy

load, n, horizon = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
draw = random.Random(1)
env = simpy.Environment()
events = 0


def customer(server):
    global events
    with server.request() as turn:
        yield turn
        yield env.timeout(draw.expovariate(1000.0))
    events += 2


def arrivals(server):
    while True:
        yield env.timeout(draw.expovariate(800.0))
        env.process(customer(server))


def job(nodes, at):
    global events
    while True:
        with nodes[at].request() as turn:
            yield turn
            yield env.timeout(draw.expovariate(500.0))
        events += 2
        if draw.random() < 0.25:
            return
        yield env.timeout(1e-3)
        x, y = at % n, at // n
        way = draw.randrange(4)
        x, y = [((x + 1) % n, y), ((x - 1) % n, y), (x, (y + 1) % n), (x, (y - 1) % n)][way]
        at = n * y + x


def external(nodes, at):
    while True:
        yield env.timeout(draw.expovariate(100.0))
        env.process(job(nodes, at))


class Link:
    """A transmitter with a drop-tail queue, and the wire behind it; times in ns."""

    def __init__(self, rate, propagation, capacity, receive):
        self.line = simpy.Resource(env)
        self.rate, self.propagation, self.capacity = rate, propagation, capacity
        self.receive = receive

    def hop(self, packet):
        if len(self.line.queue) >= self.capacity:
            return
        with self.line.request() as turn:
            yield turn
            yield env.timeout(packet["bits"] * 1_000_000_000 // self.rate)
        yield env.timeout(self.propagation)
        self.receive(packet)


def stream(i, link):
    global events
    state, seconds, number = 12345 + i, 0.1, 0
    while True:
        state = state * 48271 % 2147483647
        seconds += -0.008 * math.log(state / 2147483647)
        at = int(seconds * 1e9)
        if at > horizon * 1e9:
            return
        yield env.timeout(at - env.now)
        number += 1
        events += 1
        packet = {"source": i, "number": number, "created": env.now, "bits": 8 * (256 + 30)}
        env.process(link.hop(packet))


def bottleneck():
    def collect(packet):
        global events
        events += 1

    def relay(packet):
        global events
        events += 1
        env.process(narrow.hop(packet))

    narrow = Link(2_000_000, 10_000_000, 20, collect)
    for i in range(n):
        env.process(stream(i, Link(10_000_000, 1_000_000, math.inf, relay)))


def build():
    if load == "queue":
        env.process(arrivals(simpy.Resource(env)))
    elif load == "torus":
        nodes = [simpy.Resource(env) for _ in range(n * n)]
        for at in range(n * n):
            env.process(external(nodes, at))
    else:
        bottleneck()


# Packets are sent until the horizon, and then the queue empties.
end = horizon if load != "bottleneck" else int((horizon + 1) * 1e9)
report(build, lambda: env.run(until=end), lambda: events)
