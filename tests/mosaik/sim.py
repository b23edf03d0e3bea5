"""A simulator of the tests. What it is and does stands in the parameters of `init`.

Each entity has y = gain * (sum of u and v) + bias + drift * time. A line per step is logged: time, inputs, and how far the
simulator might have advanced.
"""
import json
import os
import signal
import sys
import time as clock

import mosaik_api_v3


class Sim(mosaik_api_v3.Simulator):
    def __init__(self):
        super().__init__({"models": {}})

    def init(self, sid, time_resolution=1.0, type="time-based", step_size=1, log=None, model=None,
             version="3.0", fault="", fault_at=2, rest=0.0, later=0, limit=None, names=None):
        self.step_size, self.fault, self.fault_at = step_size, fault, fault_at
        self.rest, self.later, self.limit = rest, later, limit
        self.log = open(log, "w") if log else None
        self.resolution = time_resolution
        model = {"public": True, "params": ["gain", "bias", "drift"], "attrs": ["u", "v", "y", "text"], **(model or {})}
        self.meta = {"api_version": version, "type": type, "models": {"Model": model, "Child": model}}
        self.entities, self.y, self.sent, self.names = {}, {}, {}, names
        if fault == "silent init":
            clock.sleep(60)
        return self.meta

    def create(self, num, model, gain=1.0, bias=0.0, drift=0.0):
        made = []
        for _ in range(num):
            eid = f"{model}_{len(self.entities)}"
            self.entities[eid] = (gain, bias, drift)
            child = {"eid": f"{eid}-child", "type": "Child", "rel": [eid]}
            self.entities[child["eid"]] = (gain, bias, drift)
            made.append({"eid": eid, "type": model, "rel": [], "children": [child]})
        return made[1:] if self.fault == "few" else made

    def setup_done(self):
        if self.fault == "die early":
            raise SystemExit("no fuel at the start")

    def step(self, time, inputs, max_advance):
        if self.log:
            self.log.write(json.dumps([time, inputs, max_advance]) + "\n")
            self.log.flush()
        if self.fault and time >= self.fault_at:
            if self.fault in ("past", "half", "never"):
                return {"past": time, "half": time + 0.5, "never": None}[self.fault]
            self.fail()
        self.now, self.y = time, {}
        for eid, (gain, bias, drift) in self.entities.items():
            told = inputs.get(eid, {})
            values = [x for attr in ("u", "v") for x in told.get(attr, {}).values()]
            self.y[eid] = gain * sum(values) + bias + drift * time
        if self.limit is not None and time >= self.limit:
            return None
        return time + self.step_size if self.step_size else None

    def fail(self):
        if self.fault == "killed":
            print("the oil is gone", file=sys.stderr, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        if self.fault == "stopped":
            os.kill(os.getpid(), signal.SIGSTOP)
        if self.fault == "raised":
            raise ValueError("the oil is cold")

    def get_data(self, outputs):
        if self.fault in ("nan", "text", "missing") and self.now >= self.fault_at:
            bad = {"nan": float("nan"), "text": "warm"}.get(self.fault)
            return {e: {} if bad is None else {a: bad for a in attrs} for e, attrs in outputs.items()}
        data = {}
        for eid, attrs in outputs.items():
            y = self.y[eid]
            # A value that does not move any more is no event.
            if self.rest and abs(y - self.sent.get(eid, 0.0)) < self.rest:
                continue
            self.sent[eid] = y
            data[eid] = {a: f"at {self.now}" if a == "text" else y for a in attrs}
        if self.later:
            data["time"] = self.now + self.later
        return data


class Asks(Sim):
    """Asks its host for things during a step."""

    def step(self, time, inputs, max_advance):
        progress = yield self.mosaik.get_progress()
        around = yield self.mosaik.get_related_entities()
        one = yield self.mosaik.get_related_entities(sorted(around["nodes"])[0])
        self.log.write(json.dumps([time, progress, around, one]) + "\n")
        self.log.flush()
        if self.fault:
            yield self.mosaik.set_event(time + 5)
        return super().step(time, inputs, max_advance)


if __name__ == "__main__":
    kind = Asks if "--asks" in sys.argv else Sim
    sys.argv = [a for a in sys.argv if a != "--asks"]
    mosaik_api_v3.start_simulation(kind())
