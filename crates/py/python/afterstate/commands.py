"""The commands of the command line as functions.

Names and meanings of arguments are those of ``afterstate COMMAND --help``; results are dictionaries
with the keys of its ``--json``. All of them take ``progress`` (see :mod:`afterstate.progress`),
release the lock of the interpreter, and can be stopped by Ctrl-C: a training saves a checkpoint.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import _afterstate
from .errors import InputError, counted, optional, threads_of
from .games import board_text
from .models import (
    RUNS,
    PathLike,
    Player,
    Run,
    Solution,
    options_of_each,
    player,
    search_options,
)
from .progress import Progress, listener

__all__ = [
    "compare",
    "convert",
    "evaluate",
    "judge",
    "merge",
    "recipe",
    "recipes",
    "review",
    "solve",
    "sweep",
    "train",
]

Json = dict[str, Any]
#: A place that was not named: `train` chooses one under ``runs/``.
_UNDER_RUNS = "under runs"


@dataclass
class _Games:
    games: int
    seed: int
    threads: int
    part: str | None

    def __post_init__(self) -> None:
        self.games = counted("games", self.games, 1)
        self.seed = counted("seed", self.seed)
        self.threads = threads_of(self.threads)
        _part(self.part)


def _part(part: object) -> None:
    if part is not None and not isinstance(part, str):
        raise InputError(f'`part` is {part!r}; expected a text such as "1/3"')


def _loaded(text: str) -> Json:
    found: Json = json.loads(text)
    return found


def _key(value: object) -> str:
    """A value of a recipe as TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        inner = (json.dumps(one) if isinstance(one, str) else _key(one) for one in value)
        return f"[{', '.join(inner)}]"
    return str(value)


def _checked(key: str, value: object) -> object:
    if value is None:
        raise InputError(f"`{key}` of `set` is None; leave it out for its default")
    return value


def _overrides(
    set: Mapping[str, object] | Iterable[str] | None, given: Mapping[str, object]
) -> list[str]:
    if isinstance(set, str):
        raise InputError(f'`set` is a text; expected {{"key": value}} or ["{set}"]')
    if isinstance(set, Mapping):
        words = [f"{key}={_key(_checked(key, value))}" for key, value in set.items()]
    else:
        words = list(set or ())
    return words + [f"{key}={_key(value)}" for key, value in given.items() if value is not None]


def train(
    recipe: str | None = None,
    *,
    out: PathLike | None = _UNDER_RUNS,
    resume: PathLike | None = None,
    set: Mapping[str, object] | Iterable[str] | None = None,
    from_: PathLike | None = None,
    game: str | None = None,
    board: str | tuple[int, int] | None = None,
    episodes: int | None = None,
    threads: int | None = None,
    seed: int | None = None,
    progress: Progress = False,
) -> Run:
    """Starts or resumes a run: ``afterstate train``.

    ``recipe`` is a built-in recipe (default: ``quick``) or a file; ``set`` changes keys of it. The
    run goes into the folder ``out``, by default ``runs/NAME``, where the command line finds it as
    well; with ``out=None`` it stays in memory.

    >>> run = train("quick", board="2x2", set={"tuples": "lines"}, episodes=300, out=None)
    >>> run
    <Run in memory: 300 games>
    >>> train("quick", set={"no_such_key": 1}, out=None)
    Traceback (most recent call last):
    ...
    afterstate.errors.InputError: unknown key `no_such_key`...
    """
    given = {
        "from": None if from_ is None else json.dumps(str(from_)),
        "game": game,
        "board": None if board is None else board_text(board),
        "episodes": optional("episodes", episodes),
        "threads": None if threads is None else threads_of(threads),
        "seed": optional("seed", seed),
    }
    if resume is not None and (recipe is not None or out != _UNDER_RUNS):
        raise InputError(
            "a run that is resumed has its recipe and its folder: leave out `recipe` and `out`"
        )
    runs = RUNS if out == _UNDER_RUNS else None
    place = None if out == _UNDER_RUNS else out
    overrides = _overrides(set, given)
    found = _afterstate.train(recipe or "quick", overrides, resume, place, runs, listener(progress))
    return Run._of(*found)


def evaluate(
    model: Player | None = None,
    *,
    game: str | None = None,
    board: str | tuple[int, int] | None = None,
    games: int | None = None,
    seed: int | None = None,
    threads: int = 0,
    search: str = "1ply",
    hash: int | None = None,
    cutoff: float | None = None,
    downgrade: int | None = None,
    against: Solution | PathLike | None = None,
    fast: bool = False,
    keep: bool = False,
    records: PathLike | None = None,
    part: str | None = None,
    progress: Progress = False,
) -> Json:
    """Plays games (default: 1,000 of seed 1) and reports the scores: ``afterstate eval``.

    With ``against``, an exact solution, no games are played: the expected score of the model is
    computed exactly. With ``part`` (as in ``"2/8"``) only these games are played, for
    :func:`merge`.

    >>> found = evaluate("random", board="2x2", games=2000, seed=7)
    >>> found["games"], found["mean_ci95"][0] < found["mean"] < found["mean_ci95"][1]
    (2000, True)
    """
    options = search_options(hash, cutoff, downgrade)
    opened = player(model, game, board).with_search(search, *options)
    if against is None:
        for name, value in (("fast", fast), ("keep", keep)):
            if value:
                raise InputError(f"`{name}` has no effect without `against`")
        asked = _Games(
            1000 if games is None else games, 1 if seed is None else seed, threads, part
        )
        return _loaded(_afterstate.evaluate(opened, asked, records, listener(progress)))
    given = {"games": games, "seed": seed, "records": records, "part": part}
    useless = [name for name, value in given.items() if value is not None]
    if useless:
        raise InputError(f"`against` plays no games: leave out `{useless[0]}`")
    if opened.search in ("random", "greedy"):
        raise InputError("`against` needs a model; random and greedy are baselines")
    if keep and (opened.path is None or opened.trained is None):
        raise InputError("`keep` saves the gap in a run folder, and this model is in none")
    solution = against if isinstance(against, Solution) else Solution(against)
    saved = _run_folder(model, opened) if keep else None
    threads = threads_of(threads)
    found = _afterstate.gaps(opened, solution._solution, fast, threads, saved, listener(progress))
    return _loaded(found)


def _run_folder(model: Player | None, opened: _afterstate.Player) -> PathLike | None:
    if isinstance(model, Run):
        return model.folder
    return opened.path


def compare(
    a: Player,
    b: Player,
    *,
    games: int = 1000,
    seed: int = 1,
    threads: int = 0,
    search: str = "1ply",
    search_b: str | None = None,
    hash: int | None = None,
    cutoff: float | None = None,
    downgrade: int | None = None,
    sequential: bool = False,
    margin: float | None = None,
    part: str | None = None,
    progress: Progress = False,
) -> Json:
    """Which of two players is better, and with what confidence: ``afterstate compare``.

    Baselines and functions play the game of the other player.

    >>> found = compare("greedy", "random", games=500)
    >>> found["better"]
    'a'
    """
    if margin is not None and not sequential:
        raise InputError("`margin` has no effect without `sequential`")
    if margin is not None and not 0 < margin < math.inf:
        raise InputError(f"`margin` is {margin}; expected a number of points above 0")
    if sequential and part is not None:
        raise InputError("`sequential` and `part` exclude each other")
    first, second = _pair(a, b)
    limits = (search, search if search_b is None else search_b)
    options = options_of_each(limits, hash, cutoff, downgrade)
    first, second = (
        one.with_search(limit, *given, 0)
        for one, limit, given in zip((first, second), limits, options)
    )
    asked = _Games(games, seed, threads, part)
    found = _afterstate.compare(first, second, asked, sequential, margin, listener(progress))
    return _loaded(found)


def _pair(a: Player, b: Player) -> tuple[_afterstate.Player, _afterstate.Player]:
    def is_baseline(one: Player) -> bool:
        return callable(one) or (isinstance(one, str) and one in ("random", "greedy"))

    if is_baseline(a) and not is_baseline(b):
        second = player(b)
        return player(a, second.game, second.board), second
    first = player(a)
    return first, (player(b, first.game, first.board) if is_baseline(b) else player(b))


def merge(
    parts: Sequence[Mapping[str, Any]] | Sequence[PathLike],
    *,
    sweep: PathLike | None = None,
    out: PathLike | None = None,
) -> Json:
    """The result of all parts of an evaluation or a comparison, in any order: ``afterstate merge``.

    Parts are results of this module, or files that ``--part K/N --json`` has written. With
    ``sweep``, the file of a sweep, ``parts`` are the folders of its parts, whose runs are copied
    into the folder ``out``; the result is that of :func:`sweep`.

    >>> parts = [evaluate("random", games=100, part=f"{k}/4") for k in (3, 1, 4, 2)]
    >>> merge(parts)["mean"] == evaluate("random", games=100)["mean"]
    True
    """
    if (sweep is None) != (out is None):
        raise InputError("parts of a sweep are merged with both `sweep` and `out`")
    if sweep is not None and out is not None:
        folders = [part for part in parts if not isinstance(part, Mapping)]
        if len(folders) < len(parts):
            raise InputError("the parts of a sweep are folders; found a dictionary")
        return _loaded(_afterstate.merge_sweep(sweep, folders, out))
    named = [_named(number, part) for number, part in enumerate(parts, 1)]
    return _loaded(_afterstate.merge(named))


def _named(number: int, part: Mapping[str, Any] | PathLike) -> tuple[str, str]:
    """The name and the document of a part."""
    if isinstance(part, Mapping):
        return f"part {number}", json.dumps(part)
    if not isinstance(part, (str, os.PathLike)):
        raise InputError(f"part {number} is {type(part).__name__}; expected a result or its file")
    try:
        return os.fspath(part), Path(part).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read the part {os.fspath(part)}: {error}") from error


def sweep(
    file: PathLike,
    *,
    out: PathLike | None = None,
    jobs: int = 0,
    part: str | None = None,
    progress: Progress = False,
) -> Json:
    """Trains variants of a recipe with several seeds and compares them: ``afterstate sweep``.

    The runs go into ``out``, by default ``runs/NAME``, ``jobs`` at once (0: one for each core). What
    is there already is not trained again. With ``part``, only some of the runs are trained; the
    result names them, and :func:`merge` joins the folders of all parts.

    >>> import os, tempfile
    >>> text = '''
    ... name = "rates"
    ... recipe = "quick"
    ... set = ["board=2x2", "tuples=lines", "episodes=200"]
    ... seeds = [1, 2]
    ... games = 50
    ... [[variant]]
    ... name = "0.1"
    ... [[variant]]
    ... name = "0.5"
    ... set = ["learning_rate=0.5"]
    ... '''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "rates.toml")
    ...     _ = open(path, "w").write(text)
    ...     found = sweep(path, out=os.path.join(folder, "rates"))
    >>> [(row["name"], len(row["scores"])) for row in found["variants"]]
    [('0.1', 2), ('0.5', 2)]
    """
    jobs = threads_of(jobs, name="jobs")
    _part(part)
    return _loaded(_afterstate.sweep(file, out, part, jobs, listener(progress)))


def solve(
    board: str | tuple[int, int],
    *,
    game: str = "2048",
    target: int | None = None,
    discount: float = 1.0,
    min_avg_max: bool = False,
    out: PathLike | None = None,
    threads: int = 0,
    progress: Progress = False,
) -> Solution:
    """The exact values of a small board: ``afterstate solve``.

    >>> solve("2x2", min_avg_max=True).report["max_score"]
    180.0
    """
    threads = threads_of(threads)
    target = optional("target", target)
    solved = _afterstate.solve(
        game, board_text(board), target, discount, min_avg_max, threads, out, listener(progress)
    )
    # Only a signal stops it, and that raises.
    assert solved is not None
    return Solution._of(solved)


def judge(
    records: PathLike,
    *,
    game: str | None = None,
    board: str | tuple[int, int] | None = None,
    games: int | None = None,
    model: Player | None = None,
    seal: PathLike | None = None,
    min_speed: float | None = None,
    progress: Progress = False,
) -> Json:
    """Whether recorded games follow the rules: ``afterstate judge``.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "games.txt")
    ...     _ = evaluate("greedy", games=20, records=path)
    ...     verdict = judge(path)
    >>> verdict["passed"], verdict["episodes"], verdict["game"]
    (True, 20, '2048')
    """
    luck = None
    if model is not None:
        opened = player(model)
        luck = (opened.label, opened)
    text = None if board is None else board_text(board)
    games = optional("games", games, 1)
    found = _afterstate.judge(
        records, game, text, games, min_speed, seal, luck, listener(progress)
    )
    return _loaded(found)


def review(
    records: PathLike,
    model: Player | None = None,
    *,
    search: str = "1ply",
    hash: int | None = None,
    cutoff: float | None = None,
    downgrade: int | None = None,
    top: int = 3,
    thresholds: Sequence[float] = (0.999, 0.99, 0.975, 0.9),
    threads: int = 0,
    progress: Progress = False,
) -> Json:
    """Grades the moves of recorded games, and measures the luck of their spawns:
    ``afterstate review``. Without a model, the network in the program reviews them, or else
    the newest run of their game and board.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "games.txt")
    ...     _ = evaluate("greedy", board="2x3", games=3, records=path)
    ...     model = train(board="2x3", set={"tuples": "lines"}, episodes=100, out=None).model
    ...     found = review(path, model)
    >>> found["total"]["games"]
    3
    """
    options = (search, *search_options(hash, cutoff, downgrade, threads))
    top = counted("top", top)

    def newest(game: str, board: str) -> _afterstate.Player:
        return player(None, game, board).with_search(*options)

    opened = None if model is None else player(model).with_search(*options)
    if len(thresholds) != 4:
        raise InputError(f"found {len(thresholds)} thresholds; expected four")
    found = _afterstate.review(
        records, opened, newest, top, list(thresholds), threads, listener(progress)
    )
    return _loaded(found)


def convert(
    source: PathLike,
    target: PathLike,
    *,
    kind: str | None = None,
    patterns: str | None = None,
    game: str | None = None,
    no_symmetry: bool = False,
    base: int | None = None,
    stages: Sequence[int] | None = None,
    weights_only: bool = False,
    force: bool = False,
    progress: Progress = False,
) -> Json:
    """Converts weights between programs: ``afterstate convert``; ``kind`` is its ``--to``.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     out = os.path.join(folder, "run")
    ...     run = train(board="4x4", set={"tuples": "8x4"}, episodes=10, out=out)
    ...     report = convert(out, os.path.join(folder, "quick.w"), weights_only=True)
    >>> report["to"]["format"]
    'tdl'
    """
    found = _afterstate.convert(
        source, target, kind, patterns, game, not no_symmetry, optional("base", base),
        None if stages is None else [counted("stages", stage) for stage in stages], weights_only, force, listener(progress),
    )  # fmt: skip
    return _loaded(found)


def recipes() -> list[Json]:
    """All built-in recipes: ``afterstate recipes``.

    >>> "quick" in [recipe["name"] for recipe in recipes()]
    True
    """
    found: list[Json] = json.loads(_afterstate.recipes())
    return found


def recipe(name: str, set: Mapping[str, object] | Iterable[str] | None = None) -> Json:
    """All keys of a recipe: ``afterstate recipes NAME``.

    >>> recipe("quick", {"episodes": 5})["episodes"]
    5
    """
    return _loaded(_afterstate.recipe(name, _overrides(set, {})))
