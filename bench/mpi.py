# SPDX-License-Identifier: MIT
"""Two ranks of shoal-mpi against two threads of shoal, and what 64 ranks and more ask of rank 0.

    python3 bench/mpi.py BUILD

Seconds are those of the runs themselves, without the start of mpirun, and those that all processes
took of processors, with it; the best of ROUNDS, in turns. MPI_CHUNK: rows of a message.
"""
import os
import re
import resource
import subprocess
import sys
import tempfile

import mpi_scale

ROUNDS = 5
SLEEP_S = 8  # of each rank
MODEL = """par rho=28
init x=1, y=1, z=1
x'=10*(y-x)
y'=x*(rho-z)-y
z'=x*y-8/3*z
@ t1=10, method=tsit5
"""


def run(words):
    """What it said, and the seconds of processors that it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(words, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(done.stderr)
    return done.stderr, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def seconds(said):
    return float(re.search(r"rejected; ([0-9.e-]+) s", said).group(1))


def compare(build, place):
    """Two threads and two ranks, each on a core of its own."""
    job = ["run", f"{place}/lorenz.ode", "--device", "cpu", "--sweep", "rho=lin:0:28:1000000",
           "-o", f"{place}/out.npz"]
    ways = {"two threads": [f"{build}/shoal", *job, "--threads", "2"],
            "two ranks": ["mpirun", "-n", "2", f"{build}/shoal-mpi", *job, "--threads", "1"]}
    best = {name: (float("inf"), float("inf")) for name in ways}
    for _ in range(ROUNDS):
        for name, words in ways.items():
            said, cpu = run(words)
            best[name] = min(best[name][0], seconds(said)), min(best[name][1], cpu)
    for name, (wall, cpu) in best.items():
        print(f"{name:12} {wall:.3f} s, {cpu:.3f} s of processors")
    threads, ranks = best.values()
    print(f"ranks / threads: {ranks[0] / threads[0]:.3f} (bar 1.05), of processors "
          f"{ranks[1] / threads[1]:.3f}")


def costs(said):
    """Of rank 0: how many requests and messages, microseconds of each, and bytes."""
    line = re.search(r"^ranks .*$", said, re.M).group(0)
    print(line)
    return map(float, re.search(
        r"asked (\d+) times \(([0-9.]+) us each\), sent (\d+) messages \(([0-9.]+) us each\), "
        r"(\d+) bytes", line).groups())


def sleepers(build, place):
    """64 ranks that sleep: how busy rank 0 is, and how much of the time they work."""
    chunk, ranks = float(os.environ.setdefault("MPI_CHUNK", "100")), 64
    rate = 8 * chunk / 0.5  # eight messages for each half second
    os.environ["MPI_RATE"] = str(rate)
    rows = int(ranks * rate * SLEEP_S)
    said, _ = run(["mpirun", "-n", str(ranks), f"{build}/bench/sleepers", "run",
                   f"{place}/lorenz.ode", "--device", "cpu", "--threads", "1", "--t1", "0.1", "-v",
                   "--chunk", f"{chunk:.0f}", "--sweep", f"rho=lin:0:28:{rows}",
                   "-o", f"{place}/out.npz"])
    asks, ask_us, data, data_us, size = costs(said)
    wall = seconds(said)
    print(f"{ranks} ranks that sleep: rank 0 busy {1e-4 * (asks * ask_us + data * data_us) / wall:.1f} % "
          f"(bar 30), ranks work {100 * SLEEP_S / wall:.1f} % of the time, {size / data:.0f} bytes a "
          "message")
    mpi_scale.show(ask_us, data_us, (512, 2000, 10000))


def main():
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                      OMPI_MCA_rmaps_base_oversubscribe="1")
    with tempfile.TemporaryDirectory() as place:
        with open(f"{place}/lorenz.ode", "w", encoding="ascii") as model:
            model.write(MODEL)
        compare(sys.argv[1], place)
        sleepers(sys.argv[1], place)


main()
