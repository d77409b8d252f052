"""Checks of Markdown as text: plain words, lines that fit a terminal, links with existing targets."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

COLUMNS_MAX = 120

# Words that are hard for readers, most of whom are not native speakers. Plain alternatives: no cause, is reported, no more, is.
STUMBLING = re.compile(
    r"\b(nobody|somebody|whoever|(?:is|are|was|were) told|tells of|for want of|as it were|lies? there|begins anew)\b", re.IGNORECASE
)
# Printed from the code, or quoted.
NOT_READ_FOR_WORDS = {Path("docs/schema.md"), Path("docs/minutes.md"), Path("CHANGELOG.md")}

# Units that a line break must not split: code, links and pictures, and otherwise words.
WORD = re.compile(r"(?:`+[^`]*`+|!?\[[^\]]*\]\([^)]*\)|\S)+")
# Words that would change the Markdown structure at the start of a line.
BEGINS = re.compile(r"([-+*=]+|#+|>+|\|.*|\d+[.)]|<.*|```.*)$")
MARKER = re.compile(r"\s*(?:> ?)?(?:(?:[-*+]|\d+[.)])\s+)?")
NO_PROSE = re.compile(r"\s*(#|\||<|\[[^\]]*\]: |---+$|===+$)|\s*$")
ITEM = re.compile(r"\s*([-*+]|\d+[.)])\s")
LINK = re.compile(r"(?<!\\)\]\(([^)\s]+)\)")


def judge(file: Path, text: str) -> Iterator[str]:
    if file.suffix == ".md":
        yield from is_plain(file, text)
        yield from fits(text)
        yield from leads_somewhere(file, text)


def is_plain(file: Path, text: str) -> Iterator[str]:
    if file in NOT_READ_FOR_WORDS or "testdata" in file.parts:
        return
    for number, line in enumerate(text.splitlines(), 1):
        for found in STUMBLING.finditer(re.sub(r"`[^`]*`", "", line)):
            yield f"line {number}: \"{found[0]}\" makes readers stumble; say it in a plain short sentence"


def fits(text: str) -> Iterator[str]:
    kept = set(wrapped(text).splitlines())
    wide = [number for number, line in enumerate(text.splitlines(), 1) if len(line) > COLUMNS_MAX and line not in kept]
    if wide:
        yield f"lines of more than {COLUMNS_MAX} columns, the first is {wide[0]}: FATHOM_BLESS=1 .ci/test files wraps them"


def leads_somewhere(file: Path, text: str) -> Iterator[str]:
    prose = re.sub(r"^\s*```.*?^\s*```|`[^`\n]*`", "", text, flags=re.MULTILINE | re.DOTALL)
    for target in LINK.findall(prose):
        path = unquote(target.partition("#")[0])
        if path and ":" not in path and not (file.parent / path).exists():
            yield f"links to {target}, which is not there"


def wrapped(text: str) -> str:
    """Rewraps each paragraph with a line that is too wide. Tables, code and headings are unchanged."""
    out: list[str] = []
    paragraph: list[str] = []
    in_code = False
    for line in text.splitlines():
        fence = line.lstrip().startswith("```")
        if fence or in_code or NO_PROSE.match(line):
            out += filled(paragraph) + [line]
            paragraph = []
            in_code ^= fence
            continue
        if ITEM.match(line) or paragraph and paragraph[-1].endswith(("  ", "\\")):
            out += filled(paragraph)
            paragraph = []
        paragraph.append(line)
    return "\n".join(out + filled(paragraph)) + ("\n" if text.endswith("\n") else "")


def filled(paragraph: list[str]) -> list[str]:
    if all(len(line) <= COLUMNS_MAX for line in paragraph):
        return paragraph
    head = MARKER.match(paragraph[0])[0]
    quote = "> " if ">" in head else ""
    indent = MARKER.match(paragraph[1])[0] if len(paragraph) > 1 else quote + " " * (len(head) - len(quote))
    body = " ".join(line[len(MARKER.match(line)[0]) if quote else 0:].strip() for line in paragraph)
    lines = [head]
    for word in words(body.removeprefix(head.strip()).strip() if not quote else body):
        if len(lines[-1]) + len(word) + 1 > COLUMNS_MAX and lines[-1].strip():
            lines.append(indent)
        lines[-1] += word if not lines[-1].strip() or lines[-1] in (head, indent) else f" {word}"
    return lines


def words(body: str) -> Iterator[str]:
    """Units between which a line may break."""
    kept = ""
    for word in WORD.findall(body):
        if kept and not BEGINS.match(word):
            yield kept
            kept = ""
        kept = f"{kept} {word}" if kept else word
    if kept:
        yield kept
