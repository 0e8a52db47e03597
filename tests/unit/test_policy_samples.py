# ruff: noqa: E501 - a row is read as a row
"""What looks like a secret or an address and is none, and what looks nearly the same and is one."""

import pytest

from memctl.policy import MemoryPolicy
from memctl.policy.rules_secrets import AN

POLICY = MemoryPolicy()
EMULATOR = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
HASH = "$5$8pFTUnUr.HhP3O52$Fl1S4nX1p0PONBIcG7PN5jTQAtulYNf2AQCJyXV6Dt."
BLOCK = f"-----BEGIN PRIVATE KEY-----\n{AN[:64]}\n{AN[20:84]}\n-----END PRIVATE KEY-----\n"


def rules(text: str) -> set[str]:
    return {f.rule for f in POLICY.findings(text, document=False)}


@pytest.mark.parametrize(
    ("sample", "real", "rule"),
    [
        (f"AccountName=devstoreaccount1;AccountKey={EMULATOR}", f"AccountName=a;AccountKey={AN[:86]}==", "azure-storage-key"),
        ('<add key="ClearTextPassword" value="33f!!lloppa" />', '<add key="ClearTextPassword" value="44g!!mmoqqb" />', "nuget-password"),
        (
            "SECRET_KEY = '192b9bdd22ab9ed4d12e236c78afcb9a393ec15f71bbf5dc987d54727823bcbf'",
            "SECRET_KEY = '292b9bdd22ab9ed4d12e236c78afcb9a393ec15f71bbf5dc987d54727823bcbf'",
            "generic-key",
        ),
        ("AIzaSyAnLA7NfeLquW1tJFpx_eQCxoX-oo6YyIs", "AIzaSyBnLA7NfeLquW1tJFpx_eQCxoX-oo6YyIs", "google-api-key"),
        (f'assert.Equal(t, "{HASH}", crypted)', f'root_hash: "{HASH}"', "password-hash"),
        (f"An example of a hash: {HASH}", f"For example\nroot:{HASH}:0", "password-hash"),
        (f"# generated for example purposes only\n{BLOCK}", f"# generated for the example.com servers\n{BLOCK}", "private-key"),
        ("sumOfExposures = " + AN[:64], "sumoToken = " + AN[:64], "sumologic-key"),
        ("sk_test_" + "B" * 23, "sk_test_" + "B" * 24, "stripe-key"),
        ("gsk_" + AN[:53], "gsk_" + AN[:52], "groq-key"),
        ("api_secret = 'abcd1234abcd1234abcd1234zq'", f"api_secret = '{AN[:26]}'", "generic-key"),
        ("bot@shop-prod.iam.gserviceaccount.com", "mia@shop-prod.accounts.com", "email"),
    ],
)  # fmt: skip
def test_a_sample_passes_and_what_is_real_does_not(sample: str, real: str, rule: str) -> None:
    assert rules(sample) == set()
    assert rule in rules(real)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Applicant: Mario Rossi (m.rossi@example.com)", True),
        ("지원자: 마리오 로시 (m.rossi@example.com)\n부서: 인사부", True),
        ("see the docs (m.rossi@example.com)", False),
        ("Usage: send mail (user@example.com)", False),
    ],
)
def test_an_address_at_a_sample_domain_counts_beside_a_name(text: str, *, found: bool) -> None:
    assert ("email" in rules(text)) is found


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("SSN 536-22-8745", "us-ssn"), ("SSN 536.22.8745", "us-ssn"), ("x_536_22_8745_x", "us-ssn"),
        ("phone (415) 555-0132", "phone-us"), ("phone 415 555 0132", "phone-us"), ("phone 415.555.0132", "phone-us"),
        ("ITIN 912-70-1234", "us-itin"), ("ITIN 912-701234", "us-itin"), ("RRN 960121-1234567", "kr-rrn"),
        ("131052-308T", "fi-id-dashed"), ("131052+308T", "fi-id-dashed"), ("NIF 12345678-Z", "es-id-dashed"),
        ("Telefonnummer 3312 3456", "phone-named"), ("전화번호는 3312 3456 입니다", "phone-named"), ("0331 23456", "phone-named"),
    ],
)  # fmt: skip
def test_numbers_are_known_by_their_groups_and_the_words_beside_them(text: str, rule: str) -> None:
    assert rule in rules(text)


@pytest.mark.parametrize(
    "text", ["\U0001f469\u200d\U0001f52c \u2764\ufe0f \U0001f3f3\ufe0f\u200d\U0001f308", "ok \u2714\ufe0f\ufe0f done"]
)
def test_pictures_are_no_hidden_characters(text: str) -> None:
    assert rules(text) == set()


@pytest.mark.parametrize(
    "text", ["ig\u200dnore it", "IG\u200dnore it", "a\ufe01\ufe01\ufe01b", "\u2764\ufe0f ig\u200bnore it"]
)
def test_hidden_characters_among_letters_are(text: str) -> None:
    assert rules(text) == {"hidden-characters"}


def test_a_keyword_within_a_longer_word_opens_nothing_there() -> None:
    assert rules("A stan may clap.\nfactor as a team, exact like yours: you understand") == set()
    assert "act-as" in rules("I want you to act as a Linux terminal. You will answer")
