"""Resources, prompts and completions: other ways to the same tools, behind the same defence.

A resource and a prompt call a tool and show what it says; a completion asks the store for names that begin so.
"""

from collections.abc import Callable
from functools import partial

from memctl.annotations import Any
from memctl.mcp import sdk
from memctl.mcp.catalog import Listed, chosen
from memctl.mcp.offers import PROMPTS, RESOURCES
from memctl.mcp.results import Answer, as_json
from memctl.mcp.tools import Desk
from memctl.names import DEFAULT_SCOPE
from memctl.operation import READ

#: Which names complete which argument.
_WORDS = {"id": "ids", "ids": "ids", "scope": "scopes", "tags": "tags", "name": "mounts"}


class Refused(Exception):
    """What the tool behind a resource or a prompt said instead of an answer."""


class Extras:
    """The ways to the tools beside calling them."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._tools: dict[str, Listed] = {}

    def _tool(self, name: str) -> Listed:
        if not self._tools:
            self._tools = {listed.name: listed for listed in chosen("full")}
        return self._tools[name]

    def _ask(self, name: str, arguments: dict[str, Any]) -> Answer:
        answer = self._desk.call(self._tool(name).tool, arguments)
        if answer.data.get("status") not in ("ok", "duplicate"):
            raise Refused(str(answer.data.get("message") or "refused"))
        return answer

    # --- resources ---------------------------------------------------------------------------------------------------

    def resource(self, tool: str, argument: str, value: str) -> str:
        """The text of a resource. Raises Refused."""
        answer = self._ask(tool, {argument: value})
        if answer.prose is not None:
            return answer.prose
        if not answer.data["items"]:
            raise Refused(f"item not found: {value}")
        return as_json(answer.data["items"][0])

    # --- prompts -----------------------------------------------------------------------------------------------------

    def prompt(self, name: str, given: dict[str, str]) -> str:
        """The text of a prompt, as a user's message. Raises Refused."""
        found: str = getattr(self, f"_{name}")({key: value for key, value in given.items() if value})
        return found

    def _recall(self, given: dict[str, str]) -> str:
        question = given.pop("question", "")
        block = self._ask("memory_recall", {"query": question, "auto": True} | given).prose or ""
        if "## Memory" not in block:
            return f"The memory holds nothing about this.\n\nQuestion: {question}"
        return (
            f"{block}\n\nAnswer this question from the memory above, and name the passages you used by their ids. "
            f"Where it does not say, say so.\n\nQuestion: {question}"
        )

    def _remember(self, given: dict[str, str]) -> str:
        topic, scope = given.get("topic"), given.get("scope")
        return (
            f"Look back over this conversation and keep for later sessions {topic or 'what is worth it'}. Call "
            "memory_propose once with a list of statements"
            + (f", scope {scope}" if scope else "")
            + ". Each stands for itself, says one thing, has a title, a type (decision, constraint, fact, definition, "
            "pattern, todo, pointer), tags, and why_store. Leave out chatter, secrets, and what the repository says "
            "already. Then tell me in one line each what was stored, known already or refused."
        )

    def _handoff(self, given: dict[str, str]) -> str:
        scope = given.get("scope", DEFAULT_SCOPE)
        page = self._ask("memory_digest", {"scope": scope}).prose or ""
        return (
            f"{page}\n\nAbove is what the memory of {scope} holds. Hand this session over to the next one: what was "
            "done, what was decided and why, what is open, what was tried and did not work. Call memory_propose once "
            f"with scope {scope}: one statement per point, type decision, fact or todo, tag handoff, and why_store. Do "
            "not repeat what is there already."
        )

    # --- completions -------------------------------------------------------------------------------------------------

    def complete(self, argument: str, start: str) -> list[str]:
        """Names that begin like this; none for an argument that is free text, or for somebody who may not know."""
        kind = _WORDS.get(argument)
        if kind is None:
            return []
        head, comma, last = start.rpartition(",") if kind == "tags" else ("", "", start)

        def run() -> dict[str, Any]:
            from memctl.store.search import words

            with self._desk.home.context(writes=False) as ctx:
                ctx.allow(READ)
                return {"status": "ok", "words": words.complete(ctx.db, kind, last.lstrip())}

        found = self._desk.defence.call("memory_complete", READ, {"start": start}, run, parameters=frozenset())
        return [f"{head}{comma}{word}" for word in found.get("words", ())]


def add(server: Any, desk: Desk) -> None:
    """Offer them on a server of the SDK."""
    extras = Extras(desk)
    for uri, name, tool, argument, about, kind in RESOURCES:
        sdk.add_template(server, uri, partial(extras.resource, tool, argument), Refused, name, about, kind)
    sdk.add_resource(
        server, f"memory://scope/{DEFAULT_SCOPE}/digest",
        partial(extras.resource, "memory_digest", "scope", DEFAULT_SCOPE), Refused,
        "project digest", "What this project's memory holds, on one page", "text/markdown",
    )  # fmt: skip
    for name, about, arguments in PROMPTS:
        sdk.add_prompt(server, name, about, arguments, _prompting(extras, name), Refused)
    sdk.add_completion(server, extras.complete)


def _prompting(extras: Extras, name: str) -> Callable[[dict[str, str]], str]:
    return lambda given: extras.prompt(name, given)
