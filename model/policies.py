"""The padding policies of the waiting pass, named by the pull request that introduced them.

Each policy is the whole guard as it stood after that pull request, written as data: what differs
between two pull requests can be read off a table.  ``decide`` is the one function that reads it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from spec.config import Config
from spec.logic import all_of, any_of, not_

UNPADDED = "schedule the rows as they are"
PADDED = "pad to 1 + K rows"
BREAK = "stop the waiting pass"

KEEP = "keep the clipped rows with all K drafts"
DROP = "drop the padding, schedule one row"
RESTORE = "restore all 1 + K rows"


@dataclass(frozen=True, slots=True)
class PaddingPolicy:
    """When the waiting pass pads a request with one token left, and what it does if it cannot."""

    name: str
    title: str
    status: str
    """Merged in which release, open, or superseded."""
    pads: bool = True
    autoregressive_only: bool = True
    """Padding needs s > 0 (#47464)."""
    resumed_alone: bool = False
    """C > 0 is reason enough to pad; otherwise running work must be scheduled (#55126)."""
    reserves_sampled_token: bool = False
    """The length limit counts the sampled token: C + 1 + K + s <= L (#53812, #53962)."""
    at_length_limit: str = BREAK
    """What to do with a request whose padded rows do not fit ``max_model_len``."""
    threshold_aware: bool = False
    """No padding when 0 < θ < 1 + K (#54028)."""
    when_clipped: str = KEEP
    """What to do when Mamba alignment shortens padded rows (#54392, #54102)."""
    asserts_width: bool = False
    """``assert num_new_tokens == 1 + num_spec_tokens`` when placeholders are attached."""
    clamps_running: bool = False
    """The running pass clamps a negative row count to zero (#50342)."""

    def decide(
        self,
        config: Config,
        num_new_tokens: int,
        num_computed_tokens: int,
        running_scheduled: bool,
        prefill_scheduled: bool,
        threshold: int,
        budget: int,
    ) -> str:
        """Whether to pad a waiting request.

        Args:
            config: the knobs.
            num_new_tokens: rows the request needs, tokens.
            num_computed_tokens: C including the hits found now, tokens.
            running_scheduled: some running request got rows in this step.
            prefill_scheduled: a running prefill got rows in this step.
            threshold: the long-prefill threshold in force, tokens; 0 = off.
            budget: rows this step can still give one request, tokens.

        Returns:
            ``PADDED``, ``UNPADDED`` or ``BREAK``.
        """
        if not self.pads:
            return UNPADDED
        padded = 1 + config.num_spec_tokens
        wanted = all_of(
            config.num_spec_tokens > 0,
            num_new_tokens == 1,
            not_(prefill_scheduled),
            running_scheduled | (self.resumed_alone & (num_computed_tokens > 0)),
        )
        if self.autoregressive_only:
            wanted &= config.num_sampled_tokens_per_step > 0
        if self.threshold_aware:
            wanted &= any_of(threshold <= 0, threshold >= padded)
        end = num_computed_tokens + padded
        if self.reserves_sampled_token:
            end = end + config.num_sampled_tokens_per_step
        fits = end <= config.max_model_len
        if self.at_length_limit == UNPADDED:
            wanted &= fits
        if not wanted:
            return UNPADDED
        return BREAK if any_of(not_(fits), padded > budget) else PADDED


NONE = PaddingPolicy("none", "no padding", "up to 0.24", pads=False)
PR_45237 = PaddingPolicy(
    "45237",
    "Avoid mixed batch on spec-dec D-node via padding",
    "merged, 0.25",
    autoregressive_only=False,
)
PR_47464 = replace(
    PR_45237,
    name="47464",
    title="Skip uniform spec-decode padding for diffusion models",
    status="merged, 0.26 and 0.27",
    autoregressive_only=True,
)
PR_50342 = replace(
    PR_47464,
    name="50342",
    title="Clamp num_new_tokens to non-negative at max_model_len",
    status="closed, superseded by #53962; 0.28 clamps the same elsewhere",
    clamps_running=True,
)
PR_53812 = replace(
    PR_47464,
    name="53812",
    title="Don't pad a resumed decode request past max_model_len",
    status="closed, superseded by #53962",
    reserves_sampled_token=True,
)
PR_53962 = replace(
    PR_53812,
    name="53962",
    title="Don't pad spec decode up to max_model_len",
    status="merged, 0.29",
    at_length_limit=UNPADDED,
    when_clipped=DROP,
    asserts_width=True,
)
PR_54102 = replace(
    PR_53962,
    name="54102",
    title="Preserve reject-only residual verifier padding",
    status="open",
    when_clipped=RESTORE,
)
PR_55126 = replace(
    PR_53962,
    name="55126",
    title="Pad resumed speculative decode requests",
    status="merged, 0.30 to 0.33",
    resumed_alone=True,
)
PR_54028 = replace(
    PR_55126,
    name="54028",
    title="Skip spec padding below prefill threshold",
    status="open; on top of everything merged up to 0.33",
    threshold_aware=True,
)

POLICIES: dict[str, PaddingPolicy] = {
    policy.name: policy
    for policy in (
        NONE,
        PR_45237,
        PR_47464,
        PR_50342,
        PR_53812,
        PR_53962,
        PR_54102,
        PR_55126,
        PR_54028,
    )
}
RECOMMENDED = PR_54028
