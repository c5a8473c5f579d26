"""Events of long work: a callback of yours, or a bar.

Every function that takes a while has the argument ``progress``: ``True`` draws a bar, in a
notebook or on standard error; a function is called with each event, a dictionary with the
keys of ``afterstate train --json``. An exception that it raises cancels the work.

>>> import afterstate
>>> seen = []
>>> result = afterstate.evaluate("random", games=50, progress=seen.append)
>>> seen[0]["event"], seen[-1]["event"], seen[-1]["status"]
('started', 'finished', 'finished')
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any, TextIO

__all__ = ["Bar", "Event", "Progress"]

#: An event, with the key ``event``.
Event = dict[str, Any]
#: What the argument ``progress`` may be.
Progress = bool | Callable[[Event], object]

_WIDTH = 30
#: Seconds between two drawings of a bar: in a terminal, and in a notebook.
_REDRAWN = 0.1
_REDRAWN_IN_NOTEBOOK = 0.5
#: Elsewhere, as in a file, so many lines are written.
_TENTHS = 10


class Bar:
    """Draws the progress of one piece of work: in a terminal as a line that is drawn over, in a
    notebook as a display that is updated, and elsewhere as a line for each tenth.

    >>> import io
    >>> text = io.StringIO()
    >>> bar = Bar(text)
    >>> for share in (0.06, 0.11, 0.14, 0.26):
    ...     bar({"event": "progress", "task": "evaluate", "share": share, "done": int(100 * share),
    ...          "unit": "games", "mean": 2000.0})
    >>> bar({"event": "finished", "task": "evaluate", "done": 100, "unit": "games"})
    >>> print(text.getvalue().strip())
    evaluate [###...........................]  11%  11 games  mean 2,000
    evaluate [########......................]  26%  26 games  mean 2,000
    evaluate [##############################] 100%  100 games  mean 2,000
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._notebook = _notebook() if stream is None else None
        self._stream = stream if stream is not None else sys.stderr
        self._is_terminal = getattr(self._stream, "isatty", bool)()
        self._display: Any = None
        self._length = 0
        self._drawn = 0.0
        self._tenths = 0
        self._last: Event = {}

    def __call__(self, event: Event) -> None:
        """Draws an event."""
        kind = event.get("event")
        if kind == "progress":
            self._last = event
            share = float(event.get("share", 0.0))
            if self._is_due(share):
                self._draw(event, share)
        elif kind == "finished":
            # The end does not repeat the mean and the speed.
            known = {key: self._last.get(key) for key in ("mean", "moves_per_second")}
            is_whole = event.get("status", "finished") == "finished"
            self._draw({**known, **event}, 1.0 if is_whole else None)
            self._end()
        elif kind == "failed":
            self._end()

    def _is_due(self, share: float) -> bool:
        now = time.monotonic()
        if self._notebook or self._is_terminal:
            between = _REDRAWN_IN_NOTEBOOK if self._notebook else _REDRAWN
            due = now - self._drawn >= between
        else:
            tenths = int(share * _TENTHS + 1e-9)
            due = tenths > self._tenths
            self._tenths = max(self._tenths, tenths)
        if due:
            self._drawn = now
        return due

    def _draw(self, event: Event, share: float | None) -> None:
        done = "#" * round(_WIDTH * (share or 0.0))
        text = f"{event.get('task', '')} [{done:.<{_WIDTH}}] "
        text += "stopped" if share is None else f"{share:4.0%}"
        text += f"  {event.get('done', 0):,} {event.get('unit', '')}"
        if event.get("mean") is not None:
            text += f"  mean {event['mean']:,.0f}"
        if event.get("moves_per_second"):
            text += f"  {event['moves_per_second']:,.0f} moves/s"
        if self._notebook:
            self._show(text)
        elif self._is_terminal:
            self._write("\r" + text.ljust(self._length))
            self._length = len(text)
        else:
            self._write(text + "\n")

    def _show(self, text: str) -> None:
        """Draws it in a notebook, whose saved outputs have the last drawing alone."""
        assert self._notebook is not None
        content = {"text/plain": text}
        if self._display is None:
            self._display = self._notebook(content, raw=True, display_id=True)
        else:
            self._display.update(content, raw=True)

    def _end(self) -> None:
        if self._is_terminal and not self._notebook:
            self._write("\n")

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


def _notebook() -> Callable[..., Any] | None:
    """The function that displays something, in the kernel of a notebook."""
    ipython: Any = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is None or not hasattr(shell, "kernel"):
        return None
    display: Callable[..., Any] = ipython.display.display
    return display


def listener(progress: Progress) -> Callable[[str], object] | None:
    """The listener for an argument ``progress``."""
    if progress is False:
        return None
    call = Bar() if progress is True else progress
    return lambda text: call(json.loads(text))
