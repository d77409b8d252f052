"""Clients of many services: `clients.py [PORT RATE FOLDER]...`. Requests at random instants, whether or not earlier ones were answered.

`requests.csv` of the folder gets a row for each: when it was due (ms since the epoch), and its latency from then (µs, or nothing if
it failed). A file `rate` in the folder sets a new number of requests per second.
"""

import asyncio
import random
import sys
import time
from pathlib import Path
from typing import TextIO

REQUEST = b"GET /item/%d HTTP/1.1\r\nHost: localhost\r\n\r\n"
CONNECTIONS_MAX = 24
PATIENCE_S = 20


class Service:
    """One service, and the free connections to it."""

    def __init__(self, port: int, rate: float, folder: Path, record: TextIO) -> None:
        self.port, self.rate, self.folder, self.record = port, rate, folder, record
        self.free: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
        self.may_ask = asyncio.Semaphore(CONNECTIONS_MAX)
        self.asking: set[asyncio.Task] = set()

    async def run(self) -> None:
        due = time.time()
        while True:
            due += random.expovariate(self.rate_now())
            await asyncio.sleep(max(0.0, due - time.time()))
            task = asyncio.create_task(self.ask(due))
            self.asking.add(task)
            task.add_done_callback(self.asking.discard)

    def rate_now(self) -> float:
        try:
            return float((self.folder / "rate").read_text())
        except (OSError, ValueError):
            return self.rate

    async def ask(self, due: float) -> None:
        async with self.may_ask:
            try:
                await asyncio.wait_for(self.answered(), PATIENCE_S)
                took = f"{(time.time() - due) * 1e6:.0f}"
            except (OSError, EOFError, TimeoutError, ValueError):
                took = ""
        self.record.write(f"{due * 1e3:.0f},{took}\n")

    async def answered(self) -> None:
        """Sends over an existing connection, which the server may have closed, or over a new one."""
        while self.free:
            try:
                return await self.over(*self.free.pop())
            except (OSError, EOFError):
                continue
        await self.over(*await asyncio.open_connection("127.0.0.1", self.port))

    async def over(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        is_kept = False
        try:
            writer.write(REQUEST % random.randrange(1000))
            is_kept = await read_answer(reader)
        finally:
            if is_kept:
                self.free.append((reader, writer))
            else:
                writer.close()


async def read_answer(reader: asyncio.StreamReader) -> bool:
    """Whether the connection may be used again."""
    status, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().lower().strip().split("\r\n")
    if " 200" not in status:
        raise ValueError(status)
    headers = {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
    if "chunked" in headers.get("transfer-encoding", ""):
        while size := int((await reader.readline()).split(b";")[0], 16):
            await reader.readexactly(size + 2)
        await reader.readline()
    elif "content-length" in headers:
        await reader.readexactly(int(headers["content-length"]))
    else:
        await reader.read()
        return False
    return headers.get("connection") != "close"


async def main(words: list[str]) -> None:
    tasks = []
    for port, rate, folder in zip(words[::3], words[1::3], words[2::3], strict=True):
        record = (Path(folder) / "requests.csv").open("w", buffering=1)
        tasks.append(asyncio.create_task(Service(int(port), float(rate), Path(folder), record).run()))
    await asyncio.gather(*tasks)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
