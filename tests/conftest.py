"""One profile for all properties: no deadline (machines are noisy; speed is measured by the benchmarks), no files left behind."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("clara", deadline=None, database=None)
settings.load_profile("clara")
