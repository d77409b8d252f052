"""Which fact, or pair of facts, do the sick hosts share?

Facts that the hosts cannot tell apart are one group, and the answer says which host could.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from .answers import FACTS_ALPHA, Answer, Verdict, answer, count, percent, some
from .assessment import LOOSE_Z, VIEWS, Assessment, assess
from .facts import PAIRED_MAX, Facts, matrix_of, missing_in_words, with_pairs
from .fleet import Fleet
from .outliers import outliers, unseen
from .statistics.separation import HOLDERS_MIN, Separation, separate, z_of
from .statistics.standing import normal_scores
from .statistics.tables import TwoByTwo, hosts_needed, two_by_two

GROUPS_MAX = 5
"""Independent findings that are reported; each is compared with all before it."""

CANDIDATES_MAX = 200
"""Facts that pass and are told apart from each other; more are aliases of the first."""

VIEW_SAYS = {
    "turned": "turned worse",
    "level": "are above their peers",
    "changed": "are worse than the days before",
    "given": "are the given ones",
}

COLUMNS = [
    "rank", "facts", "signal", "kind", "hosts", "q", "z", "effect", "effect_of_others", "says", "sick_with", "healthy_with", "sick_without",
    "healthy_without", "odds_ratio", "odds_low", "odds_high", "risk_ratio", "risk_low", "risk_high", "explains", "separable_by",
]  # fmt: skip


@dataclass(frozen=True)
class Column:
    """One score that facts are tested on."""

    signal: str
    view: str
    sick: np.ndarray
    effect: np.ndarray


@dataclass(frozen=True)
class Question:
    """Facts and scores, tested."""

    facts: Facts
    columns: list[Column]
    ranked: np.ndarray
    roles: np.ndarray
    result: Separation
    subjects: list[str]


@dataclass(frozen=True)
class Group:
    """Facts that cannot be told apart, the strongest first."""

    members: list[int]
    column: int
    explains: list[int]
    """Facts that say nothing more once this one is known."""


def shared(
    fleet: Fleet,
    signals: list[str] | None = None,
    *,
    sick: list[str] | None = None,
    assessments: list[Assessment] | None = None,
) -> Answer:
    """The facts that separate sick hosts from healthy ones of the same role. `sick` names the hosts; else their signals do."""
    if sick is not None:
        question = of_given(fleet, sick)
        assessed = []
    else:
        assessed = assessments or [assess(fleet, name) for name in signals or fleet.signals]
        question = of_signals(fleet, assessed)
    passing = np.flatnonzero((question.result.q <= FACTS_ALPHA).any(axis=1))
    groups = grouped(question, passing)
    limits = [*unseen(fleet, assessed), *missing_in_words(question.facts, len(question.subjects))]
    verdict: Verdict = "found"
    if groups:
        rows = pd.DataFrame([as_row(question, rank, group) for rank, group in enumerate(groups, 1)], columns=COLUMNS)
        says = [line for group in groups for line in group_in_words(question, group)]
        ill = ill_hosts(fleet, assessed, sick)
        rest = uncovered(question, groups, ill)
        if rest:
            says.append(
                f"Cannot tell what {len(rest)} of {count(len(ill), 'outlier')} share: no fact found explains them ({some(rest)})."
            )
            verdict = "cannot_tell" if len(rest) == len(ill) else verdict
    else:
        verdict, says, rows = without_a_fact(fleet, question, assessed, sick)
    return answer(
        "shared", fleet, verdict, says, rows,
        signals=tuple(one.signal for one in assessed), hosts=len(question.subjects), unseen=tuple(limits),
        details={"facts_tried": question.facts.tried, "alpha": FACTS_ALPHA},
    )  # fmt: skip


def of_signals(fleet: Fleet, assessed: list[Assessment]) -> Question:
    columns = [
        Column(one.signal, view, one.z[:, at] > LOOSE_Z, one.effects[:, at])
        for one in assessed
        for at, view in enumerate(VIEWS)
    ]
    scores = np.column_stack([one.scores for one in assessed])
    about = assessed[0].distances.subjects
    return tested(fleet, about, columns, scores)


def of_given(fleet: Fleet, sick: list[str]) -> Question:
    about = fleet.subjects[["subject", "role"]].drop_duplicates("subject").reset_index(drop=True)
    given = about["subject"].isin(sick).to_numpy()
    return tested(fleet, about, [Column("", "given", given, np.full(len(given), np.nan))], given[:, None].astype(float))


def tested(fleet: Fleet, about: pd.DataFrame, columns: list[Column], scores: np.ndarray) -> Question:
    subjects, roles = about["subject"].tolist(), about["role"].to_numpy().astype(str)
    facts = with_pairs(matrix_of(fleet.facts, subjects))
    known = ~np.isnan(scores).all(axis=0)
    scores = np.where(known, scores, 0.0)
    result = separate(facts.held, scores, roles, FACTS_ALPHA)
    return Question(facts, columns, normal_scores(scores, roles), roles, result, subjects)


def grouped(question: Question, passing: np.ndarray) -> list[Group]:
    """Passing facts, told apart from each other where the hosts allow it."""
    best = question.result.z.max(axis=1)
    # Of facts that say the same a single one comes before a pair.
    single = [question.facts.pair_of[at] is None for at in range(len(best))]
    rest = sorted(passing.tolist(), key=lambda at: (-round(best[at], 6), not single[at]))[:CANDIDATES_MAX]
    # A fact that few hosts hold forms a pair with each of the others, and one of these pairs fits better by chance.
    bar = float(stats.norm.isf(0.025 / max(len(rest), PAIRED_MAX)))
    groups: list[Group] = []
    while rest and len(groups) < GROUPS_MAX:
        leader = simplest(question, rest, bar)
        others = [at for at in rest if at != leader]
        column = int(question.result.z[leader].argmax())
        members, explains, rest = [leader], [], []
        for other in others:
            adds, leads = given(question, other, leader, column), given(question, leader, other, column)
            own = int(question.result.z[other].argmax())
            adds = max(adds, given(question, other, leader, own))
            if adds > bar:
                rest.append(other)
            elif leads > bar or question.facts.pair_of[other] is not None:
                explains.append(other)
            else:
                members.append(other)
        groups.append(Group(members, column, explains))
    return groups


def simplest(question: Question, passing: list[int], bar: float) -> int:
    """The first that passes; of a pair that adds nothing to one of its facts, that fact."""
    first = passing[0]
    column = int(question.result.z[first].argmax())
    parts = [at for at in question.facts.pair_of[first] or () if at in passing]
    enough = [at for at in parts if given(question, first, at, column) <= bar]
    return max(enough, key=lambda at: float(question.result.z[at].max()), default=first)


def given(question: Question, fact: int, known: int, column: int) -> float:
    """How much a fact still separates among hosts that are alike in another."""
    strata = np.char.add(question.roles, np.where(question.facts.held[:, known], "+", "-"))
    held, ranked = question.facts.held[:, [fact]], question.ranked[:, [column]]
    return float(z_of(held, ranked, strata)[0, 0])


def as_row(question: Question, rank: int, group: Group) -> dict[str, object]:
    leader, column = group.members[0], question.columns[group.column]
    held = question.facts.held[:, leader]
    table = counts(question, leader, column)
    inside, outside = finite_median(column.effect[held]), finite_median(column.effect[~held])
    return {
        "rank": rank,
        "facts": [name for member in group.members for name in question.facts.names[member]],
        "signal": column.signal,
        "kind": column.view,
        "hosts": int(held.sum()),
        "q": float(question.result.q[leader, group.column]),
        "z": float(question.result.z[leader, group.column]),
        "effect": inside,
        "effect_of_others": outside,
        "says": percent(inside),
        **table.as_dict(),
        "explains": [name for at in group.explains for name in question.facts.names[at]],
        "separable_by": separable_by(question, group),
    }


def counts(question: Question, fact: int, column: Column) -> TwoByTwo:
    """Sick and healthy hosts with and without a fact, in roles that have both.

    Hosts of which the fact is not known are left out. Where all others are such hosts, as with a label that only some have, they are the
    hosts without it.
    """
    held = question.facts.held[:, fact]
    mixed = pd.Series(held).groupby(question.roles).transform("nunique").to_numpy() > 1
    for name in question.facts.names[fact]:
        known = question.facts.keys.get(name.split("=", 1)[0], np.ones(len(held), dtype=bool))
        mixed = mixed & known if (mixed & known & ~held).any() else mixed
    sick = column.sick
    cells = [int((mixed & a & b).sum()) for b in (held, ~held) for a in (sick, ~sick)]
    return two_by_two(*cells)


def finite_median(values: np.ndarray) -> float:
    known = values[np.isfinite(values)]
    return float(np.median(known)) if len(known) else math.nan


def separable_by(question: Question, group: Group) -> list[str]:
    """What would tell the facts of a group apart."""
    leader = group.members[0]
    names = question.facts.names
    lines = []
    needed = hosts_to_separate(question, group)
    for name in names[leader][1:]:
        lines.append(
            f"{needed} hosts with {names[leader][0]} and another {name.split('=', 1)[0]} than {name.split('=', 1)[1]}"
        )
    for member in group.members[1:]:
        only = question.facts.held[:, leader] & ~question.facts.held[:, member]
        hosts = [question.subjects[at] for at in np.flatnonzero(only)]
        have = f"there are {len(hosts)} ({some(hosts)}), too few" if hosts else "there is none"
        lines.append(f"{needed} hosts with {names[leader][0]} but without {names[member][0]}: {have}")
    return lines


def hosts_to_separate(question: Question, group: Group) -> int:
    """Hosts of which the mean would be distinguished from healthy ones: (3 standard errors / their usual rank score)²."""
    held = question.facts.held[:, group.members[0]]
    mean = float(question.ranked[held, group.column].mean())
    return max(1, math.ceil((LOOSE_Z / mean) ** 2)) if mean > 0 else HOLDERS_MIN


def group_in_words(question: Question, group: Group) -> list[str]:
    column = question.columns[group.column]
    leader = group.members[0]
    names = [name for member in group.members for name in question.facts.names[member]]
    table = counts(question, leader, column)
    effect = finite_median(column.effect[question.facts.held[:, leader]])
    size = f" (median {percent(effect)})" if math.isfinite(effect) else ""
    says = (
        f"Hosts with {' + '.join(names[:6])}{f' + {len(names) - 6} more' if len(names) > 6 else ''} {VIEW_SAYS[column.view]}"
        f"{' in ' + column.signal if column.signal else ''}{size}: {sick_in_words(table)}, "
        f"q {float(question.result.q[leader, group.column]):.3g}."
    )
    if len(names) == 1:
        return [says]
    by = separable_by(question, group)
    return [
        says,
        f"These {len(names)} facts are held by nearly the same hosts: which of them it is cannot be told. It would take {by[0]}.",
    ]


def sick_in_words(table: TwoByTwo) -> str:
    if not table.sick_with + table.sick_without:
        return f"none of the {table.healthy_with} stands out by itself, all of them together do"
    return (
        f"{table.sick_with} of {table.sick_with + table.healthy_with} are sick, "
        f"of the others {table.sick_without} of {table.sick_without + table.healthy_without}; "
        f"odds ratio {number(table.odds_ratio)} ({number(table.odds_low)} to {number(table.odds_high)})"
    )


def ill_hosts(fleet: Fleet, assessed: list[Assessment], sick: list[str] | None) -> list[str]:
    return sick if sick is not None else sorted(set(outliers(fleet, assessments=assessed).rows["subject"]))


def uncovered(question: Question, groups: list[Group], ill: list[str]) -> list[str]:
    """Outliers that no fact found explains: they lack it, or it does not go with being an outlier."""
    covered: set[str] = set()
    for group in groups:
        leader, column = group.members[0], question.columns[group.column]
        if counts(question, leader, column).odds_low > 1:
            covered |= {question.subjects[at] for at in np.flatnonzero(question.facts.held[:, leader])}
    return sorted(set(ill) - covered)


def number(value: float) -> str:
    return "∞" if math.isinf(value) else f"{value:.3g}"


def without_a_fact(
    fleet: Fleet, question: Question, assessed: list[Assessment], sick: list[str] | None
) -> tuple[Verdict, list[str], pd.DataFrame]:
    """Nothing to explain, or how many hosts an answer would take."""
    empty = pd.DataFrame(columns=COLUMNS)
    if not question.facts.tried:
        return "cannot_tell", ["No fact differs between hosts, or none is known."], empty
    ill = ill_hosts(fleet, assessed, sick)
    if not ill:
        return (
            "nothing",
            [f"No host is an outlier, and none of {question.facts.tried} facts and pairs goes with worse signals."],
            empty,
        )
    fact, column = np.unravel_index(int(question.result.z.argmax()), question.result.z.shape)
    z = float(question.result.z[fact, column])
    least = max(HOLDERS_MIN, hosts_needed(len(question.subjects), question.facts.tried, FACTS_ALPHA))
    says = [
        f"Cannot tell which fact the sick ones ({count(len(ill), 'host')}) share: none of {question.facts.tried} facts and pairs stands out beyond chance.",
        f"It would take at least {least} sick hosts that share a fact which no healthy host of their role has.",
    ]
    if z > 0:
        holders = int(question.facts.held[:, fact].sum())
        needed = max(least, math.ceil(holders * (question.result.critical / z) ** 2))
        name = " + ".join(question.facts.names[fact][:3])
        says.append(
            f"The strongest is {name} ({count(holders, 'host')}); if it is the cause, about {needed} hosts with it would show it."
        )
    return "cannot_tell", says, empty
