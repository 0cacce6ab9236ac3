"""For all tests."""

from hypothesis import settings

# No test looks at the clock, and coverage and a busy machine make some examples slow.
settings.register_profile("deniable", deadline=None)
settings.load_profile("deniable")
