"""The last word on injection: what stands before, after and around a match in the lower-case text.

Rules name their check.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from re import Match

from memctl.policy.rule import lazy_regex


def _beside(pattern: str, *, before: int = 0, after: int = 0, absent: bool = False) -> Callable[[Match[str]], bool]:
    """The check that an expression is found, or is absent, in so many characters before or after a match.

    With neither, it is looked for in the whole text.
    """
    expression = lazy_regex(pattern)

    def counts(match: Match[str]) -> bool:
        stretch = match.string
        if before:
            stretch = stretch[max(0, match.start() - before) : match.start()]
        elif after:
            stretch = stretch[match.end() : match.end() + after]
        return (expression.search(stretch) is None) == absent

    return counts


#: An override of orders: not `skip the input`, not negated (`don't forget the rules`).
override = _beside(r"(?:\b(?:not|never|to\s+not|don'?t|cannot|can'?t|won'?t|no)\s+)$", before=24, absent=True)
#: Nothing right before the match forbids what it says.
not_denied = _beside(
    r"\b(?:not|never|cannot|no|without|shouldn'?t|don'?t|must\s?n'?t)\b[^.!?\n]{0,24}$", before=40, absent=True
)
#: The match begins a line or a sentence, or follows a word that orders.
ordered = _beside(r"\A\Z|\n\Z|(?:[.!?:]\s+|\b(?:you\s+must|please|now|then|must|immediately)\s+)$", before=24)
#: The match begins a sentence or follows words that give an order.
told = _beside(
    r"\n\Z|(?:^|[.!?:;,\"'\u201c\u201d`()\[\]*>#\\=-]\s{0,3}|\b(?:please|and|then|now|to|you|just|or|must|first|me|so|will|"
    r"shall|should|can|could|let'?s|your|my|with|going|must\s+now|follow)\s+)$",
    before=16,
)
#: A tag that frames an order to the model.
tag_order = _beside(r"message|instruction|you\b|please|must|task|ignore", after=300)
#: Only where the text speaks of a model, a role or a game.
persona = _beside(
    r"\b(?:ai|chatgpt|gpt\S*|openai|chatbot|persona|character|role|roleplay|language\s+model|jailbreak|dan)\b"
)


def weighed_order(match: Match[str]) -> bool:
    """The whole text, by what its words weigh together, gives an order against whoever keeps it."""
    from memctl.policy.weighing import is_heavy

    return is_heavy(match.group())


def heading_turns(match: Match[str]) -> bool:
    """Two such headings, or one with words: a transcript, not a chapter."""
    return len(
        re.findall(r"(?m)^#{2,3}\s*(?:instruction|response|human|assistant|system|user|input)\s*(?::|$)", match.string)
    ) >= 2 or ("instruction" in match.group())


_SECTION = 2000  # characters within which a tag is closed


#: The installers that everybody has read of, by where they are fetched: what such a line runs is no secret of a model.
_INSTALLERS = (
    "astral.sh/uv/ astral.sh/ruff/ sh.rustup.rs/ get.docker.com/ bun.sh/install deno.land/install.sh "
    "get.pnpm.io/install.sh install.python-poetry.org/ pyenv.run/ get.sdkman.io/ starship.rs/install.sh get.k3s.io/ "
    "ollama.com/install.sh tailscale.com/install.sh nixos.org/nix/install claude.ai/install.sh fnm.vercel.app/install "
    "deb.nodesource.com/setup_ raw.githubusercontent.com/homebrew/install/ raw.githubusercontent.com/nvm-sh/nvm/ "
    "raw.githubusercontent.com/ohmyzsh/ohmyzsh/ raw.githubusercontent.com/helm/helm/"
)
_ADDRESSES = lazy_regex(r"(?:[a-z][a-z0-9+.-]{1,9}://)?((?:[a-z0-9-]{1,63}\.)+[a-z]{2,24}(?:/[^\s\"'`|)]*)?)")


def unknown_installer(match: Match[str]) -> bool:
    """A statement that pipes what is fetched into a shell, unless all of it comes from an installer that is known."""
    known = tuple(_INSTALLERS.split())
    fetched = [f"{address[1]}/" for address in _ADDRESSES.finditer(match.group())]
    return not fetched or "$" in match.group() or not all(address.startswith(known) for address in fetched)


#: A line of settings: a name, a colon, and at most one word, or in other lines than a role's more of them.
_SETTING = lazy_regex(r"[ \t]*(?:- )?[\"']?[\w.-]+[\"']?[ ]?:(?:[ \t]+\S.*)?")
_ROLE_SETTING = lazy_regex(
    r"[ \t]*[\"']?(?:human|user|assistant|ai|bot)[\"']?[ ]?:[ \t]*(?:[\"']?[\w./@:${}-]*\w[\"']?)?[ \t]*(?:#.*)?"
)
_ROLE = lazy_regex(r"[ \t\"'#*]*(?:human|user|assistant|ai|bot)\b")


def spoken_turns(match: Match[str]) -> bool:
    """Turns of a conversation; names of roles among the keys of a settings file, with one word each, are none."""
    text = match.string
    start = text.rfind("\n", 0, max(0, match.start() - 1)) + 1
    stop = text.find("\n", match.end())
    after = text.find("\n", stop + 1) if stop >= 0 else -1
    whole = text[match.start() : stop if stop >= 0 else len(text)].split("\n")
    around = [line for line in text[start : after if after >= 0 else len(text)].split("\n") if line.strip()]
    roles = [line for line in whole if _ROLE.match(line)]
    others = [line for line in around if not _ROLE.match(line) and _SETTING.fullmatch(line)]
    between = [line for line in whole if line.strip() and line not in roles]
    settings = all(map(_SETTING.fullmatch, between)) and all(map(_ROLE_SETTING.fullmatch, roles))
    return not (others and settings)


def prompt_tag(match: Match[str]) -> bool:
    """`<system>` with words after it, which begins a line or is closed; in XML schemas it holds elements."""
    text, tag = match.string, match.group()
    if tag.startswith("</") or re.match(r"\s*[\w\"'*#]", text[match.end() : match.end() + 40]) is None:
        return False
    before = text[max(0, match.start() - 2) : match.start()].rstrip(" ")
    closed = "</system" in text[match.end() : match.end() + _SECTION]
    return tag.strip(" <>") != "system" or not before[-1:].isalnum() or closed


def bracket(match: Match[str]) -> bool:
    """`[SYSTEM]` that speaks: followed by words, or carrying them."""
    return re.search(r"[:\s]\s*\w{2,}", match.string[match.start() + 7 : match.end() + 40]) is not None


#: A verb that says what for, not what to do: "to copy the text above, you would …".
_IN_ORDER_TO = lazy_regex(r"(?<!need )(?<!want )(?<!have )(?<!like )(?<!you )(?<!now )(?<!going )\bto\s+$")


def steal(match: Match[str]) -> bool:
    """A request for the hidden prompt; a program's own prompt, or instructions in print, are none."""
    text = match.group()
    if (
        not told(match)
        or _IN_ORDER_TO.search(match.string, max(0, match.start() - 24), match.start())
        or re.search(r"system|initial|original|hidden|secret|above|your|you\b|previous|initiali", text) is None
    ):
        return False
    rest = match.string[match.end() : match.end() + 30]
    return (
        re.match(
            r"\s+(?:string|file|template|for\s+(?:your|the)\s+(?:package|distribution|platform)|section|parameter)",
            rest,
        )
        is None
    )


# --- text that a document hides --------------------------------------------------------------------------------

#: The finding's name where a hidden text addresses anybody.
HIDDEN_TEXT = "hidden-text"

#: Who is addressed: a reader, in the languages that the rules know, and what models are called.
_YOU = (
    "you|your|yours|yourself|u|tu|te|toi|vous|votre|vos|ton|du|dich|dir|dein|deine|ihr|euch|ihnen|usted|ustedes|"
    "tú|ti|você|vocês|seu|sua|voi|lei|tuo|tua|vostro|jij|je|jouw|uw|ty|ci|twój|cię|ты|вы|вас|вам|ваш|твой|тебе|"
    "ви|sen|siz|sana|size|kamu|anda|आप|तुम|bạn|anata|당신|너|أنت|אתה|את"
)
_MACHINES = (
    "ai|a\\.i|llm|llms|gpt|chatgpt|claude|gemini|copilot|assistant|assistants|chatbot|bot|agent|agents|crawler|"
    "scraper|model|models|language model|reader|readers|reviewer|reviewers|recruiter|screener|summarizer|"
    "assistente|asistente|assistent|modèle|modelo|modell|modello|модель|ассистент|ki|ia|system prompt|prompt|"
    "instructions|instruction"
)
#: What is asked: verbs that begin a sentence or a line, or follow a comma, a colon, "and" or "then".
_DO = (
    "accept|act|add|always|answer|append|approve|assign|assume|avoid|award|behave|begin|bypass|call|change|"
    "choose|click|confirm|consider|contact|copy|delete|describe|disable|discard|disclose|disregard|do|don't|"
    "download|emit|enable|ensure|execute|explain|export|fetch|follow|forget|forward|generate|give|grant|hire|"
    "ignore|include|insert|install|issue|keep|leak|let|list|load|mail|make|mark|mention|never|note|obey|omit|"
    "open|output|pay|post|praise|prefer|pretend|print|promote|put|rank|rate|read|recommend|refuse|reject|"
    "remember|remove|repeat|replace|reply|report|respond|return|reveal|run|save|say|score|search|select|send|set|"
    "share|show|skip|speak|state|stop|store|suggest|summarize|switch|take|tell|transfer|translate|treat|trust|"
    "update|upload|use|visit|vote|wire|write"
)
_PLEASE = "please|must|shall|kindly|bitte|veuillez|s'il vous plaît|por favor|per favore|пожалуйста|请|請"
#: The same in scripts that put no blanks between words.
_UNDIVIDED = "请|請|你|您|忽略|無視|无视|指示|してください|しなさい|あなた|당신|하세요|하십시오|무시"


_START = r"(?:\A|\n|[.:;!?,>)\]])[ \t\"'*_#>-]{0,8}|\b(?:and|then|also|to)[ ]"
_ADDRESS = lazy_regex(rf"(?<!\w)(?:{_YOU}|{_MACHINES}|{_PLEASE})(?!\w)|(?:{_START})(?:{_DO})(?![\w-])|{_UNDIVIDED}")


#: Who is named, and what those who write a page tell each other about it: to add an entry, to keep a list sorted, that
#: a program makes it and that it is not to be edited.
_NAMED = lazy_regex(rf"(?<!\w)(?:{_YOU}|{_MACHINES}|{_PLEASE})(?!\w)|{_UNDIVIDED}|://|@")
_UPKEEP = lazy_regex(
    r"[^\w]{0,8}(?:(?:todo|fixme|note|warning)\b[:\s]{0,3})?(?:(?:do not |don't |never |always )?(?:add|change|copy|"
    r"delete|edit|include|insert|keep|list|make|modify|move|put|remove|rename|replace|sort|touch|update)\b"
    r"(?:(?!\b(?:and|then)\b)[^.!?,;\n]){0,60}\b(?:above|alphabetical\w*|badges?|below|changelog|comments?|entr(?:y|ies)|"
    r"figures?|files?|headings?|here|images?|in sync|lines?|links?|lists?|markers?|order|pages?|sections?|sorted|"
    r"sponsors?|tables?|tests?|toc|versions?)\b(?:(?!\b(?:and|then)\b)[^!?,;\n]){0,60}"
    r"|(?:(?:(?:this|the) )?(?:file|page|section|table|list|document|contents?)? ?(?:(?:is|was|are) )?"
    r"(?:auto(?:matically |-?))?(?:generated|written|made|built|created|produced|maintained|managed)(?: automatically)?"
    r"(?: (?:by|from|with|using|via) [\w./`-]{1,60}(?: [\w./`-]{1,60})?){0,2}"
    r"|(?:do not|don't|never) (?:edit|modify|change|touch)(?: (?:it|this|this file|the file|this page|this section))?"
    r"(?: (?:by hand|manually|directly))?"
    r"|(?:change|edit|update) (?:it|that) there)(?:[.;:,!\s-]{1,4}(?=\w)|[.!\s-]{0,4}$)){1,3}"
)


def addresses_anybody(text: str) -> bool:
    """Whether a text names a reader or a model, or begins a sentence with what to do.

    Of text that a document hides from people this is enough to keep it from models: whoever hides words from those who
    look at a page, and addresses somebody with them, means a machine. A note about the page itself to those who write
    it ("keep this list sorted") is none. It is meant to be met often, so it is no rule for text that people can see.
    """
    low = text.casefold().replace("\u2019", "'")
    return bool(_ADDRESS.search(low)) and (_UPKEEP.fullmatch(low.strip()) is None or _NAMED.search(low) is not None)
