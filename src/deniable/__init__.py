"""deniable chooses whom to audit next from confidential report counts, so that nobody who watches the audits
can tell whether any one report was filed, by more than a stated, proven margin.

>>> import deniable as dn
>>> mechanism = dn.Race.calibrate(n_targets=4, delta=0.1)
>>> run = dn.AuditRun(mechanism)
>>> audited = run.step([2, 0, 5, 1])
>>> round(mechanism.guarantee().advantage, 6)
0.05
"""

from deniable import counters, testing
from deniable.attack import transcript_distribution
from deniable.errors import DeniableError
from deniable.guarantee import Guarantee
from deniable.mechanisms import CounterAuditing, Greedy, Race, RandomizedResponse, UniformRandom, forecast
from deniable.noise import ReplayNoise, SystemNoise
from deniable.rules import History, Rules
from deniable.run import AuditRun
from deniable.simulation import SimulationNoise, Transcripts, simulate
from deniable.streams import ReportStream

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
    "testing",
    "transcript_distribution",
]
