"""The configuration file: defaults, warnings, errors."""

from pathlib import Path

import pytest

from actionsrunner.config import ConfigInvalid, load_config, parse_config
from actionsrunner.settings import FORGEJO_KEYS, KEYS


def test_defaults_are_those_of_giteas_runner() -> None:
    config = load_config(None)
    assert config.count("runner.capacity") == 1
    assert config.seconds("runner.timeout") == 3 * 3600
    assert config.seconds("runner.shutdown_timeout") == 0
    assert config.seconds("runner.fetch_timeout") == 5
    assert config.seconds("runner.fetch_interval") == 2
    assert config.seconds("runner.fetch_interval_max") == 5
    assert config.seconds("runner.log_report_interval") == 5
    assert config.seconds("runner.log_report_max_latency") == 3
    assert config.count("runner.log_report_batch_size") == 100
    assert config.seconds("runner.state_report_interval") == 5
    assert config.seconds("runner.report_close_timeout") == 10
    assert config.warnings == ()


def test_values_are_read_with_their_units() -> None:
    config = parse_config(
        "runner: {capacity: 3, timeout: 90m, insecure: true, labels: [a, 'b:host'], envs: {A: 1, B: true, C: null}}",
        "x",
    )
    assert config.count("runner.capacity") == 3
    assert config.micros("runner.timeout") == 5400 * 1_000_000
    assert config.flag("runner.insecure")
    assert config.texts("runner.labels") == ("a", "b:host")
    assert config.map("runner.envs") == {"A": "1", "B": "true", "C": ""}
    assert "runner.capacity" in config.given


@pytest.mark.parametrize("text", ["", "runner:\n", "runner: {labels: null}\nlog:\n  job:\n"])
def test_empty_sections_and_values_mean_the_defaults(text: str) -> None:
    config = parse_config(text, "x")
    assert config.values == load_config(None).values
    assert config.warnings == ()


def test_unknown_key_warns_with_the_closest_name() -> None:
    (warning,) = parse_config("runner: {capcity: 3}", "x").warnings
    assert warning == "unknown key `runner.capcity`; did you mean `runner.capacity`?"


def test_key_without_effect_warns_with_the_reason_only_when_it_differs() -> None:
    assert parse_config("container: {privileged: false}", "x").warnings == ()
    (warning,) = parse_config("container: {privileged: true}", "x").warnings
    assert warning.startswith("`container.privileged` has no effect: ")


@pytest.mark.parametrize("name", FORGEJO_KEYS)
def test_key_of_forgejos_runner_warns_with_what_to_do(name: str) -> None:
    text = ""
    for depth, part in enumerate(name.split(".")):
        text += f"{'  ' * depth}{part}:\n"
    text += f"{'  ' * len(name.split('.'))}x: {{y: 1}}\n"
    (warning,) = parse_config(text, "x").warnings
    assert f"`{name}` of Forgejo's runner" in warning


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("runner: {capacity: many}", "`runner.capacity`: expected a whole number, found 'many'"),
        ("runner: {capacity: 0}", "`runner.capacity`: must be at least 1"),
        ("runner: {capacity: true}", "`runner.capacity`: expected a whole number"),
        ("runner: {timeout: 3}", "`runner.timeout`: 3 has no unit; write for example 3s"),
        ("runner: {timeout: 3 hours}", "`runner.timeout`: '3 hours' is not a duration"),
        ("runner: {fetch_interval: 0s}", "`runner.fetch_interval`: must be at least 0.001s"),
        ("runner: {insecure: 'yes'}", "`runner.insecure`: expected a true or false"),
        ("runner: {labels: a}", "`runner.labels`: expected a list of texts"),
        ("runner: {labels: ['']}", "`runner.labels`: an entry is empty"),
        ("runner: {envs: {A: [1]}}", "`runner.envs`: expected a map of texts"),
        ("runner: {family: github}", "`runner.family`: 'github' is none of auto, gitea, forgejo"),
        ("log: {level: loud}", "`log.level`: 'loud' is none of"),
        ("cache: {size_limit: big}", "`cache.size_limit`: 'big' is not a size"),
        ("[]", "expected sections"),
        ("runner: {", "not valid YAML"),
    ],
)
def test_wrong_value_is_an_error_that_names_the_key(text: str, words: str) -> None:
    with pytest.raises(ConfigInvalid) as caught:
        parse_config(text, "my.yaml")
    assert words in str(caught.value)
    assert str(caught.value).startswith("my.yaml: ")


def test_all_errors_are_told_at_once() -> None:
    with pytest.raises(ConfigInvalid) as caught:
        parse_config("runner: {capacity: a, timeout: b}", "x")
    assert "runner.capacity" in str(caught.value)
    assert "runner.timeout" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("runner: {fetch_interval: 9s}", "is raised to it"),
        ("runner: {fetch_timeout: 2m}", "counts as that"),
        ("runner: {log_report_max_latency: 9s}", "never comes into play"),
    ],
)
def test_contradiction_is_explained(text: str, words: str) -> None:
    assert any(words in warning for warning in parse_config(text, "x").warnings)


def test_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid, match="cannot be read"):
        load_config(tmp_path / "none.yaml")


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.name)
def test_every_key_has_help_and_a_default_of_its_kind(key: object) -> None:
    assert load_config(None).values
    assert getattr(key, "help", "").endswith(".")
