"""Which hosts are ill, compared with their peers of the same role at the same minute?"""

from __future__ import annotations

import numpy as np
import pandas as pd
from statsmodels.stats.multitest import multipletests

from .answers import HOSTS_ALPHA, Answer, answer, clock, compared, count, percent, some
from .assessment import Assessment, assess, nan_quietly
from .fleet import Fleet
from .statistics.turns import BEFORE_MIN_SLOTS, HOSTS_MIN, RUN_MIN_SLOTS

COLUMNS = ["subject", "role", "signal", "kind", "effect", "says", "since", "until", "persistent", "q"]


def outliers(fleet: Fleet, signals: list[str] | None = None, *, assessments: list[Assessment] | None = None) -> Answer:
    """Hosts that turned worse within the last day (`turned`), or were far above their peers all day (`level`).

    The false discovery rate is controlled over all hosts, signals and both kinds together.
    """
    assessed = assessments or [assess(fleet, name) for name in signals or fleet.signals]
    tried = pd.concat([candidates(one) for one in assessed], ignore_index=True)
    rows = discovered(tried)
    hosts = rows["subject"].nunique()
    says = [in_words(rows)] if len(rows) else [nothing_in_words(tried)]
    return answer(
        "outliers",
        fleet,
        "found" if hosts else "nothing" if len(tried) else "cannot_tell",
        says,
        rows,
        signals=tuple(one.signal for one in assessed),
        unseen=tuple(unseen(fleet, assessed)),
        details={"comparisons": len(tried), "false_discovery_rate": HOSTS_ALPHA},
    )


def candidates(one: Assessment) -> pd.DataFrame:
    """Every host with its p for either kind; only where it was measured."""
    about = one.distances.subjects
    begin, end = one.turns.begin, one.turns.end
    starts = np.append(one.starts, one.starts[-1] + one.distances.slot_minutes)
    turned = about.assign(
        kind="turned", effect=one.turns.effect, p=one.turns.p, since=np.where(begin >= 0, starts[begin], -1),
        until=np.where(end >= 0, starts[end], -1), persistent=persistence(one.today - one.base, one.turns.effect, begin, end),
    )  # fmt: skip
    whole = np.zeros(len(about), dtype=int)
    level = about.assign(
        kind="level", effect=one.level, p=one.level_p, since=starts[0], until=starts[-1],
        persistent=persistence(one.today, one.level, whole, whole + one.today.shape[1]),
    )  # fmt: skip
    both = pd.concat([turned, level], ignore_index=True).assign(signal=one.signal)
    return both[both["p"].notna()]


def persistence(distances: np.ndarray, effect: np.ndarray, begin: np.ndarray, end: np.ndarray) -> np.ndarray:
    """In which share of the slots of its run each host was above half of its effect, from where it stood before."""
    slots = np.arange(distances.shape[1])
    before = nan_quietly(np.nanmean, np.where(slots < begin[:, None], distances, np.nan))
    inside = (slots >= begin[:, None]) & (slots < end[:, None]) & ~np.isnan(distances)
    beyond = distances - np.nan_to_num(before)[:, None] > effect[:, None] / 2
    with np.errstate(invalid="ignore"):
        return np.asarray((beyond & inside).sum(axis=1) / inside.sum(axis=1))


def discovered(tried: pd.DataFrame) -> pd.DataFrame:
    """What stays when the false discovery rate is controlled, the surest first."""
    if tried.empty:
        return pd.DataFrame(columns=COLUMNS)
    rejected, q, _, _ = multipletests(tried["p"], alpha=HOSTS_ALPHA, method="fdr_bh")
    rows = tried.assign(q=q)[rejected & (tried["effect"] > 0)]
    # A host that turned is above its peers for the rest of the day as well: that it turned says more.
    rows = rows.sort_values(["kind", "q"], ascending=[False, True]).drop_duplicates(["subject", "signal"])
    rows = rows.sort_values(["q", "effect"], ascending=[True, False], ignore_index=True)
    rows["says"] = [percent(effect) for effect in rows["effect"]]
    rows["since"], rows["until"] = rows["since"].map(clock), rows["until"].map(clock)
    return rows[COLUMNS]


def in_words(rows: pd.DataFrame) -> str:
    hosts = rows["subject"].drop_duplicates().tolist()
    top = rows.iloc[0]
    kind = f"since {top['since']}" if top["kind"] == "turned" else "all the time"
    return f"{count(len(hosts), 'outlier')}: {some(hosts)}. First: {top['subject']}, {top['signal']} {compared(top['effect'])}, {kind}."


def nothing_in_words(tried: pd.DataFrame) -> str:
    if tried.empty:
        return "Nothing could be compared."
    return f"No host differs from its peers more than chance among {len(tried)} comparisons explains."


def unseen(fleet: Fleet, assessed: list[Assessment]) -> list[str]:
    """What these answers could not see."""
    lines = []
    if fleet.unmeasured:
        lines.append(f"{', '.join(fleet.unmeasured)}: never measured")
    if assessed and assessed[0].distances.lonely:
        lonely = [role or "(no role)" for role in assessed[0].distances.lonely]
        lines.append(f"roles with too few hosts to be compared: {some(lonely)}")
    for one in assessed:
        has_peers = ~np.isin(one.roles, one.distances.lonely)
        missing = int(np.isnan(one.today[has_peers]).all(axis=1).sum())
        if missing:
            lines.append(
                f"{one.signal}: not measured, or on too few of a role at the same time, on {missing} of {has_peers.sum()} hosts"
            )
    if assessed and all(np.isnan(one.turns.p).all() for one in assessed):
        needed = (BEFORE_MIN_SLOTS + RUN_MIN_SLOTS) * assessed[0].distances.slot_minutes
        lines.append(
            f"when hosts turned: that needs {HOSTS_MIN} hosts with {needed} minutes each; only levels were compared"
        )
    if assessed and assessed[0].usual is None:
        lines.append("a day before: each host's own rhythm was not taken off")
    return lines
