"""Values of Python as values of a scenario."""

from __future__ import annotations

import json
import operator
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, Union

import numpy as np
from numpy.typing import NDArray

Value: TypeAlias = Union[str, int, float, bool, np.generic, NDArray[Any], Sequence["Value"]]


def text(value: Value) -> str:
    """A value as it stands behind ``--set``. Texts are taken as they are: ``"50 ms"`` is a duration."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return str(value)
    if isinstance(value, (np.generic, np.ndarray)):
        return text(value.tolist())
    if isinstance(value, Sequence):
        return f"[{', '.join(_part(part) for part in value)}]"
    return repr(float(value))


def _part(value: Value) -> str:
    """An element of a list, where texts are quoted."""
    return json.dumps(value) if isinstance(value, str) else text(value)


def sets(values: Mapping[str, Value] | None) -> list[tuple[str, str]]:
    """Paths and values, in order."""
    found = []
    for path, value in (values or {}).items():
        try:
            found.append((str(path), text(value)))
        except TypeError:
            raise TypeError(
                f"{path} = {value!r}: give a number, a truth value, a text, or a list of these"
            ) from None
    return found


def whole(name: str, value: Any, least: int, most: int) -> int | None:
    """A whole number of an option."""
    if value is None:
        return None
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} = {value!r}: give a whole number from {least} to {most}") from None
    if not least <= number <= most:
        raise ValueError(f"{name} = {number}: give a whole number from {least} to {most}")
    return number


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
