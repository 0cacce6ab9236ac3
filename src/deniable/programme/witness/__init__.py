"""Witnesses, who keep the last transcript that they saw and countersign the one that continues it, with the time."""
