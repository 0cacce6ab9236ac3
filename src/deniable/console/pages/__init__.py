"""One file a page; each route hands its template exactly one frozen dataclass of declared fields."""

from deniable.console.pages import (
    account,
    activity,
    api,
    decisions,
    guarantee,
    health,
    hotlines,
    imports,
    invitations,
    login,
    open_round,
    people,
    plan,
    report,
    tokens,
    transcript,
)

ROUTERS = (
    login.router,
    invitations.router,
    open_round.router,
    report.router,
    imports.router,
    decisions.router,
    plan.router,
    transcript.router,
    guarantee.router,
    health.router,
    people.router,
    hotlines.router,
    tokens.router,
    api.router,
    activity.router,
    account.router,
)
"""Every page's routes."""
