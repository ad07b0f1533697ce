"""Contracts of Mamba block alignment; see ``model.contracts``.

Apart from the others because of their arithmetic: dividing by a symbolic block size is nonlinear,
and some postconditions here CrossHair can try but not confirm.
"""

from __future__ import annotations

from model import planning
from model.contracts import request_of
from model.policies import RECOMMENDED
from spec.config import Config


def mamba_aligned_rows(
    block: int, prompt: int, generated: int, start: int, rows: int, threshold: int
) -> int:
    """Never more rows; decodes are left alone; a chunk cut short ends on a block boundary.

    pre: block >= 1 and prompt >= 1 and generated >= 0 and rows >= 1 and threshold >= 0
    pre: 0 <= start < prompt + generated
    post: 0 <= __return__ <= rows
    post: start < _prefill_end(prompt, generated) or __return__ == rows
    post: __return__ in (0, rows) or (start + __return__) % block == 0
    post: __return__ > 0 or start + rows < _prefill_end(prompt, generated)
    post: __return__ > 0 or block <= _widest(threshold)
    """
    config = Config(block_size=block, long_prefill_token_threshold=threshold)
    request = request_of(prompt, start)
    request.num_output_tokens = generated
    return planning.mamba_aligned_rows(config, request, start, rows)


def mamba_boundaries(
    block: int, prompt: int, generated: int, start: int, rows: int, threshold: int
) -> int:
    """A prefill chunk crosses neither its own block's end nor the last boundary, but ends on one.

    pre: 1 <= block <= 8 and prompt >= 1 and generated >= 0 and rows >= 1 and threshold >= 0
    pre: 0 <= start < _prefill_end(prompt, generated)
    post: start % block == 0 or start % block + __return__ <= block
    post: not start < (prompt + generated - 1) // block * block < start + __return__
    post: _past_boundary(block, prompt, generated, start + __return__, threshold) in (0, start)
    """
    return mamba_aligned_rows(block, prompt, generated, start, rows, threshold)


def _prefill_end(prompt: int, generated: int) -> int:
    """Tokens a prefill has to compute; a preempted request recomputes all but its last token."""
    return prompt if generated <= 1 else prompt + generated - 1


def _past_boundary(block: int, prompt: int, generated: int, end: int, threshold: int) -> int:
    """``end`` if the prefill goes on from there, inside a block a chunk could fill; else 0."""
    goes_on = end < _prefill_end(prompt, generated)
    return end if goes_on and block <= _widest(threshold) and end % block else 0


def _widest(threshold: int) -> int:
    """The widest chunk a step can hold: the row budget of ``Config``, or a lower threshold."""
    budget = Config().max_num_scheduled_tokens
    return threshold if 0 < threshold < budget else budget


def clipped_padding(block: int, drafts: int, computed: int) -> tuple[int, bool]:
    """Mamba alignment: padding that would run past the end of C's block is dropped.

    pre: 1 <= block <= 8 and 1 <= drafts <= 8 and 1 <= computed <= 64
    post: __return__ in ((1 + drafts, True), (1, False))
    post: __return__[1] == (computed % block == 0 or computed % block + 1 + drafts <= block)
    """
    config = Config(max_model_len=128, num_spec_tokens=drafts, block_size=block, mamba_align=True)
    request = request_of(computed + 1, computed)
    return planning.waiting_rows(config, RECOMMENDED, request, computed, True, False, 0, 64)


CONTRACTS = (mamba_aligned_rows, mamba_boundaries, clipped_padding)
"""Every contract of this module."""
