"""Whether a text speaks to somebody: to its reader, or to a program that reads for one.

Of text that a document hides from people this is enough to keep it from models: whoever hides words from those who
look at a page, and addresses somebody with them, means a machine. It is meant to be met often, so it is no rule for
text that people can see.
"""

from __future__ import annotations

from memctl.policy.regex import lazy_regex

#: The finding's name where a hidden text addresses anybody.
RULE = "hidden-text"

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


def addresses_anybody(text: str) -> bool:
    """Whether a text names a reader or a model, or begins a sentence with what to do."""
    return bool(_ADDRESS.search(text.casefold().replace("\u2019", "'")))
