# SPDX-License-Identifier: MIT
"""The Python package against what else a Python user would take: `make bench-python`.

Each tool runs each job in processes of its own, which find no kernel: from the start of Python to
the first results, the shortest of later runs of a process, the processor time of all its threads,
and the true error of the final states against SciPy's DOP853 (Lorenz) or Radau (HIRES) at 1e-12.
Tools take turns, and the least time of each counts, as others may use the machine. Jobs of tools
that take too long are done for fewer trajectories and scaled, which the table says. Tools that are
not installed are left out.

Before that, what Python adds to the same calls in C (bench/python.c), by processes of both in turn.
"""

import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

LORENZ = "x'=10*(y-x)\ny'=x*(rho-z)-y\nz'=x*y-8/3*z\npar rho=10\ninit x=1,y=1,z=1\n"
HIRES0 = [1.0, 0, 0, 0, 0, 0, 0, 0.0057]
CHECKED = 32
ROUNDS = 7  # processes of each tool and job,
LONG_S = 4  # or one where that takes so long
WARM_S = 5  # of later runs


def lorenz(t, y, rho):
    return [10.0 * (y[1] - y[0]), y[0] * (rho - y[2]) - y[1], y[0] * y[1] - 8.0 / 3.0 * y[2]]


def hires(t, y, k):
    return [-1.71 * y[0] + 0.43 * y[1] + 8.32 * y[2] + 0.0007, 1.71 * y[0] - 8.75 * y[1],
            -10.03 * y[2] + 0.43 * y[3] + 0.035 * y[4], 8.32 * y[1] + 1.71 * y[2] - 1.12 * y[3],
            -1.745 * y[4] + 0.43 * y[5] + 0.43 * y[6],
            -k * y[5] * y[7] + 0.69 * y[3] + 1.71 * y[4] - 0.43 * y[5] + 0.69 * y[6],
            k * y[5] * y[7] - 1.81 * y[6], -k * y[5] * y[7] + 1.81 * y[6]]  # fmt: skip


# function, values, end, initial values, tolerance, parameter
JOBS = {"Lorenz": (lorenz, np.linspace(0, 21, 100_000), 10.0, [1.0, 1.0, 1.0], 1e-6, "rho"),
        "HIRES": (hires, np.linspace(200, 300, 10_000), 321.8122, HIRES0, 1e-6, "k")}  # fmt: skip


def by_shoal(job, tol=None):
    import shoal

    fun, values, end, y0, usual, name = JOBS[job]
    tol = tol or usual
    solver = []

    def run(count):
        if not solver:
            solver.append(shoal.Solver(fun, (0, end), y0, args={name: values[0]}, rtol=tol, atol=tol))
        return solver[0](**{name: values[:count]}).y[..., 0]

    return run


def by_scipy(job, method):
    from scipy.integrate import solve_ivp

    fun, values, end, y0, tol, _ = JOBS[job]
    return lambda count: np.array([solve_ivp(fun, (0, end), y0, method=method, args=(v,), rtol=tol, atol=tol).y[:, -1]
                                   for v in values[:count]])


def by_numbalsoda(job):
    import numba
    from numbalsoda import lsoda, lsoda_sig

    fun, values, end, y0, tol, _ = JOBS[job]
    inner = numba.njit(fun)
    size = len(y0)

    @numba.cfunc(lsoda_sig)
    def rhs(t, u, du, p):
        y = numba.carray(u, (size,))
        d = inner(t, y, numba.carray(p, (1,))[0])
        for i in range(size):
            du[i] = d[i]

    address, start, times = rhs.address, np.array(y0), np.array([0.0, end])

    @numba.njit(parallel=True)
    def many(given):
        out = np.empty((given.size, size))
        for i in numba.prange(given.size):
            u, ok = lsoda(address, start, times, data=np.array([given[i]]), rtol=tol, atol=tol)
            out[i] = u[-1]
        return out

    return lambda count: many(values[:count])


def by_diffrax(job):
    import jax
    import jax.numpy as jnp
    import diffrax as dfx

    jax.config.update("jax_enable_x64", True)
    fun, values, end, y0, tol, _ = JOBS[job]
    solver = dfx.Tsit5() if job == "Lorenz" else dfx.Kvaerno5()
    term = dfx.ODETerm(lambda t, y, k: jnp.stack(fun(t, y, k)))

    def one(k):
        return dfx.diffeqsolve(term, solver, 0.0, end, None, jnp.array(y0), k, max_steps=100_000,
                               stepsize_controller=dfx.PIDController(rtol=tol, atol=tol)).ys[-1]

    many = jax.jit(jax.vmap(one))
    return lambda count: np.asarray(many(jnp.array(values[:count])))


# name, how it is run, and of which jobs how many trajectories at most
TOOLS = {
    "shoal": (by_shoal, {"Lorenz": 100_000, "HIRES": 10_000}),
    # where its error is nearest to that of numbalsoda at 1e-6, and below it
    "shoal at 1e-5": (lambda job: by_shoal(job, 1e-5), {"HIRES": 10_000}),
    "scipy RK45": (lambda job: by_scipy(job, "RK45"), {"Lorenz": 100}),
    "scipy Radau": (lambda job: by_scipy(job, "Radau"), {"HIRES": 20}),
    "scipy LSODA": (lambda job: by_scipy(job, "LSODA"), {"Lorenz": 100, "HIRES": 50}),
    "numbalsoda": (by_numbalsoda, {"Lorenz": 100_000, "HIRES": 10_000}),
    "diffrax": (by_diffrax, {"Lorenz": 100_000, "HIRES": 10_000}),
}


def warm(run, count):
    """The shortest run of some seconds, and the least processor time: compilers of other threads are done by then."""
    best, end = np.full(2, np.inf), time.perf_counter() + WARM_S
    while time.perf_counter() < end:
        begin = np.array([time.perf_counter(), time.process_time()])
        run(count)
        best = np.minimum(best, [time.perf_counter(), time.process_time()] - begin)
    return best


def one(tool, job):
    """In a process of its own; its start is in the environment."""
    make, most = TOOLS[tool]
    run, count = make(job), most[job]
    first = run(min(count, 1000))
    first_s = time.time() - float(os.environ["SHOAL_BENCH_BEGIN"])
    second_s, cpu_s = warm(run, count) if float(os.environ["SHOAL_BENCH_WARM"]) else (np.inf, np.inf)
    step = max(len(first) // CHECKED, 1)
    print(json.dumps({"first_s": first_s, "second_s": second_s, "cpu_s": cpu_s, "count": count, "step": step,
                      "y": first[::step][:CHECKED].tolist()}))


def reference(job, step):
    from scipy.integrate import solve_ivp

    fun, values, end, y0, _, _ = JOBS[job]
    method = "DOP853" if job == "Lorenz" else "Radau"
    return np.array([solve_ivp(fun, (0, end), y0, method=method, args=(v,), rtol=1e-12, atol=1e-13).y[:, -1]
                     for v in values[: step * CHECKED : step]])


# runs, end, calls of a process, whether results go to the same memory
CALLS = ((8, 1.0, 20_000, True), (1_000_000, 1.0, 5, False), (1_000_000, 10.0, 2, False))


def calls(runs, end, count, again):
    """The shortest call of a warm solver."""
    import shoal

    s = shoal.Solver(LORENZ, (0, end), rtol=1e-6, atol=1e-6)
    rho = np.linspace(0, 21, runs)
    out = np.empty((runs, 3)) if again else None
    best = np.inf
    for i in range(count + 2):
        begin = time.perf_counter()
        r = s(rho=rho, out=out)
        seconds = time.perf_counter() - begin
        best = min(best, seconds) if i > 1 else best
        del r
    print(best)


def beside_c(program):
    print("| runs | to t = | in C | in Python | beyond |\n|---|---|---|---|---|")
    for job in CALLS:
        runs, end, count, _ = job
        best = [np.inf, np.inf]
        for _ in range(5):
            for i, argv in enumerate(([program, str(runs), str(end), str(count)],
                                      [sys.executable, __file__, "calls", json.dumps(job)])):  # fmt: skip
                p = subprocess.run(argv, capture_output=True, text=True, check=True)
                best[i] = min(best[i], float(p.stdout))
        c, python = best
        print(f"| {runs:,} | {end:g} | {c * 1e3:.4g} ms | {python * 1e3:.4g} ms | {(python - c) * 1e6:.0f} us, {100 * (python / c - 1):.1f} % |")
    print()


def process(tool, job, is_warm):
    """What a new process with an empty cache says; None: the tool is not there."""
    with tempfile.TemporaryDirectory() as cache:
        env = {**os.environ, "SHOAL_CACHE_DIR": cache, "SHOAL_BENCH_WARM": str(int(is_warm))}
        env["SHOAL_BENCH_BEGIN"] = repr(time.time())
        p = subprocess.run([sys.executable, __file__, tool, job], env=env, capture_output=True, text=True)
    if p.returncode:
        print(f"{tool} is left out: {p.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return None
    return json.loads(p.stdout.strip().splitlines()[-1])


def measure(job):
    """The best of each tool that is there."""
    found = {}
    for turn in range(ROUNDS):
        for tool, (_, most) in TOOLS.items():
            best = found.get(tool)
            if job not in most or (turn and (best is None or best["first_s"] > LONG_S)):
                continue
            r = process(tool, job, is_warm=turn == 0 or best["second_s"] < 1)
            if r and best:
                r = {**r, **{k: min(r[k], best[k]) for k in ("first_s", "second_s", "cpu_s")}}
            if r:
                found[tool] = r
    return found


def main():
    known = {}
    rows = []
    for job in JOBS:
        for tool, r in measure(job).items():
            want = known.setdefault((job, r["step"]), None)
            if want is None:
                want = known[job, r["step"]] = reference(job, r["step"])
            y = np.array(r["y"])
            error = np.sqrt(np.mean(((y - want[: len(y)]) / (1 + np.abs(want[: len(y)]))) ** 2))
            total = JOBS[job][1].size
            scale = total / r["count"]
            rows.append((job, tool, r["first_s"], r["second_s"] * scale, r["cpu_s"] * scale, r["count"], error))
    print("| job | tool | first results (up to 1,000), new process | all results, warm | processor time | done for | error |")
    print("|---|---|---|---|---|---|---|")
    ours = {row[0]: row[4] for row in rows if row[1] == "shoal"}
    for job, tool, first, second, cpu, count, error in rows:
        beside = f" ({cpu / ours[job]:.0f}x)" if job in ours and tool != "shoal" else ""
        print(f"| {job}, {JOBS[job][1].size:,} trajectories | {tool} | {first:.2f} s | {second:.3g} s | {cpu:.3g} s{beside} | "
              f"{count:,} | {error:.1e} |")


if __name__ == "__main__":
    if sys.argv[1:2] == ["calls"]:
        calls(*json.loads(sys.argv[2]))
    elif len(sys.argv) == 3:
        one(*sys.argv[1:])
    else:
        for given in sys.argv[1:]:
            beside_c(given)
        main()
