"""The list of targets for a new programme: names, or names with their numbers in a public register."""

from deniable.csv_files import FilePath, read_columns, reading
from deniable.report_files import read_targets

_COLUMNS = ["target", "number"]


def read_register(path: FilePath) -> tuple[tuple[str, ...], tuple[str, ...] | None]:
    """The names, and the numbers where the file is a CSV with the columns target and number."""
    with reading(path) as file:
        header = file.readline()
    if [cell.strip() for cell in header.split(",")] != _COLUMNS:
        return read_targets(path), None
    cells = [row for _, row in read_columns(path, *_COLUMNS)]
    return tuple(name for name, _ in cells), tuple(number for _, number in cells)
