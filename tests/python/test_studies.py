"""Studies: threads, processes, answers and tables."""

import os
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest

import superdense as sd

SCENARIO = """
stop = "1 s"
[parameters]
height = 1.0
[unit.ball]
kind = "equations"
states = { x = "height", v = 0 }
derivatives = { x = "v", v = "-9.81" }
outputs = { x = "x" }
[[unit.ball.event]]
name = "bounce"
when = "x <= 0 and v < 0"
reset = { v = "-0.8*v" }
[result]
first = "first(event('ball', 'bounce'))"
"""
STUDY = """
scenario = "ball.toml"
[vary]
height = { from = 0.5, to = 2.0, step = 0.01 }
[ask.limit]
method = "boundary"
over = "height"
keep = "first < 0.5"
[ask.map]
method = "grid"
over = { height = [0.5, 1.0, 2.0] }
"""


def study(folder: Path, name: str) -> sd.Study:
    (folder / "ball.toml").write_text(SCENARIO)
    (folder / "limit.toml").write_text(STUDY)
    return sd.Study(folder / "limit.toml", out=folder / name)


def test_answers_and_table(tmp_path: Path) -> None:
    limit = study(tmp_path, "out")
    answers = limit.run()
    # The first bounce is at sqrt(2 h / g) = 0.5 s for h = 1.22625.
    assert (answers["limit"]["holds"], answers["limit"]["fails"]) == (1.22, 1.23)
    assert answers["limit"]["words"] == "first < 0.5 holds up to height = 1.22, fails from 1.23"
    table = limit.table()
    assert table.rows >= limit.runs == limit.fresh and set(table["ask"]) == {"limit", "map"}
    limit.run()
    assert limit.fresh == 0 and limit.answers == answers


@pytest.mark.parametrize("pool", [ProcessPoolExecutor, ThreadPoolExecutor])
def test_executors_give_equal_files(tmp_path: Path, pool: type) -> None:
    here = study(tmp_path, "here")
    here.run(workers=2)
    with pool(2) as executor:
        there = study(tmp_path, "there")
        there.run(executor=executor)
    for name in ("results.csv", "answers.json"):
        assert (here.out / name).read_bytes() == (there.out / name).read_bytes()


def test_what_breaks_an_executor_is_no_failed_run(tmp_path: Path) -> None:
    limit = study(tmp_path, "out")
    shut = ThreadPoolExecutor(2)
    shut.shutdown()
    with pytest.raises(RuntimeError, match="shutdown"):
        limit.run(executor=shut)
    with ProcessPoolExecutor(1) as broken:
        with pytest.raises(BrokenProcessPool):
            broken.submit(os._exit, 1).result()
        with pytest.raises(BrokenProcessPool):
            limit.run(executor=broken)
    with pytest.raises(AttributeError, match="submit"):
        limit.run(executor=3)  # type: ignore[arg-type]
    # Nothing of it was kept.
    assert limit.run()["limit"]["holds"] == 1.22 and limit.failed == 0


def test_dask_gives_equal_files(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    here = study(tmp_path, "here")
    here.run(workers=1)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        there = study(tmp_path, "there")
        there.run(executor=client.get_executor(pure=False))
    for name in ("results.csv", "answers.json"):
        assert (here.out / name).read_bytes() == (there.out / name).read_bytes()


def test_the_command_hands_runs_to_dask(tmp_path: Path) -> None:
    """A worker is killed meanwhile, and others do its runs."""
    distributed = pytest.importorskip("distributed")
    program = os.environ.get("SUPERDENSE") or shutil.which("superdense")
    assert program, "SUPERDENSE names the program"
    here = study(tmp_path, "here")
    here.run(workers=1)
    # The study varies in steps that take a while, so that one is under way when the worker dies.
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        address = cluster.scheduler_address.removeprefix("tcp://")
        line = [program, "study", "limit.toml", "--on", f"dask:{address}", "--out", "there"]
        env = {**os.environ, "SUPERDENSE_PYTHON": sys.executable}
        running = subprocess.Popen(line, cwd=tmp_path, env=env, stdout=subprocess.PIPE, text=True)
        victim = next(iter(cluster.workers.values()))
        os.kill(victim.process.pid, signal.SIGKILL)
        told, _ = running.communicate(timeout=120)
    assert running.returncode == 0 and "holds up to height = 1.22" in told, told
    for name in ("results.csv", "answers.json"):
        assert (here.out / name).read_bytes() == (tmp_path / "there" / name).read_bytes()
    done = subprocess.run([program, "study", "limit.toml", "--on", "dask:127.0.0.1:1"], cwd=tmp_path, env=env,
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 2 and "no scheduler at 127.0.0.1:1" in done.stderr, done.stderr


def test_report_of_a_study(tmp_path: Path) -> None:
    limit = study(tmp_path, "out")
    with pytest.raises(sd.RunError, match="no study here|holds no run"):
        limit.report(tmp_path / "a.html")
    limit.run()
    page = limit.report(tmp_path / "a.html").read_text()
    assert "first < 0.5 holds up to height = 1.22, fails from 1.23".replace("<", "\\u003c") in page


def test_mistakes(tmp_path: Path) -> None:
    wrong = study(tmp_path, "out")
    wrong.file.write_text(STUDY.replace("first <", "frist <"))
    with pytest.raises(sd.ScenarioError) as caught:
        wrong.run()
    assert caught.value.mistakes[0].line is not None
    with pytest.raises(sd.ScenarioError, match="questions are limit, map"):
        study(tmp_path, "out").run(ask="none")


def test_the_store_remembers_what_it_is_told(tmp_path: Path) -> None:
    """Golden-section search by hand for the height whose first bounce is at 0.4 s."""
    asked = study(tmp_path, "out")
    scenario = sd.load(tmp_path / "ball.toml")
    made = 0

    def miss(height: float) -> float:
        nonlocal made
        point = asked.ask({"height": height})
        if point.results is None:
            asked.tell(point, scenario.run(set=point))
            made += 1
            point = asked.ask(point)
        assert point.results is not None and point.results["first"] is not None
        return abs(point.results["first"] - 0.4)

    heights = [0.5 + 0.05 * k for k in range(20)]
    assert min(heights, key=miss) == pytest.approx(0.8) and made == 20
    assert min(heights, key=miss) == pytest.approx(0.8) and made == 20
    # The grid of the study has two of these points: they are not run again.
    answers = asked.run(ask="map")
    assert asked.fresh == 1 and asked.runs == 3, answers
    # Who only asks leaves the tables, and writes a value as the study does.
    assert asked.ask({"height": 2}).results is not None
    assert asked.ask({"height": 0.501}) == {"height": "0.5"}
    assert asked.table().rows == 3
    with pytest.raises(sd.ScenarioError, match="did you mean `height`"):
        asked.ask({"heigt": 1})


def test_the_store_takes_the_failure_of_a_run(tmp_path: Path) -> None:
    text = SCENARIO.replace("v = \"-9.81\"", "v = \"if x < 0.6 then 1/0 else -9.81\"")
    asked = study(tmp_path, "out")
    (tmp_path / "ball.toml").write_text(text)
    scenario = sd.load(tmp_path / "ball.toml")
    point = asked.ask({"height": 1.5})
    with pytest.raises(sd.RunError) as failed:
        scenario.run(set=point)
    asked.tell(point, failed.value)
    again = asked.ask({"height": 1.5})
    assert again.results is None and again.failed == str(failed.value)
    with pytest.raises(sd.ScenarioError, match="the run is none of this point"):
        asked.tell(asked.ask({"height": 1.6}), failed.value)
    with pytest.raises(sd.ScenarioError, match="tell takes a run"):
        asked.tell(point, None)  # type: ignore[arg-type]


def test_the_store_takes_no_run_of_another_point(tmp_path: Path) -> None:
    study(tmp_path, "out")
    scenario = sd.load(tmp_path / "ball.toml")
    # A point has the study's own settings, too.
    asked = sd.Study(tmp_path / "limit.toml", set={"unit.ball.derivatives.v": "-1.62"}, out=tmp_path / "moon")
    point = asked.ask({"height": 0.81})
    assert point == {"unit.ball.derivatives.v": "-1.62", "height": "0.81"}
    asked.tell(point, scenario.run(set=point))
    assert asked.ask(point).results == {"first": pytest.approx(1.0, abs=1e-9)}
    for wrong in (
        scenario.run(set={"height": 0.81}),
        scenario.run(set={**point, "height": 0.811}),
        scenario.run(set=point, seed=5),
        scenario.run(set=point, until="0.5 s"),
    ):
        with pytest.raises(sd.ScenarioError, match="the run is none of this point"):
            asked.tell(point, wrong)
    # Threads of an optimiser ask at once.
    with ThreadPoolExecutor(4) as pool:
        points = list(pool.map(lambda k: asked.ask({"height": 0.5 + 0.1 * k}), range(12)))
    assert [p["height"] for p in points] == [f"{0.5 + 0.1 * k:.3g}" for k in range(12)]
    with pytest.raises(sd.ScenarioError, match="does not exist"):
        sd.Study(tmp_path / "nothing.toml")
