"""Exceptions of the package."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Mistake:
    """One mistake of a scenario: what is wrong, where, and what to do about it.

    ``line`` and ``column`` count from 1; ``file`` is the option, such as ``--set``, where the mistake is in one.
    """

    code: str
    message: str
    help: str
    file: str | None = None
    line: int | None = None
    column: int | None = None


class ScenarioError(ValueError):
    """A scenario or study with mistakes; ``mistakes`` has all of them, in the order of the text."""

    mistakes: list[Mistake]

    def __init__(self, message: str, mistakes: list[dict[str, Any]] | None = None) -> None:
        super().__init__(message)
        self.mistakes = [Mistake(**mistake) for mistake in mistakes or []]


class ScenarioWarning(UserWarning):
    """Something of a scenario that is probably not meant, though it can be run."""


class RunError(RuntimeError):
    """A run that came to no end; ``unit`` and ``time`` (in seconds) tell where, as far as they are known."""

    unit: str | None
    time: float | None
    #: The settings of the run, for :meth:`Study.tell`.
    _wanted: Any = None

    def __init__(self, message: str, unit: str | None = None, time: float | None = None) -> None:
        super().__init__(message)
        self.unit = unit
        self.time = time
