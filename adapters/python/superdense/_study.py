"""Studies: questions about a scenario, answered by many runs."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

from . import _native
from ._errors import RunError, ScenarioError
from ._run import Run
from ._table import Table
from ._values import Value, sets, whole


def _one(of: tuple[Path, Any], run: tuple[Any, int | None]) -> tuple[str, list[float | None]]:
    """One run of a study, in whichever process."""
    return _native.one(of, run)


class Point(dict[str, Value]):
    """Values of parameters by their paths."""

    #: Results by name, if the store has them.
    results: dict[str, float | None] | None = None
    #: Why a run that the store has came to no results.
    failed: str | None = None


class Study:
    """A study file. Its runs are kept in ``out`` (default ``out/NAME``); started again, it goes on."""

    def __init__(
        self,
        file: str | os.PathLike[str],
        set: Mapping[str, Value] | None = None,
        *,
        out: str | os.PathLike[str] | None = None,
    ) -> None:
        self.file = Path(os.path.abspath(file))
        if not self.file.is_file():
            raise ScenarioError(f"{self.file} does not exist; check the name of the file")
        self.out = Path(os.path.abspath(Path("out") / self.file.stem if out is None else out))
        self._sets = sets(set)
        #: The answers by question, after :meth:`run`.
        self.answers: dict[str, Any] = {}

    def run(
        self,
        *,
        workers: int | None = None,
        executor: Executor | None = None,
        ask: str | None = None,
        retry_failed: bool = False,
    ) -> dict[str, Any]:
        """Runs what the questions ask for, and gives the answers.

        ``workers`` threads of this process do it, or an ``executor`` with ``submit``, as those of
        ``concurrent.futures``, Dask (``client.get_executor(pure=False)``) and mpi4py have one; ``workers`` is then how
        many runs are handed out at a time. Answers and tables do not depend on either. ``ask`` names one question.

        Raises ``ScenarioError``, ``RunError``.
        """
        submit = None
        if executor is not None:
            workers = workers or getattr(executor, "_max_workers", None)
            of = (self.file, self._sets)

            def submit(point: list[tuple[str, str]], seed: int | None) -> Future[Any]:
                return executor.submit(_one, of, (point, seed))

        answers, self.runs, self.fresh, self.failed = _native.study(
            (self.file, self._sets, self.out), (ask, whole("workers", workers, 1, 256), retry_failed), submit
        )
        self.answers = json.loads(answers)
        return self.answers

    def report(self, file: str | os.PathLike[str]) -> Path:
        """Writes the report of the study, one HTML file, after :meth:`run`."""
        Path(file).write_text(_native.report(self.out), encoding="utf-8")
        return Path(file)

    def ask(self, values: Mapping[str, Value]) -> Point:
        """A point that an optimiser outside wants to know: values of parameters of ``[vary]``, rounded as the study
        rounds them, with the study's own settings. ``point.results`` has what the store knows of it, ``point.failed``
        why there is nothing.

        ``point`` is a dictionary for ``Scenario.run(set=point)``.
        """
        written, known, failed = _native.known(self._of(), sets(values))
        point = Point(written)
        point.results = None if known is None else dict(known)
        point.failed = failed
        return point

    def tell(self, point: Mapping[str, Value], run: Run | RunError) -> None:
        """Keeps the run of a point, made with the scenario's own seed, or the error with which it failed. Whoever asks
        for it later, also a question of the study, has it at once. Raises ``ScenarioError`` for a run that was made
        with other settings."""
        if not isinstance(run, (Run, RunError)) or run._wanted is None:
            raise ScenarioError("tell takes a run of Scenario.run(set=point), or the RunError that this raised")
        told = str(run) if isinstance(run, RunError) else (run.trace_hash, run.results)
        _native.keep(self._of(), sets(point), told, run._wanted)

    def _of(self) -> tuple[Path, list[tuple[str, str]], Path]:
        return (self.file, self._sets, self.out)

    def table(self) -> Table:
        """All runs: question, point, replicate, parameters, results, status and trace hash."""
        return Table(_native.read(self.out / "results.csv", []))

    def __repr__(self) -> str:
        return f"<Study {self.file.stem}: {', '.join(self.answers) or 'not run'}>"
