"""Runs, arrays, tables and errors of the package."""

import json
import os
import pickle
import signal
import subprocess
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import superdense as sd

LIBRARY = Path(__file__).parents[2] / "scenarios" / "library"
BALL = {
    "stop": "2 s",
    "record": ["ball.height"],
    "sample": "0.5 s",
    "unit": {
        "ball": {
            "kind": "equations",
            "states": {"x": 1.0, "v": 0.0},
            "derivatives": {"x": "v", "v": "-9.81"},
            "outputs": {"height": "x", "speed": "v"},
            "event": [{"name": "bounce", "when": "x <= 0 and v < 0", "reset": {"v": "-0.8*v"}}],
        }
    },
    "result": {"first": "first(event('ball', 'bounce'))", "late": "first(ball.height > 2)"},
}


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_results_arrays_and_events() -> None:
    scenario = sd.Scenario(BALL)
    run = scenario.run()
    assert abs(run.results["first"] - (2 / 9.81) ** 0.5) < 2e-9
    assert run.results["late"] is None
    assert run.time.tolist() == [0, 0.5, 1, 1.5, 2]
    height = run["ball.height"]
    assert height[0] == 1 and not height.flags.writeable and height.flags.c_contiguous
    assert run.events["event"][0] == "bounce" and len(run.events["time"]) == run.events.rows
    again = scenario.run(set={"unit.ball.states.x": 2.0}, until=1, sample="250 ms")
    del run
    assert height.sum() > 0, "an array outlives its run"
    assert again["ball.height"][0] == 2 and again.time[-1] == 1
    assert scenario.run().trace_hash == scenario.run(executor="time-warp", workers=2).trace_hash
    with pytest.raises(KeyError, match=r'record = \["ball.speed"\]'):
        again["ball.speed"]


def test_scenarios_stay_as_they_were_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever becomes of the working directory and of the file; and dictionaries need no file at all."""
    text = 'stop = 1\n[unit.u]\nkind = "equations"\nstates = { x = 0 }\nderivatives = { x = "2" }\n'
    text += 'outputs = { x = "x" }\n[result]\nend = "final(u.x)"\n'
    (tmp_path / "a.toml").write_text(text)
    monkeypatch.chdir(tmp_path)
    scenario = sd.load("a.toml")
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    (tmp_path / "a.toml").write_text(text.replace('"2"', '"3"'))
    assert scenario.run().results["end"] == pytest.approx(2)
    assert sd.load("../a.toml").run().results["end"] == pytest.approx(3)
    ball = sd.Scenario(BALL)
    copy = pickle.loads(pickle.dumps(ball))
    assert os.listdir() == [] and copy.run().trace_hash == ball.run().trace_hash
    for _ in range(2):
        # A cell of a notebook, twice.
        sd.Scenario(BALL).run(out="again")
    monkeypatch.chdir("/")
    with pytest.raises(TypeError, match="is made of a dictionary"):
        sd.Scenario("stop = 1")


def test_columns_have_the_types_that_the_program_knows() -> None:
    table = {"states": ["007", "08"], "initial": "007", "outputs": [],
             "transitions": [{"from": "007", "to": "08", "after": "0.5 s"}]}
    scenario = sd.Scenario({**BALL, "record": ["ball.height", "nan.state"],
                            "unit": {**BALL["unit"], "nan": {"kind": "automaton", **table}}})
    run = scenario.run()
    assert run["nan.state"] == ["", "08", "08", "08", "08"]
    assert set(run.events["unit"]) <= {"ball", "nan"} and isinstance(run.events["unit"], list)
    short = scenario.run(until="0.1 s")
    assert short.events.rows == 0 and short.events["event"] == []
    ends = sd.Scenario(BALL).run(sample="none")
    assert ends.time.tolist() == [0, 2] and ends["ball.height"][0] == 1


def test_values_of_numpy_and_computed_times() -> None:
    scenario = sd.Scenario(BALL)
    assert scenario.run(until=0.1 + 0.2).summary["end_time"] == 0.3
    assert scenario.run(until=1 / 3, sample=np.float64(1) / 9, seed=np.int64(3)).summary["seed"] == 3
    vector = sd.Scenario({"stop": 1, "parameters": {"k": [1.0, 2.0]}, "unit": {"u": {
        "kind": "equations", "states": {"x": 0.0}, "derivatives": {"x": "k[1]"}, "outputs": {"x": "x"}}},
        "result": {"end": "final(u.x)"}})
    assert vector.run(set={"k": np.array([4.0, 5.0])}).results["end"] in (4.0, 5.0)
    for option, wrong in (("seed", -1), ("workers", 0), ("seed", 2**64)):
        with pytest.raises(ValueError, match="give a whole number from"):
            scenario.run(**{option: wrong})
    with pytest.raises(TypeError, match="give a whole number from"):
        scenario.run(seed="3")
    with pytest.raises(TypeError, match="h = None: give a number"):
        scenario.run(set={"h": None})


def test_warnings_are_pythons() -> None:
    lonely = {"kind": "equations", "inputs": {"q": 0}, "states": {"x": 0}, "derivatives": {"x": "q"}}
    with pytest.warns(sd.ScenarioWarning, match="is not connected"):
        sd.Scenario({"stop": 1, "unit": {"u": lonely}})


def test_the_command_has_equal_hashes(tmp_path: Path) -> None:
    command = os.environ.get("SUPERDENSE")
    if command is None:
        pytest.skip("SUPERDENSE names no command")
    file = LIBRARY / "queue.toml"
    line = [command, "run", str(file), "--until", "100", "--out", str(tmp_path / "out"), "--json", "--seed", "5"]
    told = json.loads(subprocess.run(line, check=True, capture_output=True, text=True).stdout)["summary"]
    run = sd.load(file).run(until=100, seed=5)
    assert run.trace_hash == told["trace_hash"] and run.summary["results"] == told["results"]


def test_tables_in_pandas_and_polars() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    run = sd.load(LIBRARY / "queue.toml").run(until=5, trajectory=True)
    assert run.trajectory.rows > 0
    run = sd.Scenario(BALL).run()
    frame = pandas.DataFrame(run.samples)
    assert list(frame.columns) == ["time", "ball.height"] and frame["ball.height"].iloc[0] == 1
    assert polars.DataFrame(run.events)["event"].to_list() == run.events["event"]


def test_directories(tmp_path: Path) -> None:
    scenario = sd.Scenario(BALL, folder=tmp_path)
    a = scenario.run(out=tmp_path / "a")
    b = scenario.run({"unit.ball.states.x": 2}, out=tmp_path / "b")
    assert a["ball.height"].tolist() == scenario.run()["ball.height"].tolist()
    assert not sd.compare(a, b)["equal"] and sd.compare(a, a)["equal"]
    assert "bounce" in a.report(tmp_path / "a.html").read_text()
    with pytest.raises(sd.RunError, match="force"):
        (tmp_path / "c").mkdir()
        (tmp_path / "c" / "mine").write_text("mine")
        scenario.run(out=tmp_path / "c")
    with pytest.raises(ValueError, match="out="):
        sd.compare(scenario.run(), a)


def test_mistakes_have_places(tmp_path: Path) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text('stop = "1 s"\n[unit.a]\nkind = "gian"\n')
    with pytest.raises(sd.ScenarioError) as caught:
        sd.load(file)
    (mistake,) = caught.value.mistakes
    assert (mistake.code, mistake.line, mistake.column) == ("unknown-kind", 3, 9)
    assert mistake.help == "did you mean `gain`?" and str(file) == mistake.file
    with pytest.raises(sd.ScenarioError, match="nonsense"):
        sd.Scenario(BALL).run(set={"nonsense": 1})
    with pytest.raises(ValueError, match="sequential, time-warp"):
        sd.Scenario(BALL).run(executor="fast")


def test_failures_have_places() -> None:
    unit = {"kind": "equations", "states": {"x": 1}, "derivatives": {"x": "-1/sqrt(x)"}, "outputs": {"x": "x"}}
    with pytest.raises(sd.RunError) as caught:
        sd.Scenario({"stop": "9 s", "unit": {"a": unit}}).run()
    # x = (1 - 3 t/2)^(2/3) ends at 2/3 s.
    assert caught.value.unit == "a" and abs(caught.value.time - 2 / 3) < 1e-3


def test_interrupt_ends_a_run_soon() -> None:
    scenario = sd.load(LIBRARY / "queue.toml")
    sent = []

    def press() -> None:
        time.sleep(0.3)
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press).start()
    with pytest.raises(KeyboardInterrupt):
        scenario.run(until=1e8, sample="none")
    assert time.perf_counter() - sent[0] < 1.0


def test_threads_run_side_by_side() -> None:
    """While a run goes on, other threads of the interpreter do."""
    scenario = sd.load(LIBRARY / "queue.toml")
    worker = threading.Thread(target=scenario.run, kwargs={"until": 300, "sample": "none"})
    worker.start()
    turns = 0
    while worker.is_alive():
        time.sleep(0.001)
        turns += 1
    assert turns > 10


def test_runs_leave_no_memory() -> None:
    scenario = sd.Scenario(BALL)
    for _ in range(200):
        scenario.run()
    before = resident()
    for _ in range(2000):
        scenario.run()
    assert resident() - before < 2 << 20


def test_pictures() -> None:
    text = sd.Scenario(BALL).run()._repr_html_()
    assert "<svg" in text and "<script" not in text and "never" in text
    assert np.isfinite(sd.Scenario(BALL).run()["ball.height"]).all()


def test_texts_in_lists_are_quoted() -> None:
    text = {
        "stop": "1 s",
        "record": ["a.y"],
        "unit": {name: {"kind": "constant", "value": 1.0} for name in ("a", "b")},
    }
    run = sd.Scenario(text).run(set={"record": ["b.y"]}, trajectory=True)
    assert set(run.trajectory["signal"]) == {"b.y"}


def test_ticks_are_whole_numbers() -> None:
    clock = {"kind": "clock", "period": "10000.000000000001 s"}
    text = {"stop": "15000 s", "resolution": "ps", "record": ["c.y"], "unit": {"c": clock}}
    run = sd.Scenario(text).run(trajectory=True)
    assert run.trajectory["tick"].dtype == np.int64 and run.trajectory["micro"].dtype == np.int64
    assert 10000000000000001 in run.trajectory["tick"]


def test_directories_stay_where_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    unit = {"a": {"kind": "constant", "value": 1.0}}
    run = sd.Scenario({"stop": "1 s", "unit": unit}).run(out="here")
    monkeypatch.chdir("/")
    run.report(tmp_path / "page.html")
    assert (tmp_path / "page.html").exists()
