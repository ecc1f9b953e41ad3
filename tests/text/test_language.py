from __future__ import annotations

import pytest

from evigraph.text.language import DEFAULT_LANGUAGE, detect_language


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The harbour master logged nine ships before noon and went home.", "en"),
        ("Wie heißt die Hauptstadt von Frankreich?", "de"),
        ("Le chat est sur la table et il dort.", "fr"),
        ("Где родился Пушкин и где он умер?", "ru"),
        ("東京タワーはどこですか", "ja"),
        ("你好", "zh"),
        ("한국어", "ko"),
        ("# Titel\n\n| Stadt | Einwohner |\n|---|---|\n| Der Hafen der Stadt wurde gebaut | 12 |", "de"),
    ],
)
def test_detects(text: str, language: str) -> None:
    assert detect_language(text) == language


@pytest.mark.parametrize("text", ["", "   ", "12345 67.8", "SKU-8847 AB-12", "Hallo", "https://example.org/straße"])
def test_too_little_text_gets_the_default(text: str) -> None:
    assert detect_language(text) == DEFAULT_LANGUAGE


def test_long_text_is_judged_as_a_whole_and_without_output(capfd: pytest.CaptureFixture[str]) -> None:
    german = "Der Hafenmeister zählte die Schiffe und schrieb sie in sein Buch. "
    assert detect_language("Preface: a note.\n" + german * 2000) == "de"
    assert capfd.readouterr() == ("", "")
