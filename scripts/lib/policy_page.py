"""docs/policy.md: what policy looks for, what it does about it, and what it cannot see; the families from the rules."""

from collections.abc import Iterator
from textwrap import fill

from memctl.policy import RULES, MemoryPolicy, Rule, decisions, engine, lexicon, lexicon_others, normalise

SOURCE = "src/memctl/policy"
INTRODUCTION = """\
Whatever is stored passes one policy first, by whichever command and in every field: text, title, tags, entities,
the path it came from. It knows {count} rules of four kinds. A rule is a row: keywords that open it, a pattern or the
parts of an order, often a check that has the last word (a checksum, a measure of randomness, the words around it), an
example it must catch and one it must not. Tests hold the examples. Nothing is sent anywhere, and no model is asked.

| kind | what | rules | a statement (`pull`, `remember`, `import`) | a document (`push --source`, `ingest`, `mount`) |
|---|---|--:|---|---|
"""
WHAT = {
    "secret": "tokens, keys and passwords, by their format or by the name beside them",
    "injection": "text that tries to take over the model that reads it, hidden characters",
    "instructional": "transcripts, tool calls, orders an assistant gives to itself",
    "pii": "personal data: mail addresses, telephones, cards, accounts, national numbers",
}
INTERACTIVE = {
    "secret": "refused",
    "injection": "{reject} rules refuse, {quarantine} quarantine",
    "instructional": "{reject} rules refuse, {quarantine} quarantine",
    "pii": "quarantined",
}
DOCUMENT = {
    "secret": "replaced by `[REDACTED:rule]`; the rest of the passage stays",
    "injection": "the passage is quarantined, or those of its paragraphs that do not stand alone",
    "instructional": "the passage is quarantined, or those of its paragraphs that do not stand alone",
    "pii": "{blotted} rules replace what they find; the others let it pass",
}
BODY = """
**Refused** means that nothing of the statement is stored. **Quarantined** means stored, found by `search`, flagged
there, and never put into a block for a model; a quarantined statement also expires, after {hours:g} hours unless
[`policy.quarantine_expiry_hours`](config.md) says otherwise. A proposal of more than {length:,} characters is refused
unless it is a pointer. Reasons name the rule and never quote what it found. Where the text around an injected
instruction speaks of attacks, examples or templates, it is quarantined instead of refused: documents about the subject
are documents. So is an order to forget what the writer said himself ("forget what I said about Redis").

Of a passage of prose that is quarantined for what one of its paragraphs says, the others become passages of their own
and are recalled, where they stand alone: they are clean, and they address nobody, since what an order is about may
follow in the next paragraph. What begins or ends outside of the passage holds all of it. In a transcript, a secret that
is divided among turns is blotted out of each of them.

A project may switch a kind off ([`policy.*_enabled`](config.md)). A changed set of rules makes the next `ingest` read
again what it had stored.

## Orders, told from their parts

An injected order is told from the words of one clause: what shall be done (ignore, reveal, send, run, approve, hide,
remember, recommend), on what (earlier instructions, the system prompt, credentials, conversations, confirmations, the
memory itself), and what makes it an attack (it is addressed to a model, secret, for all later conversations, on a
trigger, to an address). The words stand in a lexicon of {languages} languages; a few of them have the words of
overrides only. A verb counts where it orders ("send", "please send", "you must send"), not where it tells ("we send")
and not where it is negated ("do not send"). These are the rules whose names begin with `order-`; those that end in
`-cjk` read languages that are written without blanks, or whose endings vary.

| family | stopped | passes |
|---|---|---|
{families}
Some rules count in statements only (`pull`, `remember`), because documents say such things for good reasons:
{statements}. A pipe into a shell
is let pass where it fetches one of the installers that everybody has read of (rustup, uv, Docker, Homebrew, nvm, …).

In a document an example is data. Where an order stands in quotation marks, in a quoted line or in code, and the passage
around it speaks of prompts, models or attacks at least twice, the passage is stored and recalled as it is; `memctl scan
--json` lists the finding with the action `accept` and why. This ends where something outside of quotations speaks to a
model, or where the words before the quotation tell the reader to follow it.

## Statements, weighed as a whole

An attacker has other words than a lexicon. So a statement of at most 700 characters without a block of code is also
weighed (`weighed-order`), as mail is by filters of spam: each word, each pair of neighbours, and both cut to their
first five letters, have a weight that was learned, by logistic regression, from 23,000 injected and ordinary sentences
in fifteen languages, and from 220,000 of documentation. Their sum, divided by the square root of how many different
words there are, must be above a limit. The whole is weighed, and each sentence with its neighbours: what stands beside
an order does not hide it, though more sentences ask for more weight. What weighs too much is quarantined, never
refused; `memctl policy test TEXT` says which words weigh most, `memctl quarantine release` takes the statement out
again, and `policy.silenced_rules` switches the rule off. The weights are text (`src/memctl/policy/weights`): a line has
a weight, and what has it.

`scripts/weights` learns them anew and prints what is found of each set; the third that is set aside is never learned
from. Examples of your own are lines in `tests/data/policy/weighed`.

## Credentials, told from their label

A password or key counts where its label (in 20 languages) is given a value: by a colon, an equals sign, "is", bold
type, code, a table's cell, an HTML cell, the next line, or a command's option; and where the value can be one: not
code (calls, paths, names such as `Ed25519PrivateKey`), not a word, not a unit, not a placeholder. Keys of about 100
providers are known by their own format; `prefixed-key` is for prefixes that no list knows yet.

## Figures

`tests/data/policy` holds texts that must be found and texts that must pass. A third of them, picked by a hash of the
text, was set aside before the rules were written. `python tests/families.py -q` prints both. Of that third the rules of
this version find:

| family | found | false alarms |
|---|--:|--:|
| overrides, 21 languages | 31 of 33 | 0 of 20 |
| requests for the hidden prompt | 8 of 12 | 0 of 3 |
| orders addressed to a model | 9 of 10 | 0 of 5 |
| sending secrets away, hiding it from the user | 4 of 4 | 0 of 3 |
| permissions and confirmations | 3 of 4 | none set aside |
| memory poisoning, 17 languages | 16 of 16 | 0 of 8 |
| delayed triggers | 6 of 9 | 0 of 6 |
| roles, tags and templates | 2 of 2 | 0 of 4 |
| commands and settings in statements | 4 of 4 | 0 of 3 |
| credentials as people write them | 32 of 35 | 1 of 17 |

The counts are small, and the texts and the lexicon have the same author: take them for the lower end of what a
stranger's words will escape. Other sets were written for that, each before the rules were changed for it, and a third
of each was set aside. Orders and memory poisoning in English, as statements, by the rules alone as they were before
statements were weighed, and now:

| set | of those in sight | of those set aside | alarms on what looks like them, set aside |
|---|--:|--:|--:|
| `english.txt` | 38 → 41 of 43 | 14 → 17 of 21 | 2 → 4 of 18 |
| `english2.txt` | 46 → 63 of 68 | 19 → 18 of 22 | 0 → 2 of 16 |
| `english3.txt` | 28 → 52 of 58 | 4 → 11 of 17 | 0 → 7 of 16 |
| `own_words.txt` | 81 → 104 of 107 | 32 → 40 of 45 | 0 → 2 of 16 |
| `phrased.txt` | 135 → 174 of 190 | 71 → 97 of 128 | 9 → 25 of 121 |
| `own4.txt` | 95 → 156 of 164 | 34 → 62 of 92 | 6 → 12 of 107 |
| `anew.txt` | 56 → 100 of 108 | 16 → 34 of 43 | 1 → 4 of 21 |
| `weighed/en.txt` | 5,743 of 6,943 | 2,076 of 3,430 | 173 of 2,871 |
| `fresh.txt`: nothing was learned from it | | 84 → 218 of 300 | 16 → 24 of 300 |
| `fresh2.txt`: nor from it, and no limit was set by it | | 188 of 250 | 33 of 250 |

The first seven sets together: 190 → 279 of 368 that were set aside. The sentences of `weighed`, `fresh.txt` and
`fresh2.txt` were written by language models that were shown neither rules nor weights. `fresh.txt` was counted many
times while limits were set, its sentences unseen; `fresh2.txt` only when all was set. What is ordinary in these sets
has the attackers' words on purpose; of 38,000 sentences of documentation, each taken as a statement, 91 are held.
Each text is judged alone here; what else an item says (a title, why it is stored) is weighed with it, and a few more
are found. Nobody is refused for the weight of his words. In other languages, of what was set aside:

| language | found in `weighed` | alarms | found in `fresh.txt` | alarms | found in `fresh2.txt` | alarms |
|---|--:|--:|--:|--:|--:|--:|
| German | 278 of 509 | 16 of 396 | 27 of 40 | 1 of 30 | 15 of 40 | 1 of 40 |
| French | 282 of 534 | 19 of 323 | 23 of 40 | 3 of 30 | 26 of 40 | 7 of 40 |
| Spanish | 433 of 729 | 31 of 430 | 24 of 40 | 1 of 30 | 21 of 40 | 1 of 40 |
| Italian | 251 of 506 | 24 of 321 | 28 of 40 | 0 of 30 | 21 of 40 | 3 of 40 |
| Portuguese | 288 of 521 | 26 of 320 | 21 of 40 | 2 of 30 | 23 of 40 | 4 of 40 |
| Dutch | 232 of 486 | 22 of 300 | 21 of 40 | 0 of 30 | 19 of 40 | 2 of 40 |
| Polish | 319 of 698 | 21 of 437 | 24 of 40 | 2 of 30 | 25 of 40 | 5 of 40 |
| Russian | 298 of 712 | 23 of 443 | 23 of 40 | 2 of 30 | 24 of 40 | 1 of 40 |
| Japanese | 231 of 397 | 21 of 291 | 18 of 40 | 3 of 30 | 16 of 40 | 0 of 40 |
| Chinese | 267 of 457 | 30 of 388 | 29 of 40 | 0 of 30 | 23 of 40 | 5 of 40 |
| Korean | 60 of 136 | 5 of 184 | | | | |
| Swedish | 16 of 122 | 2 of 139 | | | | |
| Turkish | 15 of 142 | 0 of 141 | | | | |
| Ukrainian | 23 of 129 | 4 of 170 | | | | |

Some sentences of `weighed` say in two languages much the same, on both sides of the third that is set aside.
By the rules alone, 14 of the 400 of `fresh.txt` in these languages were found. The plainest orders (to ignore what was
said, to reveal the prompt) are told by rules in all of them.

Documents are judged by the rules only: of `phrased.txt` as documents 44 of 128 set aside are found, of `anew.txt` 6 of
43. Ordinary documents are what bounds this: of 59,112 passages of packages, manuals and docstrings 0.17 % are withheld,
and a weight that is wrong in one sentence of a thousand would withhold one passage in a hundred.

## Read in other forms

A text that shows signs of disguise is also judged as it would read without it: invisible and bidirectional characters
removed, letters of other scripts and widths folded, accents dropped, HTML, percent, backslash and quoted-printable
escapes resolved, base64 and hexadecimal runs decoded (twice), `s p a c e d` and `d.o.t.t.e.d` letters and digits closed
up, words joined that a line's end or a comment cut, in short texts also numbers, underscores read as blanks; and where
words of an instruction show, ROT13, leetspeak and reversed text. Tokens that were broken over lines, string pieces or
groups of four are put together again where their own prefix stands ({pieces} pieces at most; {tries} tries for each
piece of the text).

## Limits

- Cost is linear in length, and in what is found. A document with more than {most:,} findings is not stored, and
  `ingest` says so. A file of half a megabyte or more is read by a process of its own, which is stopped when it takes
  too long.
- Long texts are looked at in pieces of about {piece:,} characters, each with the beginning
  of the next; what only makes sense across more than that is not seen, long keys and tokens excepted (to {longest:,}).
- Of one piece, {blobs} encoded runs are decoded, {size:,} characters of each. Escapes inside escapes are followed one
  level.
- Placeholders pass: `<token>`, `${{TOKEN}}`, `xxxx`, `your-key-here`, sample ids. So a real password that looks like
  one passes. A sample that looks like a real key does not: the keys in public tutorials are taken for what they are,
  but for those that everybody has: the samples in the documentation of Flask, FastAPI and NuGet and in Firebase's
  SDKs, and the fixed keys of Azure's emulators.
- A number without a checksum (a telephone, a passport) counts only where words or its form name it; one with a checksum
  may also be a chance hit, one in ten for the weakest. A statement that is nothing but a number is judged harder.

## What it cannot see

Policy recognises forms and words, not intent. It will miss a quarter of the orders put in words that no rule foresaw,
near half of them in other languages than English, nearly all in a language it has no words for, and most of them in
documents; an order that is spread over several sentences, each harmless; a false fact; a poisoned recommendation that
reads like any other; a secret that has no format of its own and no name beside it; a person's name or address; anything
in pictures. It will now and then hold back a harmless passage, most often one that teaches prompting or shows a chat.
Treat recalled memory as what it is: text that somebody wrote.

## Rules
"""
TITLES = {"secret": "Secrets", "injection": "Injection", "instructional": "Instructions", "pii": "Personal data"}


def lines() -> Iterator[str]:
    """The page, piece by piece."""
    yield f"# Policy\n\n<!-- Written by scripts/docs from {SOURCE}; change it there. -->\n\n"
    yield INTRODUCTION.format(count=len(RULES))
    for kind, what in WHAT.items():
        rows = [rule for rule in RULES if rule.kind == kind]
        numbers = {action: sum(rule.action == action for rule in rows) for action in ("reject", "quarantine")}
        blotted = sum(rule.severity == 3 for rule in rows)
        statement, document = INTERACTIVE[kind].format(**numbers), DOCUMENT[kind].format(blotted=blotted)
        yield f"| {kind} | {what} | {len(rows)} | {statement} | {document} |\n"
    policy = MemoryPolicy()
    yield BODY.format(
        languages=len(lexicon.SPACED) + len(lexicon_others.DENSE),
        families="".join(f"| `{rule.id}` | {rule.example} | {rule.counterexample} |\n" for rule in _orders()),
        statements=", ".join(f"`{rule.id}`" for rule in RULES if rule.statement and not rule.id.endswith("-cjk")),
        most=decisions.MOST_FINDINGS,
        hours=policy.expiry_hours,
        length=policy.max_content_length,
        piece=engine.PIECE,
        longest=engine._LONGEST,
        blobs=normalise._BLOB_LIMIT,
        size=normalise._BLOB_SIZE,
        pieces=normalise._MOST_PIECES,
        tries=engine._TRIES,
    )
    for kind, title in TITLES.items():
        yield f"\n### {title}\n"
        yield from _families([rule for rule in RULES if rule.kind == kind])


def _orders() -> list[Rule]:
    """The rules about clauses, one of each family."""
    return [rule for rule in RULES if rule.clause and not rule.id.endswith("-cjk")]


def _families(rules: list[Rule]) -> Iterator[str]:
    """The rules' names: those that refuse before those that hold back; of personal data those that are replaced."""
    if rules[0].kind == "pii":
        groups = {
            "Replaced in documents": [r for r in rules if r.severity == 3],
            "Let pass in documents": [r for r in rules if r.severity < 3],
        }
    else:
        groups = {
            "Refused": [r for r in rules if r.action == "reject"],
            "Quarantined": [r for r in rules if r.action == "quarantine"],
        }
    for words, group in groups.items():
        if group:
            yield "\n"
            names = f"{words}: {', '.join(f'`{rule.id}`' for rule in group)}."
            yield fill(names, 120, break_on_hyphens=False, break_long_words=False) + "\n"
