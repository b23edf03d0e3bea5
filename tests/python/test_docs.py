"""The examples of docs/python.md, in order, in one empty folder."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "python.md"


def test_examples_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for module in ("pandas", "polars", "scipy"):
        pytest.importorskip(module)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "page"}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
        exec(compile(block, str(PAGE), "exec"), names)
        said = capsys.readouterr().out.splitlines()
        for expected in re.findall(r"^ *print\(.*\) +# (.*)$", block, re.MULTILINE):
            assert any(line and expected.startswith(line) for line in said), (expected, said)
