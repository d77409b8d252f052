"""Three scores of each host and signal, which the questions share.

* `turned`: how much worse the best run of time slots of the last day is than the slots before it (`statistics.turns`);
* `level`: how far above its peers the host was all day;
* `changed`: how far above its own level of the days before it was.

The last day is judged; days before it, where there are any, say what is usual of each host and hour.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from .fleet import Fleet
from .peers import Distances, measure
from .signals import MINUTES_PER_DAY
from .statistics import levels
from .statistics.standing import robust_z
from .statistics.turns import Turns, turns

SLOTS_PER_DAY = 24
VIEWS = ("turned", "level", "changed")
LOOSE_Z = 3.0
"""Above it a host counts as sick in tables of two by two: a healthy host among them makes a fact look weaker, never stronger."""


@dataclass(frozen=True)
class Assessment:
    """One signal of all hosts on the last day."""

    distances: Distances
    today: np.ndarray
    """Distances of the last day (hosts × slots)."""
    usual: np.ndarray | None
    """The same hours of the days before, or None."""
    turns: Turns
    base: np.ndarray
    """What is taken off before a host is scanned for a turn: zero, or the days before."""

    @property
    def signal(self) -> str:
        return self.distances.signal.name

    @cached_property
    def roles(self) -> np.ndarray:
        return np.asarray(self.distances.subjects["role"]).astype(str)

    @cached_property
    def starts(self) -> np.ndarray:
        return self.distances.starts[-self.today.shape[1] :]

    @cached_property
    def level(self) -> np.ndarray:
        return median_of(self.today)

    @cached_property
    def changed(self) -> np.ndarray:
        return self.level - median_of(self.usual) if self.usual is not None else np.full(len(self.today), np.nan)

    @cached_property
    def scores(self) -> np.ndarray:
        """Hosts × `VIEWS`."""
        return np.column_stack([self.turns.score, self.level, self.changed])

    @cached_property
    def z(self) -> np.ndarray:
        """Scores in robust standard deviations of the role."""
        return np.column_stack([robust_z(self.scores[:, view], self.roles) for view in range(len(VIEWS))])

    @cached_property
    def level_p(self) -> np.ndarray:
        """How likely a healthy host is this far above its peers all day."""
        return levels.p_of(self.z[:, VIEWS.index("level")])

    @cached_property
    def effects(self) -> np.ndarray:
        """ln of the ratio that each score speaks of."""
        return np.column_stack([self.turns.effect, self.level, self.changed])


def slot_for(fleet: Fleet) -> int:
    """An hour, or less where there is less than a day of data."""
    minutes = fleet.last - fleet.first + 1
    return min(MINUTES_PER_DAY // SLOTS_PER_DAY, max(1, -(-minutes // SLOTS_PER_DAY)))


def assess(fleet: Fleet, signal: str) -> Assessment:
    return assessed(measure(fleet, signal, slot_for(fleet)))


def assessed(distances: Distances) -> Assessment:
    """The scores of distances that were measured before: from here on there are arrays only."""
    matrix = distances.matrix
    today = matrix[:, -SLOTS_PER_DAY:]
    usual = days_before(matrix)
    base = np.zeros_like(today) if usual is None else usual
    judged = scaled(today - base, distances.subjects["role"])
    found = turns(judged.matrix)
    found = Turns(found.score, found.p, found.effect * judged.scale, found.begin, found.end)
    return Assessment(distances, today, usual, found, base)


def days_before(matrix: np.ndarray) -> np.ndarray | None:
    """What is usual of each host in each slot of the day. A day of which a part is missing is no day before."""
    days = matrix.shape[1] // SLOTS_PER_DAY - 1
    if days < 1:
        return None
    before = matrix[:, -SLOTS_PER_DAY * (days + 1) : -SLOTS_PER_DAY].reshape(len(matrix), days, SLOTS_PER_DAY)
    return np.asarray(before[:, 0] if days == 1 else nan_quietly(np.nanmedian, before))


@dataclass(frozen=True)
class Scaled:
    matrix: np.ndarray
    scale: np.ndarray


def scaled(matrix: np.ndarray, roles: pd.Series) -> Scaled:
    """Distances in units of the noise of their role: calm roles and wild ones can then be judged by one null distribution."""
    steps = np.abs(np.diff(matrix, axis=1))
    noise = pd.Series(nan_quietly(np.nanmedian, steps)).groupby(roles.to_numpy()).transform("median").to_numpy()
    usual = np.nanmedian(noise[noise > 0]) if (noise > 0).any() else 1.0
    scale = np.where(noise > 0, noise, usual)
    return Scaled(matrix / scale[:, None], scale)


def median_of(matrix: np.ndarray) -> np.ndarray:
    return np.asarray(nan_quietly(np.nanmedian, matrix))


def nan_quietly(function: Callable[..., np.ndarray], matrix: np.ndarray) -> np.ndarray:
    """A statistic over the second axis; NaN where nothing was seen."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.asarray(function(matrix, axis=1))
