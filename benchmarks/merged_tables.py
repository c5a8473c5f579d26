"""Two workers with tables of their own, merged now and then, against one table of two threads.

    python benchmarks/merged_tables.py --games 10000 --seeds 3

The question is whether training could be spread over machines. At equal games and equal threads:

- shared: two threads update one table without locks;
- mean, every n: each plays n games on a copy of its own, then both go on with the mean of the two;
- sum, every n: they go on with the old table and the changes of both;
- one worker: one thread plays half of the games, which takes about as long.

A second table has equal time instead: each way plays as many games as it can in the time that the
shared table took, by its speed in the first table.

TD(0) and small tables (8x4), because the sums of TC would have to be merged, too.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Union

import numpy as np
from numpy.typing import NDArray

import afterstate

TUPLES = "8x4"
KEYS = {"tuples": TUPLES, "rule": "td", "lambda": 0, "learning_rate": 0.1, "initial_value": 0}

Weights = NDArray[Any]
Merge = Callable[[Weights, Weights, Weights], Weights]
#: Trains in a folder with a seed and about so many games.
Way = Callable[[Path, int, int], Union[Path, afterstate.Run]]


def weights_of(run: afterstate.Run, path: Path) -> bytes:
    """The weights of a run as a `weights.bin`."""
    assert run.folder is not None
    afterstate.convert(run.folder, path, kind="framework", weights_only=True, force=True)
    return path.read_bytes()


def merged_file(old: bytes | None, both: list[bytes], merge: Merge) -> bytes:
    """A `weights.bin` of merged tables: a count, then tables with their lengths."""
    result = bytearray(both[0])
    place = 4
    while place < len(result):
        count = int(np.frombuffer(both[0], np.uint64, 1, place)[0])
        place += 8
        a, b = (np.frombuffer(one, np.float32, count, place) for one in both)
        before = np.zeros_like(a) if old is None else np.frombuffer(old, np.float32, count, place)
        result[place : place + 4 * count] = merge(before, a, b).astype(np.float32).tobytes()
        place += 4 * count
    return bytes(result)


def separate(folder: Path, games: int, every: int, merge: Merge, seed: int) -> Path:
    """Trains two workers, merges their tables at intervals of games; returns the model."""
    model, old = None, None
    with ThreadPoolExecutor(2) as pool:
        for piece in range(max(1, games // (2 * every))):

            def work(worker: int, piece: int = piece, model: Path | None = model) -> bytes:
                # No game is played twice.
                own = 1_000_000 * seed + 2 * piece + worker
                out = folder / f"{every}-{piece}-{worker}"
                run = afterstate.train(
                    "quick", set=KEYS, episodes=every, threads=1, seed=own, from_=model, out=out
                )
                return weights_of(run, folder / f"{worker}.bin")

            both = list(pool.map(work, range(2)))
            old = merged_file(old, both, merge)
            (folder / "merged-weights.bin").write_bytes(old)
            model = folder / f"merged-{every}-{piece}.safetensors"
            source = folder / "merged-weights.bin"
            afterstate.convert(source, model, patterns=TUPLES, game="2048", force=True)
    assert model is not None
    return model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--games", type=int, default=10_000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--evaluate", type=int, default=1000)
    options = parser.parse_args()
    games = options.games

    def whole(folder: Path, seed: int, threads: int, games: int) -> afterstate.Run:
        return afterstate.train(
            "quick", set=KEYS, episodes=games, threads=threads, seed=seed, out=folder / "run"
        )

    ways: dict[str, Way] = {
        "shared": lambda folder, seed, games: whole(folder, seed, 2, games),
        "one worker": lambda folder, seed, games: whole(folder, seed, 1, games // 2),
    }

    def merging(times: int, merge: Merge) -> Way:
        def way(folder: Path, seed: int, games: int) -> Path:
            return separate(folder, games, max(1, games // (2 * times)), merge, seed)

        return way

    for times in (10, 2):
        ways[f"mean, {times} merges"] = merging(times, lambda old, a, b: (a + b) / 2)
        ways[f"sum, {times} merges"] = merging(times, lambda old, a, b: a + b - old)

    def measured(name: str, games: int) -> float:
        """Trains and evaluates one way with all seeds, and returns the seconds of training."""
        means, seconds = [], []
        for seed in range(1, options.seeds + 1):
            with TemporaryDirectory() as folder:
                begun = time.monotonic()
                model = ways[name](Path(folder), seed, games)
                seconds.append(time.monotonic() - begun)
                result = afterstate.evaluate(model, games=options.evaluate, seed=1_000_000 + seed)
                means.append(result["mean"])
        shown = ", ".join(f"{mean:,.0f}" for mean in means)
        mean, took = np.mean(means), float(np.mean(seconds))
        print(f"{name}, {games:,} games: {mean:,.0f} ({shown}), {took:.0f} s", flush=True)
        return took

    times_taken = {name: measured(name, games) for name in ways}
    print("equal time:")
    for name, took in times_taken.items():
        measured(name, round(games * times_taken["shared"] / took))


if __name__ == "__main__":
    main()
