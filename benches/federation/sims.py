"""Two simulators of mosaik for the comparison: each adds one to what it hears. sims.py ADDRESS"""
import mosaik_api_v3


class Adder(mosaik_api_v3.Simulator):
    def __init__(self):
        attrs = ["u", "y"]
        super().__init__(
            {"api_version": "3.0", "type": "time-based", "models": {"Adder": {"public": True, "params": [], "attrs": attrs}}}
        )
        self.y = 0.0

    def create(self, num, model):
        return [{"eid": "adder", "type": model}]

    def step(self, time, inputs, max_advance):
        heard = inputs.get("adder", {}).get("u", {})
        self.y = sum(heard.values()) + 1.0
        return time + 1

    def get_data(self, outputs):
        return {"adder": {"y": self.y}}


if __name__ == "__main__":
    mosaik_api_v3.start_simulation(Adder())
