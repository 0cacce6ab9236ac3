"""Which class a report of a hotline has: that of its channel, or the one that a field of the export, a score for
example, stands for.

The class must follow from the report alone, and so from its own row (docs/explanation/hotline-exports.md). What the
field's values stand for is in a CSV file that the office keeps: UTF-8, the columns `value,class`, one line a value.
Reports whose value has an empty class are left out on purpose; those whose value is not in the file are set aside.
Without the file, the values are the classes' own names.

The file is the office's own, so anything wrong with it refuses it as a whole.
"""

from collections.abc import Collection, Sequence
from collections.abc import Mapping as AnyMapping
from dataclasses import dataclass
from types import MappingProxyType

from deniable.errors import DeniableError
from deniable.message import Message, why_not
from deniable.programme.imports.channels import Mapping
from deniable.programme.imports.reading import File, Table, is_name, opened, pieces, quietly
from deniable.report_classes import ReportClass

WHAT = why_not("the class mapping")

MAX_VALUES = 10_000


@dataclass(frozen=True)
class ClassField:
    """A field of an export, and what class a value of it stands for; None for a value that is left out on purpose."""

    column: str
    class_of: AnyMapping[str, str | None]


def chosen_field(
    classes: Sequence[ReportClass],
    mapping: Mapping,
    column: str | None,
    file: File | None,
    *,
    usual_column: str | None = None,
) -> ClassField | None:
    """The field from which classes follow; None where they follow from the mapping, or where there is only one.

    Refuses what leaves the class open, and what gives it twice. usual_column: the one that is read without a name.

    >>> from deniable.report_classes import parsed
    >>> classes = [parsed("minor=1"), parsed("serious=3")]
    >>> dict(chosen_field(classes, Mapping({"north": "Acme"}), "severity", None).class_of)
    {'minor': 'minor', 'serious': 'serious'}
    """
    is_given = column is not None or file is not None
    if len(classes) == 1:
        if is_given:
            raise DeniableError(
                "all reports of this programme have the same class, so give neither a class column nor a class mapping"
            )
        return None
    if mapping.class_of is not None:
        if is_given:
            raise DeniableError(
                "a report must get its class in one way: the mapping has a column class, so give neither a class "
                "column nor a class mapping"
            )
        return None
    names = [one.name for one in classes]
    if not is_given:
        raise DeniableError(
            "it must be clear of which class each report is ({names}): add a column class to the "
            "mapping, or name the class column of the export and give a class mapping with the "
            "columns value,class",
            names=", ".join(names),
        )
    column = usual_column if column is None else column
    if column is None or not is_name(column):
        raise DeniableError("name the class column of the export, whose values the class mapping explains")
    if file is None:
        return ClassField(column, MappingProxyType({name: name for name in names}))
    return ClassField(column, quietly(lambda: _read(file, names), WHAT))


def visit_classes(classes: Sequence[ReportClass], mapping: Mapping, class_field: ClassField | None) -> tuple[str, ...]:
    """The classes that lead to a visit, of those that the mappings name: the same whatever is in an export."""
    class_of = mapping.class_of if class_field is None else class_field.class_of
    mapped = {*(class_of or {}).values()}
    return tuple(one.name for one in classes if one.leads_to_visit and one.name in mapped)


def _read(file: File, classes: Collection[str]) -> AnyMapping[str, str | None]:
    class_of: dict[str, str | None] = {}
    with opened(file, WHAT) as binary:
        table = Table(pieces(binary.read, WHAT), WHAT)
        if sorted(table.names) != ["class", "value"]:
            raise DeniableError(
                "{what} must have the columns value and class, named in the first line, only these", what=WHAT
            )
        # No cell is shown: if this is the wrong file, it may be anything.
        for line, cells in table.columns("value", "class"):
            if isinstance(cells, Message):
                raise table.refusal(line, cells)
            value, name = cells
            if value and not is_name(value):
                raise table.refusal(
                    line, why_not("the {column} must be at most 200 printable characters", column="value")
                )
            if name and name not in classes:
                raise table.refusal(
                    line, why_not("the class must be one of {classes}, or empty", classes=", ".join(classes))
                )
            if value in class_of:
                raise table.refusal(line, why_not("a value must come only once"))
            if len(class_of) == MAX_VALUES:
                raise DeniableError("{what} must have at most {max_values} values", what=WHAT, max_values=MAX_VALUES)
            class_of[value] = name or None
    if not class_of:
        raise DeniableError("{what} must give at least one value a class", what=WHAT)
    return MappingProxyType(class_of)
