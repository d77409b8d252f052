"""A realistic access log of a shop: a few paths get most requests, and requests come in bursts."""

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import accumulate

BEGINS = datetime(2026, 11, 20, 6, 30, tzinfo=UTC)
# Requests in a normal second; the interval, length and size of bursts.
PER_SECOND = 200
BURST_EVERY_S, BURST_S, BURST_FACTOR = 50, 4, 3
# The percentage of requests for each route.
ROUTES = {"/": 35, "/items/{item}": 40, "/search?q={word}": 9, "/pictures/{picture}": 15, "/report": 1}
# The frequency of the n-th item is proportional to 1 / n.
ITEMS = 5_000
PICTURES = 50
WORDS = ["shoe", "a1", "blue", "xyz", "q7"]


def lines(count: int, seed: int) -> Iterator[str]:
    """Lines in the common log format, with whole seconds. The same seed gives the same lines."""
    rng = random.Random(seed)
    path = paths(rng)
    left, second = count, 0
    while left:
        now = min(left, arrivals(second, rng))
        stamp = f"{BEGINS + timedelta(seconds=second):%d/%b/%Y:%H:%M:%S %z}"
        yield from (f'10.0.{rng.randrange(256)}.{rng.randrange(256)} - - [{stamp}] "GET {next(path)} HTTP/1.1" 200 512\n' for _ in range(now))
        left, second = left - now, second + 1


def arrivals(second: int, rng: random.Random) -> int:
    """The number of requests in a second of the log."""
    in_burst = second % BURST_EVERY_S >= BURST_EVERY_S - BURST_S
    mean = PER_SECOND * (BURST_FACTOR if in_burst else 1)
    # Many independent users: the standard deviation is the square root of the mean.
    return max(0, round(rng.gauss(mean, mean**0.5)))


def paths(rng: random.Random) -> Iterator[str]:
    routes, parts = list(ROUTES), list(accumulate(ROUTES.values()))
    items, weights = range(1, ITEMS + 1), list(accumulate(1 / place for place in range(1, ITEMS + 1)))
    while True:
        route = rng.choices(routes, cum_weights=parts)[0]
        yield route.format(item=rng.choices(items, cum_weights=weights)[0], word=rng.choice(WORDS), picture=rng.randrange(PICTURES))
