# SPDX-License-Identifier: MIT
"""Batches of grids by Shoal, NumPy and CuPy, from and to ordinary memory: `make bench-grids`.

Times are the shortest of several calls, warm, in milliseconds, into memory that is there; `first` is the first call of a
process with an empty cache, on the device that `auto` chooses. CuPy is left out where it is not
installed.
"""

import os
import subprocess
import sys
import tempfile
import time

import numpy as np

try:
    import cupy
except ImportError:
    cupy = None

PIPELINES = {
    "rot90 | mask(v>5) | flip_h": lambda x, a: x.flip(_masked(x, _turned(x, a)), 2),
    "rot90(in) + (in>5)": lambda x, a: _turned(x, a) + (a > 5).astype(a.dtype),
    "rot90(in)*(in>0) + (nsum4(in)>0)": lambda x, a: _turned(x, a) * (a > 0) + (_neighbours(x, a) > 0).astype(a.dtype),
    "rot90": lambda x, a: _turned(x, a),
    "flip": lambda x, a: x.flip(a, (1, 2)),
    "mask(v>5)": lambda x, a: _masked(x, a),
    "in + 1": lambda x, a: a + a.dtype.type(1),
}
SIZES = [(20, 25), (50, 25), (100, 25), (200, 25), (1000, 25), (100_000, 30)]


def _turned(x, a):
    return x.rot90(a, axes=(1, 2))


def _masked(x, a):
    return x.where(a > 5, a, a.dtype.type(0))


def _neighbours(x, a):
    p = x.pad(a.astype(np.int16), ((0, 0), (1, 1), (1, 1)))
    return p[:, :-2, 1:-1] + p[:, 2:, 1:-1] + p[:, 1:-1, :-2] + p[:, 1:-1, 2:]


def batch(count, side):
    return np.random.default_rng(1).integers(0, 10, (count, side, side)).astype(np.uint8)


def shortest(call, seconds=0.4):
    best, end = np.inf, time.perf_counter() + seconds
    while True:
        begin = time.perf_counter()
        call()
        now = time.perf_counter()
        best = min(best, now - begin)
        if now > end:
            return best * 1e3


def first(text, count, side):
    """Of a process of its own, without its start and imports."""
    with tempfile.TemporaryDirectory() as cache:
        env = {**os.environ, "SHOAL_CACHE_DIR": cache}
        p = subprocess.run([sys.executable, __file__, text, str(count), str(side)], env=env, capture_output=True, text=True)
    return float(p.stdout) if p.returncode == 0 else np.nan


def one(text, count, side):
    import shoal

    grids = batch(int(count), int(side))
    begin = time.perf_counter()
    shoal.grid(text)(grids)
    print((time.perf_counter() - begin) * 1e3)


def main():
    import shoal

    print("| pipeline | grids | first | warm | device | NumPy | CuPy |\n|---|---|---|---|---|---|---|")
    for text, plain in PIPELINES.items():
        for count, side in SIZES:
            grids = batch(count, side)
            g = shoal.grid(text)
            g.warm(grids)
            if not np.array_equal(g(grids), plain(np, grids)):
                sys.exit(f"{text}: other grids than NumPy's")
            out = g(grids)
            ours = shortest(lambda: g(grids, out=out))
            numpy = shortest(lambda: np.ascontiguousarray(plain(np, grids)))
            theirs = f"{shortest(lambda: cupy.asnumpy(plain(cupy, cupy.asarray(grids)))):.3g}" if cupy else "-"
            print(f"| `{text}` | {count:,} of {side}x{side} | {first(text, count, side):.3g} | {ours:.3g} | "
                  f"{g.device.split(',')[0]} | {numpy:.3g} | {theirs} |".replace(" | mask", " \\| mask").replace(" | flip_h", " \\| flip_h"))


if __name__ == "__main__":
    one(*sys.argv[1:]) if len(sys.argv) == 4 else main()
