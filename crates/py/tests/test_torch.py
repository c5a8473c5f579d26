"""PyTorch: positions and modules. These tests need it, and are skipped without it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import afterstate

EXAMPLE = Path(__file__).parents[3] / "examples/python/imitate.py"


def test_without_pytorch_it_says_what_to_do() -> None:
    script = "import sys; sys.modules['torch'] = None; import afterstate.torch"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert 'install it with `pip install ".[torch]"`' in done.stderr
    assert "torch" not in sys.modules or "afterstate.torch" in sys.modules


def test_positions_are_a_dataset(trained: afterstate.Model) -> None:
    torch = pytest.importorskip("torch")
    from afterstate.torch import PositionDataset

    found = afterstate.positions(trained, games=3)
    dataset = PositionDataset(found)
    assert len(dataset) == len(found) and found.values is not None
    one, some = dataset[5], dataset[[2, 5, 9]]
    planes = len(found.game.tile_values)
    assert one["boards"].shape == (planes, 4, 4) and some["boards"].shape == (3, planes, 4, 4)
    assert (some["boards"].argmax(dim=1).numpy() == found.boards[[2, 5, 9]]).all()
    for name, tensor in some.items():
        assert torch.equal(tensor[1], one[name])
    assert (some["masks"].numpy() == ~np.isnan(found.values[[2, 5, 9]])).all()
    loader = torch.utils.data.DataLoader(dataset, batch_size=8)
    assert next(iter(loader))["returns"].shape == (8,)
    assert PositionDataset(found, encoding="exponents")[0]["afterstates"].dtype == torch.int64
    with pytest.raises(afterstate.InputError, match="`encoding`"):
        PositionDataset(found, encoding="numbers")


def test_a_module_is_a_player() -> None:
    torch = pytest.importorskip("torch")
    from afterstate.torch import value_function

    base: Any = torch.nn.Module

    class EmptyCells(base):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.dropout = torch.nn.Dropout(0.5)

        def forward(self, boards: Any) -> Any:
            assert not torch.is_grad_enabled()
            return self.dropout(boards[:, 0].sum(dim=(1, 2)))

    module = EmptyCells()
    player = value_function(module, scale=50.0, name="empty cells")

    def empty_cells(boards: Any) -> Any:
        return 50.0 * np.count_nonzero(boards == 0, axis=(1, 2))

    found = afterstate.compare(player, empty_cells, games=20)
    assert found["identical"] and module.training

    class Hinted(base):  # type: ignore[misc]
        def forward(self, boards: Any, hints: Any) -> Any:
            assert boards.dtype == hints.dtype == torch.int64 and len(boards) == len(hints)
            return torch.zeros(len(boards), 3)

    hinted = value_function(Hinted(), game="threes-hint", encoding="exponents", of="actions")
    with pytest.raises(afterstate.InputError, match=r"Hinted returned an array of shape \(1, 3\)"):
        afterstate.evaluate(hinted, games=1)
    with pytest.raises(afterstate.InputError, match="expected a torch.nn.Module"):
        value_function(empty_cells)


def test_the_example_runs(trained: afterstate.Model) -> None:
    pytest.importorskip("torch")
    run = afterstate.train(set={"tuples": "8x4"}, episodes=200, threads=1)
    small = "--steps 20 --rounds 2 --games 2 --width 4 --hidden 8 --evaluate 5".split()
    done = subprocess.run(
        [sys.executable, str(EXAMPLE), str(run.folder), *small, "--out", "network.pt"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "network: mean" in done.stdout and Path("network.pt").exists()


def test_symmetric_boards_have_one_value(trained: afterstate.Model) -> None:
    torch = pytest.importorskip("torch")
    sys.path.insert(0, str(EXAMPLE.parent))
    try:
        import imitate  # type: ignore[import-not-found]
    finally:
        sys.path.pop(0)
    network = imitate.Value(width=4, hidden=8)
    boards = torch.from_numpy(afterstate.positions(trained, games=1).boards).long()
    with torch.inference_mode():
        expected = network(boards)
        assert expected.std() > 0.01
        for turns in range(4):
            turned = torch.rot90(boards, turns, dims=(1, 2))
            assert torch.allclose(network(turned), expected, atol=1e-5)
            assert torch.allclose(network(turned.transpose(1, 2)), expected, atol=1e-5)
