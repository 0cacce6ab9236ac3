"""deniable chooses whom to audit next from confidential report counts, with a stated, proven
limit on what the audits reveal about any one report.

>>> import deniable as dn
>>> mechanism = dn.Race.calibrate(n_targets=4, delta=0.1)
>>> run = dn.AuditRun(mechanism)
>>> audited = run.step([2, 0, 5, 1])
>>> round(mechanism.guarantee().advantage, 6)
0.05
"""

import importlib as _importlib
import typing as _typing

if _typing.TYPE_CHECKING:
    from deniable import counters, testing
    from deniable.attack import transcript_distribution
    from deniable.errors import DeniableError
    from deniable.guarantee import Guarantee
    from deniable.mechanisms import (
        CounterAuditing,
        Greedy,
        Race,
        RandomizedResponse,
        UniformRandom,
        forecast,
        steady_forecast,
    )
    from deniable.noise import ReplayNoise, SystemNoise
    from deniable.rules import History, Rules
    from deniable.run import AuditRun
    from deniable.simulation.engine import Transcripts, simulate
    from deniable.simulation.noise import SimulationNoise
    from deniable.streams import ReportStream

    __version__: str

__all__ = [
    "AuditRun",
    "CounterAuditing",
    "DeniableError",
    "Greedy",
    "Guarantee",
    "History",
    "Race",
    "RandomizedResponse",
    "ReplayNoise",
    "ReportStream",
    "Rules",
    "SimulationNoise",
    "SystemNoise",
    "Transcripts",
    "UniformRandom",
    "counters",
    "forecast",
    "simulate",
    "steady_forecast",
    "testing",
    "transcript_distribution",
]

_MODULES = {
    "attack": ["transcript_distribution"],
    "errors": ["DeniableError"],
    "guarantee": ["Guarantee"],
    "mechanisms": [
        "CounterAuditing",
        "Greedy",
        "Race",
        "RandomizedResponse",
        "UniformRandom",
        "forecast",
        "steady_forecast",
    ],
    "noise": ["ReplayNoise", "SystemNoise"],
    "rules": ["History", "Rules"],
    "run": ["AuditRun"],
    "simulation.engine": ["Transcripts", "simulate"],
    "simulation.noise": ["SimulationNoise"],
    "streams": ["ReportStream"],
}
"""Where a public name comes from. A module is imported when one of its names is first used: a command that needs
neither NumPy nor SciPy loads neither.
"""
_HOMES = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> _typing.Any:
    if name in _HOMES:
        found = getattr(_importlib.import_module(f"deniable.{_HOMES[name]}"), name)
    elif name in __all__:
        found = _importlib.import_module(f"deniable.{name}")
    elif name == "__version__":
        found = _importlib.import_module("importlib.metadata").version("deniable")
    else:
        raise AttributeError(f"module 'deniable' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
