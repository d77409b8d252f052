"""`fathom watch` for benchmarks: all settings are defaults, except the watched JVMs, and where it stores and sends its results."""

import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path


def configured(folder: Path, incidents: Path, targets: Iterable[str], *sections: str) -> Path:
    """The file of a configuration that watches `targets`, each a line that names a JVM."""
    config = folder / "watch.toml"
    rows = [f"[[target]]\n{target}\n" for target in targets]
    config.write_text("".join([f'folder = "{incidents}"\n', *rows, *sections]))
    return config


def webhook(port: int) -> str:
    return f'[[tell.webhook]]\nurl = "http://127.0.0.1:{port}/"\n'


def capture(**wishes: str | None) -> str:
    """Settings of recordings; None keeps the default."""
    return "[capture]\n" + "".join(f'{name} = "{wish}"\n' for name, wish in wishes.items() if wish)


def started(fathom: str, config: Path, stdout=sys.stderr) -> subprocess.Popen:
    return subprocess.Popen([fathom, "watch", "--config", config], stdout=stdout, stderr=subprocess.STDOUT if stdout != sys.stderr else None)


def ended(watch: subprocess.Popen) -> None:
    watch.terminate()
    watch.wait()


@contextmanager
def watching(fathom: str, config: Path) -> Iterator[subprocess.Popen]:
    watch = started(fathom, config)
    try:
        yield watch
    finally:
        ended(watch)
