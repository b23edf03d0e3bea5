"""The examples of docs/python.md, in order, in one empty folder, and that of the README."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run_examples(page: Path, capsys: pytest.CaptureFixture[str]) -> int:
    """Runs the examples of a page; gives how many printed lines it promises, all of which have to appear."""
    promised = 0
    names: dict[str, object] = {"__name__": "page"}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL):
        exec(compile(block, str(page), "exec"), names)
        said = capsys.readouterr().out.splitlines()
        for expected in re.findall(r"^ *print\(.*\) +# (.*)$", block, re.MULTILINE):
            assert any(line and expected.startswith(line) for line in said), (expected, said)
            promised += 1
    return promised


def test_examples_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for module in ("pandas", "polars", "scipy"):
        pytest.importorskip(module)
    monkeypatch.chdir(tmp_path)
    assert run_examples(ROOT / "docs" / "python.md", capsys) >= 5


def test_example_of_the_readme(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    assert run_examples(ROOT / "README.md", capsys) == 1
