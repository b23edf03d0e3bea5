"""Tables of a run: columns by name."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class Table(dict[str, Any]):
    """Columns by name, in order: read-only arrays of numbers, and lists of texts.

    ``polars.DataFrame(table)`` and ``pandas.DataFrame(table)`` take it as it is.
    """

    def __init__(self, columns: dict[str, Any]) -> None:
        for column in columns.values():
            if isinstance(column, np.ndarray):
                column.setflags(write=False)
        super().__init__(columns)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(next(iter(self.values()), ()))

    def __repr__(self) -> str:
        names = list(self)
        more = f", … ({len(names)} columns)" if len(names) > 8 else ""
        return f"<Table of {self.rows} rows: {', '.join(names[:8])}{more}>"


def curve(x: NDArray[np.float64], y: NDArray[np.float64], width: int = 240, height: int = 48) -> str:
    """A small picture of a signal, as SVG without script."""
    good = np.isfinite(y)
    x, y = x[good], y[good]
    if len(x) < 2:
        return ""
    low, high = float(y.min()), float(y.max())
    wide = float(x[-1] - x[0]) or 1.0
    tall = (high - low) or 1.0
    step = max(1, len(x) // 600)
    points = " ".join(
        f"{(a - x[0]) / wide * width:.1f},{height - 2 - (b - low) / tall * (height - 4):.1f}"
        for a, b in zip(x[::step], y[::step])
    )
    return (
        f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}">'
        f'<polyline points="{points}" fill="none" stroke="#2a6fb0" stroke-width="1.2"/></svg>'
    )
