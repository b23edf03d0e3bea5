"""Values of Python as values of a scenario."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Value = str | int | float | bool


def text(value: Value) -> str:
    """A value as it stands behind ``--set``. Texts are taken as they are: ``"50 ms"`` is a duration."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return str(value)
    if hasattr(value, "item"):
        return text(value.item())
    return repr(float(value))


def sets(values: Mapping[str, Value] | None) -> list[tuple[str, str]]:
    """Paths and values, in order."""
    return [(path, text(value)) for path, value in (values or {}).items()]


def duration(value: Value | None) -> str | None:
    """A duration: seconds, or text with a unit."""
    return None if value is None else text(value)


def plain(value: Any) -> Any:
    """A value in which numbers and arrays of numpy are those of Python."""
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    return value.tolist() if hasattr(value, "tolist") else value
