"""Trains a small convolutional network in PyTorch to move as a model does.

    pip install ".[torch]"
    python examples/python/imitate.py runs/quick --minutes 5

The network values afterstates, so the rules make the slides and it only has to know which board is
better. With r + f(s') of the four slides as scores, it learns by cross-entropy to prefer those that
the model prefers; slides within some points of the best one count as almost as right.

A network that has learned only from the model's own games is lost as soon as it errs, because these
have no such boards. So after the first round the network plays, and the model values its positions
(DAgger: Ross, Gordon and Bagnell, AISTATS 2011). Boards are turned and mirrored at random.

At the end the network, the model and the greedy baseline are evaluated over the same games.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

import afterstate
from afterstate.torch import encoded, value_function

GAME = afterstate.Game("2048")
#: Points by which a slide is clearly worse than another, and those of an output of 1.
NEAR = 200.0


class Value(nn.Module):
    """Two layers of 2x2 convolutions and a hidden layer; one number for each board."""

    def __init__(self, filters: int, hidden: int) -> None:
        super().__init__()
        planes = len(GAME.tile_values)
        self.layers = nn.Sequential(
            nn.Conv2d(planes, filters, 2),
            nn.ReLU(),
            nn.Conv2d(filters, filters, 2),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(4 * filters, hidden),
            nn.ReLU(),
            nn.Linear(hidden, 1),
        )

    def forward(self, boards: torch.Tensor) -> torch.Tensor:
        return self.layers(boards).squeeze(1)


def turned(
    boards: NDArray[np.uint8], values: NDArray[np.float32], image: int
) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """One of the eight images of boards, with the values of the turned slides.

    A quarter turn to the left makes right (1) of down (2): the value of slide n is that of n + 1.
    """
    turns, mirror = image % 4, image >= 4
    boards = np.rot90(boards, turns, axes=(1, 2))
    values = np.roll(values, -turns, axis=1)
    if mirror:
        boards, values = boards[:, :, ::-1], values[:, [0, 3, 2, 1]]
    return boards, values


def scores(network: Value, boards: NDArray[np.uint8]) -> torch.Tensor:
    """Reward plus value of the four slides of each board, in units of NEAR."""
    afterstates, rewards, legal = GAME.slides(boards)
    values = torch.full(legal.shape, -1e9)
    values[torch.from_numpy(legal)] = network(encoded(afterstates[legal], GAME))
    return values + torch.from_numpy(rewards / NEAR).float()


def learn(
    network: Value, found: afterstate.Positions, seconds: float, rate: float, seed: int
) -> int:
    """Learns from positions for some time; returns the number of steps."""
    assert found.values is not None
    generator = np.random.default_rng(seed)
    optimiser = torch.optim.AdamW(network.parameters(), lr=rate)
    begun, steps, done = time.monotonic(), 0, 0.0
    network.train()
    while done < 1.0:
        # The rate falls to 0, so that the end of a round is calm.
        optimiser.param_groups[0]["lr"] = rate * (1.0 - done)
        chosen = generator.integers(0, len(found), 256)
        image = int(generator.integers(8))
        boards, values = turned(found.boards[chosen], found.values[chosen], image)
        totals = torch.from_numpy(np.nan_to_num(values, nan=-np.inf))
        targets = torch.softmax(totals / NEAR, dim=1)
        loss = nn.functional.cross_entropy(scores(network, boards), targets)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        steps += 1
        done = (time.monotonic() - begun) / seconds
    return steps


def agreement(network: Value, found: afterstate.Positions) -> float:
    """The share of positions in which the network prefers the slide that the model prefers."""
    assert found.values is not None
    network.eval()
    with torch.inference_mode():
        preferred = scores(network, found.boards).argmax(dim=1).numpy()
    return float(np.mean(preferred == np.nanargmax(found.values, axis=1)))


def told(name: str, result: dict[str, Any]) -> str:
    """A result in a line."""
    low, high = result["mean_ci95"]
    mean, games = result["mean"], result["games"]
    return f"{name}: mean {mean:,.0f} (95%: {low:,.0f} to {high:,.0f}; {games:,} games)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", nargs="?", help="the model to imitate (default: the newest run)")
    parser.add_argument("--minutes", type=float, default=5.0, help="of learning")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of play and learning")
    parser.add_argument("--games", type=int, default=150, help="games of each round")
    parser.add_argument("--filters", type=int, default=64)
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--rate", type=float, default=0.003, help="the learning rate")
    parser.add_argument("--evaluate", type=int, default=500, help="games of the evaluation")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", help="where the weights of the network are saved")
    options = parser.parse_args()

    torch.manual_seed(options.seed)
    teacher = afterstate.Model(options.model)
    network = Value(options.filters, options.hidden)
    player = value_function(network, scale=NEAR, name="network")
    weights = sum(parameter.numel() for parameter in network.parameters())
    print(f"{teacher}; a network of {weights:,} weights", flush=True)

    begun = time.monotonic()
    parts: list[afterstate.Positions] = []
    for number in range(options.rounds):
        source: afterstate.Model = teacher if number == 0 else player
        new = afterstate.positions(
            source, model=teacher, games=options.games, every=4, seed=options.seed + number
        )
        before = agreement(network, new)
        parts.append(new)
        seconds = 60 * options.minutes / options.rounds
        found = afterstate.Positions.joined(parts)
        steps = learn(network, found, seconds, options.rate, options.seed + number)
        print(
            f"round {number + 1}: {len(new):,} positions of the"
            f" {'model' if number == 0 else 'network'}; of their moves {before:.1%} agreed before,"
            f" {agreement(network, new):.1%} after {steps:,} steps;"
            f" {time.monotonic() - begun:.0f} s so far",
            flush=True,
        )
    if options.out:
        torch.save(network.state_dict(), options.out)
    seed = options.seed + 1_000
    players: list[tuple[str, Any]] = [("network", player), ("model", teacher), ("greedy", "greedy")]
    for name, one in players:
        print(told(name, afterstate.evaluate(one, games=options.evaluate, seed=seed)), flush=True)


if __name__ == "__main__":
    main()
