# Hold and ring on SimPy. argv: load, entities, end, in means.
import random, sys
import simpy

load, n, end = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
draw = random.Random(1).expovariate
env = simpy.Environment()
events = 0


def timer():
    global events
    while True:
        yield env.timeout(draw(1.0))
        events += 1


def holder(inbox, outbox):
    while True:
        yield inbox.get()
        env.process(token(outbox))


def token(outbox):
    global events
    yield env.timeout(draw(1.0))
    events += 1
    outbox.put(events)


def build():
    if load == "hold":
        for _ in range(n):
            env.process(timer())
        return
    boxes = [simpy.Store(env) for _ in range(n)]
    for i in range(n):
        env.process(holder(boxes[i], boxes[(i + 1) % n]))
        boxes[i].put(i)


report(build, lambda: env.run(until=end), lambda: events)
