"""Continual counters for counter auditing: one file a counter, one factory each."""

from deniable.counters.protocol import Counter
from deniable.counters.toeplitz import ToeplitzCounter, toeplitz

__all__ = ["Counter", "ToeplitzCounter", "toeplitz"]
