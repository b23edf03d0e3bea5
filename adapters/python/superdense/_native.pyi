"""Functions of the compiled module on plain values; use the classes of the package."""

from os import PathLike
from typing import Any, Callable, TypeAlias, TypedDict

VERSION: str
__all__ = [
    "VERSION",
    "plan",
    "run",
    "write",
    "compare",
    "report",
    "read",
    "study",
    "one",
    "known",
    "keep",
    "fmu_worker",
]

_Path: TypeAlias = str | PathLike[str]
_Sets: TypeAlias = list[tuple[str, str]]
_Columns: TypeAlias = dict[str, Any]

class _Wanted(TypedDict):
    file: _Path
    text: str | None
    sets: _Sets
    seed: int | None
    until: str | None
    sample: str | None
    executor: str
    workers: int | None

def plan(wanted: _Wanted) -> dict[str, Any]: ...
def run(
    wanted: _Wanted, keep: tuple[bool, bool, bool], texts: list[str]
) -> tuple[str, list[_Columns]]: ...
def write(wanted: _Wanted, out: _Path, force: bool) -> str: ...
def compare(a: _Path, b: _Path, window: float) -> str: ...
def report(dir: _Path) -> str: ...
def read(file: _Path, texts: list[str]) -> _Columns: ...
def study(
    of: tuple[_Path, _Sets, _Path],
    how: tuple[str | None, int | None, bool],
    submit: Callable[..., Any] | None,
) -> tuple[str, int, int, int]: ...
def one(of: tuple[_Path, _Sets], run: tuple[_Sets, int | None]) -> tuple[str, list[float | None]]: ...
def known(
    of: tuple[_Path, _Sets, _Path], point: _Sets
) -> tuple[_Sets, list[tuple[str, float | None]] | None, str | None]: ...
def keep(
    of: tuple[_Path, _Sets, _Path],
    point: _Sets,
    run: tuple[str, dict[str, float | None]] | str,
    wanted: _Wanted,
) -> None: ...
def fmu_worker() -> None: ...
