#!/usr/bin/env python3
"""Work-precision diagram, as SVG: one panel per ensemble, one curve per method. Needs Python only.

    make bench-stiff STIFF_SVG=docs/work_precision.svg
    tools/work_precision.py build/bench/stiff.csv docs/work_precision.svg

The table has the columns ensemble, method, rtol, error, seconds, steps. CVODE, where it is there, is
drawn in black, with broken lines. A method looks the same in every panel. Errors above 1 are left out.
"""
import csv
import math
import sys
from xml.sax.saxutils import escape

PANEL_W, PANEL_H = 440, 380
LEFT, TOP, GAP, RIGHT, AXIS = 78, 46, 70, 20, 52
LEGEND_COLUMNS, LEGEND_W, LEGEND_ROW = 6, 162, 24
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#b5539c", "#b8860b", "#3b9fd9", "#8b4513", "#6a5acd"]
BLACK, INK, GRID, PAPER = "#111111", "#333333", "#dddddd", "#ffffff"
PEER = "CVODE BDF"
TIMES = {-9: "1 ns", -8: "10 ns", -7: "100 ns", -6: "1 µs", -5: "10 µs", -4: "100 µs", -3: "1 ms",
         -2: "10 ms", -1: "100 ms", 0: "1 s", 1: "10 s"}
DIGITS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def read(path):
    """{ensemble: {method: [(log10 error, log10 seconds, rtol)]}}, in the order of the file."""
    panels = {}
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            error = max(float(row["error"]), 1e-16)
            point = (math.log10(error), math.log10(float(row["seconds"])), float(row["rtol"]))
            if error < 1:
                panels.setdefault(row["ensemble"], {}).setdefault(row["method"], []).append(point)
    return panels


def limits(panels, axis):
    """Whole decades around all points, the same for every panel."""
    values = [point[axis] for panel in panels.values() for curve in panel.values() for point in curve]
    return math.floor(min(values) - 0.05), math.ceil(max(values) + 0.05)


def text(x, y, words, size=13, anchor="middle", more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" {more}>{escape(words)}</text>'


def marker(shape, x, y, colour, size=4.2):
    """One of six shapes; from the second six on they are hollow."""
    fill = colour if shape < 6 else PAPER
    style = f'fill="{fill}" stroke="{colour}" stroke-width="1.5"'
    if shape % 6 == 0:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size}" {style}/>'
    corners, turn = [(4, 45), (3, -90), (4, 0), (3, 90), (5, -90)][shape % 6 - 1]
    radius = size * (1.35 if corners == 3 else 1.2)
    points = " ".join(f"{x + radius * math.cos(a):.1f},{y + radius * math.sin(a):.1f}" for a in
                      (math.radians(turn + 360 * i / corners) for i in range(corners)))
    return f'<polygon points="{points}" {style}/>'


def looks_of(methods):
    """{method: (colour, marker, line style)}."""
    looks = {}
    for i, method in enumerate(sorted(methods, key=lambda name: name != PEER), PEER not in methods):
        line = "" if i <= len(COLOURS) else ' stroke-dasharray="2 3"'
        looks[method] = (COLOURS[(i - 1) % len(COLOURS)], i, 'stroke-width="1.8"' + line)
    if PEER in looks:
        looks[PEER] = (BLACK, 0, 'stroke-width="2.6" stroke-dasharray="7 4"')
    return looks


class Panel:
    def __init__(self, left, x_limits, y_limits):
        self.left, self.x, self.y = left, x_limits, y_limits

    def at(self, x, y):
        (x0, x1), (y0, y1) = self.x, self.y
        return self.left + PANEL_W * (x - x0) / (x1 - x0), TOP + PANEL_H * (y1 - y) / (y1 - y0)

    def frame(self, title):
        out = [text(self.left + PANEL_W / 2, TOP - 16, title, 16, more='font-weight="bold"')]
        for decade in range(self.x[0], self.x[1] + 1):
            x, _ = self.at(decade, self.y[0])
            out.append(f'<path d="M{x:.1f} {TOP}v{PANEL_H}" stroke="{GRID}"/>')
            if decade % 2 == 0:
                out.append(text(x, TOP + PANEL_H + 19, "10" + str(decade).translate(DIGITS)))
        for decade in range(self.y[0], self.y[1] + 1):
            _, y = self.at(self.x[0], decade)
            out.append(f'<path d="M{self.left} {y:.1f}h{PANEL_W}" stroke="{GRID}"/>')
            out.append(text(self.left - 7, y + 4.5, TIMES.get(decade, f"1e{decade} s"), anchor="end"))
        out.append(f'<rect x="{self.left}" y="{TOP}" width="{PANEL_W}" height="{PANEL_H}" fill="none" stroke="{INK}"/>')
        out.append(text(self.left + PANEL_W / 2, TOP + PANEL_H + 41, "true relative error at the end"))
        return out

    def curve(self, points, look):
        colour, shape, line = look
        places = [self.at(x, y) for x, y, _ in points]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        out = [f'<path d="M{path}" fill="none" stroke="{colour}" stroke-linejoin="round" {line}/>']
        whole = [place for place, point in zip(places, points) if abs(math.log10(point[2]) % 1 - 0.5) > 0.4]
        return out + [marker(shape, x, y, colour) for x, y in whole]


def legend(looks, left, top):
    out = []
    for i, (method, (colour, shape, line)) in enumerate(looks.items()):
        x, y = left + i % LEGEND_COLUMNS * LEGEND_W, top + i // LEGEND_COLUMNS * LEGEND_ROW
        out.append(f'<path d="M{x} {y}h34" stroke="{colour}" {line}/>')
        out.append(marker(shape, x + 17, y, colour))
        out.append(text(x + 42, y + 4.5, method, anchor="start"))
    return out


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    panels = read(sys.argv[1])
    if not panels:
        sys.exit("no points")
    looks = looks_of(list(dict.fromkeys(method for panel in panels.values() for method in panel)))
    x_limits, y_limits = limits(panels, 0), limits(panels, 1)
    rows = -(-len(looks) // LEGEND_COLUMNS)
    width = LEFT + len(panels) * PANEL_W + (len(panels) - 1) * GAP + RIGHT
    height = TOP + PANEL_H + AXIS + 14 + rows * LEGEND_ROW + 28
    body = []
    for i, (title, curves) in enumerate(panels.items()):
        panel = Panel(LEFT + i * (PANEL_W + GAP), x_limits, y_limits)
        body += panel.frame(title)
        for method, points in sorted(curves.items(), key=lambda item: looks[item[0]][1], reverse=True):
            body += panel.curve(points, looks[method])
    body.append(text(20, TOP + PANEL_H / 2, "time of a trajectory, one core",
                     more=f'transform="rotate(-90 20 {TOP + PANEL_H / 2})"'))
    body += legend(looks, LEFT, TOP + PANEL_H + AXIS + 18)
    body.append(text(LEFT, height - 12, "a point every half decade of rtol, a mark every decade, 1e-3 on the right",
                     12, "start", 'font-style="italic"'))
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
                   f'height="{height}" font-family="Helvetica, Arial, sans-serif" fill="{INK}">\n'
                   f'<rect width="{width}" height="{height}" rx="8" fill="{PAPER}"/>\n')
        file.write("\n".join(body) + "\n</svg>\n")


if __name__ == "__main__":
    main()
