# ruff: noqa: SIM905, ISC004 - lists of words
"""The words by which statements are compared (`memctl.text.contradiction`): without case and accents, each of English,
German and French.
"""


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


#: Words that say nothing about what a statement is about. Without accents, as all words here.
SILENT = _set(
    "a an the this that these those of to in on at by for from with as into onto over under is are was were be been "
    "being after before during between within without because  am has have had having do does did done it "
    "its he she they them their we us our i my me you your one who "
    "which what when where there here and or but so than then too also just now currently only still already again "
    "gets get got give gives given gave let lets keep keeps kept set sets make makes made go goes run runs running "
    "live lives use uses used using pick picks picked choose chose chosen decide decided decision please note all "
    "each every any some must should shall will would can could may might need needs needed have need ask asks "
    "value held hold holds happen happens take takes takes place place stand stands nothing out up more most less "
    "der die das des dem den ein eine einer eines einem einen und oder aber so als wie an am im in ins um zu zum zur "
    "von vom bei beim fur mit nach auf aus ab bis unter uber vor durch je pro per ist sind war waren sein wird werden "
    "wurde hat haben hatte es er sie wir ihr ihre unser unsere unserem unseren sich man da dann nun jetzt noch schon "
    "auch nur sehr mal bitte laut gilt gelten geben gibt dient dienen steht stehen liegt liegen nutzen nutzt "
    "verwenden verwendet kummert kummern dass bevor wenn weil alle jede jeder jedes "
    "le la les l un une des du de d au aux et ou mais a y en dans sur sous par pour avec apres avant chez ce cet cette "
    "ces son sa ses leur leurs notre nos votre vos mon ma mes il elle ils elles on nous vous je qui que qu quand puis "
    "donc est sont etait etaient etre ete ont avons avez avoir faut fait font se s n c j m t plus tout tous toute "
    "toutes chaque aussi encore deja lieu trouve figurent utilise utilisons utilisent dispose partir "
    "entre lorsque si that's it's"
)
NEGATION = _set("no not nor never none cannot nobody ne non nie nicht kein keine keiner keinen keinem keines niemals "
                 "jamais aucun aucune pas nein")  # fmt: skip
#: Behind these a denial is about something said besides.
BESIDES = _set(
    "and und et but aber mais sondern or oder ou only nur auch even except sauf ausser more mehr plus less "
    "weniger moins"
)
#: A denial behind one of these is not of the statement as a whole.
DEPENDS = _set(
    "when if unless whether that which what who where while because wenn falls dass weil welche si quand que qui"
)
#: A statement that begins so has its main clause behind the first comma.
FRONTS = _set(
    "for in on at after before since with from fur im in am um nach vor seit mit bei pour dans apres avant "
    "depuis avec chez chaque le si sur"
)
DOUBT = _set("if would might could maybe perhaps whether vielleicht konnte wurden falls ob peut-etre pourrait si")
PAST = _set("previously formerly earlier once used-to fruher bisher ehemals damals autrefois jadis avant-hier "
             "precedemment")  # fmt: skip
#: Words of one axis, and which end of it they are.
AXES = {
    word: (axis, sign)
    for axis, (plus, minus) in enumerate((
        ("enabled enable enables activated active on aktiviert aktiv eingeschaltet an active activee activees allume",
         "disabled disable disables deactivated inactive off deaktiviert inaktiv ausgeschaltet aus desactive "
         "desactivee eteint"),
        ("required require requires mandatory obligatory must compulsory pflicht erforderlich erfordern erfordert "
         "notig notwendig muss mussen obligatoire obligatoires faut requis requise exige",
         "optional voluntary freiwillig facultatif facultative facultatifs"),
        ("public offentlich offentliche offentlichen publique publics", "private internal privat privé prive privee "
         "intern interne confidential vertraulich"),
        ("allowed permitted allow allows erlaubt gestattet permis autorise autorisee",
         "forbidden prohibited banned forbids verboten untersagt interdit interdite"),
        ("always immer toujours", "never nie niemals jamais"),
        ("open opened offen geoffnet ouvert ouverte", "closed shut geschlossen zu ferme fermee"),
        ("synchronous sync synchron synchrone", "asynchronous async asynchron asynchrone"),
        ("supported unterstutzt supporte", "unsupported"),
        ("encrypted verschlusselt chiffre chiffree", "unencrypted plaintext unverschlusselt"),
        ("increase increases rises steigt augmente", "decrease decreases falls sinkt diminue baisse"),
        ("first zuerst", "last zuletzt"),
        ("manual manually manuell manuel", "automatic automatically automatisch automatique automatiquement"),
    ))
    for words, sign in ((plus, 1), (minus, -1))
    for word in words.split()
}  # fmt: skip
#: Of these words the one end is also an ordinary word: they count where the statement is about nothing else.
WEAK = _set("on off an aus zu must muss mussen faut always immer toujours never nie niemals jamais first last zuerst "
             "zuletzt allow allows active")  # fmt: skip
NUMBERS = {
    word: number
    for number, words in {
        0: "zero null", 1: "eins", 2: "two twice zwei zweimal deux", 3: "three thrice drei dreimal trois",
        4: "four vier quatre", 5: "five funf cinq", 6: "six sechs", 7: "seven sieben sept", 8: "eight acht huit",
        9: "nine neun neuf", 10: "ten zehn dix", 11: "eleven elf onze", 12: "twelve zwolf douze dozen", 15: "fifteen "
        "funfzehn quinze", 20: "twenty zwanzig vingt", 30: "thirty dreissig trente", 40: "forty vierzig quarante",
        50: "fifty funfzig cinquante", 60: "sixty sechzig soixante", 90: "ninety neunzig", 100: "hundred hundert cent",
        1000: "thousand tausend mille",
    }.items()
    for word in words.split()
}  # fmt: skip
DAYS = {
    word: f"day {number}"
    for number, words in enumerate((
        "monday montag lundi", "tuesday dienstag mardi", "wednesday mittwoch mercredi", "thursday donnerstag jeudi",
        "friday freitag vendredi", "saturday samstag sonnabend samedi", "sunday sonntag dimanche",
    ))
    for word in words.split()
} | dict.fromkeys("daily taglich quotidien".split(), "every day") | dict.fromkeys(
    "weekly wochentlich hebdomadaire".split(), "every week"
) | dict.fromkeys("monthly monatlich mensuel".split(), "every month") | dict.fromkeys(
    "hourly stundlich".split(), "every hour"
) | dict.fromkeys("nightly".split(), "every night")  # fmt: skip
MONTHS = {
    word: number
    for number, words in enumerate((
        "january jan januar janvier", "february feb februar fevrier", "march mar marz mars", "april apr avril",
        "may mai", "june jun juni juin", "july jul juli juillet", "august aug aout", "september sep sept septembre",
        "october oct oktober octobre", "november nov novembre", "december dec dezember decembre",
    ), 1)
    for word in words.split()
}  # fmt: skip
#: A number with one of these behind it: what it measures, and how many of the smallest unit.
UNITS = {
    word: unit
    for unit, words in {
        ("time", 1): "s sec second seconds sekunde sekunden seconde secondes",
        ("time", 60): "min minute minutes minuten",
        ("time", 3600): "h hour hours stunde stunden heure heures",
        ("time", 86_400): "day days tag tage tagen jour jours",
        ("time", 604_800): "week weeks woche wochen semaine semaines",
        ("size", 1): "kb ko kib", ("size", 1024): "mb mo mib", ("size", 1_048_576): "gb go gib",
        ("size", 1_073_741_824): "tb to tib",
    }.items()
    for word in words.split()
}  # fmt: skip
#: Words that ask for one value, each family of which is one word here: `prefers dark`, `written in French`.
FAMILIES = {
    word: f"={words.split()[0]}"
    for words in (
        "prefer prefers preferred preference favourite favorite bevorzugt bevorzuge bevorzugen prefere preferons "
        "preferee",
        "default defaults standard standardmassig defaut",
        "indent indented indents indentation einruckung eingeruckt indente",
        "owner own owns owned lead leads led responsible maintainer maintains manages manager zustandig verantwortlich "
        "kummert leitet leiten leitung betreut responsable dirige gere",
        "store stores stored database db storage speichern gespeichert speichert ablage abgelegt datenbank stocke "
        "stocker stockons stockees stockage stockes base",
        "language written write writes sprache schreiben geschrieben langue ecrit ecrite redige",
        "located based location office-in sitz standort situe situee base-a",
        "named called name heisst namens nomme nommee",
        "system os lauft laufen betriebssystem fonctionne",
        "expire expires expired expiry timeout over end ends ended ending abgelaufen ablauft lauft-aus "
        "endet enden ende "
        "vertragsende fin finit termine expirent terminent",
        "start starts started begin begins opens startet beginnt start-um demarre commence depart debut "
        "ouvre ouverture "
        "offnet offnung ouverte offen",
        "limit limits maximum max most hochstens erlaubt maximal accepte limite permet",
        "retry retries retried try tries attempt attempts versucht versuche versuchen versuch reessaie "
        "essais tentatives",
        "version release",
        "timezone zeitzone fuseau",
        "format",
        "theme thema",
        "colour color farbe couleur",
        "budget cost costs price preis kosten kostet prix coute coutent",
        "retention kept aufbewahrt conserve",
    )
    for word in words.split()
}  # fmt: skip
#: What has one of these may have several values at once.
SEVERAL = _set(
    "support supports includes include contains contain offers offer provides provide reads read accepts logs "
    "handles handle knows likes like depends imports exports such example unterstutzt enthalt bietet kennt mag "
    "contient propose gere connait aime visited met bought added besucht called sees"
)
#: A name or word that stands behind one of these is what is said, not what it is said of.
INTRODUCES = _set(
    "in by with on at is are be to as via into using use uses used pick picked choose chose prefer prefers under until "
    "ask son auf unter mit ist sind durch bis von in am im um nutzen verwenden nach lauft dient sprechen "
    "est sont par dans avec sur a utilise utilisons utilisent en le prefere jusque"
)
#: A name that stands first is what is said where one of these follows.
ARTICLES = _set("the a an der die das den dem ein eine einem le la les un une frau herr mme m mr mrs ms dr")
COUNTED = _set("times mal fois x")
ROLES = _set("own owns leads maintains manages runs reviews is for kummert leitet betreut ist verantwortet est dirige "
              "gere maintient werden dient braucht de")  # fmt: skip
GERMAN = _set("der die das ist und ein eine fur im nicht auf mit am um unsere unser werden wir von es nach den dem "
               "bei zu ab gilt sind hat des")  # fmt: skip
