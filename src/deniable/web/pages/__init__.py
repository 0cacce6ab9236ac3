"""One file a page; each route hands its template exactly one frozen dataclass of declared fields."""

from deniable.web.pages import (
    activity,
    api,
    decisions,
    first_run,
    guarantee,
    health,
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
    tokens.router,
    api.router,
    activity.router,
)
"""Every page's routes."""
