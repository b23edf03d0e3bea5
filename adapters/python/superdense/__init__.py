"""Superdense: hybrid simulation and co-simulation with exact events and reproducible results.

>>> import superdense as sd
>>> run = sd.load("tank.toml").run(set={"tank.area": 2})    # doctest: +SKIP
>>> run.results["highest"], run["tank.level"], run.time     # doctest: +SKIP
"""

from ._errors import Mistake, RunError, ScenarioError, ScenarioWarning
from ._native import VERSION as __version__
from ._run import Run, Scenario, compare, load
from ._study import Point, Study
from ._table import Table

__all__ = [
    "Mistake",
    "Point",
    "Run",
    "RunError",
    "Scenario",
    "ScenarioError",
    "ScenarioWarning",
    "Study",
    "Table",
    "__version__",
    "compare",
    "load",
]
