"""Figures as printed by Fathom: three digits and a fitting unit."""

import re

# The values of printed units.
SIZES = {
    "ns": {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9},
    "bytes": {"bytes": 1, "KB": 2**10, "MB": 2**20, "GB": 2**30},
    "ratio": {"%": 0.01},
}
SIZES["bytes/s"] = {f"{unit}/s": size for unit, size in SIZES["bytes"].items()}
SIZES["ns/s"] = {f"{unit}/s": size for unit, size in SIZES["ns"].items()}


def is_rounded(printed: str, value: float | None, unit: str) -> bool:
    """Whether a printed figure is the value, rounded to the printed digits."""
    if value is None:
        return printed == ""
    if minutes := re.fullmatch(r"(?:(\d+) h ?)?(?:(\d+) min ?)?(?:(\d+) s)?", printed):
        if unit == "ns" and (minutes[1] or minutes[2]):
            seconds = sum(int(part or 0) * size for part, size in zip(minutes.groups(), (3600, 60, 1), strict=True))
            # Durations in hours are printed with full minutes.
            return -0.5 <= value / 1e9 - seconds <= (60 if minutes[1] else 0.5)
    if not (found := re.fullmatch(r"(<?)(-?[\d,]+(?:\.(\d+))?)(e[+-]?\d+)? ?(\D*)", printed)):
        return False
    power = float("1" + (found[4] or ""))
    size = SIZES.get(unit, {}).get(found[5], 1) * power
    number, step = float(found[2].replace(",", "")) * size, 10 ** -len(found[3] or "") * size
    return 0 < abs(value) < number if found[1] else abs(number - value) <= step * 0.5001
