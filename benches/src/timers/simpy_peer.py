# Hold and ring on SimPy. argv: load, entities, end, in means.
import json, random, sys, time
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


start = time.process_time()
if load == "hold":
    for _ in range(n):
        env.process(timer())
else:
    boxes = [simpy.Store(env) for _ in range(n)]
    for i in range(n):
        env.process(holder(boxes[i], boxes[(i + 1) % n]))
        boxes[i].put(i)
built = time.process_time()
env.run(until=end)
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
