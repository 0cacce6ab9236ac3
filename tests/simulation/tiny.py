"""A reproduction that is over in a moment."""

from pathlib import Path

from deniable.simulation.experiments import Dynamic, Sensitivity, StaticSweep
from deniable.simulation.reproduction import Settings, Tables
from deniable.simulation.reproduction.figures import figure_names

TINY = Settings(
    StaticSweep(n_targets=(5,), run_lengths=(100,), deltas=(0.1,)),
    Dynamic(n_targets=5, rounds=10, runs=3),
    Sensitivity(
        Dynamic(n_targets=5, rounds=10, runs=3, mechanisms=("race", "uniform")),
        n_targets=(5,), rounds=(10,), delta=(0.1,), lead=(1.0,), other=(0.2,),
    ),
    horizons=(10, 100, 1000),
    pool_sizes=(2, 5, 50),
)  # fmt: skip


def touch_figures(tables: Tables, folder: Path, _: object) -> None:
    """Instead of `draw_all`, which takes seconds."""
    for name in figure_names(tables):
        (folder / name).touch()
