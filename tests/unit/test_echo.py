"""Blocks that a model repeats are taken out of its answer; what it says itself stays."""

import pytest

from memctl.text.block.markers import without_injected
from support import GOLDEN

STRUCTURE = (GOLDEN / "inspect.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["inspect", "inspect-large"])
def test_a_structure_block_goes_and_the_answer_stays(name: str) -> None:
    block = (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")
    answer = "Here it is:\n\n" + block + "\n\n- my own point\n- another, with words\n\nThe end.\n"
    left, count = without_injected(answer)
    assert count == 1
    assert left.split("\n\n")[0] == "Here it is:"
    assert left.endswith("- my own point\n- another, with words\n\nThe end.\n")
    assert "Total files" not in left and "chunks" not in left


def test_both_blocks_are_counted() -> None:
    recall = (GOLDEN / "recall-full.txt").read_text(encoding="utf-8")
    left, count = without_injected(f"{STRUCTURE}\n{recall}\nWell.\n")
    assert (left.strip(), count) == ("Well.", 2)


@pytest.mark.parametrize("text", ["", "Total files: 4\n", "About ## Structure (Injected) blocks.\n", "- a (b)\n"])
def test_other_text_is_left_alone(text: str) -> None:
    assert without_injected(text) == (text, 0)
