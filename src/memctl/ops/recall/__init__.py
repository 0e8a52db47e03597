"""Operations that answer: search, recall, and models that answer from what recall finds.

`from memctl.ops.recall import recall` is documented, so the operation is handed on under that name.
"""

from memctl.annotations import Any


def __getattr__(name: str) -> Any:
    if name == "recall":
        from memctl.ops.recall.block import recall

        return recall
    raise AttributeError(name)
