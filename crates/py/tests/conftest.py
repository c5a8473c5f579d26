"""What the tests share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import afterstate


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test has a folder of its own, where runs/ is."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session")
def trained() -> Iterator[afterstate.Model]:
    """A small model of 2048 on 4x4."""
    run = afterstate.train(set={"tuples": "8x4"}, episodes=500, threads=1, out=None)
    yield run.model
