"""Runs of a study on the workers of a Dask scheduler: ``superdense study FILE --on dask:HOST:PORT``.

    python -m superdense.dask HOST:PORT FILE [--out DIR] [--set PATH=VALUE] [--ask NAME] [--workers N] [--retry-failed]

Workers need the package and the files, at the same paths. Runs of a worker that is killed are done again by others.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from typing import Any

from . import RunError, ScenarioError, Study


def main(arguments: list[str] | None = None) -> int:
    """Does all runs of a study that are missing; gives the exit code."""
    parser = argparse.ArgumentParser(prog="python -m superdense.dask")
    parser.add_argument("scheduler", metavar="HOST:PORT")
    parser.add_argument("file")
    parser.add_argument("--out")
    parser.add_argument("--set", action="append", default=[], metavar="PATH=VALUE")
    parser.add_argument("--ask")
    parser.add_argument("--workers", type=int, help="runs that are handed out at a time [default: two per thread]")
    parser.add_argument("--retry-failed", action="store_true")
    options = parser.parse_args(arguments)
    try:
        # It has no types.
        dask: Any = importlib.import_module("distributed")
    except ImportError:
        print("Python has no `distributed`: pip install distributed", file=sys.stderr)
        return 2
    try:
        client = dask.Client(f"tcp://{options.scheduler}", timeout=10)
    except OSError as why:
        print(f"no scheduler at {options.scheduler}: {why}; start one with `dask scheduler`", file=sys.stderr)
        return 2
    with client:
        threads = sum(client.nthreads().values())
        workers = options.workers or min(256, max(2, 2 * threads))
        study = Study(options.file, dict(of.split("=", 1) for of in options.set), out=options.out)
        try:
            executor = client.get_executor(pure=False)
            study.run(executor=executor, workers=workers, ask=options.ask, retry_failed=options.retry_failed)
        except (ScenarioError, RunError) as why:
            print(why, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
