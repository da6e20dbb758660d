#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws the figures of docs/examples.md, as SVG, from the results of its commands. Needs Python only.

    make && tools/figures.py

runs every command of that page, with build/shoal, and writes docs/*.svg.
"""
import csv
import math
import pathlib
import shlex
import subprocess
import tempfile

WIDTH, LEFT, RIGHT, TOP, GAP, AXIS = 860, 78, 20, 20, 30, 52
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#b5539c"]
INK, GRID, PAPER, GREY = "#333333", "#dddddd", "#ffffff", "#888888"


def text(x, y, words, anchor="middle", more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="13" text-anchor="{anchor}" {more}>{words}</text>'


def ticks(low, high, log):
    """Round numbers between the limits; powers of ten on a logarithmic axis."""
    if log:
        return [10.0**k for k in range(math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9) + 1)]
    step = 10 ** math.floor(math.log10((high - low) / 4))
    step *= next(m for m in (1, 2, 5, 10) if (high - low) / (step * m) <= 8)
    first = math.ceil(low / step - 1e-9)
    return [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]


class Panel:
    """A frame with two axes; what is drawn is kept in `body`."""

    def __init__(self, x, y, labels, top=TOP, height=360, log=False):
        self.x, self.y, self.labels, self.log = x, y, labels, log
        self.top, self.height, self.body = top, height, []

    def scale(self, value, limits):
        if self.log:
            value, limits = math.log(value), [math.log(limit) for limit in limits]
        return (value - limits[0]) / (limits[1] - limits[0])

    def at(self, x, y):
        return (LEFT + (WIDTH - LEFT - RIGHT) * self.scale(x, self.x),
                self.top + self.height * (1 - self.scale(y, self.y)))

    def path(self, points):
        return "L".join(f"{x:.1f} {y:.1f}" for x, y in (self.at(*p) for p in points if p[1] == p[1]))

    def line(self, points, colour, more='stroke-width="1.6"'):
        self.body.append(f'<path d="M{self.path(points)}" fill="none" stroke="{colour}" stroke-linejoin="round" {more}/>')

    def band(self, low, high, colour):
        self.body.append(f'<path d="M{self.path(low + high[::-1])}z" fill="{colour}" fill-opacity="0.2"/>')

    def points(self, points, colour, size=2.4):
        dots = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in (self.at(*p) for p in points))
        self.body.append(f'<path d="{dots}" stroke="{colour}" stroke-width="{size}" stroke-linecap="round"/>')

    def legend(self, rows, x=None):
        x = WIDTH - RIGHT - 190 if x is None else x
        for i, (colour, words, *more) in enumerate(rows):
            y = self.top + 22 + 22 * i
            self.body.append(f'<path d="M{x} {y}h28" stroke="{colour}" stroke-width="2" {" ".join(more)}/>')
            self.body.append(text(x + 36, y + 4.5, words, "start"))

    def frame(self, below):
        """Grid, numbers and names; the lower axis has its own only if nothing is below it."""
        bottom, right = self.top + self.height, WIDTH - RIGHT
        for value in ticks(*self.x, self.log):
            x, _ = self.at(value, self.y[0])
            yield f'<path d="M{x:.1f} {self.top}v{self.height}" stroke="{GRID}"/>'
            if not below:
                yield text(x, bottom + 19, f"{value:g}")
        for value in ticks(*self.y, self.log):
            _, y = self.at(self.x[0], value)
            yield f'<path d="M{LEFT} {y:.1f}H{right}" stroke="{GRID}"/>'
            yield text(LEFT - 7, y + 4.5, f"{value:g}", "end")
        yield f'<rect x="{LEFT}" y="{self.top}" width="{right - LEFT}" height="{self.height}" fill="none" stroke="{INK}"/>'
        middle = self.top + self.height / 2
        yield text(22, middle, self.labels[1], more=f'transform="rotate(-90 22 {middle})"')
        if not below:
            yield text((LEFT + right) / 2, bottom + 41, self.labels[0])


def write(path, panels):
    height = panels[-1].top + panels[-1].height + AXIS
    body = [line for p in panels for line in [*p.frame(p is not panels[-1]), *p.body]]
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" font-family="Helvetica, Arial, sans-serif" fill="{INK}">\n'
        f'<rect width="{WIDTH}" height="{height}" rx="8" fill="{PAPER}"/>\n' + "\n".join(body) + "\n</svg>\n",
        encoding="utf-8")


def table(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def pairs(rows, x, y):
    return [(float(row[x]), float(row[y])) for row in rows]


def found(points):
    return [p for p in points if p[0] == p[0] and p[1] == p[1]]


# ---- The figures, by their names -----------------------------------------------------------------


def bouncing_ball(results):
    panel = Panel((0, 3), (0, 1), ("t", "y"), height=280)
    rows = table(results / "ball.csv")
    for run, colour in zip(table(results / "ball.runs.csv"), COLOURS):
        panel.line(pairs([row for row in rows if row["run"] == run["run"]], "t", "y"), colour)
    panel.legend([(c, f"e = {run['e']}") for run, c in zip(table(results / "ball.runs.csv"), COLOURS)])
    return [panel]


def integrate_and_fire(results):
    panels = []
    for run, words in enumerate(("without kicks", "w = 0.05")):
        panel = Panel((0, 300), (0.5, 10.5), ("t", words), TOP + run * (190 + GAP), 190)
        for neuron in range(1, 11):
            rows = [row for row in table(results / f"ring.fire{neuron}.csv") if row["run"] == str(run)]
            panel.points(found([(float(row["t"]), neuron) for row in rows]), COLOURS[run], 6)
        panels.append(panel)
    return panels


def firing_rate(results):
    panel = Panel((0, 40), (0, 120), ("I, uA/cm²", "spikes per second"))
    points = pairs(table(results / "rate.csv"), "I", "f")
    panel.points([(x, 0 if y != y else y) for x, y in points], COLOURS[0], 4)
    return [panel]


def two_compartment(results):
    rows = table(results / "percentiles.csv")
    panels = []
    for i, arm in enumerate(("bolus", "infusion")):
        own = [row for row in rows if row["_arm"] == arm]
        panel = Panel((0, 96), (0, 40), ("t, hours", f"{arm}: mg/l"), TOP + i * (220 + GAP), 220)
        panel.band(pairs(own, "t", "c.q0.05"), pairs(own, "t", "c.q0.95"), COLOURS[i])
        panel.line(pairs(own, "t", "c.q0.5"), COLOURS[i])
        panels.append(panel)
    return panels


def recorded_current(results):
    rows = [row for row in table(results / "spikes.csv") if row["run"] == "1"]
    current = Panel((0, 100), (-5, 15), ("t, ms", "uA/cm²"), TOP, 150)
    current.line(pairs(rows, "t", "current"), COLOURS[1], 'stroke-width="1.2"')
    potential = Panel((0, 100), (-80, 60), ("t, ms", "mV"), TOP + 150 + GAP, 200)
    potential.line(pairs(rows, "t", "v"), COLOURS[0], 'stroke-width="1.2"')
    return [current, potential]


def lorenz_maxima(results):
    panel = Panel((28, 48), (28, 48), ("a maximum of z", "the next one"), height=560)
    panel.line([(28, 28), (48, 48)], GREY, 'stroke-dasharray="2 4"')
    for row in table(results / "maxima.csv"):
        maxima = [float(row[f"m.{i}"]) for i in range(1, 101)]
        panel.points(found(zip(maxima, maxima[1:])), COLOURS[0])
    return [panel]


def vanderpol_period(results):
    panel = Panel((0.1, 50), (1, 100), ("mu", "period"), log=True)
    broken = 'stroke-dasharray="6 4"'
    panel.line([(0.1, 2 * math.pi), (50, 2 * math.pi)], GREY, broken)
    slope = 3 - 2 * math.log(2)
    panel.line([(1 / slope, 1), (50, 50 * slope)], COLOURS[1], broken)
    panel.line(pairs(table(results / "periods.csv"), "mu", "T"), COLOURS[0], 'stroke-width="2.2"')
    panel.legend([(COLOURS[0], "period"), (GREY, "2 pi", broken), (COLOURS[1], "(3 - 2 ln 2) mu", broken)], LEFT + 24)
    return [panel]


FIGURES = (bouncing_ball, integrate_and_fire, firing_rate, two_compartment, recorded_current, lorenz_maxima,
           vanderpol_period)


def commands(page):
    """Each `shoal run` of a page, as words."""
    whole = page.read_text(encoding="utf-8").replace("\\\n", " ")
    return [shlex.split(line) for line in whole.splitlines() if line.startswith("shoal run ")]


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    with tempfile.TemporaryDirectory() as folder:
        results = pathlib.Path(folder)
        for words in commands(root / "docs" / "examples.md"):
            words[0] = str(root / "build" / "shoal")
            words[-1] = str(results / words[-1])
            subprocess.run([*words, "-q"], check=True, cwd=root)
        for figure in FIGURES:
            write(root / "docs" / f"{figure.__name__}.svg", figure(results))


if __name__ == "__main__":
    main()
