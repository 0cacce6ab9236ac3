"""What the activity log says of decisions, in whole sentences that follow the person's name."""

from collections.abc import Mapping
from typing import NamedTuple

from deniable.message import Message, noted


class DecisionLog(NamedTuple):
    """Of one kind of decision. The values are the round, the entry, and the person who asked for it."""

    asked: Message
    confirmed: Message
    withdrew: Message
    refused: Message
    done: Message
    alone: Message
    """The same by a person whom no other could confirm."""


DECISION_LOG: Mapping[str, DecisionLog] = {
    "override": DecisionLog(
        asked=noted("asked to order {an_audit} by hand"),
        confirmed=noted("confirmed the request of {by} to order {an_audit} by hand (entry {entry})"),
        withdrew=noted("withdrew their own request to order {an_audit} by hand"),
        refused=noted("refused the request of {by} to order {an_audit} by hand"),
        done=noted("ordered {an_audit} by hand (entry {entry})"),
        alone=noted("ordered {an_audit} by hand, alone, since no other person could confirm it (entry {entry})"),
    ),
    "targets": DecisionLog(
        asked=noted("asked to change the list of {targets}"),
        confirmed=noted("confirmed the request of {by} to change the list of {targets} (entry {entry})"),
        withdrew=noted("withdrew their own request to change the list of {targets}"),
        refused=noted("refused the request of {by} to change the list of {targets}"),
        done=noted("changed the list of {targets} (entry {entry})"),
        alone=noted("changed the list of {targets}, alone, since no other person could confirm it (entry {entry})"),
    ),
    "rename": DecisionLog(
        asked=noted("asked to rename {a_target}"),
        confirmed=noted("confirmed the request of {by} to rename {a_target} (entry {entry})"),
        withdrew=noted("withdrew their own request to rename {a_target}"),
        refused=noted("refused the request of {by} to rename {a_target}"),
        done=noted("renamed {a_target} (entry {entry})"),
        alone=noted("renamed {a_target}, alone, since no other person could confirm it (entry {entry})"),
    ),
    "not-carried-out": DecisionLog(
        asked=noted("asked to record that {an_audit} did not take place"),
        confirmed=noted("confirmed the request of {by} to record that {an_audit} did not take place (entry {entry})"),
        withdrew=noted("withdrew their own request to record that {an_audit} did not take place"),
        refused=noted("refused the request of {by} to record that {an_audit} did not take place"),
        done=noted("recorded that {an_audit} did not take place (entry {entry})"),
        alone=noted(
            "recorded that {an_audit} did not take place, alone, since no other person could confirm it (entry {entry})"
        ),
    ),
    "skip": DecisionLog(
        asked=noted("asked to skip round {round}"),
        confirmed=noted("confirmed the request of {by} to skip round {round} (entry {entry})"),
        withdrew=noted("withdrew their own request to skip round {round}"),
        refused=noted("refused the request of {by} to skip round {round}"),
        done=noted("skipped round {round} (entry {entry})"),
        alone=noted("skipped round {round}, alone, since no other person could confirm it (entry {entry})"),
    ),
}
