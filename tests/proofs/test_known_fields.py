"""What the bodies know of the model: its classes and their fields, by name."""

from __future__ import annotations

from typing import Any

import pytest

from model.engine import Engine
from model.environment import Quiet
from model.policies import RECOMMENDED
from model.request import Request
from model.step import Scheduled, SchedulerOutput, Step
from proofs.known_fields import KNOWN, must_know
from proofs.symbolic import Exploration
from spec.config import Config


class Grown(Request):
    """The same fields, another class."""

    __slots__ = ()


def undecided(*objects: Any) -> list[str]:
    with Exploration(lambda context: must_know(context, *objects)) as paths:
        return [gap.reason for path in paths for gap in path.unsupported]


def test_everything_the_model_makes_is_known() -> None:
    request = Request("r", 3, 4)
    engine = Engine(Config(), RECOMMENDED, Quiet())
    pool = engine.scheduler.kv_cache_manager
    share, output = Scheduled(request, 1, 0, False, True), SchedulerOutput((), ())
    made = (engine, engine.scheduler, pool, request, Step(1, 2, 3), share, output)
    assert {type(each) for each in made} == set(KNOWN)
    assert not undecided(*made)


@pytest.mark.parametrize("added", ["a field", "a class"])
def test_what_is_not_known_is_named(added: str) -> None:
    engine: Any = Engine(Config(), RECOMMENDED, Quiet())
    engine.num_steps = 0
    made, name = {
        "a field": (engine, "Engine.num_steps"),
        "a class": (Grown("r", 3, 4), "Grown"),
    }[added]
    assert undecided(made) == [f"the bodies know nothing of {name}"]
