# ruff: noqa: E501, RUF005 - sentences
"""How well contradictions are found: 500 pairs of statements in three languages, written before the detector was.

    python -m benchmarks.conflicts [--held] [--misses]

Each scene below is one thing that is said in several styles: notes, chat, decisions, `key: value`. A pair of one scene is
a contradiction (same subject, other value), a refinement (same value, more said) or about something else (another
subject, or another side of the same one). Scenes whose hash falls into one third are held aside: without --held they are
neither counted nor shown, and with it only their figures are.
"""

import argparse
import hashlib
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from memctl.text import contradiction

CONTRADICTION, REFINEMENT, OTHER = "contradiction", "refinement", "other"
PAIRS = 500


class Scene(NamedTuple):
    """What is said of {s} with the value {v}, in several styles; `more` says the same and more, `aside` something else."""

    lang: str
    said: tuple[str, ...]
    subjects: tuple[str, ...]
    values: tuple[str, ...]
    more: tuple[str, ...]
    aside: tuple[str, ...]


class Pair(NamedTuple):
    """Two statements, and what they are to each other."""

    lang: str
    kind: str
    a: str
    b: str
    held: bool


S = Scene
SCENES = (
    S("en", ("The {s} retries a failed call {v} times.", "We let the {s} retry failed calls {v} times.",
             "{s}: a failed call is retried {v} times", "Decided: failed calls get {v} retries in the {s}."),
      ("payment gateway", "mail relay", "search proxy"), ("three", "5", "two", "eight"),
      ("The {s} retries a failed call {v} times, with a growing pause between them.",
       "After a timeout the {s} retries a failed call {v} times before it gives up."),
      ("The {s} logs each failed call to stderr.",)),
    S("en", ("Deploys of the {s} happen on {v}.", "We deploy the {s} on {v}.", "{s} deploy day: {v}",
             "The {s} gets deployed every week on {v}."),
      ("storefront", "billing service", "mobile backend"), ("Friday", "Tuesday", "Mondays", "Thursday"),
      ("We deploy the {s} on {v}, once the smoke tests are green.", "Deploys of the {s} happen on {v} before lunch."),
      ("The {s} is deployed by the release bot.",)),
    S("en", ("{v} owns the {s}.", "The {s} is owned by {v}.", "For questions about the {s}, ask {v}: she owns it.",
             "Owner of the {s}: {v}"),
      ("importer", "design system", "onboarding flow"), ("Alice", "Priya", "Carol", "Fatima"),
      ("The {s} is owned by {v}, who wrote most of it.", "{v} owns the {s} and reviews each change to it."),
      ("The {s} has no open bugs.",)),
    S("en", ("The {s} listens on port {v}.", "{s} port = {v}", "Our {s} is reachable at port {v}.",
             "I moved nothing: the {s} still listens on port {v}."),
      ("metrics endpoint", "admin console", "chat server"), ("8080", "9443", "3000", "7001"),
      ("The {s} listens on port {v} and on no other.", "The {s} listens on port {v}, behind the load balancer."),
      ("The {s} speaks TLS 1.3.",)),
    S("en", ("The {s} stores its data in {v}.", "Data of the {s} lives in {v}.", "We picked {v} as the database of the {s}.",
             "{s} database: {v}"),
      ("order service", "wiki", "ticket tracker"), ("PostgreSQL", "MySQL", "SQLite", "MongoDB"),
      ("The {s} stores its data in {v}, version 15.", "Data of the {s} lives in {v} on a machine of its own."),
      ("The {s} is written in Go.",)),
    S("en", ("Sessions in the {s} expire after {v} minutes.", "The {s} ends a session after {v} minutes.",
             "{s}: session timeout {v} minutes", "After {v} minutes a session of the {s} is over."),
      ("customer portal", "back office", "partner site"), ("30", "15", "ninety", "45"),
      ("Sessions in the {s} expire after {v} minutes without a click.",
       "Sessions in the {s} expire after {v} minutes; the user is sent to the login page."),
      ("Sessions in the {s} are kept in Redis.",)),
    S("en", ("{v} for indentation in the {s}.", "In the {s} we indent with {v}.", "The {s} is indented with {v}.",
             "Please indent the {s} with {v}."),
      ("Python code", "frontend code", "shell scripts"), ("tabs", "two spaces", "four spaces"),
      ("In the {s} we indent with {v}, and the linter checks it.",
       "The {s} is indented with {v}, as its editorconfig says."),
      ("In the {s} lines end at 100 characters.",)),
    S("en", ("The {s} was founded in {v}.", "{s}, founded {v}", "It was in {v} that they founded the {s}."),
      ("Lyon office", "robotics club", "data team"), ("2014", "2017", "2009", "2021"),
      ("The {s} was founded in {v} by two people.", "The {s} was founded in {v}, in a garage."),
      ("The {s} has a kitchen of its own.",)),
    S("en", ("The {s} needs {v} of memory.", "{v} of memory is what the {s} needs.", "We give the {s} {v} of memory.",
             "{s} memory: {v}"),
      ("build worker", "indexer", "video encoder"), ("4 GB", "512 MB", "16 GB", "2 GB"),
      ("The {s} needs {v} of memory, more than it looks like.", "We give the {s} {v} of memory because it caches a lot."),
      ("The {s} needs no network.",)),
    S("en", ("The {s} is enabled in production.", "In production the {s} is switched on.", "We run production with the {s} on.")
      + ("|The {s} is disabled in production.", "|We switched the {s} off in production.", "|In production the {s} is not enabled."),
      ("feature flag panel", "query cache", "debug toolbar"), (),
      ("The {s} is enabled in production, for all tenants.", "In production the {s} is switched on since the spring."),
      ("The {s} takes a minute to load.",)),
    S("en", ("Reviews are required before a merge into the {s}.", "A merge into the {s} must be reviewed.",
             "Each merge into the {s} requires a review.")
      + ("|Reviews are optional before a merge into the {s}.", "|A merge into the {s} does not have to be reviewed.",
         "|No review is required for a merge into the {s}."),
      ("main branch", "docs repository", "release branch"), (),
      ("A merge into the {s} must be reviewed by somebody of another team.",
       "Reviews are required before a merge into the {s}, small ones too."),
      ("A merge into the {s} starts a build.",)),
    S("en", ("The {s} keeps logs for {v} days.", "Logs of the {s} are deleted after {v} days.", "{s} log retention: {v} days",
             "We keep the logs of the {s} for {v} days."),
      ("auth service", "crawler", "print server"), ("7", "thirty", "90", "14"),
      ("We keep the logs of the {s} for {v} days, compressed.", "The {s} keeps logs for {v} days and no longer, for privacy."),
      ("The {s} writes logs as JSON.",)),
    S("en", ("User names are never logged by the {s}.", "The {s} never writes user names to its log.",
             "The {s} does not log user names.")
      + ("|User names are logged by the {s}.", "|The {s} writes user names to its log.", "|The {s} logs user names."),
      ("login page", "sync daemon", "invoice job"), (),
      ("The {s} does not log user names, only their hashes.", "The {s} never writes user names to its log, not even in debug mode."),
      ("The {s} rotates its files each night.",)),
    S("en", ("Our contract with {s} ends on {v}.", "{s} contract end: {v}", "The contract with {s} runs until {v}."),
      ("Globex", "Initech", "Umbrella"), ("2026-03-31", "2027-01-15", "30 June 2026", "1 May 2027"),
      ("The contract with {s} runs until {v} and renews itself.", "Our contract with {s} ends on {v}; notice is three months."),
      ("Our contract with {s} was signed by the board.",)),
    S("en", ("I prefer {v} for the {s}.", "For the {s} my preference is {v}.", "Use {v} for the {s}, I prefer it."),
      ("terminal theme", "editor font", "weekly report"), ("dark", "light", "Solarized", "plain text"),
      ("I prefer {v} for the {s}, it is easier on the eyes.",), ("I change the {s} from time to time.",)),
    S("en", ("The standup of the {s} team is at {v}.", "{s} standup at {v}", "At {v} the {s} team holds its standup."),
      ("platform", "security", "growth"), ("9:30", "10:00", "11 am", "14:15"),
      ("The standup of the {s} team is at {v} in room Ada.", "The standup of the {s} team is at {v} and takes ten minutes."),
      ("The standup of the {s} team is in English.",)),
    # --- German
    S("de", ("Der {s} versucht es {v} Mal, bevor er aufgibt.", "Nach {v} Versuchen gibt der {s} auf.",
             "{s}: {v} Versuche, dann gibt er auf"),
      ("Importdienst", "Mailversand", "Druckauftrag"), ("drei", "fünf", "10", "zwei"),
      ("Der {s} versucht es {v} Mal, bevor er aufgibt, mit wachsenden Pausen.",), ("Der {s} läuft in einem Container.",)),
    S("de", ("Das Backup {s} startet um {v} Uhr.", "Um {v} Uhr startet das Backup {s}.", "Backup {s}: Start {v} Uhr"),
      ("der Kundendaten", "des Wikis", "der Buchhaltung"), ("2", "23", "vier", "18"),
      ("Das Backup {s} startet um {v} Uhr und dauert eine Stunde.", "Das Backup {s} startet um {v} Uhr, auch am Wochenende."),
      ("Das Backup {s} liegt verschlüsselt auf Band.",)),
    S("de", ("Für {s} ist {v} zuständig.", "{v} kümmert sich um {s}.", "Zuständig für {s}: {v}"),
      ("die Rechnungen", "den Webshop", "die Schulungen"), ("Anna", "Bernd", "Frau Keller", "Mehmet"),
      ("Für {s} ist {v} zuständig, seit der Umstellung.",), ("Fragen kommen oft.",)),
    S("de", ("Wir speichern {s} in {v}.", "{s} werden in {v} gespeichert.", "Als Ablage für {s} dient {v}."),
      ("Messwerte", "Protokolle", "Bestellungen"), ("PostgreSQL", "InfluxDB", "MariaDB", "Oracle"),
      ("Wir speichern {s} in {v}, auf einem eigenen Server.",), ("{s} löschen wir nach zwei Jahren.",)),
    S("de", ("Die Schnittstelle {s} ist öffentlich.", "{s} ist eine öffentliche Schnittstelle.", "Öffentlich erreichbar: Schnittstelle {s}")
      + ("|Die Schnittstelle {s} ist nicht öffentlich.", "|Die Schnittstelle {s} ist intern und privat.",
         "|{s} ist keine öffentliche Schnittstelle."),
      ("Orders", "Billing", "Reports"), (),
      ("Die Schnittstelle {s} ist öffentlich, mit einem Schlüssel je Kunde.",), ("Die Schnittstelle {s} liefert XML.",)),
    S("de", ("Der Vertrag mit {s} endet am {v}.", "Am {v} läuft der Vertrag mit {s} aus.", "Vertragsende {s}: {v}"),
      ("Siemens", "den Stadtwerken", "der Agentur"), ("31.12.2026", "30.06.2027", "1. März 2027", "15.08.2026"),
      ("Der Vertrag mit {s} endet am {v} und verlängert sich nicht.",), ("Der Vertrag mit {s} liegt im Safe.",)),
    S("de", ("Im {s} gilt ein Limit von {v} Anfragen pro Minute.", "Der {s} erlaubt {v} Anfragen pro Minute.",
             "{s}: höchstens {v} Anfragen pro Minute"),
      ("Testsystem", "Partnerzugang", "Suchdienst"), ("60", "100", "1000", "250"),
      ("Im {s} gilt ein Limit von {v} Anfragen pro Minute, je Benutzer.",), ("Im {s} gibt es keine echten Kunden.",)),
    S("de", ("Die Sprechstunde {s} ist am {v}.", "Am {v} ist Sprechstunde {s}.", "Sprechstunde {s}: {v}"),
      ("der Technik", "der Verwaltung", "von Frau Ott"), ("Montag", "Mittwoch", "Donnerstag", "Freitag"),
      ("Die Sprechstunde {s} ist am {v}, im zweiten Stock.",), ("Zur Sprechstunde {s} kommen wenige.",)),
    S("de", ("Kommentare im {s} schreiben wir auf {v}.", "Im {s} sind Kommentare auf {v}.", "{s}: Kommentare bitte auf {v}"),
      ("Quelltext", "Handbuch", "Lastenheft"), ("Deutsch", "Englisch", "Französisch"),
      ("Kommentare im {s} schreiben wir auf {v}, so kurz wie möglich.",), ("Der {s} hat viele Kapitel.",)),
    S("de", ("Die Protokolle {s} enthalten nie Passwörter.", "Passwörter stehen nie in den Protokollen {s}.",
             "In den Protokollen {s} stehen keine Passwörter.")
      + ("|Die Protokolle {s} enthalten Passwörter.", "|In den Protokollen {s} stehen Passwörter."),
      ("des Gateways", "der App", "des Testlaufs"), (),
      ("In den Protokollen {s} stehen keine Passwörter, auch nicht gekürzt.",), ("Die Protokolle {s} sind groß.",)),
    S("de", ("Die {s} braucht {v} Speicher.", "{v} Speicher braucht die {s}.", "Wir geben der {s} {v} Speicher."),
      ("Datenbank", "Suchmaschine", "Bildverarbeitung"), ("8 GB", "32 GB", "512 MB", "4 GB"),
      ("Die {s} braucht {v} Speicher, unter Last auch kurz mehr.",), ("Die {s} braucht eine Lizenz.",)),
    S("de", ("Das Büro {s} öffnet um {v}.", "Ab {v} ist das Büro {s} offen.", "Öffnung Büro {s}: {v}"),
      ("Hamburg", "Wien", "Zürich"), ("8:00", "9:30", "7:15", "10:00"),
      ("Das Büro {s} öffnet um {v}, samstags gar nicht.",), ("Das Büro {s} liegt am Bahnhof.",)),
    S("de", ("Der {s} ist aktiviert.", "Wir haben den {s} eingeschaltet.", "Eingeschaltet: der {s}")
      + ("|Der {s} ist deaktiviert.", "|Wir haben den {s} ausgeschaltet.", "|Der {s} ist nicht aktiviert."),
      ("Zwischenspeicher der Suche", "Wartungsmodus im Shop", "Virenscanner der Mailbox"), (),
      ("Der {s} ist aktiviert, seit Version 4.",), ("Der {s} kostet nichts.",)),
    S("de", ("Das Projekt {s} hat ein Budget von {v} Euro.", "{v} Euro beträgt das Budget von Projekt {s}.",
             "Budget Projekt {s}: {v} Euro"),
      ("Phönix", "Merkur", "Atlas"), ("50000", "120000", "75000", "9000"),
      ("Das Projekt {s} hat ein Budget von {v} Euro, ohne Reisekosten.",), ("Das Projekt {s} leitet Frau Sommer.",)),
    S("de", ("Für {s} ist eine Freigabe Pflicht.", "{s} erfordern eine Freigabe.", "Eine Freigabe ist für {s} erforderlich.")
      + ("|Für {s} ist keine Freigabe nötig.", "|{s} erfordern keine Freigabe.", "|Eine Freigabe ist für {s} optional."),
      ("Bestellungen über 500 Euro", "Änderungen am Server", "Reisen ins Ausland"), (),
      ("Für {s} ist eine Freigabe Pflicht, und zwar schriftlich.",), ("Bei {s} hilft das Sekretariat.",)),
    S("de", ("Unsere {s} laufen unter {v}.", "{v} ist das System auf unseren {s}.", "Auf unseren {s} läuft {v}."),
      ("Testrechner", "Kassen", "Anzeigetafeln"), ("Debian", "Windows", "Fedora", "Ubuntu"),
      ("Unsere {s} laufen unter {v}, alle mit dem gleichen Abbild.",), ("Unsere {s} stehen im Keller.",)),
    # --- French
    S("fr", ("Le {s} réessaie {v} fois avant d'abandonner.", "Après {v} essais, le {s} abandonne.",
             "{s} : {v} essais, puis il abandonne"),
      ("client HTTP", "module de paiement", "robot d'indexation"), ("trois", "cinq", "10", "deux"),
      ("Le {s} réessaie {v} fois avant d'abandonner, avec une pause croissante.",), ("Le {s} est écrit en Rust.",)),
    S("fr", ("La sauvegarde {s} démarre à {v}.", "À {v} démarre la sauvegarde {s}.", "Sauvegarde {s} : départ à {v}"),
      ("du site", "de la paie", "des archives"), ("2h", "23h", "04:30", "18h"),
      ("La sauvegarde {s} démarre à {v} et dure une heure.",), ("La sauvegarde {s} est chiffrée.",)),
    S("fr", ("{v} est responsable {s}.", "La responsable {s} est {v}.", "Responsable {s} : {v}"),
      ("du module de paie", "de la documentation", "des tests"), ("Alice", "Chloé", "Inès", "Manon"),
      ("La responsable {s} est {v}, depuis la rentrée.",), ("Il reste du travail.",)),
    S("fr", ("Les {s} sont stockées dans {v}.", "Nous stockons les {s} dans {v}.", "Stockage des {s} : {v}"),
      ("commandes", "mesures", "factures"), ("PostgreSQL", "MySQL", "Cassandra", "Redis"),
      ("Les {s} sont stockées dans {v}, sur un serveur dédié.",), ("Les {s} sont effacées après deux ans.",)),
    S("fr", ("Le cache {s} est activé.", "Nous avons activé le cache {s}.", "Cache {s} : activé")
      + ("|Le cache {s} est désactivé.", "|Nous avons désactivé le cache {s}.", "|Le cache {s} n'est pas activé."),
      ("des requêtes", "des images", "du catalogue"), (),
      ("Le cache {s} est activé, pour tous les clients.",), ("Le cache {s} occupe peu de place.",)),
    S("fr", ("Le contrat avec {s} se termine le {v}.", "Le {v}, le contrat avec {s} prend fin.", "Fin du contrat {s} : {v}"),
      ("Orange", "la mairie", "Dassault"), ("31/12/2026", "30/06/2027", "1er mars 2027", "15/08/2026"),
      ("Le contrat avec {s} se termine le {v}, sans reconduction.",), ("Le contrat avec {s} est au coffre.",)),
    S("fr", ("Le {s} accepte {v} requêtes par minute.", "Limite du {s} : {v} requêtes par minute",
             "Pas plus de {v} requêtes par minute pour le {s}."),
      ("portail partenaire", "moteur de recherche", "serveur de test"), ("60", "100", "500", "250"),
      ("Le {s} accepte {v} requêtes par minute et par client.",), ("Le {s} répond en JSON.",)),
    S("fr", ("La réunion {s} a lieu le {v}.", "Chaque {v} a lieu la réunion {s}.", "Réunion {s} : {v}"),
      ("d'équipe", "du comité", "de chantier"), ("lundi", "mercredi", "jeudi", "vendredi"),
      ("La réunion {s} a lieu le {v}, salle bleue.",), ("La réunion {s} est trop longue.",)),
    S("fr", ("Les {s} contiennent des adresses.", "On trouve des adresses dans les {s}.", "Des adresses figurent dans les {s}.")
      + ("|Les {s} ne contiennent jamais d'adresses.", "|Les {s} ne contiennent aucune adresse.",
         "|On ne trouve pas d'adresses dans les {s}."),
      ("journaux", "exports", "rapports"), (),
      ("Les {s} contiennent des adresses, masquées en partie.",), ("Les {s} sont compressés.",)),
    S("fr", ("Le {s} a besoin de {v} de mémoire.", "Il faut {v} de mémoire au {s}.", "Mémoire du {s} : {v}"),
      ("serveur de build", "convertisseur vidéo", "tableur en ligne"), ("4 Go", "16 Go", "512 Mo", "2 Go"),
      ("Le {s} a besoin de {v} de mémoire, parfois un peu moins.",), ("Le {s} a besoin de mises à jour.",)),
    S("fr", ("L'agence de {s} ouvre à {v}.", "À partir de {v}, l'agence de {s} est ouverte.", "Ouverture de l'agence de {s} : {v}"),
      ("Lyon", "Nantes", "Lille"), ("8h30", "9h", "10h15", "7h45"),
      ("L'agence de {s} ouvre à {v}, sauf le samedi.",), ("L'agence de {s} est près de la gare.",)),
    S("fr", ("Une relecture est obligatoire pour {s}.", "Pour {s}, la relecture est obligatoire.", "Il faut une relecture pour {s}.")
      + ("|La relecture est facultative pour {s}.", "|Aucune relecture n'est obligatoire pour {s}.",
         "|Pour {s}, la relecture n'est pas obligatoire."),
      ("la branche principale", "les textes publics", "les scripts internes"), (),
      ("Une relecture est obligatoire pour {s}, par deux personnes.",), ("Pour {s}, on écrit des tests.",)),
    S("fr", ("Le projet {s} dispose de {v} euros.", "Budget du projet {s} : {v} euros", "Le budget du projet {s} est de {v} euros."),
      ("Phénix", "Mercure", "Atlas"), ("50000", "120000", "75000", "9000"),
      ("Le budget du projet {s} est de {v} euros, hors voyages.",), ("Le projet {s} finit au printemps.",)),
    S("fr", ("Pour {s}, nous utilisons {v}.", "Nous utilisons {v} pour {s}.", "{s} se fait avec {v}."),
      ("la mise en page", "le suivi des tickets", "la visioconférence"), ("LaTeX", "Jira", "Word", "Redmine"),
      ("Nous utilisons {v} pour {s}, comme les autres équipes.",), ("{s} prend du temps.",)),
    S("fr", ("Les comptes {s} expirent après {v} jours.", "Après {v} jours, les comptes {s} expirent.", "Comptes {s} : {v} jours"),
      ("invités", "de test", "des stagiaires"), ("30", "sept", "90", "quinze"),
      ("Les comptes {s} expirent après {v} jours sans connexion.",), ("Les comptes {s} n'ont pas de quota.",)),
    S("fr", ("L'accès {s} est public.", "Tout le monde a un accès public {s}.", "Public : l'accès {s}")
      + ("|L'accès {s} est privé.", "|L'accès {s} n'est pas public.", "|L'accès {s} n'est plus public."),
      ("au dépôt", "aux mesures", "au calendrier"), (),
      ("L'accès {s} est public, en lecture seule.",), ("L'accès {s} passe par un VPN.",)),
)  # fmt: skip


def _hash(*parts: object) -> int:
    return int(hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:12], 16)


def _pairs_of(scene: Scene) -> Iterator[tuple[str, str, str]]:
    """All pairs of a scene: the kind, and the two statements."""
    positive = [style for style in scene.said if not style.startswith("|")]
    negative = [style[1:] for style in scene.said if style.startswith("|")]
    for s, subject in enumerate(scene.subjects):
        other = scene.subjects[(s + 1) % len(scene.subjects)]
        for v, value in enumerate(scene.values or ("",)):
            for i, first in enumerate(positive):
                for j, second in enumerate(negative or positive):
                    for w, changed in enumerate(scene.values or ("",)):
                        if negative or w != v:
                            a, b = _say(first, subject, value), _say(second, subject, changed)
                            yield CONTRADICTION, a, b
                            if (i + j + w) % 2:
                                yield OTHER, a, _say(second, other, changed)
                for text in scene.more:
                    yield REFINEMENT, _say(first, subject, value), _say(text, subject, value)
                for text in scene.aside:
                    yield OTHER, _say(first, subject, value), _say(text, subject, value)


def _say(style: str, subject: str, value: str) -> str:
    text = style.format(s=subject, v=value)
    return text[0].upper() + text[1:]


def make_pairs() -> list[Pair]:
    """The 500 pairs: of each scene 5 or 6 contradictions, 2 or 3 refinements and 2 or 3 of something else."""
    out: list[Pair] = []
    for number, scene in enumerate(SCENES):
        held = _hash("held", scene.said[0]) % 3 == 0
        found: dict[str, list[tuple[str, str]]] = {CONTRADICTION: [], REFINEMENT: [], OTHER: []}
        for kind, a, b in dict.fromkeys((kind, min(a, b), max(a, b)) for kind, a, b in _pairs_of(scene)):
            found[kind].append((a, b) if _hash(a, b) % 2 else (b, a))
        for kind, most in ((CONTRADICTION, 5 + number % 3), (REFINEMENT, 2), (OTHER, 3)):
            for a, b in sorted(found[kind], key=lambda pair: _hash(*pair))[:most]:
                out.append(Pair(scene.lang, kind, a, b, held))
    return sorted(out, key=lambda pair: _hash(*pair))[:PAIRS]


def main() -> None:
    """Count what is found, by language, and print precision and recall."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--held", action="store_true", help="the third that was put aside, in place of the others")
    parser.add_argument("--misses", action="store_true", help="print what was missed and what was found wrongly")
    given = parser.parse_args()
    counts: Counter[tuple[str, str]] = Counter()
    for pair in make_pairs():
        if pair.held != given.held:
            continue
        found = contradiction.find(pair.a, pair.b)
        result = ("hit" if found else "miss") if pair.kind == CONTRADICTION else ("false" if found else "right")
        for lang in (pair.lang, "all"):
            counts[lang, result] += 1
        counts[pair.kind, result] += 1
        if given.misses and not given.held and result in ("miss", "false"):
            print(f"{result:<6}{pair.lang} {pair.kind:<14}{pair.a}\n{'':<23}{pair.b}{found and '  [' + found + ']'}")
    for lang in ("en", "de", "fr", "all"):
        hit, miss, false = (counts[lang, name] for name in ("hit", "miss", "false"))
        print(f"{lang:<4} pairs {sum(n for (one, _), n in counts.items() if one == lang):>4}  "
              f"precision {hit / max(1, hit + false):.3f}  recall {hit / max(1, hit + miss):.3f}")  # fmt: skip


if __name__ == "__main__":
    main()
