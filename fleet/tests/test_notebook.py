"""The notebook runs, and what is printed in it is what it prints."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parent.parent / "notebooks" / "fleet.ipynb"


@pytest.mark.filterwarnings("ignore")
def test_the_notebook_prints_what_stands_in_it() -> None:
    kept = nbformat.read(NOTEBOOK, as_version=4)
    run = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(run, timeout=300).execute()
    assert printed(run) == printed(kept), "run it again and keep what it prints"
    assert len(printed(kept)) >= 7


def printed(notebook: nbformat.NotebookNode) -> list[str]:
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    texts = [output.get("text") or output.get("data", {}).get("text/plain", "") for output in outputs]
    return [text for text in texts if not text.startswith("<")]
