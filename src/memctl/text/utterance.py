# ruff: noqa: E501, RUF001, SIM905 - lists of words in several languages and scripts
"""What kind of utterance a text is, told by its form: talk that says nothing beyond the conversation it stands in.

A memory is not asked for "ok, continue", and "I'm sorry, I can't help with that" is not worth keeping. Words decide, in
the languages that they are listed for; a text in another language is taken for a question, or for an answer.
"""

from collections.abc import Iterable

from memctl.text.clean import is_blank

_AROUND = ".,;:!?\"'`*_()[]{}<>«»“”‘’…¡¿-–—、。！？"

#: Yes, no, thanks, and going on: alone or together they say nothing.
_NODS = frozenset(
    """
    ok okay okey k yes yep yeah yup ya no nope nah sure thanks thank thx ty please pls great good perfect nice cool done
    right correct fine exactly agreed hm hmm hm hello hi hey well oh ah alright absolutely lgtm welcome bye sorry wow
    continue proceed next again stop wait go ahead resume retry undo revert repeat skip more now then
    oui non merci voilà voila d'accord accord parfait super continue continuez vas-y allez-y bien stp svp encore suivant
    bonjour salut ouais génial entendu compris bon bonne attends attendez seconde s'il plaît
    ja nein doch danke bitte gut genau prima super weiter mach weitermachen nochmal stopp fertig klar passt hallo nun jetzt
    geht's gehts warte kurz klingt sieht einverstanden verstanden richtig stimmt schön toll ach
    nee oké goed mooi bedankt dank dankjewel graag ga verder vooruit wacht even keer opnieuw klopt juist hoi klaar
    natuurlijk akkoord
    sí si gracias vale bien perfecto sigue continúa continua adelante otra vez hola claro listo
    venga bueno genial estupendo exacto correcto espera momento favor acuerdo entendido nuevo
    sim não nao obrigado obrigada certo continue segue prossiga perfeito olá
    tá beleza ótimo valeu vai vamos espera pouco favor novo exato bom bem continuar seguir pode
    sì grazie bene perfetto continua avanti ancora ciao certo
    va d'accordo accordo ottimo esatto giusto prego dai procedi andiamo aspetta attimo momento favore piacere nuovo basta
    да нет спасибо хорошо ок ладно продолжай продолжайте дальше отлично стоп привет
    вперёд вперед давай поехали подожди подождите минутку секунду пожалуйста раз снова верно правильно понятно понял
    ясно супер класс устраивает
    """.split()
)
#: Words that hold a sentence together or point at what was just said or done.
_POINTING = frozenset(
    """
    a an the this that these those it its it's that's there here same other one ones both all everything something thing
    things rest way and or but so if as at by for from in into of on to up out with without about also too just only still
    even not don't doesn't didn't won't can't isn't wasn't aren't hasn't shouldn't do does did doing done is are was were be been am i i'd i'm i'll we we're let's let us you your you're
    me my mine he she they them what whats what's why how when where which who whether can could would should will shall
    may might must have has had need needs want like actually maybe instead really first second third last previous new
    anything nothing anyone else back enough kind lot old before after above below once before's than very much any some each every than between
    le la les un une des ce cet cette ces ça ca cela il elle on je tu vous nous me te moi toi le lui y en et ou mais si de
    du au aux à dans sur pour par avec sans pas ne plus aussi encore tout toute tous autre même chose suite est sont fait
    fais faire peux peut dois que qui quoi pourquoi comment quel quelle
    der die das den dem des ein eine einen einem einer dies diese dieses es er sie ich du wir ihr mir mich dir dich uns und
    oder aber wenn in im an am auf für von vom mit ohne zu zum zur bei aus nach auch noch nur mal so nicht kein keine alles
    anderen andere gleiche selbe bitte ist sind war hat habe hast kannst kann soll sollst was warum wie wo wer welche
    el la los las un una unos eso esto esta este esa ese lo le me te se yo tú usted y o pero si de del al en con sin por
    para no más mas también todo todos otro otra mismo misma es son está hace haz hacer puedes puede qué que cómo por qué
    o os as um uma isso isto esse essa este esta me te se eu você e ou mas se de do da dos das no na em com sem por para
    não mais também tudo outro outra mesmo mesma é são está faz fazer pode que como
    il lo gli i un uno una questo questa quello quella e o ma se di del della a al in nel con senza per da non più anche
    tutto altro stesso stessa è sono fa fai fare puoi che come perché
    это этот эта эти то тот та и или но если в на с со для по из от к у не ещё еще тоже все всё же я ты вы мы меня мне тебе
    что как почему так там тут
    a as ont était c'était maintenant pareil ici là comme celui-ci celle-ci toujours rien deux penses pense va
    dasselbe dieselbe derselbe jetzt dann immer daran davon sicher meinst denkst letzte letzten nächste nächsten alle
    raus weg kurz warst wieder
    ahora luego aquí allí así último última siguiente anterior fue ha has he hemos estaba ya mí opinas crees parece
    seguro segura queda estás estas algo nada
    ti ci si chi cosa cos'è erano stai sto hai hanno mio tuo suo dalla dei delle degli nel nella sul
    sulla allo alla all ultima ultimo prossimo prossima adesso ora altra altri altre tutte tutti ogni qui lì là tu
    noi voi lui lei ne pure così allora sempre pensi sembra vuoi può posso sicuro sicura niente
    mim meu minha seu sua dele dela nos numa ao à às pelo pela pra aqui lá agora depois ainda então tem dá
    vou foi fez fiz feito assim aquele aquela aquilo último última próximo próxima vez vezes acha acho ele ela nós certeza
    het een dit deze ik je jij we wij ze zij hij mij mijn jouw zijn waren heb hebt heeft hebben wordt maar als zonder
    voor naar op aan uit bij te er nog wel niet geen alleen iets niets ander andere hetzelfde zelfde nu toch weer wat
    waarom zoals kun kan kunt wil moet zal vind vindt denk denkt eens daar volgende vorige laatste eerste doe doet doen
    gedaan zeker weet steeds
    encima debajo arriba abajo dos tres mejor tampoco quizá entonces solo sólo toda demás
    über darüber davor danach lieber zwei drei beiden schon bist seid gerade vielleicht doppelt oben unten bis dabei
    dessus dessous là-dessus plutôt déjà deux trois peut-être seulement haut bas puis alors
    sopra sotto meglio già due tre forse invece quindi prima dopo quello
    acima abaixo embaixo dois duas três talvez apenas só primeiro antes depois já
    boven onder daarna eerst liever al twee drie misschien beide af ben bent dus net gewoon
    над под перед после лучше два две три уже может только сначала пожалуй всю этой
    а бы было был была сейчас теперь тогда потом другой другим другое другую предыдущий следующий последний самое том
    этом этого этой этому нему неё ним думаешь считаешь уверен уверена можешь ли опять равно
    """.split()
)
#: What one tells an agent to do, and the things of a session that it does it to.
_SESSION = frozenset(
    """
    fix fixed run rerun rerunning running runs ran add adding make making made commit committed push pushed pull merge
    rebase test tests testing tested check checking checked show showing write writing wrote rename remove removed removing
    delete deleted refactor explain update updated use using try trying tried look looking see tell give keep change changed
    changes changing move open print list format lint build start finish clean simplify shorten summarize summarise think
    forget remember read reading work works working worked fail fails failing failed failure pass passes passing passed
    broken break breaks red green happen happened asked ask mean meant say said
    code file files line lines function functions method class comment comments change bug bugs issue error errors warning
    warnings output log logs result results name names diff branch pr ci plan step steps part task todo todos option
    behaviour behavior version approach idea suggestion answer question problem script command patch draft summary message
    typo typos shorter longer smaller bigger better faster simpler cleaner short long small locally local today quickly
    edit variable docstring type lint linter formatter import suite build job whole two three half apply stash squash tag
    release ship proceed sound seem catch job mind move touch forget forgot split extract inline swap reorder indent tab
    space blank header footer example snippet module package dependency folder directory path screenshot page
    compile deploy install upgrade downgrade debug trace reproduce investigate verify confirm review approve ignore
    wrong weird strange odd slow fast ready missing unused duplicate empty unrelated different specific
    stage unstage checkout branch reset amend reword push fetch clone diff status history hook pipeline
    corrige corriger lance lancer relance teste tester montre ajoute ajouter enlève supprime change écris refais test tests
    fichier fichiers erreur erreurs code fonction ligne étape commentaire
    behebe beheb repariere lass laufen teste zeig zeige füge hinzu lösche entferne ändere schreib schreibe mache test tests
    datei dateien fehler code funktion zeile schritt kommentar läuft geht
    arregla ejecuta corre prueba muestra agrega añade quita borra cambia escribe pruebas archivo archivos error errores
    código función línea paso comentario
    annule pousse passe passer marche regardez revois ajoute inutile inutiles commente commite branche variables
    echoue diff diffs reviens refaire
    zeig zeigt prüf prüfe prüfen schau guck nimm schieb committe öffne branch variablen weg
    falla fallan falló fallado fallando fallar explica explícame mira míralo mírala sube súbelo borra bórralo bórrala quítalo
    déjalo deja dejar guarda guárdalo nombre nombres sobra sobran haga pasos rama ramas diferencias resume
    lancia mostra mostrami fammi vedere vediamo cancella cancellalo togli toglilo lascia lascialo passa procedere spiega
    spiegami annulla controlla guarda fallo passi righe commit ramo branch
    apaga apague apagar olha olhada olhar falha falhando falham testes mudanças explica explique resumir resuma
    deixa deixe passos linhas roda nome renomeia
    draai draaien toon toont haal haalt voeg kijk schrijf regel regels fout fouten stap stappen bestand bestanden
    functie functies variabele variabelen opmerking opmerkingen faal faalt falende mislukt werkt werken terug uitvoer voer
    wijzigingen resultaat
    retire retirer montre montrer mets court courte propre copie
    quita quitar quítale muévelo muévela corto corta más largo breve prueba probemos copia copiar saca pon pongo
    apri aprilo aprire prova provare provaci metti sposta spostalo corto corta semplice pulisci
    abre abra abrir sobe suba sobe coloca põe bota move mova move copia copie termina revê limpa
    bouw snap starte beter herstart server teste zet probier probieren termine fini finie finis terminado listo hecho
    significa significan bedeutet betekent veut dire signifie finito terminou toque toca toques mexe mexa toccare tocca
    touche touchez fass anfass blijf blijven leg redémarre redémarrer servidor serveur riavvia reinicia neu starten
    zeige zeilen schritten schritte stappen étapes
    corrige corrija roda rode executa teste mostra adiciona remove muda escreve arquivo arquivos erro erros código função
    correggi esegui prova mostra aggiungi togli cambia scrivi file errore errori codice funzione riga passo
    исправь запусти проверь покажи добавь удали измени напиши тест тесты файл файлы ошибка ошибку ошибки код
    """.split()
)
#: The same in languages whose verbs and nouns have many forms: what they begin with; no English word does.
_BEGINNINGS = tuple(
    """
    corrig relanc affich enlèv enlev supprim renomm chang modifi expliqu résum annul rétabl laiss vérif échou échec
    fonctionn fichier étape recompil ouvr compren compris ajout écri simplifi raccourc nettoy format pouss exécut mettr
    remet rempla débog débug meilleur cherch dépla commenc reparier beheb lösch entfern benenn umbenenn änder erklär
    zusammenfass zusammengefass rückgängig fehlschlag schläg fehlgeschlag funktion kommentar ergebnis überflüssig
    versuch öffne schließ kürzer länger einfacher vereinfach aufräum versteh verstand überprüf ausführ ausgab debug
    zeile schreib umschreib ersetz kopier verschieb kompilier übersetz neustart beispiel bessere sauber arregl correg
    ejecut prueb muestr muéstr enseñ enséñ elimin añad agreg cambi renombr explica explico explíc deshaz deshac deshag función
    archivo resultad ábre abrir entiend entend ponl hazl hazme vuelv compil depur limpi escrib reescrib reemplaz copia
    empez empiez acab actualiz reinici métod opcion opción versión salida mejor sencill rilanc aggiung rinomin riassum
    ripristin ricontroll fallisc fallit funzion inutil ricompil aprire togli mostra spieg capisc rimuov esegu riprov
    pubblic scriv riscriv sostitu spost inizi aggiorn riavvi metod opzion esemp meglio consert apag renome desfa desfe
    falh funcion variáv desnecess mudan alteraç escrev reescrev atualiz opç versão saída melhor curto curta deix
    adicion remov resum combinad repareer verwijder hernoem samenvat ongedaan wijzig overbodig resultat resultaat
    controleer probeer begrijp weghal schrijf herschrijf vervang kopieer verplaats korter langer eenvoudig vereenvoudig
    opschon herstart optie versie uitvoer voorbeeld netter исправ почин запус прогон покаж добав удал измен переимен
    напиш убер убир убра лишн отмен верн закоммит запуш пуш провер посмотр глян объясн остав сдела пада упал работа
    слома файл переменн функц коммент строк ветк ветв шаг следующ результ ошибк тест дифф переход перейд итог коротк
    короч подвед откро попроб поня пони собер собра сборк перезапус переписа перепиш замен скопир перемест начн начат
    законч обнов метод опци верси вывод отлад пример лучш прощ упрост очист тип импорт вариант договор impresió movê
    probar próbal limpa tenta colocar coloque substitui começ exemplo revisa copier copiér inténta intenta pulisc
    capito muév essaye essaie
    значит трога сервер завис виснет
    """.split()
)
#: What begins a question about the world; with it, things of a session may be what is asked about.
_ASKING = frozenset(
    """
    how where which who whose what when why comment où quel quelle quels quelles qui pourquoi quand wie wo welche welcher
    welches welchen wer warum wann cómo dónde cuál cuáles quién qué cuándo como onde qual quem quando dove quale chi perché
    как где какой какая какие кто почему когда hoe waar welke welk wanneer waarom hoeveel qu'est qu'est-ce quando quanto quanta quais
    cuánto cuánta чем сколько куда combien wieviel
    """.split()
)
#: Procedures that people write down how to do, and what is said of one that was done just now.
_PROCEDURES = frozenset("deploy install uninstall upgrade downgrade release publish build compile ship".split())
_STATES = frozenset(
    """
    fail fails failing failed failure pass passes passing passed broken break breaks red green work works working worked
    happen happened fixed wrong weird strange odd slow fast ready missing error errors warning warnings output log logs
    result results
    """.split()
)
#: What is asked of what was done just now, where nothing says of what: "¿por qué ha fallado?"
_FAILED = tuple("fall falh échou fehlgeschl schläg mislukt faal упал пада слома".split())
#: What may be described instead of named: "class that formats log records".
_THINGS = frozenset("class function method module command option setting script file".split())
_DESCRIBING = frozenset(("that", "which", "where", "whose", "for"))
#: Whom a session's talk speaks to and of: "why did you remove it" asks nobody else.
_YOU = frozenset(
    "you your you're it its it's that this these those tu te toi ça ca cela du dir dich es das dies tú te eso esto você "
    "isso isto questo quello ты тебя это ese esa este esta esos esas dieser diese dieses cette cet ce quel quella questa "
    "esse essa deze die dit dat этот эта эти".split()
)
#: The same where words are not set apart: what is left of a text without these says nothing if it is nothing.
_UNSPACED = (
    "没问题", "好的", "继续", "可以", "谢谢", "是的", "不是", "不对", "对的", "再来一次", "再试一次", "请", "你", "测试", "修复",
    "修改", "运行", "提交", "代码", "错误", "这个", "那个", "一下", "失败的", "失败", "它", "把", "了", "吧", "的", "好", "对", "嗯",
    "行", "はい", "いいえ", "続けてください", "続けて", "続き", "ありがとうございます", "ありがとう", "お願いします", "お願い",
    "もう一度", "テスト", "エラー", "コード", "直して", "修正して", "実行して", "ください", "それ", "これ", "を", "は", "が", "の",
    "네", "예", "아니요", "계속해", "계속", "감사합니다", "고마워", "다시", "테스트", "오류", "고쳐줘", "실행해줘", "해줘", "좋아요",
)  # fmt: skip
#: And what a prompt speaks of beside that: things of a session, what is done to them.
_UNSPACED_SESSION = """
    很好 多谢 不行 再来 重新 开始 等一下 等等 停 我 我们 他 修正 执行 跑 推送 推到 合并 撤销 回滚 还原 恢复 保持 原样
    报错 文件 函数 变量 名字 名称 注释 分支 结果 差异 输出 日志 步骤 改动 更改 操作 这些 那些 这里 那里 这样 那样 这么
    那么 另一个 其他 别的 刚才 现在 然后 接着 下一步 下一个 上一个 一遍 一次 一点 没通过 通过 出错 为什么 怎么看
    怎么样 解释 说明 总结 简单 看看 看一下 显示 给 让 删掉 删除 去掉 加上 添加 改成 改 换成 重命名 多余的 多余 觉得
    认为 确定 做 就 也 还是 还 再 能 来 到 上 下 进行 完成 吗 呢 啊 个 不 没 是 什么 都 同样 一样 看 起 うん いや ええ
    そう よし じゃあ では 続けよう 続行 進めて 進んで 進めよう 次の 次 完璧 いいね いい 大丈夫 了解 わかった 本当に
    ちょっと 待って もう一回 もう一つ やり直して やって して した しよう する くれる くれ ほしい ファイル 変数 関数
    名前 コメント ブランチ コミット プッシュ マージ 差分 結果 変更 実行 追加 削除 説明 要約 確認 表示 戻して 消して
    変えて 見せて 見て 書いて 動かして 教えて まとめて 短く 簡単に 余計な 余分な 元に 前の 今の まま 同じこと 同じ
    ステップ ステージ 失敗している 失敗した 失敗する 失敗 動かない 動かなかった まだ また なぜ どうして どう 思う
    思います 何を 何 その この あの あれ ここ そこ ほう おいて いる いて ない じゃ だめ から ので にも でも けど よ ね
    な か だ です ます に で と へ も
    调试 一点 一些 更 短 长 类型 类 方法 明白 懂 意思 选项 参数 试试 试一下 试 编译 构建 打包 打开 关闭 关掉 那一行 这一行 一行 一段 用 换 写 重写 改写 替换 复制 移动 移到
    简化 整理 清理 格式化 格式 重启 更新 检查 确认 优化 导入 循环 条件 模块 文件夹 目录 命令 脚本 终端 控制台 例子 版本 方案 想法 建议 问题 不错 就行 然后 还有 先 太 慢 快
    型 付けて 付ける 別の オプション 引数 パラメータ 試して 試す 開いて 閉じて もっと 長く 早く 遅い デバッグ 出力 ログ ビルド コンパイル クラス メソッド 行 意味 こと わからない
    分からない わかりません 言って 置き換えて コピー 移動 更新 再起動 例 バージョン 案 提案 問題 スクリプト コマンド フォルダ 入れて 外して 取って 使って 作って 分けて 整理 うまく きれいに
    しまって みて みよう 二つ 三つ 分けて 触らないで 触って 行こう 終わった サーバー 上に 下に 先に
    上面 下面 前面 后面 最好 两 三 步 分成 分 动 别 服务器 端口 弄 弄完 完 加个
"""
#: What is written together with the word after it, and with the word before it.
_ELIDED = frozenset("l d c j n s t m qu dell all nell sull dall un quest com cos".split())
_CLITICS = frozenset("moi toi le la les lui leur nous vous en y tu il elle on ce".split())
#: What forms of English words end in, and how much of the word is left at least.
_ENDINGS = ("ing", "ed", "es", "s", "er")
_STEM = 3
#: An utterance of at most this many words with one thing named in it names it for the conversation's sake.
_SHORT = 4
#: A longer text says more than that, whatever its words.
_CHATTER_WORDS = 25


def is_chatter(text: str) -> bool:
    """Whether a prompt is talk of a session that no memory can answer: "ok", "yes do that", "fix the failing test"."""
    words = _words(text)
    if not words:
        return True
    if len(words) > _CHATTER_WORDS:
        return False
    plain = [word for word in words if word not in _NODS and word not in _POINTING]
    left = [word for word in plain if not _of_session(word)]
    asks = bool(_ASKING.intersection(words[:2]))
    if left and _says_nothing(left, _UNSPACED_SESSION.split()):
        return True
    if left and words[0] in _THINGS and _DESCRIBING.intersection(words[1:2]):
        return False
    if len(left) == 1 and not asks and words[0] != left[0] and left[0].isalpha():
        return len(plain) > 1 or len(words) <= _SHORT  # "rename the variable": an order, and one thing at hand
    if left:
        return False
    return not (plain and asks) or bool(_YOU.intersection(words)) or all(word.startswith(_FAILED) for word in plain)


def order_words(text: str) -> list[str]:
    """What an order names that begins with a procedure, and what that is done to: "deploy to staging"; [] for others.

    It asks how, where somebody wrote that down. What is at hand, or was done just now, is not asked for: "deploy it".
    """
    words = [word for word in _words(text) if word not in _NODS]
    plain = [word for word in words if word not in _POINTING]
    if len(plain) < 2 or len(words) > _CHATTER_WORDS or words[0] not in _PROCEDURES:
        return []
    return [] if _YOU.intersection(words) or _STATES.intersection(plain) else plain


def _words(text: str) -> list[str]:
    words = (raw.strip(_AROUND) for raw in text.casefold().replace("’", "'").split())
    return [_apart(word) for word in words if word]


def _apart(word: str) -> str:
    """A word without what French and Italian write together with it: l'ultima, montre-moi."""
    if word in _NODS or word in _POINTING or word in _ASKING:
        return word
    if "'" in word:
        head, _, tail = word.partition("'")
        return tail if tail and head in _ELIDED else word
    if "-" in word:
        head, _, tail = word.rpartition("-")
        return head if head and tail in _CLITICS else word
    return word


def _of_session(word: str) -> bool:
    """Whether a word, or what it is a form of, belongs to talk of a session."""
    if word in _SESSION or word.startswith(_BEGINNINGS):
        return True
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _STEM:
            stem = word[: -len(ending)]
            stems = (stem, f"{stem}e", stem[:-1] if stem[-1] == stem[-2] else stem)  # fixing, making, running
            if any(form in _SESSION or form in _NODS for form in stems):
                return True
    return False


def _says_nothing(words: list[str], more: Iterable[str] = ()) -> bool:
    """Whether words of a script without blanks are made of such talk alone, and of `more`."""
    text = "".join(words)
    if text.isascii() or any(char.isascii() and char.isalnum() for char in text):
        return False
    for piece in sorted((*more, *_UNSPACED), key=len, reverse=True):
        text = text.replace(piece, "")
    return not any(char.isalnum() for char in text)


# --- answers --------------------------------------------------------------------------------------------------------

#: How a model declines, at the beginning of what it says.
_REFUSALS = (
    "i'm sorry", "i am sorry", "sorry, ", "i can't ", "i cannot ", "i can not ", "i'm unable", "i am unable",
    "i'm not able", "i am not able", "i don't have access", "i do not have access", "i don't have enough",
    "i do not have enough", "i don't have any information", "i don't know", "i do not know", "as an ai",
    "i apologize", "i apologise", "unfortunately, i", "there is no question", "no question was", "i won't ",
    "the context does not", "the provided context does not", "the memory does not say",
    "je suis désolé", "désolé", "je ne peux pas", "je ne suis pas en mesure", "je ne sais pas",
    "es tut mir leid", "tut mir leid", "entschuldigung", "ich kann nicht", "ich kann dir dabei nicht",
    "ich kann ihnen dabei nicht", "ich weiß nicht", "leider kann ich", "lo siento", "no puedo", "no sé",
    "desculpe", "sinto muito", "não posso", "não sei", "mi dispiace", "non posso", "non so ",
    "извините", "к сожалению", "я не могу", "я не знаю", "对不起", "抱歉", "我无法", "我不能", "很抱歉",
    "申し訳", "すみません", "죄송", "미안",
)  # fmt: skip
#: And what such an answer goes on to say nothing of; a longer one may say something beside its apology.
_REFUSAL_CHARS = 400
_REFUSAL_SENTENCES = 3


def is_empty_talk(text: str) -> bool:
    """Whether an answer says nothing that is worth keeping: a refusal, an apology, "ok"."""
    if is_blank(text):
        return True
    said = " ".join(text.casefold().replace("’", "'").split()).lstrip(_AROUND + " ")
    if len(said) > _REFUSAL_CHARS or said.count(". ") >= _REFUSAL_SENTENCES:
        return False
    if said.startswith(_REFUSALS):
        return True
    words = _words(said)
    nods = [word for word in words if word in _NODS]
    if not words or (nods and all(word in _NODS or word in _POINTING for word in words)):
        return True
    return _says_nothing(words)
