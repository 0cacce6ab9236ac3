"""What an entry of the transcript does to the targets' runs: the same for the office and for a verifier."""

from collections.abc import Collection, Mapping, Sequence

from deniable.errors import MAX_REPORTS, DeniableError, check_whole
from deniable.programme.transcript.chain import Entry
from deniable.programme.transcript.state import PublicState
from deniable.run import AuditRun


def follow(run: AuditRun, tally: Sequence[int], state: PublicState, entry: Entry) -> list[int]:
    """Apply an entry that draws nothing; returns the open round's reports after it. `state` is that before it."""
    match entry.kind:
        case "override":
            ended = [number_of(state, target) for target in entry.fields["audits"]]
            run.order(ended)
        case "targets":
            ended = [number_of(state, target) for target in entry.fields["removed"]]
            if entry.fields["added"]:
                run.add_targets(len(entry.fields["added"]))
            run.remove_targets(ended)  # after the others joined: how many are left counts at the end
            tally = [*tally, *(0 for _ in entry.fields["added"])]
        case _:
            ended = []
    return _without(tally, ended)


def adopt(run: AuditRun, tally: Sequence[int], state: PublicState, entry: Entry) -> list[int]:
    """Like `follow`, also for an entry whose draw was lost (`AuditRun.adopt`)."""
    if entry.kind != "round":
        return follow(run, tally, state, entry)
    return _without(tally, run.adopt(number_of(state, target) for target in entry.fields["audits"]))


def number_of(state: PublicState, target: str) -> int:
    """The number of a target that takes part."""
    number = state.numbers.get(target)
    if number is None or not state.history.present[0, number]:
        raise DeniableError(f"no target named {target} takes part; `deniable programme targets list` names them all")
    return number


def by_number(state: PublicState, reports: Mapping[str, int]) -> dict[int, int]:
    """Reports by the numbers of their targets, each a whole number of at least 1.

    Those about targets that do not take part are left out; refused where all are.
    """
    return taking_part(state, reports) or {number_of(state, target): _whole(n) for target, n in reports.items()}


def taking_part(state: PublicState, reports: Mapping[str, int]) -> dict[int, int]:
    """The same, and none where no target takes part."""
    numbers = state.numbers_of_present
    return {numbers[target]: _whole(count) for target, count in reports.items() if target in numbers}


def _whole(count: int) -> int:
    try:
        if check_whole("reports", count, least=1) <= MAX_REPORTS:
            return count
    except DeniableError:  # which would quote it
        raise DeniableError("reports must be whole numbers of at least 1") from None
    raise DeniableError(f"at most {MAX_REPORTS} reports about a target can be added at once")


def _without(tally: Sequence[int], targets: Collection[int]) -> list[int]:
    gone = set(targets)
    return [0 if number in gone else count for number, count in enumerate(tally)]
