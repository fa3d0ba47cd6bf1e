#!/usr/bin/env python3
"""Would a barrier with a leader for each node (libHetMP's two-level synchronisation) be faster than hetmp's?

A model: a signal is a store to a cache line that one thread waits for, and is seen after 1 unit by a thread of the same
node, after R units by a thread of another one. All threads arrive at once (their arrival at different times hides costs of
either barrier). Threads of a node have neighbouring numbers, as in hetmp.

  flat       hetmp's: dissemination, in round r a signal to the thread 2^r further on
  two-level  reports up a tree to the node's leader, dissemination among leaders, releases down the tree
  counter    one counter and one flag (hetmp's where threads share cores): each takes the line from the one before

Prints the time until the last thread goes on, and the R from which two-level is the fastest.
"""


def flat(nodes, each, far):
    n = nodes * each
    time, distance = [0.0] * n, 1
    while distance < n:
        sent = time[:]
        for t in range(n):
            source = (t - distance) % n
            cost = 1 if source // each == t // each else far
            time[t] = max(sent[t], sent[source] + cost)
        distance *= 2
    return max(time)


def two_level(nodes, each, far):
    # A tree of a node: log2 steps up, and as many down. Leaders: dissemination, each signal far.
    steps = (each - 1).bit_length()
    return 2 * steps + (nodes - 1).bit_length() * far


def counter(nodes, each, far):
    # The line goes round the threads node by node, then the flag to all of them, one after the other from its writer's copy.
    hops = nodes * (each - 1) + (nodes - 1) * far
    return hops + (each - 1) + (nodes - 1) * each * far


def unlike(sizes, far):
    """The two barriers over nodes of unlike sizes, such as the paper's machine: (flat, two-level)."""
    node = [i for i, size in enumerate(sizes) for _ in range(size)]
    n, time, distance = len(node), [0.0] * len(node), 1
    while distance < n:
        sent = time[:]
        for t in range(n):
            source = (t - distance) % n
            time[t] = max(sent[t], sent[source] + (1 if node[source] == node[t] else far))
        distance *= 2
    return max(time), 2 * (max(sizes) - 1).bit_length() + (len(sizes) - 1).bit_length() * far


def main():
    ratios = (1, 2, 3, 5, 8, 16, 100)
    print("| nodes x threads | barrier | " + " | ".join(f"R = {r}" for r in ratios) + " | two-level first from |")
    print("| --- | --- |" + " ---: |" * (len(ratios) + 1))
    for nodes, each in ((2, 1), (2, 4), (2, 8), (2, 16), (2, 64), (4, 8), (4, 16), (8, 8)):
        first = next((r / 10 for r in range(10, 10000) if two_level(nodes, each, r / 10) < flat(nodes, each, r / 10)), None)
        for name, cost in (("flat", flat), ("two-level", two_level), ("counter", counter)):
            last = f"R = {first:.1f}" if first is not None else "never"
            print(f"| {nodes} x {each} | {name} | " + " | ".join(f"{cost(nodes, each, r):.0f}" for r in ratios)
                  + f" | {last if name == 'two-level' else ''} |")
    print("\n16 + 96 threads (the paper's machine):", "; ".join("R = {}: flat {:.0f}, two-level {:.0f}".format(r, *unlike((16, 96), r)) for r in ratios))


if __name__ == "__main__":
    main()
