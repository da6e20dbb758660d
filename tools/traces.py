#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws columns of a CSV result against time, one below the other, as SVG:

    shoal run examples/recorded_current.ode --driver I=examples/current.csv,cubic \\
        --vars current,v --save n=1001 -o build/traces.csv
    tools/traces.py build/traces.csv docs/recorded_current.svg current v
"""
import csv
import sys

WIDTH, HEIGHT, LEFT, TOP, GAP = 860, 150, 70, 20, 36


def path(times, values, low, high, top):
    span = times[-1] - times[0]
    points = (
        f"{LEFT + (WIDTH - LEFT - 20) * (t - times[0]) / span:.1f} "
        f"{top + HEIGHT - HEIGHT * (v - low) / (high - low or 1):.1f}"
        for t, v in zip(times, values)
    )
    return "M" + "L".join(points)


def panel(name, times, values, top):
    low, high = min(values), max(values)
    yield f'<rect x="{LEFT}" y="{top}" width="{WIDTH - LEFT - 20}" height="{HEIGHT}" fill="none" stroke="#dddddd"/>'
    for value, y in ((high, top + 12), (low, top + HEIGHT)):
        yield f'<text x="{LEFT - 8}" y="{y}" font-size="13" text-anchor="end">{value:.4g}</text>'
    yield f'<text x="{LEFT - 8}" y="{top + HEIGHT / 2}" font-size="14" text-anchor="end" font-weight="bold">{name}</text>'
    yield f'<path d="{path(times, values, low, high, top)}" fill="none" stroke="#20639b" stroke-width="1.2"/>'


def main(source, target, names):
    with open(source, newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["run"] == "0"]
    times = [float(row["t"]) for row in rows]
    body = []
    for i, name in enumerate(names):
        body += panel(name, times, [float(row[name]) for row in rows], TOP + i * (HEIGHT + GAP))
    height = TOP + len(names) * (HEIGHT + GAP)
    body.append(
        f'<text x="{WIDTH / 2}" y="{height - 12}" font-size="13" text-anchor="middle">'
        f"t from {times[0]:g} to {times[-1]:g}</text>"
    )
    with open(target, "w", encoding="utf-8") as file:
        file.write(
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
            f'height="{height}" font-family="Helvetica, Arial, sans-serif" fill="#333333">\n'
            f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#ffffff"/>\n'
        )
        file.write("\n".join(body) + "\n</svg>\n")


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
