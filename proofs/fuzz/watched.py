"""An engine whose runner objects without stopping the step.

``model.runner.shim.RunnerEngine`` raises, as the real runner would.  Here the objection is kept and
the step goes on, so that its records are complete and a replay without the runner finds every
answer it asks for.
"""

from __future__ import annotations

from model.engine import Engine, Recorder
from model.environment import Environment, Sample
from model.policies import PaddingPolicy
from model.request import Request
from model.runner.checks import check_sample
from model.runner.errors import RunnerError
from model.runner.shim import Runner
from model.scheduler import Scheduler
from model.step import SchedulerOutput
from spec.config import Config


class WatchedEngine(Engine):
    """One rank; the arguments are ``Engine``'s."""

    def __init__(
        self,
        config: Config,
        policy: PaddingPolicy,
        environment: Environment,
        record: Recorder | None = None,
    ) -> None:
        self.runner = Runner(config)
        self.objection: RunnerError | None = None
        """The first thing the runner could not execute."""
        world = _WatchedWorld(environment, self)
        super().__init__(config, policy, world, record)
        self.scheduler = _WatchedScheduler(config, policy, world, record)
        self.scheduler.engine = self

    def execute(self, output: SchedulerOutput) -> None:
        """Let the runner prepare a step."""
        try:
            self.runner.execute(output)
        except RunnerError as error:
            self.object(error)

    def check_uniform(self, group_has_prefill: bool) -> None:
        """Let the runner judge the shape of the step; called once every rank has scheduled."""
        try:
            self.runner.check_uniform(group_has_prefill)
        except RunnerError as error:
            self.object(error)

    def check_sample(self, request: Request, drafts: int, padded: bool, sample: Sample) -> None:
        """Let the runner check what it is said to have returned."""
        row = self.runner.batch.row_of(request)
        try:
            check_sample(self.config, request, row, drafts, padded, sample)
        except RunnerError as error:
            self.object(error)

    def object(self, error: RunnerError) -> None:
        """Keep the first objection."""
        self.objection = self.objection or error


class _WatchedScheduler(Scheduler):
    """Hands every step to the engine's runner at once."""

    engine: WatchedEngine

    def schedule(self) -> SchedulerOutput:
        output = super().schedule()
        self.engine.execute(output)
        return output


class _WatchedWorld:
    """Passes every question on and every sample through the runner."""

    def __init__(self, world: Environment, engine: WatchedEngine) -> None:
        self.world = world
        self.engine = engine
        self.prefix_hit = world.prefix_hit
        self.connector_match = world.connector_match
        self.load_finished = world.load_finished
        self.draft = world.draft

    def sample(self, request: Request, num_draft_tokens: int, padded: bool) -> Sample:
        sample = self.world.sample(request, num_draft_tokens, padded)
        self.engine.check_sample(request, num_draft_tokens, padded, sample)
        return sample
