"""How hard to look: *quick* in the test suite, *ci* on every push, *deep* overnight."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Profile:
    """One amount of work."""

    name: str
    examples: int
    """Executions Hypothesis tries per policy."""
    steps: int
    """Rules per execution."""
    random_steps: int
    """Steps of the plain random driver on the recommended policy."""


QUICK = Profile("quick", examples=300, steps=8, random_steps=5_000)
CI = Profile("ci", examples=500, steps=30, random_steps=100_000)
DEEP = Profile("deep", examples=5_000, steps=50, random_steps=1_000_000)
PROFILES = {profile.name: profile for profile in (QUICK, CI, DEEP)}
VARIABLE = "SCHEDPROOF_FUZZ_PROFILE"
"""The environment variable that names the profile of a test run."""


def chosen() -> Profile:
    """The profile the environment asks for; quick if it does not.

    Raises:
        ValueError: there is no such profile.
    """
    name = os.environ.get(VARIABLE, QUICK.name)
    if name not in PROFILES:
        raise ValueError(f"{VARIABLE} = {name!r} is illegal; legal: {', '.join(PROFILES)}")
    return PROFILES[name]
