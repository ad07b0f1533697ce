"""``trace check``: one recording, against the catalogue and against the model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from proofs.conform.releases import release_of
from proofs.errors import UsageError
from proofs.recorder import lines
from proofs.recorder.known import Unfounded
from proofs.recorder.watch import WINDOW
from proofs.recording.catalogue import Catalogue, Judged
from proofs.recording.model_side import ModelSide, Unlike
from proofs.recording.reading import read
from spec.config import Config


@dataclass(slots=True)
class Checked:
    """What became of one recording."""

    header: lines.Line
    judged: Judged
    policy: str
    """The model's; empty if the recording was not held against it."""
    why_not: str = ""
    """Why it was not, or not to its end."""
    num_compared: int = 0
    """Steps the model was compared on."""
    unlike: str = ""
    """The first difference."""

    @property
    def is_whole(self) -> bool:
        """The recording was held against the model too, to its end."""
        return bool(self.policy) and not self.why_not

    @property
    def is_clean(self) -> bool:
        """No promise is broken and the model does what was recorded."""
        return not self.judged.violated and not self.unlike


def check(path: Path, partial: bool = False) -> Checked:
    """Check a recording.

    Raises:
        UsageError: it cannot be read.
    """
    given = read(path, partial)
    header = next(given)
    catalogue = Catalogue(header)
    checked = Checked(header, catalogue.judged, "")
    side = _model(header, checked)
    for number, line in enumerate(given, 2):
        try:
            catalogue.take(line)
        except Unfounded as error:
            raise UsageError(f"{path}, line {number}: {error}") from None
        if line["kind"] == lines.SNAPSHOT and number > 2:
            if line["why"] == WINDOW:
                continue  # nothing has happened, it is only said again
            checked.why_not = f"up to line {number}: {line['why']} is not in the model"
            side = None
        if side is not None:
            try:
                side.take(line)
                checked.num_compared += line["kind"] == lines.SCHEDULE and bool(line["rows"])
            except Unlike as difference:
                checked.unlike = f"line {number}: {difference}"
                side = None
            except KeyError as error:
                raise UsageError(f"{path}, line {number}: no request {error}") from None
    return checked


def _model(header: lines.Line, checked: Checked) -> ModelSide | None:
    """The model of the recorded release, if there is one for what was in use."""
    if header["beyond"]:
        checked.why_not = f"in use, and not in the model: {', '.join(header['beyond'])}"
        return None
    if header["scheduler"] not in ("Scheduler", "AsyncScheduler"):
        checked.why_not = f"{header['scheduler']} is not in the model"
        return None
    try:
        release = release_of(header["engine"])
    except UsageError:
        checked.why_not = f"no model stands for vLLM {header['engine']}"
        return None
    config = Config.checked(**header["config"])
    if config.async_scheduling and not release.has_stale_output:
        checked.why_not = "preemption under async scheduling up to 0.26 is not in the model"
        return None
    checked.policy = release.policy.name
    return ModelSide(config, release)
