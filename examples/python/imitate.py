"""Trains a small convolutional network in PyTorch to move as a model does.

    pip install ".[torch]"
    python examples/python/imitate.py runs/quick

The first round learns the moves of the model's own games. A network that has learned only these is
lost as soon as it errs, because the model never shows it such boards. So in each further round
(DAgger: Ross, Gordon and Bagnell, AISTATS 2011) the network plays, and the model says what it would
have done. Boards are turned and mirrored at random, which makes eight of each.

At the end the network is compared with the model and the greedy baseline, over the same games.
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
#: Points by which a slide is clearly worse than another.
NEAR = 200.0


class Policy(nn.Module):
    """Two layers of 2x2 convolutions and a hidden layer; a number for each of the four slides."""

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
            nn.Linear(hidden, 4),
        )

    def forward(self, boards: torch.Tensor) -> torch.Tensor:
        return self.layers(boards)


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


def learn(policy: Policy, found: afterstate.Positions, epochs: int, rate: float, seed: int) -> float:
    """Learns the best moves of positions; returns the share of moves that agree in the end."""
    device = next(policy.parameters()).device
    generator = np.random.default_rng(seed)
    batch = 512
    steps = max(1, epochs * len(found) // batch)
    optimiser = torch.optim.AdamW(policy.parameters(), lr=rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, rate, total_steps=steps)
    agree = 0.0
    policy.train()
    for _ in range(steps):
        chosen = generator.integers(0, len(found), batch)
        assert found.values is not None
        boards, values = turned(
            found.boards[chosen], found.values[chosen], int(generator.integers(8))
        )
        totals = torch.from_numpy(np.nan_to_num(values, nan=-np.inf)).to(device)
        outputs = policy(encoded(boards, GAME, device=device))
        # Illegal slides are never played, so nothing is learned about them.
        outputs = outputs.masked_fill(totals.isinf(), -1e9)
        # Slides that are almost as good as the best one are almost as right.
        targets = torch.softmax(totals / NEAR, dim=1)
        loss = nn.functional.cross_entropy(outputs, targets)
        best = totals.argmax(dim=1)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
        agree += 0.01 * (float((outputs.argmax(dim=1) == best).float().mean()) - agree)
    return agree


def told(name: str, result: dict[str, Any]) -> str:
    """A result in a line."""
    low, high = result["mean_ci95"]
    mean, games = result["mean"], result["games"]
    return f"{name}: mean {mean:,.0f} (95%: {low:,.0f} to {high:,.0f}; {games:,} games)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", nargs="?", help="the model to imitate (default: the newest run)")
    parser.add_argument("--rounds", type=int, default=4, help="rounds of play and learning")
    parser.add_argument("--games", type=int, default=100, help="games of the first round")
    parser.add_argument("--epochs", type=int, default=4, help="passes over all positions in a round")
    parser.add_argument("--filters", type=int, default=128)
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--rate", type=float, default=0.001, help="the learning rate")
    parser.add_argument("--evaluate", type=int, default=500, help="games of the evaluation")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", help="where the weights of the network are saved")
    options = parser.parse_args()

    torch.manual_seed(options.seed)
    teacher = afterstate.Model(options.model)
    policy = Policy(options.filters, options.hidden)
    player = value_function(policy, of="actions", name="policy")
    weights = sum(parameter.numel() for parameter in policy.parameters())
    print(f"{teacher}; a network of {weights:,} weights", flush=True)

    begun = time.monotonic()
    parts: list[afterstate.Positions] = []
    for number in range(options.rounds):
        seed = options.seed + number
        if number == 0:
            new = afterstate.positions(teacher, games=options.games, every=4, seed=seed)
        else:
            new = afterstate.positions(
                player, model=teacher, games=2 * options.games, every=2, seed=seed
            )
        parts.append(new)
        agree = learn(policy, afterstate.Positions.joined(parts), options.epochs, options.rate, seed)
        seconds = time.monotonic() - begun
        print(
            f"round {number + 1}: {len(new):,} positions of {'model' if number == 0 else 'network'},"
            f" {agree:.1%} of the moves agree, {seconds:.0f} s",
            flush=True,
        )
    if options.out:
        torch.save(policy.state_dict(), options.out)
    seed = options.seed + 1_000
    for name, one in (("network", player), ("model", teacher), ("greedy", "greedy")):
        print(told(name, afterstate.evaluate(one, games=options.evaluate, seed=seed)), flush=True)


if __name__ == "__main__":
    main()
