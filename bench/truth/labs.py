"""The truth of the labs' kept recordings: the lab's declaration of the variant, and the times of the phases from its program."""

import json
from collections.abc import Iterator
from pathlib import Path

from kit.places import REPO

RECORDINGS = "testdata/labs"
FILES = {"jfr": "recording.jfr.gz", "gc_log": "gc.log.gz", "latency": "latency.csv.gz"}
QUESTIONS = [["jfr"], ["gc_log"], ["jfr", "gc_log", "latency"]]


def text() -> str:
    """The file `cases/labs.json`, one case per line."""
    head = {"schema": 1, "root": "repository", "source": "fathom", "licences": {"fathom": "Apache-2.0"}}
    folders = sorted(path for path in (REPO / RECORDINGS).iterdir() if path.is_dir())
    rows = ",\n".join(json.dumps(case(folder)) for folder in folders)
    return f'{json.dumps(head)[:-1]}, "cases": [\n{rows}\n]}}\n'


def case(folder: Path) -> dict:
    lab, variant = folder.name.split("-")[:2]
    declared = declaration(lab)
    chosen = next(one for one in declared["variants"] if one["name"] == variant)
    expects = chosen["expects"] if isinstance(chosen["expects"], dict) else {}
    dose = json.loads((folder / "dose.json").read_text())
    first = listed(expects.get("first"))
    truth = {"id": f"labs/{folder.name}", "files": files(folder), "questions": QUESTIONS, "state": "ill" if first else "healthy"}
    causes = {"first": first, "also": listed(expects.get("also")), "keep": first if len(first) == 1 else [], "chain": expects.get("chain")}
    return truth | {name: value for name, value in causes.items() if value} | times(declared, dose, bool(first)) | planted(declared, chosen, dose)


def declaration(lab: str) -> dict:
    places = [REPO / "crates/causes/catalog" / lab / "lab/lab.json", REPO / "labs/programs" / lab / "lab.json"]
    return json.loads(next(place for place in places if place.is_file()).read_text())


def files(folder: Path) -> dict[str, str]:
    return {kind: f"{RECORDINGS}/{folder.name}/{name}" for kind, name in FILES.items() if (folder / name).is_file()}


def listed(value: str | list[str] | None) -> list[str]:
    return [value] if isinstance(value, str) else value or []


def times(declared: dict, dose: dict, is_ill: bool) -> dict:
    """A starting JVM is slow for its users, and outside the phases there is no load: both times are not judged."""
    known = list(phases(declared, dose, {"baseline", "exposed"}))
    slow = list(phases(declared, dose, {"exposed"})) if is_ill else []
    return {"slow": slow, "known": known, "observed_s": round(sum(end - start for start, end in known), 3)}


def phases(declared: dict, dose: dict, roles: set[str]) -> Iterator[list[float]]:
    role = {phase["name"]: phase["role"] for phase in declared["phases"]}
    for phase in dose["phases"]:
        if role[phase["name"]] in roles:
            yield [phase["from_ms"] / 1000, phase["to_ms"] / 1000]


def planted(declared: dict, chosen: dict, dose: dict) -> dict:
    return {"dose": dose["dose"], "says": f"{declared['title']}: {chosen['says']}"}
