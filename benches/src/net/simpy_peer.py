# An M/M/1 queue, or a torus of queues, on SimPy. argv: load, size, horizon in seconds.
# Events are arrivals and departures at stations.
import json, random, sys, time
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


start = time.process_time()
if load == "queue":
    env.process(arrivals(simpy.Resource(env)))
else:
    nodes = [simpy.Resource(env) for _ in range(n * n)]
    for at in range(n * n):
        env.process(external(nodes, at))
built = time.process_time()
env.run(until=horizon)
done = time.process_time()
peak = 0
try:
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                peak = int(line.split()[1]) * 1024
except OSError:
    pass
print(json.dumps({"build_s": built - start, "run_s": done - built, "peak_bytes": peak, "events": events}))
