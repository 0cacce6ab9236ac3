"""Every table and figure of the paper, and ours beside them: `deniable reproduce`."""

from deniable.simulation.reproduction.claim import Claim
from deniable.simulation.reproduction.output_folder import Reproduction, reproduce
from deniable.simulation.reproduction.tables import Settings, Tables

__all__ = ["Claim", "Reproduction", "Settings", "Tables", "reproduce"]
