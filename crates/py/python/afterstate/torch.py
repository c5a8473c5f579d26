"""PyTorch: positions as a dataset, and modules as players.

It needs ``pip install ".[torch]"``, and is not imported by ``import afterstate``::

    import afterstate
    from afterstate.torch import PositionDataset, value_function

    dataset = PositionDataset(afterstate.positions("runs/quick", games=200, every=4))
    batch = dataset[torch.randperm(len(dataset))[:256]]      # a dictionary of tensors
    ...
    afterstate.evaluate(value_function(module), games=1000)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import InputError
from .functions import ValueFunction
from .games import Game
from .positions import Positions

try:
    import torch
    from torch.utils.data import Dataset
except ImportError as error:
    raise ImportError(
        'afterstate.torch needs PyTorch; install it with `pip install ".[torch]"`'
    ) from error

__all__ = ["PositionDataset", "encoded", "value_function"]

_ENCODINGS = ("one_hot", "exponents")


def encoded(
    boards: NDArray[np.uint8], game: Game, encoding: str = "one_hot", device: Any = None
) -> torch.Tensor:
    """Boards of tile indices (n, rows, columns) as a tensor.

    ``"one_hot"`` has a plane for each tile and one for empty cells: float32 of shape (n, planes,
    rows, columns), as convolutions take it. ``"exponents"`` has the tile indices: int64 of shape (n,
    rows, columns), as embeddings take them.
    """
    if encoding not in _ENCODINGS:
        raise InputError(f'`encoding` is "{encoding}"; expected "one_hot" or "exponents"')
    indices = torch.from_numpy(np.ascontiguousarray(boards)).to(device).long()
    if encoding == "exponents":
        return indices
    planes = torch.nn.functional.one_hot(indices, len(game.tile_values))
    return planes.movedim(-1, 1).float()


class PositionDataset(Dataset[dict[str, torch.Tensor]]):
    """The positions of games as a dataset, of one position or of many at once.

    An item is a dictionary: ``boards`` and ``afterstates`` (see :func:`encoded`), ``moves`` (the
    slide that was made), ``rewards``, ``returns`` (what the game earned from the slide on) and
    ``scores``; with the values of a model also ``values`` (reward plus value of each slide, 0 where
    it is illegal) and ``masks`` (whether it is legal). Games that show the next tile have ``hints``.

    ``dataset[n]`` is a position; ``dataset[indices]``, with a list or a tensor, a batch, which is
    much faster than collating single ones: ``DataLoader(dataset, batch_size=None,
    sampler=BatchSampler(RandomSampler(dataset), 256, drop_last=True))``.
    """

    def __init__(
        self, positions: Positions, *, encoding: str = "one_hot", device: Any = None
    ) -> None:
        if encoding not in _ENCODINGS:
            raise InputError(f'`encoding` is "{encoding}"; expected "one_hot" or "exponents"')
        self.positions = positions
        self.encoding = encoding
        self.device = device

    def __len__(self) -> int:
        return len(self.positions)

    def __getitem__(self, index: Any) -> dict[str, torch.Tensor]:
        single = isinstance(index, (int, np.integer))
        if isinstance(index, torch.Tensor):
            single = index.ndim == 0
            index = index.cpu().numpy()
        found = self.positions[np.atleast_1d(np.asarray(index))]
        item = {
            "boards": encoded(found.boards, found.game, self.encoding, self.device),
            "afterstates": encoded(found.afterstates, found.game, self.encoding, self.device),
            "moves": self._tensor(found.moves.astype(np.int64)),
            "rewards": self._tensor(found.rewards.astype(np.float32)),
            "returns": self._tensor(found.returns.astype(np.float32)),
            "scores": self._tensor(found.scores.astype(np.float32)),
        }
        if found.game.shows_hint:
            item["hints"] = self._tensor(found.hints.astype(np.int64))
        if found.values is not None:
            item["values"] = self._tensor(np.nan_to_num(found.values, nan=0.0))
            item["masks"] = self._tensor(~np.isnan(found.values))
        return {name: tensor[0] for name, tensor in item.items()} if single else item

    def _tensor(self, array: NDArray[Any]) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)


class _Network:
    """Calls a module with boards."""

    def __init__(
        self, module: torch.nn.Module, game: Game, encoding: str, device: Any, scale: float
    ) -> None:
        self.module = module
        self.name = game.name
        self.board = game.board
        self.encoding = encoding
        self.device = device
        self.scale = scale

    def __call__(self, boards: NDArray[np.uint8], hints: NDArray[np.uint8] | None = None) -> Any:
        inputs = [encoded(boards, Game(self.name, self.board), self.encoding, self.device)]
        if hints is not None:
            inputs.append(torch.from_numpy(hints).to(self.device).long())
        training = self.module.training
        # Both are settings of a thread or of the module: games are played on a thread of their own.
        self.module.eval()
        try:
            with torch.inference_mode():
                outputs = self.module(*inputs)
        finally:
            self.module.train(training)
        return (outputs.float() * self.scale).cpu().numpy()


def value_function(
    module: torch.nn.Module,
    *,
    game: str = "2048",
    board: str | tuple[int, int] = "4x4",
    of: str = "afterstates",
    encoding: str = "one_hot",
    scale: float = 1.0,
    num_envs: int = 256,
    device: Any = None,
    name: str | None = None,
) -> ValueFunction:
    """A module as a player: for :func:`afterstate.evaluate`, :func:`afterstate.compare` and all else
    that takes a model.

    The module gets boards as :func:`encoded` makes them (and the hints as a second tensor, where the
    game shows the next tile). With ``of="afterstates"`` it returns the value of each, with
    ``of="actions"`` four numbers for each state, of which the largest legal one is played; so the
    logits of a policy will do. ``scale`` is the points of an output of 1. It is called in evaluation
    mode, without gradients, on ``device`` (default: that of its first parameter), for the boards of
    ``num_envs`` games at once.
    """
    if not isinstance(module, torch.nn.Module):
        raise InputError(f"found {type(module).__name__}; expected a torch.nn.Module")
    if encoding not in _ENCODINGS:
        raise InputError(f'`encoding` is "{encoding}"; expected "one_hot" or "exponents"')
    if device is None:
        device = next((parameter.device for parameter in module.parameters()), None)
    network = _Network(module, Game(game, board), encoding, device, scale)
    label = name or type(module).__name__
    return ValueFunction(network, game=game, board=board, of=of, num_envs=num_envs, name=label)
