# ruff: noqa: E501, RUF001 - words in several languages and scripts
"""The words by which a sentence shows what it is: a decision, a wish, a task, something wrong, and what put it right.

English, German, French, Spanish, Italian, Portuguese, Chinese and Japanese. What they find is a proposal.
"""

import re


def _of(*forms: str) -> "re.Pattern[str]":
    return re.compile("|".join(f"(?:{form})" for form in forms), re.IGNORECASE)


#: At the beginning of a sentence, before what counts.
NODS = re.compile(
    r"^(?:(?:ok(?:ay)?|yes|yeah|yep|sure|agreed|right|good|great|super|perfect|fine|done|thanks?|nice|well|so|and|alright|"
    r"ja|gut|genau|einverstanden|oui|d'accord|bon|sí|vale|de acuerdo|va bene|certo|sim|好的?|行|对|はい)[\s,.:;!–—，。：-]+)+",
    re.IGNORECASE,
)  # fmt: skip
#: Somebody is not sure, or speaks of what might be.
DOUBT = _of(
    r"\b(?:maybe|perhaps|might|could|probably|i think|i guess|not sure|let me think|if (?:we|you|i)\b|what if|would be|"
    r"at some point|hypothetical)",
    r"\b(?:vielleicht|könnten?|eventuell|wahrscheinlich|wäre|falls)\b",
    r"\b(?:peut-être|pourrait|pourrions|si on|quizás?|tal vez|podríamos|forse|potremmo|talvez)\b",
    r"也许|可能|如果|かもしれ|もし",
)
DECISION = _of(
    r"\b(?:we|i)(?:'ve| have)? (?:decided?|chosen|agreed|settled|opted)\b|\bdecision\s*:|\bit(?:'s| is) decided\b|(?:^|[.!] )(?:so |then )?\S+(?: \S+)? it is[.!]?$",
    r"\blet'?s (?:go with|use|keep|stick (?:with|to)|take|drop|switch to|move to|stay (?:with|on)|not use|adopt|settle on)\b",
    r"\bwe (?:dropped|switched|replaced|moved to|chose|picked)\b",
    r"\bwe(?:'ll| will| now|'re going to| are going to)? (?:use|go with|go for|switch to|keep|drop|return|take|adopt|stay (?:with|on)|stick (?:with|to)|"
    r"stop using|no longer use|don'?t use|do not use|standardi[sz]e on|move to|migrate to|pick|choose)\b",
    r"^(?:from now on|going forward|as of (?:now|today))\b",
    r"\bwir (?:haben (?:uns )?(?:entschieden|beschlossen|festgelegt|dafür)|nehmen|verwenden|nutzen|benutzen|setzen auf|"
    r"bleiben (?:bei|auf)|wechseln (?:zu|auf)|steigen (?:auf|um)|behalten)\b|^entscheidung\s*:|^(?:ab (?:jetzt|sofort|heute)|künftig)\b",
    r"\b(?:on|nous) (?:prend|prenons|utilise|utilisons|garde|gardons|part sur|partons sur|passe à|passons à|reste sur)\b|"
    r"\b(?:avons|a) décidé\b|^décision\s*:|^(?:désormais|à partir de maintenant|dorénavant)\b",
    r"\b(?:hemos|se ha) decidido\b|\bvamos a (?:usar|utilizar|quedarnos)\b|^(?:usamos|usaremos|nos quedamos)\b|^a partir de ahora\b",
    r"\babbiamo deciso\b|^(?:usiamo|useremo|d'ora in poi)\b|\bdecidimos\b|^(?:vamos usar|usaremos|a partir de agora)\b",
    r"(?:我们|咱们)?(?:决定|决定了|改用|选用|采用)|以后(?:都|一律)|(?:ことにし|ことにする|に決め|を採用|今後は)",
)
#: The answer to a question, with its reason: "ok: Apache-2.0, since legal wants it".
CHOICE = _of(
    r"^(?:ok(?:ay)?|yes|then|alright|ja|gut|oui|bon|vale)\b[\s,:]+[^?]{3,200}\b(?:because|since|as|weil|da|parce que|car|"
    r"porque|perché)\b",
)
#: A question that a decision answers, beyond what stands in a session alone ("do we have this elsewhere?").
OPEN = _of(
    r"\b(?:which|what|or|should|shall|how|do we (?:use|want|keep|need))\b|\b(?:welche\w*|was|oder|sollen|sollten|wie)\b|"
    r"\b(?:quel\w*|quoi|ou|doit-on|faut-il|comment)\b|\b(?:qué|cuál|o|deberíamos|cómo|quale|che|come|qual|ou|deve)\b|哪|什么|怎么|还是|どの|何|どう"
)
#: "use the other branch", "let's use this here": an order of the moment, not a rule.
ORDER = _of(
    r"\b(?:for now only|just this once|this time|for this (?:one|test|commit))\b|\blet'?s (?:use|keep|take) (?:this|that|it)\b"
)
PREFERENCE = _of(
    r"\b(?:please )?(?:never|always)\b(?!\s+(?:mind|the same|been|was|were|fails?|happens?))[^?]{4,}|\b(?:must|should|shall) (?:never|always|not|be|use|(?:only )?come)\b|\bshould have (?:no|a|an|at)\b",
    r"\bi(?:'d)? (?:prefer|rather|want you to|like you to|don'?t want you to|hate it when)\b",
    r"\b(?:remember|keep in mind|note|bear in mind)\b(?: for next time| for later)?[\s:,]+(?:that |to )?\S",
    r"^(?:please )?(?:don'?t|do not) (?:ever|use|add|commit|write|touch|push|change)\b",
    r"^(?:bitte )?(?:nie(?:mals)?|immer)\b|\bmerk(?:e)? dir\b|\bich (?:will|möchte|bevorzuge)\b|\bbitte (?:nie|immer|keine?)\b|"
    r"\b(?:dürfen|darf) (?:nie|niemals|nicht|keine?)\b|\bmüssen immer\b",
    r"\bje (?:préfère|veux que|voudrais que)\b|^(?:toujours|jamais|ne jamais)\b|\b(?:souviens-toi|retiens)\b|\bil faut toujours\b",
    r"\b(?:prefiero|quiero que|recuerda que|siempre|nunca)\b|\b(?:preferisco|ricorda che|prefiro|lembra)\b",
    r"请(?:记住|不要|始终|总是|务必)|记住|不要再|必须|覚えて|必ず|絶対に",
)
TASK = _of(
    r"\b(?:to-?do|fixme)\b\s*(?:comment)?\s*[:\s]|\bstill (?:have|has|need|needs|to) (?:to )?\w|\bstill (?:open|missing|left)\b|"
    r"\b(?:is|are|was|were) left (?:to|for)\b|\bremains? to (?:be )?\w|\bon (?:the|our|my) (?:list|backlog)\b",
    r"^(?:next|later|open|remaining|follow-?up)(?: step| task)?s?\s*:",
    r"\bneeds? to be (?:done|fixed|migrated|removed|added|replaced|idempotent|cleaned)\b|\bbefore the (?:launch|release|deadline)\b|"
    r"\b(?:add|put) (?:a|it|this|that) (?:to-?do|on the list)\b|\bwe should (?:also |still )?(?:have|add|fix|remove|migrate|write|document)\b",
    r"\b(?:offen|fehlt|fehlen|bleibt|steht) (?:ist |sind )?noch\b|\bmüss(?:en|t) (?:wir )?noch\b|\bnoch (?:zu tun|offen)\b|\bmuss noch\b|"
    r"\bfehl(?:t|en) noch\b",
    r"\bil reste (?:à|encore)\b|\brestent? à\b|\breste à\b|\b(?:queda|falta)n? (?:por|todavía)\b|\bresta da\b|\bfalta (?:ainda )?\w+ar\b",
    r"待办|还(?:需要|要|没有|得)|稍后再|残っている|後で",
)
#: A sentence that begins so speaks of the one before it.
REFERS = _of(
    r"^(?:it|this|that|these|those|they|he|she|both|das|dies|es|sie|ça|cela|c'est|il|eso|esto|questo|isso|这|那|它|それ|これ)\b"
)
#: Something is wrong; why; and what was done about it.
WRONG = _of(
    r"\b(?:fails?|failed|failing|error|exception|crash(?:es|ed)?|broken|cause|bug|denied|rejected|missing|mismatch|wrong|locked|"
    r"leak|out of memory|times? out|timed out|slow|flaky|not used)\b",
    r"\b\w*(?:Error|Exception)\b",
    r"\b(?:fehler|schlägt fehl|stürzt|ursache|fehlt|abgelehnt|problem)\b|\b(?:erreur|échoue|plante|cause|manque)\b|"
    r"\b(?:falla|fallo|causa|errore|fallisce|erro|falha)\b",
    r"错误|失败|异常|没有释放|耗尽|报错|原因|エラー|失敗|原因",
)
WHY = _of(
    r"[\"“„«'`][^\"”“»'`]{6,}[\"”»'`]|\b(?:cause|because|since|due to|reason|which rejects|has expired|is missing|only in|"
    r"loads|drops?|is parsed|all of them use)\b|, so\b|\b(?:weil|da|fehlt|ursache|eingetragen)\b|\b(?:parce que|car|à cause)\b|porque|perché|"
    r"因为|没有|原因|ため",
)
FIXED = _of(
    r"\b(?:i|we)(?:'ve| have)? (?:also )?(?:changed|fixed|replaced|moved|added|set|made|updated|removed|pinned|switched|wrapped|capped|"
    r"raised|lowered|put|rewrote|reverted|disabled|enabled|split|restarted)\b|\bthe (?:fix|solution) (?:is|was)\b|\bfixed by\b|"
    r"^(?:install|run|set|use|add|build|pass|upgrade|downgrade)\b[^.]{0,40}`",
    r"\bich (?:habe|hab)\b[^.]{3,}\b(?:ge\w+|ergänzt|ersetzt|entfernt|verschoben|korrigiert|behoben)\b|\b(?:dann )?muss\b[^.]{3,}\bwerden\b",
    r"\bj'ai (?:ajouté|remplacé|corrigé|changé|mis|supprimé|déplacé)\b|\bhe (?:añadido|cambiado|corregido|reemplazado)\b|"
    r"\bho (?:aggiunto|cambiato|corretto|sostituito)\b|\b(?:adicionei|corrigi|troquei|mudei)\b",
    r"(?:我|已经|已)[^。]{0,30}(?:改用|改为|修复|修改|添加|替换|删除)|(?:修正|変更|追加|置き換え)(?:し|を)",
)
#: What follows shows that it holds.
HOLDS = _of(
    r"\b(?:works|working|worked|fixed|solved|nice|great|thanks|thank you|perfect|awesome|done)\b|\b(?:geht|läuft|klappt|danke|super)\b|"
    r"\b(?:ça marche|merci|parfait|funciona|gracias|funziona|grazie|obrigado)\b|谢谢|好了|可以了|ありがとう|動きました"
)
_PATH = r"`?\b[\w.-]+(?:/[\w.-]+)+`?|`?\b[\w-]+\.(?:py|ts|tsx|js|jsx|go|rs|java|rb|php|c|h|cpp|cs|sql|toml|ya?ml|json|sh|kt|swift|md)\b`?"
_DOES = (
    r"(?:now )?(?:only )?(?:holds?|contains?|has|reads?|writes?|defines?|implements?|handles?|maps?|keeps?|parses?|lists?|loads?|"
    r"polls?|checks?|builds?|is where|is the|enthält|liest|definiert|prüft|contient|lit|définit|contiene|define|contém)"
)
FILE = re.compile(rf"(?:{_PATH}) {_DOES}\b|\b(?:in|to) (?:{_PATH}),? (?:that|which) {_DOES}\b", re.IGNORECASE)


def _anywhere(*cues: "re.Pattern[str]") -> "re.Pattern[str]":
    """Any of these, also where no sentence begins."""
    return re.compile("|".join(re.sub(r"(?<!\[)\^", "", one.pattern) for one in cues), re.IGNORECASE)


#: A turn without any of these is passed over.
PROMPT = _anywhere(DECISION, CHOICE, PREFERENCE, TASK)
ANSWER = _anywhere(TASK, FIXED, FILE)

#: Commands that say what they are for; the first that fits counts.
PURPOSES = (
    ("runs the tests", _of(r"^(?:\w+=\S+ )*(?:make|just|npm|pnpm|yarn|uv run|cargo|go|mvn|gradle|\./gradlew|tox|nox|bundle exec|mix|dotnet|"
     r"python3? -m|npx)?\s*(?:run )?(?:i?tests?|pytest|vitest|jest|rspec|unittest)\b")),
    ("runs the linter", _of(r"\b(?:lint|ruff|eslint|flake8|mypy|clippy|golangci-lint|shellcheck|pre-commit)\b")),
    ("deploys", _of(r"\bdeploy\b|\bkubectl (?:apply|rollout)\b|\bterraform apply\b|\bhelm upgrade\b")),
    ("builds it", _of(r"^(?:\w+=\S+ )*(?:make|just|npm run|pnpm|yarn|cargo|go|mvn|gradle|\./gradlew|docker(?: compose)?|python3? -m)\s*(?:run )?build\b")),
    ("logs in", _of(r"\b(?:aws sso|gh auth|docker|az|gcloud auth|vault|npm) login\b")),
    ("starts it", _of(r"\bdocker compose (?:\S+ )*up\b|^(?:make|just|npm|pnpm|yarn)(?: run)? (?:dev|start|serve|up)\b|\brunserver\b")),
    ("installs what it needs", _of(r"^(?:pip install -e|uv sync|npm ci|npm install$|pnpm install$|poetry install|bundle install|make setup|just setup)")),
)  # fmt: skip
#: Commands of one moment: of one file, a pipe, a redirection.
PARTIAL = re.compile(r"[|<>;&]|\$\(|\s\S*/\S*test\S*|::|\s-k\s|\stests?/\S+|\stest_\S+\.py|\s[A-Z]\w+$")
