"""Folders for what is made on the way."""

import atexit
import shutil
import tempfile
from pathlib import Path


def folder_until_exit(prefix: str) -> Path:
    """A new folder, which goes when the process ends: tables are read from it until then."""
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
