"""Studies: simulated noise and the batch engine. The programme and the web side cannot import this package."""

from deniable.simulation.engine import Transcripts, simulate
from deniable.simulation.noise import SimulationNoise

__all__ = ["SimulationNoise", "Transcripts", "simulate"]
