# ruff: noqa: RUF001, SIM905 - lists of words in several languages and scripts
"""What is known of the words of other languages than English: it is read when a query is in one of them.

Most stop words stand in `memctl.text.query`, where they tell the language of a query; Russian tells by its letters.
"""

RU_STOP_WORDS = frozenset(
    """
    а без бы был была были было в вам вас ваш во вот все всё вы где да для до его ее её ей если есть еще ещё ж же за
    зачем и из или им их к как какая какие каким каких какого какое какой каком какую когда кого кем который которая
    которое которого которой котором которую которые которых кто куда ли мне мной мои мой моя мою меня мы на над нам
    нас наш него неё ней нему них но о об он она они оно от откуда перед по под почему при про с сколько со так там
    тебе тебя то того той том ту тут ты у уже чего чем что чтобы чья эта эти это этого этой этом этот эту я
    """.split()
)

#: Common endings, the longest first, compared without accents.
ENDINGS = {
    "fr": (
        "issaient", "ements", "ations", "ateurs", "atrice", "issent", "ation", "ateur", "ement", "erent", "irent",
        "aient", "euses", "antes", "oises", "aises", "ennes", "iques", "euse", "ante", "ants", "ives", "oise", "aise",
        "enne", "ises", "ique", "ifs", "ait", "ent", "ant", "eux", "ive", "ees", "er", "ir", "ee", "es", "if", "it",
        "a", "e", "s",
    ),
    "de": ("ungen", "ung", "lich", "ern", "em", "en", "er", "es", "st", "et", "e", "n", "s", "t"),
    "es": (
        "aciones", "acion", "amente", "iendo", "iones", "ando", "ados", "adas", "idos", "idas", "cion", "ado", "ada",
        "ido", "ida", "ar", "er", "ir", "os", "as", "es", "o", "a", "e", "s",
    ),
    "it": (
        "amente", "azioni", "azione", "amenti", "amento", "ando", "endo", "ioni", "ione", "ato", "ata", "ati", "ate",
        "ito", "ita", "iti", "ite", "uto", "uta", "uti", "ute", "are", "ere", "ire", "o", "a", "e", "i",
    ),
    "nl": ("ingen", "heden", "ing", "heid", "lijk", "eren", "eert", "en", "er", "es", "e", "n", "s", "t", "d"),
    "pt": (
        "amente", "acoes", "acao", "mento", "ando", "endo", "indo", "ados", "adas", "idos", "idas", "coes", "cao",
        "ado", "ada", "ido", "ida", "ar", "er", "ir", "oes", "ao", "am", "em", "os", "as", "es", "o", "a", "e", "s",
    ),
    "ru": (
        "ениями", "ениях", "ением", "иями", "ений", "ение", "ения", "ению", "ость", "ости", "ться", "ется", "ются",
        "ился", "ного", "ному", "ными", "ями", "ами", "иях", "ого", "его", "ому", "ему", "ыми", "ими", "ать", "ять",
        "ить", "еть", "ной", "ный", "ная", "ное", "ные", "ных", "ях", "ах", "ый", "ий", "ой", "ая", "яя", "ое", "ее",
        "ые", "ие", "ую", "юю", "ых", "их", "ов", "ев", "ей", "ам", "ям", "ом", "ем", "ым", "им", "ию", "ия", "ии",
        "ь", "а", "я", "о", "е", "ы", "и", "у", "ю", "й",
    ),
}  # fmt: skip

#: Words that fit any subject, as in `memctl.text.query`.
LIGHT_WORDS = {
    "fr": frozenset(
        """
        afin aller appelle appelé après assez aucun aucune autre autres avant beaucoup besoin bien bon bonne cela
        chaque certain certaine certaines certains ceux dire dit doit doivent donner encore ensemble façon faire
        fait faut fois lequel laquelle lors manière meilleur mettre moins parfois permet peu peut peuvent plusieurs
        possible pouvoir prendre presque quelque quelques rien savoir seulement souvent surtout toujours tous tout
        toute toutes trouve trouver trop utilise utiliser veut vient voir vouloir vraiment
        """.split()
    ),
    "de": frozenset(
        """
        alle allem allen alles andere anderem anderen anderer anderes bekomme bekommen besser bekommt brauche
        brauchen dann etwas finde finden findet ganz gemacht gut halte halten heraus hier hält jede jedem jeden
        jeder jedes lasse lassen lege legen lässt mache machen macht mehr mehrere mehreren möchte nichts nutze
        nutzen sehe sehen sehr selbst schon statt stelle stellen stellt tue tun verwende verwenden viel viele vielen
        weiß wieder wissen wollen zeigen
        """.split()
    ),
    "es": frozenset(
        """
        alguien algún bien cada deja dejar dejo después encontrar hacer hago haciendo haga hecho luego mejor misma
        mismo mucha muchas mucho muchos muy más nada otra otras otro otros pasa poder poner pone pongo primero
        querer quiero saber siempre solo sólo tener toda todas todo todos usa usar uso utilizar utilizo varias
        varios veces ver vez
        """.split()
    ),
    "it": frozenset(
        """
        abbastanza adesso allora altra altre altri altro ancora avere bene bisogna bisogno certa certe certi certo
        cercare deve devo devono dopo dare faccio faccia facendo fatto fare forse invece meglio meno mettere metto
        modo molta molte molti molto ogni ognuno parte poco poi possibile potere prima proprio può qualche qualcosa
        qualcuno quindi riesco riuscire sapere sempre serve servono spesso stessa stesse stessi stesso succede
        trovare trovo tutta tutte tutti tutto usa usare uso utilizzare vedere vedo volere voglio volta volte vorrei
        """.split()
    ),
    "nl": frozenset(
        """
        alle alleen alles andere anders beter bijvoorbeeld daarna doe doen doet eens eerst eigen elk elke enkele
        erachter even gaan gaat gebeurt gebruik gebruiken gebruikt gedaan geef geeft genoeg goed graag heel helemaal
        hier iedere iemand iets kom komen komt krijg krijgen laat laten maak maakt maken meer mee meest nergens niets
        nodig opnieuw precies samen soms staan staat steeds toch vaak veel vind vinden waarom wanneer wel weer weet
        weten werk werken wil willen zelf zet zetten zie zien zoals zodat zonder zorg zorgen
        """.split()
    ),
    "pt": frozenset(
        """
        agora ainda algo alguém algum alguma algumas alguns antes apenas assim bem cada certa certo coisa coisas dar
        deixar depois deve devem devo dizer encontrar então faz fazer faço feito ficar fica ficam gostaria jeito lado
        maneira melhor menos mesma mesmo muita muitas muito muitos nada nenhum nenhuma nunca outra outras outro
        outros parte poder pouco pode podem posso precisa preciso primeiro próprio própria quero querer saber sempre
        ter tenho toda todas todo todos tudo usa usar uso utilizar vezes ver vejo vez vários várias
        """.split()
    ),
    "ru": frozenset(
        """
        бывает быть весь всего всегда всем всех всю где-то делать должен должна должно должны другая другие другого
        другое другой иметь иногда использовать используется каждая каждого каждой каждый лучше много может могут
        можно найти находится надо например нельзя несколько никогда новый нужен нужна нужно нужные нужный один одна
        одно одной одну опять очень потом почти правильно просто раз сам сама сами само самый сделать сейчас снова
        сразу стать такая такие такой также теперь тоже тогда только узнать хотеть хочу часто
        """.split()
    ),
}
