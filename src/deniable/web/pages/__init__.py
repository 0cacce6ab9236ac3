"""One file a page; each route hands its template exactly one frozen dataclass of declared fields."""

from deniable.web.pages import (
    account,
    activity,
    api,
    decisions,
    first_run,
    guarantee,
    health,
    hotlines,
    import_,
    login,
    people,
    plan,
    report,
    round,  # noqa: A004
    tokens,
    transcript,
)

ROUTERS = (
    login.router,
    first_run.router,
    round.router,
    report.router,
    import_.router,
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
