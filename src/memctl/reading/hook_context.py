"""What a model is told though nobody asked: at the start of a session, and beside a prompt. Nothing is said twice.

The rule of silence is that of `recall --auto`; a store that nobody vouched for says nothing. What a session has been
given is kept in the state folder, as long as the client's own transcripts usually are.
"""

import os
from contextlib import suppress

from memctl import ids, state
from memctl.annotations import TYPE_CHECKING
from memctl.names import PROMPTED, STARTED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memctl.context import Context
    from memctl.reading.block import Recalled
    from memctl.text.block.packing import Block
    from memctl.types import MemoryItem

#: Tokens of what is said, by event: the frame and the words before it are in them.
BUDGETS = {"session-start": 600, "prompt": 400}
#: The order in which types of statements are told: what binds first.
_TOLD = ("constraint", "decision", "pattern", "definition", "fact", "todo", "note", "pointer")
#: Of each type so many of the newest are looked at.
_OF_TYPE = 20
#: Bytes that are kept of a session; what is longer is begun anew. Days after which an unused one is forgotten.
_MOST, _DAYS = 1 << 16, 30
_SECONDS_OF_DAY = 86_400
#: Sessions that are looked at for old ones.
_LOOKED_AT = 500


class Telling:
    """What was given at one event: the mark of the prompt, the tokens of the block, and the ids of items."""

    __slots__ = ("ids", "mark", "tokens")

    def __init__(self, mark: str, tokens: int, ids: tuple[str, ...]) -> None:
        self.mark, self.tokens, self.ids = mark, tokens, ids


class SessionMemory:
    """What a session has been given: the ids of items, and the last prompt. Without a name it keeps nothing.

    A line of the file is what was given at once: the prompt's mark (`=`), the block's tokens (`+`), the ids; what the
    session said itself has ids alone; or `!`, behind which the model has nothing of what stands before.
    """

    def __init__(self, client: str, session: str) -> None:
        name = "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "_" for c in session[:100])
        self._folder = os.path.join(state.folder(), "hooks")
        self._path = os.path.join(self._folder, f"{client}-{name}") if name else ""
        self._held = state.read(self._path).decode("ascii", "replace") if name else ""
        held = f"\n{self._held}".rpartition("\n!\n")[2].split()
        self.given = {word for word in held if word[0] not in "=+"}
        self.last_prompt = next((word for word in reversed(held) if word.startswith("=")), "")

    @property
    def told(self) -> list[Telling]:
        """All that was given in the session, in order."""
        out = []
        for line in self._held.splitlines():
            words = line.split()
            if words and words[0].startswith("="):
                tokens = next((word[1:] for word in words if word.startswith("+")), "")
                ids = tuple(word for word in words if word[0] not in "=+")
                out.append(Telling(words[0], int(tokens) if tokens.isdecimal() else 0, ids))
        return out

    def forget(self) -> None:
        """The conversation was cleared or compacted: the model has none of it any more."""
        if self.given or self.last_prompt:
            self._add("!")
        self.given, self.last_prompt = set(), ""

    def keep(self, prompt: str, ids: "Sequence[str]", tokens: int) -> None:
        """Note what is given now. Where nothing can be written, the next prompt may be told it again."""
        self._add(" ".join([prompt_mark(prompt), f"+{tokens}", *ids]))

    def hear(self, ids: "Sequence[str]") -> None:
        """Note what the session itself said: its own words need not be told to it, until it has lost them."""
        new = set(ids).difference(self._held.split())
        if new:
            self._add(" ".join(sorted(new)))

    def _add(self, line: str) -> None:
        if not self._path:
            return
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
        with suppress(OSError):
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            number = os.open(self._path, flags, 0o600)
            try:
                if os.fstat(number).st_size > _MOST:
                    os.ftruncate(number, 0)
                os.write(number, f"{line}\n".encode("ascii", "replace"))
            finally:
                os.close(number)

    def drop_old(self) -> None:
        """Forget sessions that nobody has gone on with for weeks."""
        oldest = ids.now_seconds() - _DAYS * _SECONDS_OF_DAY
        with suppress(OSError), os.scandir(self._folder) as found:
            for _, entry in zip(range(_LOOKED_AT), found, strict=False):
                if entry.stat(follow_symlinks=False).st_mtime < oldest:
                    os.unlink(entry.path)


def prompt_mark(prompt: str) -> str:
    """What a prompt is known by: Qwen sends the same one again after each tool."""
    from binascii import crc32

    return f"={crc32(prompt.encode('utf-8', 'replace')):08x}"


# --- at a prompt ------------------------------------------------------------------------------------------------------


def at_prompt(ctx: "Context", prompt: str, memory: SessionMemory) -> "Recalled | None":
    """What answers a prompt and was not given yet, as a block; None where silence is better."""
    from memctl.text.utterance import is_chatter, order_words

    first = prompt.lstrip().partition(" ")[0].partition("\n")[0]
    if not first or (first.startswith("/") and "/" not in first[1:]) or prompt_mark(prompt) == memory.last_prompt:
        return None  # a command of the client, or what was said before
    if is_chatter(prompt) and not order_words(prompt):  # most prompts: they cost no look at the store
        return None
    if not ctx.db.trusted:
        return None
    from memctl.parameters import BlockForm, ReadRequest
    from memctl.reading.block import recall_block
    from memctl.text.block.markers import without_injected

    request = ReadRequest(budget=BUDGETS["prompt"] - _tokens(PROMPTED), auto=True, embedder="none")
    found = recall_block(
        ctx,
        without_injected(prompt)[0],
        request,
        BlockForm(),
        command="hook",
        kind="hook",
        but=memory.given,
    )
    return found if found.block.ids else None


def _tokens(text: str) -> int:
    from memctl.text.tokens import estimate_tokens

    return estimate_tokens(text)


# --- at the start of a session ----------------------------------------------------------------------------------------


def at_start(ctx: "Context", memory: SessionMemory, less: int = 0) -> "Block | None":
    """What people and models said of a project, what binds first, as a block; None where there is nothing to say.

    less  tokens of the budget that something else needs
    """
    from memctl.parameters import ReadRequest
    from memctl.reading.block import choose_passages, deliver_scored
    from memctl.reading.request import Retriever, said_where
    from memctl.store.items import attributes, items
    from memctl.text.block.frames import Compact
    from memctl.text.block.packing import build

    if not ctx.db.trusted:
        return None
    budget = BUDGETS["session-start"] - _tokens(STARTED) - less
    retriever = Retriever(ctx, ReadRequest(embedder="none"), "hook", injectable=True)
    filters = said_where(ctx, retriever.filters, None, passages=False)
    told: list[MemoryItem] = []
    for kind in _TOLD:
        told += items.list_items(ctx.db, filters.replace(type=kind), _OF_TYPE)
    told = [item for item in told if item.id not in memory.given]
    worth = attributes.get_importance(ctx.db, [item.id for item in told])
    told.sort(key=lambda item: -worth.get(item.id, attributes.NEUTRAL_IMPORTANCE))
    scores = {item.id: 1 - at / (2 * len(told)) for at, item in enumerate(told)}
    passages = choose_passages(deliver_scored(retriever, scores, (), but=memory.given), budget)
    block = build(passages, Compact(), budget)
    return block if block.text else None
