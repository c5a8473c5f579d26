"""The Python of README and of the documents runs, a page at a time, with fewer games."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest

import afterstate

ROOT = Path(__file__).parents[3]
PAGES = ["README.md", "docs/python.md", "docs/environments.md"]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
#: What would take minutes, and what takes seconds instead.
SHORTER = {
    "episodes=20000": "episodes=300",
    "games=1000": "games=20",
    "games=200": "games=5",
    "VecEnv(64": "VecEnv(1",
    "100_000": "1_000",
    "num_envs=1024": "num_envs=8",
}
#: Packages that blocks need and the tests may lack.
OPTIONAL = {
    "afterstate.torch": "torch",
    "afterstate.sb3": "sb3_contrib",
    "import ray": "ray",
}


def blocks(page: str) -> list[str]:
    return BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))


def lacks(block: str) -> bool:
    needed = [package for name, package in OPTIONAL.items() if name in block]
    return any(importlib.util.find_spec(package) is None for package in needed)


def given() -> dict[str, Any]:
    """What a page takes for granted: an environment of the reader, records, a module."""
    import gymnasium

    afterstate.evaluate("greedy", games=3, records="games.txt")
    names: dict[str, Any] = {"make": lambda: gymnasium.make("afterstate/2048-v0")}
    if importlib.util.find_spec("torch") is not None:
        import torch

        layers = torch.nn.Flatten(), torch.nn.LazyLinear(4)
        names.update(torch=torch, module=torch.nn.Sequential(*layers))
    return names


@pytest.mark.parametrize("page", PAGES)
def test_the_python_of_a_page_runs(page: str) -> None:
    namespace = given()
    found = blocks(page)
    assert found, f"{page} has no Python"
    for number, block in enumerate(found, 1):
        if lacks(block):
            continue
        for long, short in SHORTER.items():
            block = block.replace(long, short)
        try:
            exec(compile(block, f"{page}, block {number}", "exec"), namespace)
        except Exception as error:
            raise AssertionError(f"block {number} of {page}:\n{block}") from error


def test_times_of_a_page_are_shortened() -> None:
    every = "".join(block for page in PAGES for block in blocks(page))
    assert [long for long in SHORTER if long not in every] == []


def test_tests_that_are_named_exist() -> None:
    page = (ROOT / "docs/testing.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([a-z0-9]+(?:_[a-z0-9]+)+)`", page))
    sources = [*ROOT.glob("crates/**/*.rs"), *ROOT.glob("crates/py/tests/*.py")]
    text = "".join(path.read_text(encoding="utf-8") for path in sources)
    found = set(re.findall(r"\b(?:fn|def) (\w+)", text))
    assert len(named) > 50
    assert sorted(named - found) == []
