"""Everything on one page: a single file without scripts, that loads nothing."""

from __future__ import annotations

import re
from html import escape
from typing import Any
from urllib.parse import quote

from . import charts
from .answers import Answer
from .assessment import Assessment
from .terminal import SHOWN, cell, scope

ROWS_MAX = 50

TITLES = {
    "outliers": "Outliers",
    "onset": "Onset",
    "shared": "What they share",
    "rollout": "Rollout",
    "week_against_week": "Week against week",
    "causes": "Causes",
    "recurring": "Recurring incidents",
}

STYLE = """
:root{--page:#f4f4f2;--surface:#fff;--line:#e2e2df;--text:#1b1d21;--muted:#5c6169;--accent:#2b6cb0}
@media(prefers-color-scheme:dark){:root{--page:#121316;--surface:#191b1f;--line:#2a2d32;--text:#e8eaed;--muted:#a3a9b2;--accent:#6aa9e9}
svg{background:#fff;border-radius:4px}}
body{margin:0 auto;max-width:1080px;padding:20px;background:var(--page);color:var(--text);font:13px/1.45 system-ui,sans-serif;
font-variant-numeric:tabular-nums}
h1{font-size:20px;font-weight:650;margin:0 0 4px}h2{font-size:15px;margin:0 0 6px}
section{background:var(--surface);border:1px solid var(--line);border-radius:6px;padding:12px 16px;margin:12px 0;overflow-x:auto}
p{margin:2px 0}.muted{color:var(--muted);font-size:12px}a{color:var(--accent)}
table{border-collapse:collapse;margin:8px 0}th,td{text-align:left;padding:2px 12px 2px 0;border-bottom:1px solid var(--line);vertical-align:top;
white-space:pre-line}th{color:var(--muted);font-weight:600}svg{max-width:100%;height:auto}
"""


def html(answers: list[Answer], assessments: list[Assessment], recordings: str | None = None) -> str:
    """The page. `recordings` is where single recordings are served: `{host}` and `{incident}` in it are replaced."""
    sections = [section(answer, recordings) for answer in answers]
    sections += [picture(one) for one in assessments]
    about = escape(scope(answers[0]))
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Fathom: the fleet</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}"><style>{STYLE}</style></head>'
        f'<body><h1>The fleet</h1><p class="muted">{about}</p>{"".join(sections)}</body></html>'
    )


def section(answer: Answer, recordings: str | None) -> str:
    says = "".join(f"<p>{escape(line)}</p>" for line in answer.says)
    unseen = "".join(f'<p class="muted">not seen: {escape(line)}</p>' for line in answer.unseen)
    return f'<section id="{answer.question}"><h2>{TITLES[answer.question]}</h2>{says}{table(answer, recordings)}{unseen}</section>'


def table(answer: Answer, recordings: str | None) -> str:
    if not len(answer.rows):
        return ""
    columns = [name for name in SHOWN[answer.question] if name in answer.rows.columns]
    head = "".join(f"<th>{escape(name.replace('_', ' '))}</th>" for name in columns)
    rows = [
        "<tr>" + "".join(f"<td>{content(name, row, recordings)}</td>" for name in columns) + "</tr>"
        for row in answer.rows.head(ROWS_MAX).to_dict("records")
    ]
    more = f'<p class="muted">{len(answer.rows) - ROWS_MAX} more rows</p>' if len(answer.rows) > ROWS_MAX else ""
    return f"<table><tr>{head}</tr>{''.join(rows)}</table>{more}"


def content(name: str, row: dict[str, Any], recordings: str | None) -> str:
    text = escape(cell(row[name]))
    if name != "incident" or not recordings:
        return text
    host = str(row.get("subject", "")).split("#")[0].split("/")[0]
    address = recordings.replace("{host}", quote(host, safe="")).replace("{incident}", quote(str(row[name]), safe=""))
    return f'<a href="{escape(address)}">{text}</a>' if re.match(r"https?://|file://|[./]", address) else text


def picture(one: Assessment) -> str:
    return f"<section><h2>{escape(one.signal)}</h2>{svg(charts.heat_map(one))}{svg(charts.multiples(one))}</section>"


def svg(chart: Any) -> str:
    import vl_convert

    drawn = vl_convert.vegalite_to_svg(chart.to_json())
    return str(drawn)[str(drawn).index("<svg") :]
