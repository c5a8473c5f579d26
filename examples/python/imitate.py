"""Trains a small network in PyTorch to move as another player does: by default, as the network in
the program, which is 24 times as large.

    pip install ".[torch]"
    python examples/python/imitate.py --out network.pt

The network values afterstates. It reads 4-tuples of cells, as n-tuple networks do, but each entry
of its tables is a vector: the vectors of all tuples are summed and go through a hidden layer. The
eight symmetries of a board read the same tables, so a board and its mirror image have one value.

With r + f(s') of the four slides as scores, it learns by cross-entropy to prefer the slides that
the teacher prefers; slides within some points of the best one count as almost as right. The first
round learns from games of the teacher. In the others the network plays and the teacher values its
positions (DAgger: Ross, Gordon and Bagnell, AISTATS 2011), because games of the teacher do not have
the boards that follow the errors of a beginner. Boards that are far beyond the reach of the network
are left out.

At the end the network, the teacher and the greedy baseline are evaluated over the same games.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
import torch
from torch import nn

import afterstate
from afterstate.torch import encoded, value_function

GAME = afterstate.Game("2048")
#: Points by which a slide is clearly worse than another, and those of an output of 1.
NEAR = 500.0
#: The largest tile of the boards to learn from, as an index: 4096.
LARGEST = 12
#: Tile indices that the tables tell apart; larger ones count as the last.
TILES = 16
#: An outer and an inner row, and the squares in a corner, at an edge and in the centre.
TUPLES = [(0, 1, 2, 3), (4, 5, 6, 7), (0, 1, 4, 5), (1, 2, 5, 6), (5, 6, 9, 10)]
BATCH = 512


class Value(nn.Module):
    """Sums of embeddings of 4-tuples, and a hidden layer; one number for each board."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        cells = np.arange(16).reshape(4, 4)
        turned = [np.rot90(cells, turns) for turns in range(4)]
        symmetries = [board.ravel() for one in turned for board in (one, one.T)]
        read = [board[list(cells)] for cells in TUPLES for board in symmetries]
        table = np.repeat(np.arange(len(TUPLES)), len(symmetries))
        self.register_buffer("cells", torch.from_numpy(np.array(read)))
        self.register_buffer("first", torch.from_numpy(table * TILES**4))
        self.register_buffer("powers", TILES ** torch.arange(4))
        # The first number of an entry is a value of its own, as in an n-tuple network.
        entries = len(TUPLES) * TILES**4
        self.tables = nn.EmbeddingBag(entries, 1 + width, mode="sum", sparse=True)
        nn.init.normal_(self.tables.weight, std=0.05)
        nn.init.zeros_(self.tables.weight[:, 0])
        self.layers = nn.Sequential(
            nn.ReLU(), nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, 1)
        )

    def forward(self, boards: torch.Tensor) -> torch.Tensor:
        tiles = boards.flatten(1).clamp(max=TILES - 1)[:, self.cells]
        sums = self.tables((tiles * self.powers).sum(dim=2) + self.first)
        return sums[:, 0] + self.layers(sums[:, 1:]).squeeze(1)


class Examples:
    """Positions that the teacher has valued, with their four slides."""

    def __init__(self, found: afterstate.Positions) -> None:
        assert found.values is not None
        is_choice = np.isfinite(found.values).sum(axis=1) > 1
        found = found[is_choice & (found.boards.max(axis=(1, 2)) <= LARGEST)]
        assert found.values is not None
        after, rewards, legal = GAME.slides(found.boards)
        self.afterstates = encoded(after.reshape(-1, 4, 4), GAME, "exponents").view(-1, 4, 4, 4)
        self.afterstates = self.afterstates.to(torch.uint8)
        self.rewards = torch.from_numpy(rewards / NEAR).float()
        self.legal = torch.from_numpy(legal)
        totals = torch.from_numpy(np.nan_to_num(found.values, nan=-np.inf))
        self.targets = torch.softmax(totals / NEAR, dim=1)

    def __len__(self) -> int:
        return len(self.legal)

    def add(self, others: Examples) -> None:
        """Adds other positions."""
        for name, mine in vars(self).items():
            setattr(self, name, torch.cat([mine, getattr(others, name)]))

    def loss(self, network: Value, chosen: torch.Tensor) -> torch.Tensor:
        """The cross-entropy of some of them, as a sum."""
        legal = self.legal[chosen]
        scores = torch.full(legal.shape, -1e9)
        scores[legal] = network(self.afterstates[chosen][legal].long())
        scores = scores + self.rewards[chosen]
        return nn.functional.cross_entropy(scores, self.targets[chosen], reduction="sum")


def summary(name: str, result: dict[str, Any]) -> str:
    """A result in a line."""
    low, high = result["mean_ci95"]
    mean, games = result["mean"], result["games"]
    return f"{name}: mean {mean:,.0f} (95%: {low:,.0f} to {high:,.0f}; {games:,} games)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("model", nargs="?", help="the teacher (default: the network in the program)")
    parser.add_argument("--steps", type=int, default=30_000, help=f"of {BATCH} positions")
    parser.add_argument("--rounds", type=int, default=10, help="rounds of play and learning")
    parser.add_argument("--games", type=int, default=300, help="games of each round")
    parser.add_argument("--width", type=int, default=16, help="numbers of an embedding")
    parser.add_argument("--hidden", type=int, default=32)
    parser.add_argument("--evaluate", type=int, default=1000, help="games of the evaluation")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", help="where the weights of the network are saved")
    options = parser.parse_args()

    torch.manual_seed(options.seed)
    teacher = afterstate.Model(options.model)
    network = Value(options.width, options.hidden)
    player = value_function(network, scale=NEAR, encoding="exponents", name="network")
    weights = sum(parameter.numel() for parameter in network.parameters())
    print(f"{teacher}; a network of {weights:,} weights", flush=True)

    # An optimiser for the sparse gradients of the tables, and one for the layers. Their rates fall
    # over the whole time, not over each round.
    optimisers = [
        torch.optim.Adagrad(network.tables.parameters(), lr=0.05),
        torch.optim.Adam(network.layers.parameters(), lr=0.003),
    ]
    schedules = [
        torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, options.steps)
        for optimiser in optimisers
    ]
    examples: Examples | None = None
    steps, begun, processor = 0, time.monotonic(), time.process_time()
    for number in range(options.rounds):
        # A game of the teacher is many times as long as one of a beginner.
        source, games = (player, options.games) if number else (teacher, options.games // 4 or 1)
        seed = options.seed + number
        found = afterstate.positions(source, model=teacher, games=games, every=2, seed=seed)
        if examples is None:
            examples = Examples(found)
        else:
            examples.add(Examples(found))
        # A tenth of the steps for the games of the teacher, equal shares for the other rounds.
        until = options.steps * (0.1 + 0.9 * number / max(1, options.rounds - 1))
        total, before = 0.0, steps
        while steps < until:
            loss = examples.loss(network, torch.randint(len(examples), (BATCH,)))
            for optimiser in optimisers:
                optimiser.zero_grad()
            loss.backward()
            for optimiser, schedule in zip(optimisers, schedules):
                optimiser.step()
                schedule.step()
            total += loss.item() / BATCH
            steps += 1
        mean = float(found.scores[np.unique(found.games, return_index=True)[1]].mean())
        print(
            f"round {number + 1}: mean {mean:,.0f} of the {'network' if number else 'teacher'};"
            f" {len(examples):,} positions, {steps:,} steps,"
            f" loss {total / max(1, steps - before):.3f};"
            f" {time.process_time() - processor:.0f} s of processor time,"
            f" {time.monotonic() - begun:.0f} s",
            flush=True,
        )
    if options.out:
        torch.save(network.state_dict(), options.out)
    seed = options.seed + 1_000
    players: list[tuple[str, Any]] = [("network", player), ("teacher", teacher), ("greedy", "greedy")]
    for name, one in players:
        print(summary(name, afterstate.evaluate(one, games=options.evaluate, seed=seed)), flush=True)


if __name__ == "__main__":
    main()
