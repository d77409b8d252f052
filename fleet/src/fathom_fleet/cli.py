"""`fathom-fleet`: the questions on the command line. Exit codes: 0 done, 1 the data refused, 2 bad usage."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from . import simulator
from .answers import Answer
from .assessment import Assessment, assess
from .engines import EngineError, is_of_engine
from .fleet import Fleet, FleetError, load
from .incidents import causes, recurring
from .onset import onset
from .outliers import outliers
from .report import html
from .rollout import rollout, week_against_week
from .shared import shared
from .terminal import console, show

QUESTIONS = {
    "outliers": "which hosts are ill, compared with their peers",
    "onset": "when each sick host turned, and which was first",
    "shared": "which fact, or pair of facts, separates sick hosts from healthy ones",
    "rollout": "what a deploy or a change did, against hosts that did not get it",
    "causes": "causes that recordings found, over time and by fact",
    "recurring": "incidents that came back",
    "report": "all of it on one self-contained HTML page",
}

UNITS = {"m": 1, "h": 60, "d": 1440}


def run() -> None:
    sys.exit(main(sys.argv[1:]))


def main(arguments: list[str]) -> int:
    options = parser().parse_args(arguments)
    try:
        options.run(options)
    except (FleetError, EngineError) as error:
        print(f"fathom-fleet: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="fathom-fleet",
        description="Which JVM of a fleet is the outlier, since when, and which fact the sick ones share.",
    )
    verbs = top.add_subparsers(dest="verb", required=True, metavar="QUESTION")
    for name, says in QUESTIONS.items():
        verb = verbs.add_parser(name, help=says, description=says)
        common(verb)
        extra(name, verb)
        verb.set_defaults(run=ask)
    demo = verbs.add_parser("demo", help="simulates a fleet with a known illness and answers about it")
    demo.add_argument("--keep", metavar="FOLDER", type=Path, help="leave the simulated fleet there")
    demo.add_argument("--html", metavar="FILE", type=Path, help="write the report as well")
    demo.set_defaults(run=demonstrate)
    return top


def common(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "places", nargs="+", metavar="DATA", help="folders of `fathom watch`, s3://…, Prometheus JSON, CSV"
    )
    verb.add_argument(
        "--engine",
        default="duckdb",
        metavar="URL",
        help="duckdb, duckdb:FILE, spark:local[2], spark://HOST:PORT (default: duckdb)",
    )
    verb.add_argument(
        "--role",
        default="service",
        metavar="COLUMN",
        help="whose peers hosts are: a column, or fact:NAME (default: service)",
    )
    verb.add_argument("--signal", action="append", metavar="NAME", help="only this signal; may be given several times")
    verb.add_argument("--from", dest="first", type=minute, metavar="TIME", help="2026-11-27T10:00Z")
    verb.add_argument("--to", dest="last", type=minute, metavar="TIME")
    verb.add_argument(
        "--last", dest="length", type=length, metavar="2d", help="only so much before the end of the data: 90m, 6h, 2d"
    )
    verb.add_argument("--json", action="store_true", help="JSON, schema 1")


def extra(name: str, verb: argparse.ArgumentParser) -> None:
    if name == "shared":
        verb.add_argument(
            "--sick", action="append", metavar="HOST", help="these hosts are the sick ones; may be given several times"
        )
    if name in ("rollout", "report"):
        verb.add_argument("--fact", metavar="NAME[=VALUE]", help="the fact that changed, or that only some hosts have")
        verb.add_argument("--host", action="append", metavar="HOST", help="a host that got the change")
        verb.add_argument("--at", type=minute, metavar="TIME", help="when those hosts got it")
        verb.add_argument(
            "--span",
            type=length,
            default=120,
            metavar="2h",
            help="time before and after that is compared (default: 2h)",
        )
        verb.add_argument("--weeks", action="store_true", help="all hosts, the last week against the one before")
    if name == "report":
        verb.add_argument("-o", "--output", type=Path, default=Path("fleet.html"), metavar="FILE")
        verb.add_argument("--recordings", metavar="URL", help="where recordings are served, with {host} and {incident}")


def minute(text: str) -> int:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no time: write it like 2026-11-27T10:00Z") from None
    return int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()) // 60


def length(text: str) -> int:
    number, unit = text[:-1], text[-1:]
    if not number.isdigit() or unit not in UNITS:
        raise argparse.ArgumentTypeError(f"{text!r} is no length of time: write it like 90m, 6h or 2d")
    return int(number) * UNITS[unit]


def loaded(options: argparse.Namespace, is_thorough: bool) -> Fleet:
    fleet = load(
        *options.places, engine=options.engine, role=options.role, signals=options.signal, is_thorough=is_thorough
    )
    first = fleet.last - options.length + 1 if options.length else options.first
    return fleet.between(first, options.last) if first is not None or options.last is not None else fleet


def ask(options: argparse.Namespace) -> None:
    """Once more, when the engine met a page that it could not read: then all files are read first, and damaged ones left out."""
    try:
        return ask_of(loaded(options, is_thorough=False), options)
    except Exception as error:
        if not is_of_engine(error):
            raise
    print("fathom-fleet: a file is damaged; reading all of them to find it", file=sys.stderr)
    try:
        return ask_of(loaded(options, is_thorough=True), options)
    except Exception as error:
        if not is_of_engine(error):
            raise
        raise EngineError(f"the engine cannot read the data: {first_line(error)}") from None


def first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


def ask_of(fleet: Fleet, options: argparse.Namespace) -> None:
    if options.verb == "report":
        return write_report(fleet, options)
    answer = answers(fleet, options)[options.verb]()
    if options.json:
        print(json.dumps(answer.as_dict(), ensure_ascii=False, allow_nan=False))
    else:
        show(answer, console())
    return None


def answers(fleet: Fleet, options: argparse.Namespace) -> dict[str, Any]:
    return {
        "outliers": lambda: outliers(fleet),
        "onset": lambda: onset(fleet),
        "shared": lambda: shared(fleet, sick=options.sick),
        "rollout": lambda: changed(fleet, options),
        "causes": lambda: causes(fleet),
        "recurring": lambda: recurring(fleet),
    }


def changed(fleet: Fleet, options: argparse.Namespace) -> Answer:
    if options.weeks:
        return week_against_week(fleet)
    return rollout(fleet, fact=options.fact, hosts=options.host, at=options.at, span=options.span)


def write_report(fleet: Fleet, options: argparse.Namespace) -> None:
    assessed = [assess(fleet, name) for name in fleet.signals]
    found = [ask(fleet, assessments=assessed) for ask in (outliers, shared, onset)]
    if options.fact or options.host or options.weeks:
        found.append(changed(fleet, options))
    found += [causes(fleet), recurring(fleet)]
    save(options.output, found, assessed, options.recordings)
    if options.json:
        print(json.dumps([answer.as_dict() for answer in found], ensure_ascii=False, allow_nan=False))


def save(file: Path, found: list[Answer], assessed: list[Assessment], recordings: str | None = None) -> None:
    try:
        file.write_text(html(found, assessed, recordings), encoding="utf-8")
    except OSError as error:
        raise FleetError(f"cannot write {file}: {error.strerror}") from None
    print(f"wrote {file}", file=sys.stderr)


def demonstrate(options: argparse.Namespace) -> None:
    out = console()
    began = time.monotonic()
    world = simulator.demo()
    with tempfile.TemporaryDirectory(prefix="fathom-fleet-demo-") as scratch:
        folder = options.keep or Path(scratch)
        simulator.write(world, folder)
        out.print(
            f"{world.hosts} simulated hosts, {world.days} days. {len(world.truth.sick)} turn sick on the last day; "
            f"all of them hold {' + '.join(world.truth.facts)}.\n",
            markup=False, highlight=False,
        )  # fmt: skip
        fleet = load(str(folder))
        assessed = [assess(fleet, name) for name in fleet.signals]
        found = [ask(fleet, assessments=assessed) for ask in (outliers, onset, shared)]
        for answer in found:
            out.rule(answer.question, align="left", style="dim")
            show(answer, out)
        if options.html:
            save(options.html, found, assessed)
    out.print(f"\n{time.monotonic() - began:.0f} s", style="dim")
