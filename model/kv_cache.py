"""The KV block pool: how many blocks are free, how many each request holds.

Blocks are counted, not named: sharing of cached prefixes between requests is left out (a shared
block only makes the pool larger than this model believes).
"""

from __future__ import annotations

from model.request import Request
from spec.config import Config
from spec.logic import ceil_div, max


class KVCacheManager:
    """Gives out all the blocks a request needs, or none."""

    __slots__ = ("block_size", "num_free_blocks")

    def __init__(self, config: Config) -> None:
        self.block_size = config.block_size
        self.num_free_blocks = config.num_gpu_blocks

    def allocate_slots(self, request: Request, num_tokens: int) -> bool:
        """Give ``request`` slots for ``num_tokens`` tokens in all; False, and nothing changes, if
        the pool is too small."""
        missing = max(ceil_div(num_tokens, self.block_size) - request.num_blocks, 0)
        if missing > self.num_free_blocks:
            return False
        self.num_free_blocks -= missing
        request.num_blocks += missing
        return True

    def free(self, request: Request) -> None:
        """Take back every block of ``request``."""
        self.num_free_blocks += request.num_blocks
        request.num_blocks = 0

    def capacity(self, request: Request) -> int:
        """Slots ``request`` holds, tokens."""
        return request.num_blocks * self.block_size
