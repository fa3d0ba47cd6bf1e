#!/usr/bin/env python3
"""Barriers and reductions over nodes that are far apart: hetmp's, and ones with a leader for each node (libHetMP's two
levels).

A model: a signal is a store to a cache line that one thread waits for, and is seen after 1 unit by a thread of the same
node, after R units by a thread of another one. All threads arrive at once (their arrival at different times hides costs
of any barrier). Threads of a node have neighbouring numbers.

  flat     dissemination, in round r a signal to the thread 2^r further on
  levels   dissemination within each node, then among threads of equal rank from node to node, then to the other threads
           of larger nodes (runtime/omp/src/team/routes.rs)
  leaders  reports up a tree to the node's leader, dissemination among leaders, releases down the tree
  counter  one counter and one flag (hetmp's where threads share cores): each takes the line from the one before

Prints the time until the last thread goes on.

Reductions: when the primary thread has the result, by how partial results are brought together. Combining itself takes
no time.

  in turn  each thread adds to one place, by a lock or atomics, in any order: the place's line goes from each to the
           next
  tree     each node has a tree up to its leader, the leaders have one up to the primary: a step is a signal, and then
           the line with the other's partial results
"""


def rounds(n):
    return (n - 1).bit_length()


def disseminate(signals, first, seats):
    for r in range(rounds(len(seats))):
        for i, seat in enumerate(seats):
            signals.append((first + r, seat, seats[(i + (1 << r)) % len(seats)]))


def time(signals, sizes, far):
    """When the last thread goes on, by the signals (round, from, to)."""
    node = [i for i, size in enumerate(sizes) for _ in range(size)]
    now = [0.0] * len(node)
    for r in sorted({s[0] for s in signals}):
        before = now[:]
        for _, source, to in (s for s in signals if s[0] == r):
            now[to] = max(now[to], before[source] + (1 if node[source] == node[to] else far))
    return max(now)


def flat(sizes, far):
    signals = []
    disseminate(signals, 0, list(range(sum(sizes))))
    return time(signals, sizes, far)


def levels(sizes, far):
    signals, nodes, first = [], [], 0
    for size in sizes:
        nodes.append(list(range(first, first + size)))
        first += size
    cross, round_ = min(sizes), rounds(max(sizes))
    for node in nodes:
        disseminate(signals, 0, node)
    for rank in range(cross):
        disseminate(signals, round_, [node[rank] for node in nodes])
    round_ += rounds(len(nodes))
    told = cross
    while told < max(sizes):
        for node in nodes:
            signals += [(round_, node[rank], node[told + rank]) for rank in range(min(told, max(0, len(node) - told)))]
        told, round_ = 2 * told, round_ + 1
    return time(signals, sizes, far)


def leaders(sizes, far):
    # A tree of a node: log2 steps up, and as many down. Leaders: dissemination, each signal far.
    return 2 * rounds(max(sizes)) + rounds(len(sizes)) * far


def counter(sizes, far):
    # The line goes round the threads node by node, then the flag to all of them, one after the other from its writer's
    # copy.
    return (sum(sizes) - len(sizes)) + (len(sizes) - 1) * far + (sizes[0] - 1) + sum(sizes[1:]) * far


def in_turn(sizes, far):
    # The mean over all orders: how often the next thread is on another node.
    n = sum(sizes)
    same = sum(size * (size - 1) for size in sizes) / (n * (n - 1))
    return (n - 1) * (same + (1 - same) * far)


def tree(sizes, far):
    return 2 * (rounds(max(sizes)) + rounds(len(sizes)) * far)


def main():
    ratios = (1, 2, 3, 5, 8, 16)
    print("| threads | barrier | " + " | ".join(f"R = {r}" for r in ratios) + " |")
    print("| --- | --- |" + " ---: |" * len(ratios))
    for sizes in ((1, 1), (4, 4), (16, 16), (64, 64), (8, 16), (4,) * 4, (8,) * 8, (16, 96)):
        name = " + ".join(map(str, sizes)) if len(set(sizes)) > 1 else f"{len(sizes)} x {sizes[0]}"
        for cost in (flat, levels, leaders, counter):
            print(f"| {name} | {cost.__name__} | " + " | ".join(f"{cost(sizes, r):.0f}" for r in ratios) + " |")
        for cost in (in_turn, tree):
            values = " | ".join(f"{cost(sizes, r):.0f}" for r in ratios)
            print(f"| {name} | reduction {cost.__name__.replace('_', ' ')} | {values} |")


if __name__ == "__main__":
    main()
