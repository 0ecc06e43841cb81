# SPDX-License-Identifier: Apache-2.0
"""Plots with two logarithmic axes, as SVG: the same text for the same numbers."""

import math
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 740, 400
LEFT, RIGHT, TOP, BOTTOM = 70, 250, 40, 50
DASHES = ["6 4", "2 3"]
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"]  # Okabe and Ito's: for any eyes.
FLOOR = "#777777"


class Axis:
    def __init__(self, values, begin, end):
        self.low, self.high = math.log10(min(values)), math.log10(max(values))
        if self.low == self.high:
            self.low, self.high = self.low - 0.5, self.high + 0.5
        self.begin, self.end = begin, end

    def place(self, value):
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return round(self.begin + share * (self.end - self.begin), 1)


def ticks_around(values):
    """1, 2 and 5 times each power of ten, as far as to enclose all values; a whole decade at least, for what is level
    should look level."""
    steps = [factor * 10.0**power for power in range(-2, 9) for factor in (1, 2, 5)]
    low = max(step for step in steps if step <= min(values))
    high = min(step for step in steps if step >= max(values))
    if high < 10 * low:
        low = max(step for step in steps if step <= high / 10)
    return [step for step in steps if low <= step <= high]


def log_plot(title, x_title, y_title, series, x_labels):
    """`series`: by name, a list of (x, y); floors, by their names, are dashed. `x_labels`: by x, text."""
    xs = [x for points in series.values() for x, _ in points]
    y_ticks = ticks_around([y for points in series.values() for _, y in points])
    x_axis = Axis(xs, LEFT, WIDTH - RIGHT)
    y_axis = Axis(y_ticks, HEIGHT - BOTTOM, TOP)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        'font-size="13">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="22" font-size="15" font-weight="bold">{escape(title)}</text>',
    ]
    for tick in y_ticks:
        y = y_axis.place(tick)
        decade = math.isclose(math.log10(tick) % 1, 0, abs_tol=1e-9)
        out.append(f'<path d="M{LEFT} {y}H{WIDTH - RIGHT}" stroke="{"#bbbbbb" if decade else "#eeeeee"}"/>')
        if decade or len(y_ticks) < 10:
            out.append(f'<text x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{tick:,g}</text>')
    for x_value, label in x_labels.items():
        x = x_axis.place(x_value)
        out.append(f'<path d="M{x} {TOP}V{HEIGHT - BOTTOM}" stroke="#eeeeee"/>')
        out.append(f'<text x="{x}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{escape(label)}</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    out.append(f'<text x="{middle}" y="{HEIGHT - 10}" text-anchor="middle">{escape(x_title)}</text>')
    out.append(f'<text transform="translate(18 {(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)" text-anchor="middle">'
               f"{escape(y_title)}</text>")
    colours, dashes = iter(COLOURS), iter(DASHES)
    for row, (name, points) in enumerate(series.items()):
        is_floor = name.startswith("floor")
        colour = FLOOR if is_floor else next(colours)
        line = " ".join(f"{x_axis.place(x)},{y_axis.place(y)}" for x, y in points)
        dash = f' stroke-dasharray="{next(dashes)}"' if is_floor else ""
        out.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
        if not is_floor:
            out += [f'<circle cx="{x_axis.place(x)}" cy="{y_axis.place(y)}" r="3" fill="{colour}"/>' for x, y in points]
        y = TOP + 10 + 22 * row
        out.append(f'<path d="M{WIDTH - RIGHT + 15} {y}h24" stroke="{colour}" stroke-width="2"{dash}/>')
        out.append(f'<text x="{WIDTH - RIGHT + 46}" y="{y + 4}">{escape(name)}</text>')
    return "\n".join([*out, "</svg>"]) + "\n"
