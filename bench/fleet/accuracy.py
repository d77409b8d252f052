"""Precision and recall of hosts and facts against the simulator's truth, compared with threshold rules and a z-score.

A day is a simulated fleet of 1,000 hosts and two days. Each appends a line to accuracy.jsonl; the table is made of all lines.
Days of one seed share their noise and their facts, so the noise is simulated once and each illness is laid over it. Distances from the peers
come from arrays instead of the engine, which takes ten times as long; each run checks on its first day that both are equal.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import baselines
import numpy as np
import pandas as pd
import pyarrow as pa

import fathom_fleet as ff
from fathom_fleet.assessment import SLOTS_PER_DAY, assessed
from fathom_fleet.facts import matrix_of
from fathom_fleet.peers import PEERS_MIN, Distances, lonely_roles, measure
from fathom_fleet.signals import MINUTES_PER_DAY, signal_of
from fathom_fleet.simulator import Illness, World
from fathom_fleet.simulator.facts import facts_of
from fathom_fleet.simulator.writing import minutes_table

OUT = Path("bench/out/fleet")
HOSTS = 1000
NOISES = ("normal", "heavy", "wandering")
SIGNAL = "requests_p95_ms"
SLOT_MINUTES = MINUTES_PER_DAY // SLOTS_PER_DAY
RULES_DAYS = 4
"""Days per noise and illness on which the other rules run as well: they are almost always wrong, and take a third of the time."""
HEALTHY = 4
"""Days without an illness per day with one."""


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--days", type=int, default=5, help=f"of each illness and noise; {HEALTHY} times as many without an illness")
    options.add_argument("--seed", type=int, default=1000)
    options.add_argument("--only", help="illnesses whose name contains this")
    options.add_argument("--table", action="store_true", help="only print the table of what is known")
    given = options.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    file = OUT / "accuracy.jsonl"
    if not given.table:
        check_arrays(World(hosts=300, illness=Illness(0.5, 10), seed=given.seed))
        for row in days(given, {(line["case"], line["noise"], line["seed"]) for line in lines(file)}):
            with file.open("a") as out:
                out.write(json.dumps(row) + "\n")
    print(table(lines(file)))


def lines(file: Path) -> list[dict]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def cases() -> list[tuple[str, Illness | None]]:
    onset = [
        (f"{hosts} sick +{effect} %", Illness(effect / 100, hosts, has_alias=hosts > 1, penetrance=0.8 if hosts > 1 else 1.0))
        for hosts in (1, 10, 100)
        for effect in (5, 10, 20, 50)
    ]
    always = [
        (f"{hosts} always sick +{effect} %", Illness(effect / 100, hosts, starts="always", has_alias=True))
        for hosts in (10, 100)
        for effect in (10, 20, 50)
    ]
    return [("none", None), *onset, *always]


def days(given: argparse.Namespace, done: set[tuple[str, str, int]]) -> Iterator[dict]:
    """All noises of a seed and its seeds without an illness, before the next seed. So the rows are balanced whenever it is stopped."""
    healthy = range(given.days, HEALTHY * given.days)
    for at in (seed for one in range(given.days) for seed in (one, *healthy[one :: given.days])):
        for place, noise in enumerate(NOISES):
            # A seed gives hosts the same levels and facts for every noise, so chance would name the same fact three times.
            seed = given.seed + len(NOISES) * at + place
            wanted = [
                (case, illness)
                for case, illness in cases()
                if (case, noise, seed) not in done and (illness is None or at < given.days) and (given.only or "") in case
            ]
            world = World(hosts=HOSTS, noise=noise, seed=seed)
            values = world.values(SIGNAL) if wanted else np.zeros(0)
            for case, illness in wanted:
                sick = replace(world, illness=illness)
                answers = one_day(sick, values * np.exp(sick.sickness(SIGNAL)), has_rules=at < RULES_DAYS)
                yield {"case": case, "noise": noise, "seed": seed, **answers}


def one_day(world: World, values: np.ndarray, has_rules: bool) -> dict:
    """The answers for a day, and whether they are right."""
    fleet = of_arrays(world)
    began = time.process_time()
    scored = [assessed(distances(world, values, fleet.subjects))]
    hosts = ff.outliers(fleet, assessments=scored)
    middle = time.process_time()
    fact = ff.shared(fleet, assessments=scored)
    seconds = {"outliers_s": middle - began, "shared_s": time.process_time() - middle}
    surest = {"host_q": float(hosts.rows["q"].min()), "fact_q": float(fact.rows["q"].min())}
    result = {"fathom": judged(world, set(hosts.rows["subject"]), facts_named(fact)), **surest, **seconds, "verdict": fact.verdict}
    known = matrix_of(fleet.facts, world.names) if has_rules else None
    for name, rule in (("threshold", baselines.threshold_rule), ("z_score", baselines.z_score)) if known else ():
        flagged = rule(values, world.role_of)
        best, is_sure = baselines.top_fact(flagged, known.held)
        named = [known.names[best]] if is_sure and flagged.any() else []
        result[name] = judged(world, {world.names[at] for at in np.flatnonzero(flagged)}, named)
    return result


def of_arrays(world: World) -> ff.Fleet:
    """A fleet without an engine: the caller provides the distances."""
    subjects = pd.DataFrame({
        "subject": world.names, "role": [f"service-{role:02d}" for role in world.role_of],
        "first": world.minutes[0], "last": world.minutes[-1],
    })  # fmt: skip
    facts = facts_of(world).rename(columns={"host": "subject"}).sort_values(["subject", "fact"], ignore_index=True)
    return ff.Fleet(None, None, facts, subjects, [SIGNAL])


def distances(world: World, values: np.ndarray, subjects: pd.DataFrame) -> Distances:
    """The result of `peers.measure` if every host has every minute."""
    signal = signal_of(SIGNAL)
    logs = np.log(values + signal.floor)
    for role in np.unique(world.role_of):
        rows = world.role_of == role
        logs[rows] -= np.median(logs[rows], axis=0) if rows.sum() >= PEERS_MIN else np.nan
    slots = logs.reshape(len(logs), -1, SLOT_MINUTES).mean(axis=2)
    return Distances(signal, subjects[["subject", "role"]], world.minutes[::SLOT_MINUTES], SLOT_MINUTES, slots, lonely_roles(subjects))


def check_arrays(world: World) -> None:
    """Checks that the engine's distances equal those of the arrays."""
    values = world.values(SIGNAL)
    table = minutes_table(world, slice(0, world.hosts), slice(0, values.shape[1]), {SIGNAL: values})
    engine = ff.connect()
    facts = pa.Table.from_pandas(facts_of(world), preserve_index=False)
    tables = [engine.connection.create_table(name, data) for name, data in (("minutes", plain(table)), ("facts", facts))]
    fleet, other = ff.of_tables(engine, *tables), of_arrays(world)
    np.testing.assert_allclose(
        measure(fleet, SIGNAL, SLOT_MINUTES).matrix, distances(world, values, other.subjects).matrix, atol=1e-9
    )
    pd.testing.assert_frame_equal(fleet.facts, other.facts, check_dtype=False)
    engine.connection.disconnect()


def plain(table: pa.Table) -> pa.Table:
    return table.cast(pa.schema([pa.field(f.name, pa.string() if pa.types.is_dictionary(f.type) else f.type) for f in table.schema]))


def facts_named(answer: ff.Answer) -> list[list[str]]:
    return [list(facts) for facts in answer.rows["facts"]]


def judged(world: World, found: set[str], named: list[list[str]]) -> dict:
    sick = set(world.truth.sick)
    # The alias agrees with the planted fact on 98 % of hosts: naming both as one group is right, naming it alone is not.
    true = set(world.truth.facts)
    return {
        "hit": len(found & sick), "found": len(found), "sick": len(sick),
        "first": bool(named) and bool(true) and true <= set(named[0]), "facts": len(named),
        "wrong": sum(not (set(names) & true) for names in named),
    }  # fmt: skip


HEAD = ["illness", "days", "hosts found", "of those named, sick", "planted fact first", "days with a wrong fact", "with a wrong host", "with either"]
NAMES = ("fathom", "threshold", "z_score")


def table(rows: list[dict]) -> str:
    """All kinds of noise together; in each cell fathom-fleet / threshold rule / z-score."""
    out = [f"| {' | '.join(HEAD)} |", "|---|--:|" + "---|" * (len(HEAD) - 2)]
    parts = pd.DataFrame(rows).groupby("case", sort=False)
    for case, _ in cases():
        if case in parts.groups:
            part = parts.get_group(case)
            cells = zip(*(shares(pd.DataFrame(part[who].dropna().tolist())) for who in NAMES), strict=True)
            out.append(f"| {case} | {len(part)} | {' | '.join(' / '.join(cell) for cell in cells)} |")
    return "\n".join(out)


def shares(days: pd.DataFrame) -> list[str]:
    found, sick, hit = days["found"].sum(), days["sick"].sum(), days["hit"].sum()
    wrong_fact, wrong_host = days["wrong"] > 0, days["found"] > days["hit"]
    return [
        percent(hit, sick), percent(hit, found), percent(days["first"].sum(), len(days) if sick else 0),
        *(percent(wrong.sum(), len(days)) for wrong in (wrong_fact, wrong_host, wrong_fact | wrong_host)),
    ]  # fmt: skip


def percent(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole else "-"


if __name__ == "__main__":
    main()
