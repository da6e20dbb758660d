# SPDX-License-Identifier: MIT
"""More ranks of shoal-mpi than there are here, event by event.

    python3 bench/mpi_scale.py ASK_US MESSAGE_US [RANKS ...]

Rank 0 answers one message at a time: a request takes it ASK_US, a message with rows MESSAGE_US, as
`make bench-mpi` measures them. Ranks ask for a range, work on it for its time, give or take a
fifth, and send what it gave in MESSAGES messages, each of which they wait for. Ranges are those of
src/api/gather.c and mpi/other.c: RANGE_S times one more for each 256 ranks, and towards the end
half of an equal share of what is left, but not less than one message.
"""
import heapq
import random
import sys

RANGE_S = 0.5
RANKS_USUAL = 256
MESSAGES = 8        # of a range of the usual length
RANGES = 20         # of each rank, if all were of full length
LATENCY_S = 20e-6   # of the network, each way
NAP_S = 1e-3        # the longest of who waits


def nap(rng, waited):
    """Who has waited so long looks again after this."""
    return rng.random() * min(NAP_S, waited / 2)


class Rank0:
    """Takes messages in the order of their arrival."""
    def __init__(self, rng, left, ranks, cost):
        self.rng, self.left, self.ranks, self.cost = rng, left, ranks, cost
        self.free = self.busy = self.longest = 0.0

    def take(self, now, what):
        """When a message that arrives now is taken, and when its answer is on its way."""
        begin = max(now, self.free)
        if now > self.free:
            begin += nap(self.rng, now - self.free)
        self.free = begin + self.cost[what]
        self.busy += self.cost[what]
        self.longest = max(self.longest, begin - now)
        return begin, self.free

    def hand_out(self, wanted, least):
        work = min(max(min(wanted, self.left / 2 / self.ranks), least), self.left)
        self.left -= work
        return work


def simulate(ranks, ask_s, message_s, range_s):
    """Share of the time that rank 0 is busy for others, that all ranks work; the longest wait."""
    rng = random.Random(1)
    total = ranks * RANGES * range_s
    first = Rank0(rng, total, ranks, (ask_s, message_s))
    least = range_s / MESSAGES
    events = [(rng.random() * 0.1, i, 0, 0.0) for i in range(ranks)]  # time, rank, messages, each
    heapq.heapify(events)
    end = 0.0
    while events:
        now, rank, messages, each = heapq.heappop(events)
        if messages:
            taken, _ = first.take(now + LATENCY_S, 1)
            now = taken + LATENCY_S + nap(rng, taken - now)
            end = max(end, now)
            messages -= 1
            now += each if messages else 0
        else:
            _, answered = first.take(now + LATENCY_S, 0)
            work = first.hand_out(range_s, least)
            if work <= 0:
                continue
            now = answered + LATENCY_S + nap(rng, answered - now)
            messages = max(1, round(work / least))
            each = work / messages * (0.8 + 0.4 * rng.random())
            now += each
        heapq.heappush(events, (now, rank, messages, each))
    return first.busy / end, total / ranks / end, first.longest


def show(ask_us, message_us, counts):
    print(f"rank 0: {ask_us:.1f} us a request, {message_us:.1f} us a message")
    for ranks in counts:
        range_s = RANGE_S * (1 + ranks // RANKS_USUAL)
        busy, works, longest = simulate(ranks, ask_us * 1e-6, message_us * 1e-6, range_s)
        print(f"{ranks:6} ranks, ranges of {range_s:5.1f} s: rank 0 busy {100 * busy:.1f} % (bar 30), "
              f"ranks work {100 * works:.1f} % of the time, longest wait {1e3 * longest:.1f} ms")


if __name__ == "__main__":
    show(float(sys.argv[1]), float(sys.argv[2]),
         [int(n) for n in sys.argv[3:]] or [512, 1000, 2000, 5000, 10000])
