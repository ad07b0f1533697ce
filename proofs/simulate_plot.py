"""A line chart as SVG text: no plotting library, readable without colour and by screen readers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 640, 400
LEFT, RIGHT, TOP, BOTTOM = 70, 90, 50, 60
"""Margins, pixels; the curves' names stand to the right."""
STYLES = (("#b3261e", "6 4"), ("#1a5fb4", "none"), ("#26734d", "2 3"))
"""Colour and dashes of each curve: told apart by either."""


@dataclass(frozen=True, slots=True)
class Curve:
    """One named line; its values belong to the chart's ``xs``."""

    name: str
    ys: Sequence[float]


def line_chart(
    title: str, axes: tuple[str, str], xs: Sequence[float], curves: Sequence[Curve]
) -> str:
    """The chart as a whole SVG document.

    Args:
        title: heading and accessible name.
        axes: labels of the x and the y axis, units included.
        xs: ascending; at least one.
        curves: at most as many as there are ``STYLES``; values that are not finite leave a gap.
    """
    finite = [y for curve in curves for y in curve.ys if y == y]
    tick = tick_size(max([*finite, 1.0]))
    top = tick * (max([*finite, 1.0]) // tick + 1)
    low, high = min(xs), max(xs)

    def place(x: float, y: float) -> tuple[float, float]:
        across = (x - low) / (high - low) if high > low else 0.5
        up = y / top
        return (
            round(LEFT + across * (WIDTH - LEFT - RIGHT), 1),
            round(HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM), 1),
        )

    numbers = "; ".join(
        f"{curve.name}: "
        + ", ".join(f"{y:.1f} at {x:g}" for x, y in zip(xs, curve.ys, strict=True))
        for curve in curves
    )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-labelledby="title desc" font-family="sans-serif" font-size="12">',
        f'<title id="title">{escape(title)}</title>',
        f'<desc id="desc">{escape(axes[1])} over {escape(axes[0])}. {escape(numbers)}.</desc>',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="28" font-size="15">{escape(title)}</text>',
    ]
    for number in range(round(top / tick) + 1):
        value = number * tick
        _, y = place(low, value)
        parts.append(f'<path d="M{LEFT} {y}H{WIDTH - RIGHT}" stroke="#ddd"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{value:g}</text>')
    for x_value in xs:
        x, y = place(x_value, 0)
        parts.append(f'<text x="{x}" y="{y + 18}" text-anchor="middle">{x_value:g}</text>')
    middle = HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) / 2
    parts.append(
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 18}" text-anchor="middle">'
        f"{escape(axes[0])}</text>"
    )
    parts.append(
        f'<text transform="translate(20 {middle}) rotate(-90)" text-anchor="middle">'
        f"{escape(axes[1])}</text>"
    )
    label_y = 0.0
    for curve, (colour, dashes) in zip(curves, STYLES, strict=False):
        points = [place(x, y) for x, y in zip(xs, curve.ys, strict=True) if y == y]
        path = " ".join(f"{x},{y}" for x, y in points)
        parts.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2.5" '
            f'stroke-dasharray="{dashes}"/>'
        )
        parts.extend(f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>' for x, y in points)
        if points:
            x, y = points[-1]
            # Curves that end together would print their names on top of each other.
            label_y = y if abs(y - label_y) >= 16 else label_y + 16
            parts.append(
                f'<text x="{x + 10}" y="{label_y + 4}" fill="{colour}">{escape(curve.name)}</text>'
            )
    return "\n".join([*parts, "</svg>", ""])


def tick_size(largest: float) -> float:
    """A round distance (1, 2 or 5 times a power of ten) that gives three to eight ticks."""
    power = 10.0 ** math.floor(math.log10(largest / 3))
    return max(factor * power for factor in (1, 2, 5) if factor * power <= largest / 3)
