"""Scenarios and their runs."""

from __future__ import annotations

import difflib
import html
import json
import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import tomli_w
from numpy.typing import NDArray

from . import _native
from ._errors import RunError, ScenarioWarning
from ._table import Table, curve
from ._values import Value, duration, plain, sets, whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Scenario:
    """A scenario that is ready to run: from a file (:func:`load`), or from a dictionary with the keys of a file.

    ``folder`` is where a dictionary's own file names begin; the default is the working directory.

    Raises ``ScenarioError`` with all mistakes.

    >>> import superdense as sd
    >>> s = sd.Scenario({
    ...     "stop": "2 s",
    ...     "unit": {"ramp": {"kind": "equations", "states": {"x": 1.0}, "derivatives": {"x": "3"},
    ...                       "outputs": {"x": "x"}}},
    ...     "result": {"top": "max(ramp.x)"},
    ... })
    >>> s.run().results["top"]
    7.0
    """

    def __init__(self, content: Mapping[str, Any], folder: str | os.PathLike[str] = ".") -> None:
        if not isinstance(content, Mapping):
            raise TypeError(
                f"a scenario is made of a dictionary, and this is of type {type(content).__name__}; "
                "superdense.load reads a file"
            )
        # No file of this name is read or written.
        self._prepare(Path(folder).resolve() / "scenario.toml", tomli_w.dumps(plain(content)))

    @classmethod
    def _of(cls, file: Path) -> Scenario:
        self = cls.__new__(cls)
        file = Path(os.path.abspath(file))
        try:
            text = None if file.suffix == ".fmu" else file.read_bytes().decode()
        except (OSError, ValueError):
            # The mistake is told where it is read as a scenario.
            text = None
        self._prepare(file, text)
        return self

    def _prepare(self, file: Path, text: str | None) -> None:
        self.file = file
        self._text = text
        facts = _native.plan(self._wanted(None, None, None, None, "sequential", None))
        self.title: str = facts["title"]
        self.stop: float = facts["stop"]
        self.result_names: list[str] = facts["results"]
        #: Things that are probably not meant, though they can be run; told once, as Python's warnings, too.
        self.warnings: list[str] = facts["warnings"]
        self._texts: list[str] = facts["texts"]
        for warning in self.warnings:
            warnings.warn(warning, ScenarioWarning, stacklevel=4)

    def _wanted(
        self,
        set: Mapping[str, Value] | None,
        seed: int | None,
        until: Value | None,
        sample: Value | None,
        executor: str,
        workers: int | None,
    ) -> _native._Wanted:
        return {
            "file": self.file,
            "text": self._text,
            "sets": sets(set),
            "seed": whole("seed", seed, 0, 2**64 - 1),
            "until": duration(until),
            "sample": duration(sample),
            "executor": executor,
            "workers": whole("workers", workers, 1, 256),
        }

    def run(
        self,
        set: Mapping[str, Value] | None = None,
        *,
        seed: int | None = None,
        until: Value | None = None,
        sample: Value | None = None,
        executor: str = "sequential",
        workers: int | None = None,
        trajectory: bool = False,
        out: str | os.PathLike[str] | None = None,
        force: bool = False,
    ) -> Run:
        """Runs the scenario to its end.

        ``set`` changes parameters and other values by their paths, as ``--set`` does. ``until`` and ``sample`` are
        seconds, or texts such as ``"50 ms"``; ``sample="none"`` keeps those at the start and the end. ``trajectory=True`` keeps every
        value that was sent on recorded outputs. ``out`` names a directory for all files that the command writes;
        else nothing is written.

        The interpreter's lock is free meanwhile, so that threads run side by side. Ctrl-C ends the run.

        Raises ``ScenarioError``, ``RunError``.
        """
        wanted = self._wanted(set, seed, until, sample, executor, workers)
        try:
            if out is not None:
                summary = _native.write(wanted, out, force)
                names = ("samples", "events", "trajectory")
                parts = [_native.read(Path(out) / f"{name}.csv", self._texts) for name in names]
            else:
                summary, parts = _native.run(wanted, (True, True, trajectory), self._texts)
        except RunError as error:
            error._wanted = wanted
            raise
        return Run(json.loads(summary), [Table(part) for part in parts], out, wanted)

    def __repr__(self) -> str:
        return f"<Scenario {self.title!r}: {self.stop:g} s>"


def load(file: str | os.PathLike[str]) -> Scenario:
    """The scenario of a file. Raises ``ScenarioError`` with all mistakes."""
    return Scenario._of(Path(file))


class Run:
    """A run that has ended."""

    #: The facts of ``summary.json``.
    summary: dict[str, Any]
    #: Recorded outputs at the instants of ``sample``.
    samples: Table
    #: Located events and time events.
    events: Table
    #: Every value that was sent on recorded outputs, if it was kept.
    trajectory: Table
    #: The directory with all files, if there is one.
    out: Path | None

    def __init__(
        self,
        summary: dict[str, Any],
        tables: list[Table],
        out: str | os.PathLike[str] | None,
        wanted: _native._Wanted,
    ) -> None:
        self.summary = summary
        self._wanted = wanted
        self.samples, self.events, self.trajectory = tables
        self.out = None if out is None else Path(os.path.abspath(out))

    @property
    def results(self) -> dict[str, float | None]:
        """The numbers of ``[result]``; ``None`` for what never happened. Intervals, bars and marks are in
        ``summary["results"]``."""
        found = self.summary.get("results", {})
        return {name: x["value"] if isinstance(x, dict) else x for name, x in found.items()}

    @property
    def trace_hash(self) -> str:
        """The trace hash: equal for equal runs, whoever made them."""
        return str(self.summary["trace_hash"])

    @property
    def time(self) -> NDArray[np.float64]:
        """The instants of samples, in seconds."""
        found: NDArray[np.float64] = self.samples["time"]
        return found

    def __getitem__(self, output: str) -> NDArray[np.float64]:
        """The samples of a recorded output, such as ``run["tank.level"]``: a read-only array."""
        try:
            found: NDArray[np.float64] = self.samples[output]
        except KeyError:
            near = difflib.get_close_matches(output, self.samples, n=3)
            meant = f"; did you mean {' or '.join(near)}?" if near else ""
            raise KeyError(
                f'{output} was not recorded: add record = ["{output}"] to the scenario{meant}'
            ) from None
        return found

    def plot(self, *outputs: str) -> Figure:
        """A figure of recorded outputs, all of them by default; needs matplotlib."""
        from matplotlib import pyplot

        names = outputs or tuple(name for name in self.samples if name != "time")
        figure, axes = pyplot.subplots(layout="constrained")
        for name in names:
            axes.plot(self.time, self[name], label=name)
        axes.set_xlabel("time / s")
        axes.legend()
        return figure

    def report(self, file: str | os.PathLike[str]) -> Path:
        """Writes the report of the run, one HTML file; for a run with a directory (``run(out=…)``)."""
        if self.out is None:
            raise ValueError("a report needs the files of the run: run it with out=DIRECTORY")
        Path(file).write_text(_native.report(self.out), encoding="utf-8")
        return Path(file)

    def __repr__(self) -> str:
        results = ", ".join(f"{name} = {value}" for name, value in self.results.items())
        return f"<Run of {self.summary['scenario']}: {results or self.trace_hash}>"

    def _repr_html_(self) -> str:
        rows = []
        for name, value in self.results.items():
            rows.append(f"<tr><td>{html.escape(name)}</td><td>{'never' if value is None else f'{value:.9g}'}</td></tr>")
        for name in [name for name in self.samples if name != "time"][:12]:
            picture = curve(self.time, self.samples[name])
            rows.append(f"<tr><td>{html.escape(name)}</td><td>{picture}</td></tr>")
        return f"<table>{''.join(rows)}</table>"


def compare(
    a: Run | str | os.PathLike[str], b: Run | str | os.PathLike[str], window: float = 0.25
) -> dict[str, Any]:
    """Two runs side by side: where traces part, differences of results, events and signals.

    Both have directories; ``window`` is how far apart two events may be that are one, in seconds.
    """

    def directory(run: Run | str | os.PathLike[str]) -> str | os.PathLike[str]:
        if not isinstance(run, Run):
            return run
        if run.out is None:
            raise ValueError("runs are compared by their files: run them with out=DIRECTORY")
        return run.out

    found: dict[str, Any] = json.loads(_native.compare(directory(a), directory(b), window))
    return found
