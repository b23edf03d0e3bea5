"""Notebooks run through, and what they assert holds."""

from pathlib import Path

import pytest

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
NEEDED = ["ipykernel", "matplotlib", "pandas", "polars", "scipy"]
FOLDER = Path(__file__).parents[2] / "adapters" / "python" / "notebooks"


@pytest.mark.parametrize("name", ["01_first_run", "02_study", "03_optimisation"])
def test_a_notebook_runs_through(name: str) -> None:
    for module in NEEDED:
        pytest.importorskip(module)
    book = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    nbformat.validate(book)
    assert not any(cell.get("outputs") for cell in book.cells), "outputs are not kept"
    client = nbclient.NotebookClient(
        book, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(FOLDER)}}
    )
    client.execute()


def test_all_notebooks_are_run() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.ipynb")) == ["01_first_run", "02_study", "03_optimisation"]
