#!/usr/bin/env python3
"""Density picture of a result: one column of pixels per value of an input, brightness by how many
trajectories end there. Needs numpy only.

    shoal run examples/lorenz.ode --sweep rho=lin:0:200:1000000 --vars x -o build/lorenz.npz
    tools/picture.py build/lorenz.npz rho x docs/lorenz.png
"""
import struct
import sys
import zlib

import numpy as np

WIDTH, HEIGHT = 1200, 500


def write_png(path, rgb):
    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    height, width, _ = rgb.shape
    rows = b"".join(b"\0" + rgb[i].tobytes() for i in range(height))
    with open(path, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n")
        f.write(chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)))
        f.write(chunk(b"IDAT", zlib.compress(rows, 9)))
        f.write(chunk(b"IEND", b""))


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    file, x_name, y_name, out = sys.argv[1:]
    result = np.load(file)
    x, y = result[x_name].astype(float), result[y_name].astype(float)
    good = np.isfinite(y)
    counts, _, _ = np.histogram2d(x[good], y[good], bins=(WIDTH, HEIGHT))
    light = np.log1p(counts.T[::-1])
    light = np.minimum(light / np.percentile(light[light > 0], 99), 1)
    stops = np.array([[8, 12, 34], [16, 70, 110], [40, 170, 170], [250, 240, 190]], float)
    place = light * (len(stops) - 1)
    low = np.minimum(place.astype(int), len(stops) - 2)
    mix = (place - low)[..., None]
    write_png(out, (stops[low] * (1 - mix) + stops[low + 1] * mix).round().astype(np.uint8))


if __name__ == "__main__":
    main()
