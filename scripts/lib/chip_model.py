#!/usr/bin/env python3
"""A core group of SW26010, or a cluster of MT-3000, in virtual time: messages of 16 KiB, and the paper's matrix
multiplication.

The model has, event by event, what a slave waits for: its DMA engine, the memory that all slaves share, and its looks
at words of the master's memory (the list of states), which keep that memory busy as well. The slaves' steps are those
of runtime/mq/src/staged.rs. The memory serves pieces of 256 bytes and looks in the order in which they come. Time is
virtual, so neither this machine's speed nor its load shows. The master's work takes no time.

Inputs, none of them taken from the figures that are predicted:
  runtime/mq/platforms/*.toml   bandwidth and latency of transfers, latency and occupancy of a look (of published
                                microbenchmarks for SW26010; assumed for MT-3000)
  the paper, section 4.2        621 GFLOPS of computation alone; blocks of 256 by 256; queues of 2, 2 and 1 slots at the
                                slave; all slaves of a core group compute together
  the paper, table 7            556 GFLOPS with DMA by hand: only to choose how many blocks make one of the result,
                                which the paper does not say
Predicted: the ratios of table 4, and table 7's GFLOPS with queues.
"""

import argparse
import heapq
import json
import os
import tomllib

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PIECE = 256


class World:
    def __init__(self, platform):
        with open(os.path.join(ROOT, "runtime/mq/platforms", platform + ".toml"), "rb") as file:
            chip = tomllib.load(file)
        self.dma, self.direct = chip["dma"], chip["direct"]
        self.slaves = chip["slaves"]
        self.memory_free = 0.0
        self.events, self.number, self.looks = [], 0, 0
        self.stores_wait = True

    def run(self, processes):
        """Runs generators. Each yields the time at which it goes on, or a list: another generator pushes those in it.

        Gives the end's time."""
        for process in processes:
            self.push(0.0, process)
        now = 0.0
        while self.events:
            now, _, process = heapq.heappop(self.events)
            self.now = now
            try:
                wanted = next(process)
            except StopIteration:
                continue
            if isinstance(wanted, list):
                wanted.append(process)
            else:
                self.push(wanted, process)
        return now

    def push(self, time, process):
        self.number += 1
        heapq.heappush(self.events, (time, self.number, process))

    def serve(self, ns):
        self.memory_free = max(self.memory_free, self.now) + ns
        return self.memory_free

    def look(self):
        self.looks += 1
        return self.serve(self.direct["occupancy_ns"]) + self.direct["latency_ns"]

    def store(self):
        """A word to the master's memory. Like a load, unless stores are not waited for."""
        over = self.look()
        return over if self.stores_wait else self.now


class Engine:
    """A slave's DMA engine: transfers one after the other, piece by piece."""

    def __init__(self, world):
        self.world, self.queue, self.busy = world, [], False

    def start(self, size):
        """A transfer: its size, its end's time once that is known, and who waits for it."""
        transfer = [size, None, []]
        self.queue.append(transfer)
        if not self.busy:
            self.busy = True
            self.world.push(self.world.now, self.work())
        return transfer

    def work(self):
        world = self.world
        while self.queue:
            transfer = self.queue.pop(0)
            left = transfer[0]
            while left > 0:
                size = min(PIECE, left)
                own = world.now + size / world.dma["slave_gb_s"]
                yield max(own, world.serve(size / world.dma["cluster_gb_s"]))
                left -= size
            transfer[1] = world.now + world.dma["latency_ns"]
            for process in transfer[2]:
                world.push(transfer[1], process)
        self.busy = False


def over(world, transfer):
    return transfer[1] is not None and transfer[1] <= world.now


def local_wait(transfer):
    """Until a transfer's reply counter counts: it is in the slave's own store, and looks at it cost nobody anything."""
    return transfer[1] if transfer[1] is not None else transfer[2]


class Incoming:
    """The slave's end of a queue from a master that refills a slot as soon as it is free."""

    def __init__(self, world, engine, size, slots, eager):
        self.world, self.engine, self.size, self.slots, self.eager = world, engine, size, slots, eager
        self.under_way, self.ready = [], 0

    def pump(self):
        while self.under_way and over(self.world, self.under_way[0]):
            self.under_way.pop(0)
            self.ready += 1
            yield self.world.store()  # Idle
        while self.ready + self.held + len(self.under_way) < self.slots:
            yield self.world.look()  # Ready?
            yield self.world.store()  # Tran
            self.under_way.append(self.engine.start(self.size))

    held = 0

    def receive(self):
        """Waits for a message, which the caller then holds."""
        while True:
            yield from self.pump()
            if self.ready:
                self.ready -= 1
                self.held += 1
                return
            if self.eager:
                yield self.world.look()
            else:
                yield local_wait(self.under_way[0])

    def release(self):
        self.held -= 1
        yield from self.pump()


def bandwidth(platform, n, way, size=16384, slots=2, messages=60):
    """GB/s of messages to n slaves: "dma", "queues", or "eager": queues whose waiting slaves always look."""
    world = World(platform)

    def by_queue():
        queue = Incoming(world, Engine(world), size, slots, way == "eager")
        for _ in range(messages):
            yield from queue.receive()
            yield from queue.release()

    def by_hand():
        engine = Engine(world)
        started = [engine.start(size) for _ in range(slots)]
        for i in range(messages):
            while not over(world, started[0]):
                yield local_wait(started[0])
            started.pop(0)
            if i + slots < messages:
                started.append(engine.start(size))

    if way == "dma":
        ends = world.run([by_hand() for _ in range(n)])
    else:
        # What is fetched past the last message is not counted; the first and the last few even out over many.
        done = []

        def timed():
            yield from by_queue()
            done.append(world.now)

        world.run([timed() for _ in range(n)])
        ends = max(done)
    return n * messages * size / ends


# What is left out, to see what the queues lose by it.
WITHOUT = {
    "slaves not together": {"together_": False},
    "stores not waited for": {"stores_wait": False},
    "looks take no time": {"looks": 0},
}

COMPUTE_GFLOPS = 621.0  # the paper's
BLOCK = 256


def matmul(steps, way, blocks=12, together_=True, stores_wait=True, looks=1):
    """GFLOPS of a core group of SW26010: 64 slaves have 32 by 32 of each block of 256 by 256.

    What the queues lose is tried by leaving out one thing: slaves that compute together, stores to the master's memory
    that are waited for, looks that take time (looks=0)."""
    world = World("sw26010")
    world.stores_wait = stores_wait
    world.direct = {name: value * looks for name, value in world.direct.items()}
    step_ns = 2 * BLOCK**3 / COMPUTE_GFLOPS
    size = BLOCK * BLOCK * 8 // world.slaves
    arrived = []

    def together():
        """All slaves begin a step together, and end it together: they exchange rows and columns meanwhile."""
        if not together_:
            yield world.now + step_ns
        elif len(arrived) < world.slaves - 1:
            yield arrived
        else:
            end = world.now + step_ns
            for process in arrived:
                world.push(end, process)
            arrived.clear()
            yield end

    def by_queue():
        engine = Engine(world)
        a, b = (Incoming(world, engine, size, 2, False) for _ in range(2))
        put = None
        for _ in range(blocks):
            if put:
                # One slot: the next block of the result waits until this one has left.
                while not over(world, put):
                    yield local_wait(put)
                yield world.look()  # Ready
            for _ in range(steps):
                yield from a.receive()
                yield from b.receive()
                yield from together()
                yield from a.release()
                yield from b.release()
            yield world.look()  # Idle?
            yield world.store()  # Tran
            put = engine.start(size)
        while not over(world, put):
            yield local_wait(put)
        yield world.look()
        done.append(world.now)

    def by_hand():
        engine = Engine(world)
        fetched = [engine.start(2 * size)]
        put = None
        for block in range(blocks):
            for step in range(steps):
                last = block == blocks - 1 and step == steps - 1
                if not last:
                    fetched.append(engine.start(2 * size))
                wanted = fetched.pop(0)
                while not over(world, wanted):
                    yield local_wait(wanted)
                if step == 0 and put:
                    while not over(world, put):
                        yield local_wait(put)
                yield from together()
            put = engine.start(size)
        while not over(world, put):
            yield local_wait(put)
        done.append(world.now)

    done = []
    world.run([(by_queue if way == "queues" else by_hand)() for _ in range(world.slaves)])
    return 2 * BLOCK**3 * steps * blocks / max(done)


def everything():
    report = {}
    for platform, counts in (("sw26010", (1, 4, 16, 64)), ("mt3000", (1, 4, 12, 24))):
        for n in counts:
            by = {way: bandwidth(platform, n, way) for way in ("dma", "queues", "eager")}
            for way, value in by.items():
                report[f"{platform} {n} {way}"] = value
    for steps in (1, 2, 3, 4, 6, 8):
        for way in ("dma", "queues"):
            report[f"matmul {steps} {way}"] = matmul(steps, way)
    chosen = min((1, 2, 3, 4, 6, 8), key=lambda s: abs(report[f"matmul {s} dma"] - 556))
    report["matmul steps"] = chosen
    for way in ("dma", "queues"):
        report[f"matmul {way}"] = report[f"matmul {chosen} {way}"]
        for name, without in WITHOUT.items():
            report[f"matmul {way}, {name}"] = matmul(chosen, way, **without)
    return report


def markdown(report):
    yield "| chip | slaves | transfers alone, GB/s | queues | ratio | paper | slaves that look all the time: ratio |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    for platform, counts in (("sw26010", (1, 4, 16, 64)), ("mt3000", (1, 4, 12, 24))):
        for n in counts:
            dma, queues, eager = (report[f"{platform} {n} {way}"] for way in ("dma", "queues", "eager"))
            paper = "0.9" if n <= 4 else "0.7" if n == counts[-1] else ""
            yield f"| {platform} | {n} | {dma:.1f} | {queues:.1f} | {queues / dma:.2f} | {paper} | {eager / dma:.2f} |"
    yield ""
    yield ("| blocks for one of the result | DMA by hand, GFLOPS | queues | queues over DMA "
           "| queues over computation alone |")
    yield "| ---: | ---: | ---: | ---: | ---: |"
    for steps in (1, 2, 3, 4, 6, 8):
        dma, queues = report[f"matmul {steps} dma"], report[f"matmul {steps} queues"]
        yield f"| {steps} | {dma:.0f} | {queues:.0f} | {queues / dma:.2f} | {queues / COMPUTE_GFLOPS:.2f} |"
    yield "| paper | 556 | 504 | 0.91 | 0.81 |"
    for name in WITHOUT:
        dma, queues = report[f"matmul dma, {name}"], report[f"matmul queues, {name}"]
        ratios = f"{queues / dma:.2f} | {queues / COMPUTE_GFLOPS:.2f}"
        yield f"| {report['matmul steps']}, {name} | {dma:.0f} | {queues:.0f} | {ratios} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", metavar="FILE", help="write all numbers by name to this file, instead of tables")
    options = parser.parse_args()
    report = everything()
    if not options.json:
        print("\n".join(markdown(report)))
        return
    with open(options.json, "w", encoding="utf-8") as file:
        json.dump(report, file, indent=1)


if __name__ == "__main__":
    main()
