# SPDX-License-Identifier: MIT
"""Batches of grids by Shoal, NumPy and CuPy, from and to ordinary memory: `make bench-grids`.

Times are the shortest of several calls, warm, in milliseconds, into memory that is there; `first` is the first call of a
process with an empty cache, on the device that `auto` chooses. CuPy is left out where it is not
installed.

The table `lists` has 200 grids of up to 30x30 as a list, of one shape and of many, to a list of as many arrays; the bar is
0.1 ms.

The table `whole` has pipelines that look at grids as a whole, on the CPU and on every device, with
results that must agree; results are small, so that little is copied back.

The last table has what `auto` takes for 1 to 1,000,000 small grids beside each device: the lower quarter of calls,
after as many that it may learn from. The bar is 1.25 times the better one plus 0.1 ms. `make bench-grids TABLE=auto` prints it
alone, as it does each of them.
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
AUTO = "rot90(in)*(in>0) + (nsum4(in)>0)"
AUTO_SIZES = [10**k for k in range(7)]
AUTO_SIDE = 10
SIZES = [(20, 25), (50, 25), (100, 25), (200, 25), (1000, 25), (100_000, 30)]
WHOLE = ["sum % 251", "most_common", "crop_to_content(0)", "(label8 | max) % 251",
         "(size4 | max) % 251", "(in>4 | label8 | max) % 251", "(fill(h/2, w/2, 11) | sum) % 251",
         "in%2 | step(B3/S23, 100) | sum % 251"]
WHOLE_SIZES = [(100_000, 30), (64, 1024)]


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


def typical(call, seconds=0.4):
    """The lower quarter of calls; those of the first seconds do not count."""
    times = []
    for counted in (False, True):
        end = time.perf_counter() + seconds
        while not times or time.perf_counter() < end:
            begin = time.perf_counter()
            call()
            times.append(time.perf_counter() - begin)
        times = times if counted else []
    return float(np.percentile(times, 25)) * 1e3


def first(text, count, side):
    """Of a process of its own, without its start and imports."""
    with tempfile.TemporaryDirectory() as cache:
        env = {**os.environ, "SHOAL_CACHE_DIR": cache}
        p = subprocess.run([sys.executable, __file__, "one", text, str(count), str(side)], env=env, capture_output=True, text=True)
    return float(p.stdout) if p.returncode == 0 else np.nan


def one(text, count, side):
    import shoal

    grids = batch(int(count), int(side))
    begin = time.perf_counter()
    shoal.grid(text)(grids)
    print((time.perf_counter() - begin) * 1e3)


def pipelines():
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


def auto():
    import shoal

    devices = ["cpu"] + [d.name for d in shoal.devices() if d.usable and d.name != "cpu"]
    print(f"`{AUTO}` on grids of {AUTO_SIDE}x{AUTO_SIDE}, u8, ms\n")
    print(f"| grids | auto | chosen | {' | '.join(devices)} | to the better | bar |\n|{'---|' * (5 + len(devices))}")
    for count in AUTO_SIZES:
        grids = batch(count, AUTO_SIDE)
        out = np.empty_like(grids)
        took = {}
        for device in ["auto"] + devices:
            g = shoal.grid(AUTO, device=device)
            took[device] = typical(lambda: g(grids, out=out))
            chosen = g.device.split(",")[0] if device == "auto" else chosen
            if not np.array_equal(out, PIPELINES[AUTO](np, grids)):
                sys.exit(f"{device}: other grids than NumPy's")
        better = min(took[d] for d in devices)
        met = "met" if took["auto"] <= 1.25 * better + 0.1 else "missed"
        print(f"| {count:,} | {took['auto']:.3g} | {chosen} | {' | '.join(f'{took[d]:.3g}' for d in devices)} | "
              f"{took['auto'] / better:.2f} | {met} |", flush=True)


def lists():
    import shoal

    sizes = np.random.default_rng(2).integers(5, 31, (200, 2))
    many = [batch(1, 30)[0, :h, :w].copy() for h, w in sizes]
    print("| pipeline | 200 grids | list to list | bar | NumPy, grid by grid |\n|---|---|---|---|---|")
    for text in list(PIPELINES)[:3]:
        plain = PIPELINES[text]
        for name, grids in (("of many shapes", many), ("of 25x25", list(batch(200, 25)))):
            if "rot90(in)" in text:  # turned and not, which must be of one shape
                grids = [g[: min(g.shape), : min(g.shape)].copy() for g in grids]
            g = shoal.grid(text)
            g.warm(grids)
            if any(not np.array_equal(a, plain(np, b[None])[0]) for a, b in zip(g(grids), grids, strict=True)):
                sys.exit(f"{text}: other grids than NumPy's")
            ours, numpy = shortest(lambda: g(grids)), shortest(lambda: [plain(np, b[None])[0] for b in grids])
            met = "met" if ours <= 0.1 else "missed"
            print(f"| `{text}` | {name} | {ours:.3g} ms | 0.1, {met} | {numpy:.3g} ms |".replace(" | mask", " \\| mask").replace(" | flip", " \\| flip"), flush=True)


def whole():
    """Without lists of results, which take longer to make than all else."""
    import shoal

    devices = ["cpu"] + [d.name for d in shoal.devices() if d.usable and d.name != "cpu"]
    print(f"| pipeline | grids | {' | '.join(devices)} |\n|{'---|' * (2 + len(devices))}")
    for text in WHOLE:
        for count, side in WHOLE_SIZES:
            grids, took, results = batch(count, side), [], []
            given = shoal.grids._given(grids)[0]
            for device in devices:
                g = shoal.grid(text, device=device)
                out = (given[1], np.zeros(grids.size, np.uint8), np.empty((count, 2), np.int32),
                       np.empty(count, np.uint64), np.empty(count, np.uint8))
                g._core.run(given, out)
                took.append(f"{shortest(lambda: g._core.run(given, out)):.3g}")
                results.append(out)
                if any(not np.array_equal(a, b) for a, b in zip(out[1:], results[0][1:])):
                    sys.exit(f"{text}: {device} has other results than {devices[0]}")
            name = text.replace("|", "\\|")
            print(f"| `{name}` | {count:,} of {side}x{side} | {' | '.join(took)} |", flush=True)


TABLES = {"pipelines": pipelines, "lists": lists, "whole": whole, "auto": auto}


def main():
    for name in sys.argv[1:] or TABLES:
        TABLES[name]()
        print()


if __name__ == "__main__":
    one(*sys.argv[2:]) if sys.argv[1:2] == ["one"] else main()
