"""The service that others call: `callee.py [PORT FOLDER]...`. It answers one byte with one byte after the ms in the folder's file `callee-ms`.

With a second number N in the file, only one request in N takes this long, and the others take `QUICK_MS`.
"""

import asyncio
import random
import sys
from pathlib import Path

QUICK_MS = 8


def delay_s(file: Path) -> float:
    slow_ms, *one_in = file.read_text().split()
    is_quick = bool(one_in) and random.randrange(int(one_in[0])) > 0
    return (QUICK_MS if is_quick else float(slow_ms)) / 1000


async def serve(file: Path, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while await reader.read(1):
            await asyncio.sleep(delay_s(file))
            writer.write(b"\1")
    except ConnectionError:
        pass
    finally:
        writer.close()


async def main(words: list[str]) -> None:
    for port, folder in zip(words[::2], words[1::2], strict=True):
        file = Path(folder) / "callee-ms"
        await asyncio.start_server(lambda reader, writer, file=file: serve(file, reader, writer), "127.0.0.1", int(port))
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
