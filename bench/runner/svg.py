"""A plot as SVG, written by hand: lines over logarithmic axes, readable on light and on dark."""

import math
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 640, 360
LEFT, RIGHT, TOP, BOTTOM = 74, 150, 34, 48
COLOURS = ("#3b82f6", "#f97316", "#10b981", "#a855f7")  # of medium lightness: visible on light and dark
GREY = "#888888"


@dataclass
class Line:
    name: str
    points: list[tuple[float, float]]
    dashed: bool = False


@dataclass
class Plot:
    title: str
    across: str  # label of the x axis
    up: str      # label of the y axis
    lines: list[Line] = field(default_factory=list)


def short(value: float) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def decades(low: float, high: float) -> list[float]:
    """Returns the powers of ten around `low` and `high`, at least two."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    return [10.0 ** power for power in range(first, max(last, first + 1) + 1)]


def svg(plot: Plot) -> str:
    points = [(x, y) for line in plot.lines for x, y in line.points if x > 0 and y > 0]
    xs, ys = (decades(min(values), max(values)) for values in zip(*points))

    def place(value: float, ticks: list[float], begin: float, end: float) -> float:
        low, high = math.log10(ticks[0]), math.log10(ticks[-1])
        return begin + (math.log10(value) - low) / (high - low) * (end - begin)

    def at_x(value: float) -> float:
        return place(value, xs, LEFT, WIDTH - RIGHT)

    def at_y(value: float) -> float:
        return place(value, ys, HEIGHT - BOTTOM, TOP)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12" '
           f'fill="{GREY}" role="img" aria-label="{escape(plot.title)}">',
           f'<text x="{LEFT}" y="18" font-size="14">{escape(plot.title)}</text>']
    for tick in xs:
        out.append(f'<line x1="{at_x(tick):.1f}" y1="{TOP}" x2="{at_x(tick):.1f}" y2="{HEIGHT - BOTTOM}" stroke="{GREY}" stroke-opacity="0.3"/>')
        out.append(f'<text x="{at_x(tick):.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{short(tick)}</text>')
    for tick in ys:
        out.append(f'<line x1="{LEFT}" y1="{at_y(tick):.1f}" x2="{WIDTH - RIGHT}" y2="{at_y(tick):.1f}" stroke="{GREY}" stroke-opacity="0.3"/>')
        out.append(f'<text x="{LEFT - 6}" y="{at_y(tick) + 4:.1f}" text-anchor="end">{short(tick)}</text>')
    out.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 10}" text-anchor="middle">{escape(plot.across)}</text>')
    middle = (TOP + HEIGHT - BOTTOM) / 2
    out.append(f'<text x="16" y="{middle}" text-anchor="middle" transform="rotate(-90 16 {middle})">{escape(plot.up)}</text>')
    for number, line in enumerate(plot.lines):
        colour = GREY if line.dashed else COLOURS[number % len(COLOURS)]
        path = " ".join(f"{at_x(x):.1f},{at_y(y):.1f}" for x, y in line.points if x > 0 and y > 0)
        dash = ' stroke-dasharray="5 4"' if line.dashed else ""
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
        if not line.dashed:
            out += [f'<circle cx="{at_x(x):.1f}" cy="{at_y(y):.1f}" r="3" fill="{colour}"/>' for x, y in line.points if x > 0 and y > 0]
        row = TOP + 14 + number * 18
        out.append(f'<line x1="{WIDTH - RIGHT + 10}" y1="{row - 4}" x2="{WIDTH - RIGHT + 30}" y2="{row - 4}" stroke="{colour}" stroke-width="2"{dash}/>')
        out.append(f'<text x="{WIDTH - RIGHT + 36}" y="{row}">{escape(line.name)}</text>')
    return "\n".join(out) + "\n</svg>\n"


@dataclass
class Bar:
    name: str
    value: float


@dataclass
class Bars:
    title: str
    unit: str
    bars: list[Bar]
    most: float | None = None  # longer bars are cut here; their values stand beside them all the same


def bars(plot: Bars) -> str:
    """One horizontal bar a line, on a linear scale from 0, with its value; skiff's are coloured."""
    step, names, room = 26, 250, 70
    height = TOP + step * len(plot.bars) + 10
    most = min(max(bar.value for bar in plot.bars), plot.most or math.inf)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12" '
           f'fill="{GREY}" role="img" aria-label="{escape(plot.title)}">',
           f'<text x="10" y="18" font-size="14">{escape(plot.title)}</text>']
    for number, bar in enumerate(plot.bars):
        y = TOP + step * number
        length = min(bar.value, most) / most * (WIDTH - names - room)
        colour = COLOURS[0] if "skiff" in bar.name else GREY
        cut = "" if bar.value <= most else ' stroke-dasharray="2 3" stroke-width="2" stroke="#888888"'
        value = f"{bar.value:,.0f}" if bar.value >= 100 else f"{bar.value:.3g}"
        out.append(f'<text x="{names - 8}" y="{y + 14}" text-anchor="end">{escape(bar.name)}</text>')
        out.append(f'<rect x="{names}" y="{y}" width="{length:.1f}" height="18" rx="2" fill="{colour}" fill-opacity="0.8"{cut}/>')
        out.append(f'<text x="{names + length + 6:.1f}" y="{y + 14}">{value}{" " + plot.unit if plot.unit not in ("", "x") else plot.unit}</text>')
    return "\n".join(out) + "\n</svg>\n"
