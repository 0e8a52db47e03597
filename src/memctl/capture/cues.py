# ruff: noqa: E501, RUF001 - words in several languages and scripts
"""The words by which a sentence shows what it is: a decision, a wish, a task, something wrong, and what put it right.

English, German, French, Spanish, Italian, Portuguese, Chinese and Japanese. What they find is a proposal.
"""

import re
from functools import cache

#: Letters that match i and s where case does not count, and that `lower` leaves as they are or makes two of.
_FOLDED = str.maketrans("\u0130\u0131\u017f", "iis")


class Cue:
    """Forms, of which a text may have one.

    A form is a regular expression in which `<a|b>` stands for one of these words. It is not looked for in a text that
    has none of its words: that is a hundred times cheaper. So each way through a form that has such words leads through
    some.

    forms  their words, and the expression
    """

    __slots__ = ("forms",)

    def __init__(self, *forms: str) -> None:
        self.forms = [
            (
                tuple("|".join(re.findall("<(.*?)>", form)).split("|")),
                re.sub("<(.*?)>", lambda words: f"(?:{'|'.join(map(re.escape, words[1].split('|')))})", form),
            )
            for form in forms
        ]

    def anywhere(self, *others: "Cue") -> "Cue":
        """Any form of these, also where no sentence begins."""
        every = Cue()
        for one in (self, *others):
            every.forms += [(words, re.sub(r"(?<!\[)\^", "", form)) for words, form in one.forms]
        return every

    def search(self, text: str) -> bool:
        """Whether a text has one."""
        low = (text if text.isascii() else text.translate(_FOLDED)).lower()
        for words, form in self.forms:
            for word in words:  # no generator: this is asked of every sentence
                if word in low:
                    if _compiled(form).search(text):
                        return True
                    break
        return False


@cache
def _compiled(form: str) -> "re.Pattern[str]":
    return re.compile(form, re.IGNORECASE)


#: At the beginning of a sentence, before what counts.
NODS = re.compile(
    r"^(?:(?:ok(?:ay)?|yes|yeah|yep|sure|agreed|right|good|great|super|perfect|fine|done|thanks?|nice|well|so|and|alright|"
    r"ja|gut|genau|einverstanden|oui|d'accord|bon|sí|vale|de acuerdo|va bene|certo|sim|好的?|行|对|はい)[\s,.:;!–—，。：-]+)+",
    re.IGNORECASE,
)  # fmt: skip
#: Somebody is not sure, or speaks of what might be.
DOUBT = Cue(
    r"\b(?:maybe|perhaps|might|could|probably|i think|i guess|not sure|let me think|if (?:we|you|i)\b|what if|would be|"
    r"at some point|hypothetical)",
    r"\b(?:vielleicht|könnten?|eventuell|wahrscheinlich|wäre|falls)\b",
    r"\b(?:peut-être|pourrait|pourrions|si on|quizás?|tal vez|podríamos|forse|potremmo|talvez)\b",
    r"也许|可能|如果|かもしれ|もし",
)
DECISION = Cue(
    r"\b(?:we|i)(?:'ve| have)? <decide|decided|chosen|agreed|settled|opted>\b",
    r"\b<decision>\s*:|\b<it's decided|it is decided>\b",
    r"(?:^|[.!] )(?:so |then )?\S+(?: \S+)?< it is>[.!]?$",
    r"\b<let's |lets >(?:go with|use|keep|stick (?:with|to)|take|drop|switch to|move to|stay (?:with|on)|not use|adopt|settle on)\b",
    r"\b<we dropped|we switched|we replaced|we moved to|we chose|we picked>\b",
    r"\bwe(?:'ll| will| now|'re going to| are going to)?< use| go with| go for| switch to| keep| drop| return| take| adopt| stay with"
    r"| stay on| stick with| stick to| stop using| no longer use| don't use| dont use| do not use| standardise on| standardize on"
    r"| move to| migrate to| pick| choose>\b",
    r"^<from now on|going forward|as of now|as of today>\b",
    r"\b<wir haben >(?:uns )?(?:entschieden|beschlossen|festgelegt|dafür)\b",
    r"\b<wir nehmen|wir verwenden|wir nutzen|wir benutzen|wir setzen auf|wir bleiben bei|wir bleiben auf|wir wechseln zu|"
    r"wir wechseln auf|wir steigen auf|wir steigen um|wir behalten>\b|^<entscheidung>\s*:|^<ab jetzt|ab sofort|ab heute|künftig>\b",
    r"\b<on |nous >(?:prend|prenons|utilise|utilisons|garde|gardons|part sur|partons sur|passe à|passons à|reste sur)\b",
    r"\b<avons décidé|a décidé>\b|^<décision>\s*:|^<désormais|à partir de maintenant|dorénavant>\b",
    r"\b<hemos decidido|se ha decidido|vamos a usar|vamos a utilizar|vamos a quedarnos>\b|^<usamos|usaremos|nos quedamos|a partir de ahora>\b",
    r"\b<abbiamo deciso|decidimos>\b|^<usiamo|useremo|d'ora in poi|vamos usar|a partir de agora>\b",
    r"<决定|改用|选用|采用|以后都|以后一律|ことにし|ことにする|に決め|を採用|今後は>",
)
#: The answer to a question, with its reason: "ok: Apache-2.0, since legal wants it".
CHOICE = Cue(
    r"^<ok|okay|yes|then|alright|ja|gut|oui|bon|vale>\b[\s,:]+[^?]{3,200}\b(?:because|since|as|weil|da|parce que|car|"
    r"porque|perché)\b",
)
#: A question that a decision answers, beyond what stands in a session alone ("do we have this elsewhere?").
OPEN = Cue(
    r"\b(?:which|what|or|should|shall|how|do we (?:use|want|keep|need))\b|\b(?:welche\w*|was|oder|sollen|sollten|wie)\b|"
    r"\b(?:quel\w*|quoi|ou|doit-on|faut-il|comment)\b|\b(?:qué|cuál|o|deberíamos|cómo|quale|che|come|qual|ou|deve)\b|哪|什么|怎么|还是|どの|何|どう"
)
#: "use the other branch", "let's use this here": an order of the moment, not a rule.
ORDER = Cue(
    r"\b(?:for now only|just this once|this time|for this (?:one|test|commit))\b|\blet'?s (?:use|keep|take) (?:this|that|it)\b"
)
PREFERENCE = Cue(
    r"\b(?:please )?<never|always>\b(?!\s+(?:mind|the same|been|was|were|fails?|happens?))[^?]{4,}",
    r"\b<must|should|shall> (?:never|always|not|be|use|(?:only )?come)\b|\b<should have> (?:no|a|an|at)\b",
    r"\bi(?:'d)? <prefer|rather|want you to|like you to|don't want you to|dont want you to|hate it when>\b",
    r"\b<remember|keep in mind|note|bear in mind>\b(?: for next time| for later)?[\s:,]+(?:that |to )?\S",
    r"^(?:please )?<don't|dont|do not> (?:ever|use|add|commit|write|touch|push|change)\b",
    r"^(?:bitte )?<nie|niemals|immer>\b",
    r"\b<merk dir|merke dir|ich will|ich möchte|ich bevorzuge|bitte nie|bitte immer|bitte kein|bitte keine>\b",
    r"\b<dürfen|darf> (?:nie|niemals|nicht|keine?)\b|\b<müssen immer>\b",
    r"\b<je préfère|je veux que|je voudrais que>\b|^<toujours|jamais|ne jamais>\b|\b<souviens-toi|retiens|il faut toujours>\b",
    r"\b<prefiero|quiero que|recuerda que|siempre|nunca|preferisco|ricorda che|prefiro|lembra>\b",
    r"<请记住|请不要|请始终|请总是|请务必|记住|不要再|必须|覚えて|必ず|絶対に>",
)
TASK = Cue(
    r"\b<todo|to-do|fixme>\b\s*(?:comment)?\s*[:\s]",
    r"\b<still >(?:(?:have|has|need|needs|to) (?:to )?\w|(?:open|missing|left)\b)",
    r"\b(?:is|are|was|were) <left to|left for>\b|\b<remain to |remains to >(?:be )?\w|\bon (?:the|our|my) <list|backlog>\b",
    r"^<next|later|open|remaining|followup|follow-up>(?: step| task)?s?\s*:",
    r"\bneeds?< to be >(?:done|fixed|migrated|removed|added|replaced|idempotent|cleaned)\b",
    r"\b<before the launch|before the release|before the deadline>\b",
    r"\b(?:add|put) (?:a|it|this|that) <todo|to-do|on the list>\b",
    r"\b<we should >(?:also |still )?(?:have|add|fix|remove|migrate|write|document)\b",
    r"\b(?:offen|fehlt|fehlen|bleibt|steht) (?:ist |sind )?<noch>\b|\bmüss(?:en|t) (?:wir )?<noch>\b|\b<noch zu tun|noch offen|muss noch|"
    r"fehlt noch|fehlen noch>\b",
    r"\b<il reste> (?:à|encore)\b|\b<resten à|restent à|reste à>\b|\b<queda|falta>n? (?:por|todavía)\b|\b<resta da>\b|"
    r"\b<falta >(?:ainda )?\w+ar\b",
    r"<待办|还需要|还要|还没有|还得|稍后再|残っている|後で>",
)
#: A sentence that begins so speaks of the one before it.
REFERS = Cue(
    r"^(?:it|this|that|these|those|they|he|she|both|das|dies|es|sie|ça|cela|c'est|il|eso|esto|questo|isso|这|那|它|それ|これ)\b"
)
#: Something is wrong; why; and what was done about it.
WRONG = Cue(
    r"\b(?:fails?|failed|failing|error|exception|crash(?:es|ed)?|broken|cause|bug|denied|rejected|missing|mismatch|wrong|locked|"
    r"leak|out of memory|times? out|timed out|slow|flaky|not used)\b",
    r"\b\w*(?:Error|Exception)\b",
    r"\b(?:fehler|schlägt fehl|stürzt|ursache|fehlt|abgelehnt|problem)\b|\b(?:erreur|échoue|plante|cause|manque)\b|"
    r"\b(?:falla|fallo|causa|errore|fallisce|erro|falha)\b",
    r"错误|失败|异常|没有释放|耗尽|报错|原因|エラー|失敗|原因",
)
WHY = Cue(
    r"[\"“„«'`][^\"”“»'`]{6,}[\"”»'`]|\b(?:cause|because|since|due to|reason|which rejects|has expired|is missing|only in|"
    r"loads|drops?|is parsed|all of them use)\b|, so\b|\b(?:weil|da|fehlt|ursache|eingetragen)\b|\b(?:parce que|car|à cause)\b|porque|perché|"
    r"因为|没有|原因|ため",
)
FIXED = Cue(
    r"\b(?:i|we)(?:'ve| have)? (?:also )?<changed|fixed|replaced|moved|added|set|made|updated|removed|pinned|switched|wrapped|capped|"
    r"raised|lowered|put|rewrote|reverted|disabled|enabled|split|restarted>\b",
    r"\b<the fix is|the fix was|the solution is|the solution was|fixed by>\b",
    r"^(?:install|run|set|use|add|build|pass|upgrade|downgrade)\b[^.]{0,40}<`>",
    r"\b<ich hab>e?\b[^.]{3,}\b(?:ge\w+|ergänzt|ersetzt|entfernt|verschoben|korrigiert|behoben)\b|\b(?:dann )?<muss>\b[^.]{3,}\bwerden\b",
    r"\b<j'ai >(?:ajouté|remplacé|corrigé|changé|mis|supprimé|déplacé)\b|\b<he >(?:añadido|cambiado|corregido|reemplazado)\b",
    r"\b<ho >(?:aggiunto|cambiato|corretto|sostituito)\b|\b<adicionei|corrigi|troquei|mudei>\b",
    r"(?:我|已经|已)[^。]{0,30}<改用|改为|修复|修改|添加|替换|删除>|<修正|変更|追加|置き換え>(?:し|を)",
)
#: What follows shows that it holds.
HOLDS = Cue(
    r"\b(?:works|working|worked|fixed|solved|nice|great|thanks|thank you|perfect|awesome|done)\b|\b(?:geht|läuft|klappt|danke|super)\b|"
    r"\b(?:ça marche|merci|parfait|funciona|gracias|funziona|grazie|obrigado)\b|谢谢|好了|可以了|ありがとう|動きました"
)
_PATH = (
    r"(?:`?\b[\w.-]+(?:</>[\w.-]+)+`?|`?\b[\w-]+<.py|.ts|.tsx|.js|.jsx|.go|.rs|.java|.rb|.php|.c|.h|.cpp|.cs|.sql|.toml|.yml|.yaml|.json|"
    r".sh|.kt|.swift|.md>\b`?)"
)
_DOES = (
    r"(?:now )?(?:only )?(?:holds?|contains?|has|reads?|writes?|defines?|implements?|handles?|maps?|keeps?|parses?|lists?|loads?|"
    r"polls?|checks?|builds?|is where|is the|enthält|liest|definiert|prüft|contient|lit|définit|contiene|define|contém)"
)
FILE = Cue(rf"{_PATH} {_DOES}\b", rf"\b(?:in|to) {_PATH},? (?:that|which) {_DOES}\b")

#: A turn without any of these is passed over.
PROMPT = DECISION.anywhere(CHOICE, PREFERENCE, TASK)
ANSWER = TASK.anywhere(FIXED, FILE)

#: Commands that say what they are for; the first that fits counts.
PURPOSES = (
    ("runs the tests", Cue(r"^(?:\w+=\S+ )*(?:make|just|npm|pnpm|yarn|uv run|cargo|go|mvn|gradle|\./gradlew|tox|nox|bundle exec|mix|dotnet|"
     r"python3? -m|npx)?\s*(?:run )?(?:i?tests?|pytest|vitest|jest|rspec|unittest)\b")),
    ("runs the linter", Cue(r"\b(?:lint|ruff|eslint|flake8|mypy|clippy|golangci-lint|shellcheck|pre-commit)\b")),
    ("deploys", Cue(r"\bdeploy\b|\bkubectl (?:apply|rollout)\b|\bterraform apply\b|\bhelm upgrade\b")),
    ("builds it", Cue(r"^(?:\w+=\S+ )*(?:make|just|npm run|pnpm|yarn|cargo|go|mvn|gradle|\./gradlew|docker(?: compose)?|python3? -m)\s*(?:run )?build\b")),
    ("logs in", Cue(r"\b(?:aws sso|gh auth|docker|az|gcloud auth|vault|npm) login\b")),
    ("starts it", Cue(r"\bdocker compose (?:\S+ )*up\b|^(?:make|just|npm|pnpm|yarn)(?: run)? (?:dev|start|serve|up)\b|\brunserver\b")),
    ("installs what it needs", Cue(r"^(?:pip install -e|uv sync|npm ci|npm install$|pnpm install$|poetry install|bundle install|make setup|just setup)")),
)  # fmt: skip
#: Commands of one moment: of one file, a pipe, a redirection.
PARTIAL = re.compile(r"[|<>;&]|\$\(|\s\S*/\S*test\S*|::|\s-k\s|\stests?/\S+|\stest_\S+\.py|\s[A-Z]\w+$")
