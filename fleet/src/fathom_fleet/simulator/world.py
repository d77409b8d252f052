"""What a simulated fleet is, and what is true of it.

A signal of a host is: level of its role × own level × rhythm of the day (own phase and height) × noise that follows itself from
minute to minute × own drift from day to day × a benign job on some hosts × the illness.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
from scipy.signal import lfilter

from ..signals import MINUTES_PER_DAY

FIRST_MINUTE = 29_865_600
"""2026-10-14 00:00 UTC."""

Noise = Literal["normal", "heavy", "wandering"]
"""Of the drift from day to day: normal; Student's t with 3 degrees; normal and a random walk within the day as well."""

OWN_LEVEL_SD = 0.10
RHYTHM_HEIGHT = 0.30
RHYTHM_HEIGHT_SD = 0.10
RHYTHM_PHASE_SD_MINUTES = 15.0
MINUTE_SD = 0.10
MINUTE_MEMORY = 0.9
DRIFT_SD = 0.03
JOB_SHARE = 0.02
JOB_EFFECT = 0.5
JOB_MINUTES = (30, 90)
ONSET_HOURS = (7, 15)
ROLE_HOSTS_MIN = 6
ALIAS_AGREES = 0.98


@dataclass(frozen=True)
class Illness:
    """What makes hosts sick."""

    effect: float
    """0.2: 20 % worse."""
    hosts: int
    """How many are sick."""
    signals: tuple[str, ...] = ()
    """Which signals; empty: all."""
    starts: Literal["onset", "always", "once"] = "onset"
    """On the last day between 07:00 and 15:00, each host by itself; before the data begin; or all in the same minute."""
    by_fact: bool = True
    """Whether the sick ones share a fact that no other fact is the same as."""
    penetrance: float = 0.8
    """Share of the hosts with the fact that are sick."""
    fact: tuple[str, str] = ("planted", "yes")
    confounded: tuple[tuple[str, str], ...] = ()
    """Facts that exactly the same hosts hold."""
    has_alias: bool = False
    """Whether another fact agrees with it on 98 % of the hosts."""


@dataclass(frozen=True)
class Truth:
    """What the answers should be."""

    sick: dict[str, int]
    """Host to the minute of its onset; 0: always."""
    facts: tuple[str, ...]
    """`fact=value` of the cause and of those that the same hosts hold."""


@dataclass(frozen=True)
class World:
    """A fleet of some days. The same seed gives the same fleet."""

    hosts: int = 1000
    days: int = 2
    roles: int = 20
    facts: int = 2000
    noise: Noise = "normal"
    illness: Illness | None = None
    signals: tuple[str, ...] = ("requests_p95_ms",)
    seed: int = 1
    bases: dict[str, float] = field(default_factory=dict)
    """Usual value of a signal, where it is not 10."""

    @cached_property
    def names(self) -> list[str]:
        return [f"host-{index:05d}" for index in range(self.hosts)]

    @cached_property
    def role_of(self) -> np.ndarray:
        """Uneven roles: the largest has a fifth of the hosts."""
        random = self.random("roles")
        least = min(ROLE_HOSTS_MIN, self.hosts // self.roles)
        weights = 1.0 / np.arange(1, self.roles + 1)
        extra = random.choice(self.roles, self.hosts - least * self.roles, p=weights / weights.sum())
        return random.permutation(np.concatenate([np.repeat(np.arange(self.roles), least), extra]))

    @cached_property
    def minutes(self) -> np.ndarray:
        return FIRST_MINUTE + np.arange(self.days * MINUTES_PER_DAY)

    @cached_property
    def holders(self) -> np.ndarray:
        """Hosts (indices) that hold the planted fact, the sick ones first."""
        if self.illness is None:
            return np.zeros(0, dtype=int)
        count = max(self.illness.hosts, round(self.illness.hosts / self.illness.penetrance))
        return self.random("sick").permutation(self.hosts)[: min(count, self.hosts)]

    @cached_property
    def onsets(self) -> np.ndarray:
        """Of the sick hosts: minutes after the begin of the data."""
        if self.illness is None or self.illness.starts == "always":
            return np.zeros(self.illness.hosts if self.illness else 0, dtype=int)
        random = self.random("onset")
        count = 1 if self.illness.starts == "once" else self.illness.hosts
        within = random.integers(ONSET_HOURS[0] * 60, ONSET_HOURS[1] * 60, count)
        return np.resize((self.days - 1) * MINUTES_PER_DAY + within, self.illness.hosts)

    @cached_property
    def truth(self) -> Truth:
        if self.illness is None:
            return Truth({}, ())
        always = self.illness.starts == "always"
        sick = {
            self.names[host]: 0 if always else FIRST_MINUTE + int(onset)
            for host, onset in zip(self.holders, self.onsets, strict=False)
        }
        facts = (self.illness.fact, *self.illness.confounded) if self.illness.by_fact else ()
        return Truth(sick, tuple(f"{key}={value}" for key, value in facts))

    def random(self, purpose: str) -> np.random.Generator:
        """Numbers of one purpose stay what they are when another one draws more."""
        return np.random.default_rng([self.seed, *purpose.encode()])

    def values(self, signal: str) -> np.ndarray:
        """Hosts × minutes of one signal."""
        random = self.random(signal)
        shape = (self.hosts, len(self.minutes))
        logs = np.log(self.bases.get(signal, 10.0)) + random.normal(0, 0.5, self.roles)[self.role_of, None]
        logs = logs + random.normal(0, OWN_LEVEL_SD, (self.hosts, 1)) + self.rhythm(random)
        innovations = random.normal(0, MINUTE_SD * np.sqrt(1 - MINUTE_MEMORY**2), shape)
        logs += lfilter([1.0], [1.0, -MINUTE_MEMORY], innovations, axis=1)
        logs += np.repeat(self.drift(random), MINUTES_PER_DAY, axis=1)
        if self.noise == "wandering":
            logs += np.cumsum(random.normal(0, DRIFT_SD / np.sqrt(MINUTES_PER_DAY), shape), axis=1)
        logs += self.jobs(random)
        logs += self.sickness(signal)
        return np.asarray(np.exp(logs))

    def rhythm(self, random: np.random.Generator) -> np.ndarray:
        height = RHYTHM_HEIGHT * (1 + random.normal(0, RHYTHM_HEIGHT_SD, (self.hosts, 1)))
        phase = random.normal(0, RHYTHM_PHASE_SD_MINUTES, (self.hosts, 1))
        return np.asarray(height * np.sin(2 * np.pi * (self.minutes - phase) / MINUTES_PER_DAY))

    def drift(self, random: np.random.Generator) -> np.ndarray:
        shape = (self.hosts, self.days)
        # Both have the same standard deviation.
        return DRIFT_SD * (
            random.standard_t(3, shape) / np.sqrt(3) if self.noise == "heavy" else random.normal(0, 1, shape)
        )

    def jobs(self, random: np.random.Generator) -> np.ndarray:
        """Benign work on some hosts each day."""
        logs = np.zeros((self.hosts, len(self.minutes)))
        for day in range(self.days):
            for host in np.flatnonzero(random.random(self.hosts) < JOB_SHARE):
                length = int(random.integers(*JOB_MINUTES))
                begin = day * MINUTES_PER_DAY + int(random.integers(0, MINUTES_PER_DAY - length))
                logs[host, begin : begin + length] = np.log1p(JOB_EFFECT)
        return logs

    def sickness(self, signal: str) -> np.ndarray:
        logs = np.zeros((self.hosts, len(self.minutes)))
        if self.illness and (not self.illness.signals or signal in self.illness.signals):
            for host, onset in zip(self.holders, self.onsets, strict=False):
                logs[host, onset:] = np.log1p(self.illness.effect)
        return logs
