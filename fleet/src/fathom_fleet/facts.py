"""Facts of hosts as a matrix: which host holds which value, and which facts are held by exactly the same hosts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from .answers import some
from .fleet import FACT_MISSING

LISTED_ONLY_IF_SET = ("flag:", "agent:", "property:")
"""Facts that are not written where they are at their default. A host of which other facts of the kind are known has the default."""

DEFAULT = "(default)"

MISSING = -1
"""The code of a fact that is not known of a host: the last of the texts."""

PAIRED_MAX = 60
"""Facts of which pairs are formed: the most evenly spread ones, chosen without looking at who is sick. 60 make 1,770 pairs."""

PAIR_HOLDERS_MIN = 3


@dataclass(frozen=True)
class Facts:
    """Patterns of holders. Facts with one pattern cannot be told apart by any comparison of these hosts."""

    held: np.ndarray
    """Hosts × patterns, boolean."""
    names: list[list[str]]
    """Of each pattern: `fact=value` of all facts that have it."""
    pair_of: list[tuple[int, int] | None]
    """For a pattern that is a pair of others: which."""
    missing: dict[str, int]
    """Of each fact that some hosts lack: how many."""
    keys: dict[str, np.ndarray]
    """Of each fact that some hosts lack: whether a host has a value."""

    @property
    def tried(self) -> int:
        return sum(len(names) for names in self.names)


def matrix_of(rows: pd.DataFrame, subjects: list[str]) -> Facts:
    """The facts of these subjects, in this order."""
    rows = rows[rows["subject"].isin(subjects)]
    columns, keys = pd.factorize(rows["fact"].astype(str))
    values, texts = pd.factorize(rows["value"])
    codes = np.full((len(subjects), len(keys)), MISSING)
    codes[pd.Index(subjects).get_indexer(rows["subject"]), columns] = values
    default = len(texts)
    for kind in LISTED_ONLY_IF_SET:
        of_kind = np.array([key.startswith(kind) for key in keys], dtype=bool)
        has_some = (codes[:, of_kind] != MISSING).any(axis=1)
        codes[has_some[:, None] & of_kind & (codes == MISSING)] = default
    known = codes != MISSING
    lacking = {key: known[:, at] for at, key in enumerate(keys) if not known[:, at].all()}
    held, names = patterns(codes, list(keys), [*texts, DEFAULT, FACT_MISSING])
    return Facts(held, names, [None] * len(names), {key: int((~has).sum()) for key, has in lacking.items()}, lacking)


def patterns(codes: np.ndarray, keys: list[str], texts: list[str]) -> tuple[np.ndarray, list[list[str]]]:
    """Each distinct set of holders once. A fact that all hosts hold separates nothing."""
    found: dict[bytes, tuple[np.ndarray, list[str]]] = {}
    for column, key in zip(np.ascontiguousarray(codes.T), keys, strict=True):
        for code in pd.unique(column):
            holders = column == code
            if holders.all():
                continue
            found.setdefault(np.packbits(holders).tobytes(), (holders, []))[1].append(f"{key}={texts[code]}")
    if not found:
        return np.zeros((len(codes), 0), dtype=bool), []
    return np.column_stack([holders for holders, _ in found.values()]), [names for _, names in found.values()]


def with_pairs(facts: Facts) -> Facts:
    """Pairs of facts as facts of their own: held by the hosts that hold both."""
    counts = facts.held.sum(axis=0)
    evenness = np.minimum(counts, len(facts.held) - counts)
    chosen = [int(at) for at in np.argsort(-evenness, kind="stable")[:PAIRED_MAX] if evenness[at] >= PAIR_HOLDERS_MIN]
    known = {np.packbits(facts.held[:, at]).tobytes() for at in range(facts.held.shape[1])}
    columns: list[np.ndarray] = []
    names: list[list[str]] = []
    pairs: list[tuple[int, int] | None] = []
    for position, one in enumerate(chosen):
        for other in chosen[position + 1 :]:
            both = facts.held[:, one] & facts.held[:, other]
            if both.sum() < PAIR_HOLDERS_MIN or np.packbits(both).tobytes() in known:
                continue
            columns.append(both)
            names.append([f"{facts.names[one][0]} and {facts.names[other][0]}"])
            pairs.append((one, other))
    if not columns:
        return facts
    held = np.column_stack([facts.held, np.column_stack(columns)])
    return Facts(held, facts.names + names, facts.pair_of + pairs, facts.missing, facts.keys)


def missing_in_words(facts: Facts, hosts: int) -> list[str]:
    """Which facts are not known of which part of the hosts."""
    if not facts.missing:
        return []
    worst = sorted(facts.missing, key=lambda key: -facts.missing[key])
    named = [f"{key} on {facts.missing[key]}" for key in worst]
    return [f"facts missing on some of {hosts} hosts: {some(named)}"]
