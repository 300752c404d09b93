"""Templates and conditions: splitting, types, implicit success, limits."""

from collections.abc import Callable, Iterator, Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actionswire.expressions import (
    ExpressionError,
    Scope,
    Value,
    contexts_used,
    evaluate_condition,
    evaluate_template,
    expand,
    interpolate,
    uses_status_function,
)

SCOPE = Scope(
    {
        "github": {"event_name": "push"},
        "env": {"A": "${{ 1 }}", "B": "b"},
        "matrix": {"n": 1.10, "s": "1.10", "list": [1, "x"], "map": {"k": True}},
        "needs": None,
    }
)


def status(result: str) -> Callable[[str], bool]:
    return lambda name: name in ("always", result)


FAILED = Scope(SCOPE.contexts, status=status("failure"))
CANCELLED = Scope(SCOPE.contexts, status=status("cancelled"))


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("a${{ 'b' }}c", "abc"),
        ("${{ 1 }}${{ 2 }}", "12"),
        ("x-${{ null }}-y", "x--y"),
        ("${{ true }}", "true"),
        ("{${{ 'a' }}}", "{a}"),
        ("{{0}} ${{ 'z' }}", "{{0}} z"),
        ("${{ format('{{{0}}}', 'q') }}", "{q}"),
        ("${{ '}}' }}", "}}"),
        ("${{ 'it''s' }}", "it's"),
        ("$ { { 1 } }", "$ { { 1 } }"),
        ("${{ github.nope }}", ""),
        ("${{ needs.build.result }}", ""),
        ("${{ env.A }}", "${{ 1 }}"),
        ("v${{ matrix.n }}", "v1.1"),
        ("v${{ matrix.s }}", "v1.10"),
        ("${{ fromJSON('[1]') }}", "Array"),
        ("${{ matrix.map }}", "Object"),
        ("${{\n  env.B\t}}", "b"),
        ("${{env.B}}", "b"),
        ("no expression", "no expression"),
        ("", ""),
        ("open ${{ env.B", "open ${{ env.B"),
        ("}} ${{ env.B }} ${{", "}} b ${{"),
        ("it's ${{ env.B }} isn't it", "it's b isn't it"),
        ("${{ 1e15 }} ${{ 0.00001 }} ${{ 100000 }} ${{ -0 }}", "1E+15 1E-05 100000 0"),
    ],
)
def test_interpolate_gives_text(text: str, result: str) -> None:
    assert interpolate(text, SCOPE) == result


@pytest.mark.parametrize(
    ("text", "position", "words"),
    [
        ("a ${{ }} b", 1, "empty"),
        ("${{ env.B + 1 }}", 7, "is not a number"),
        ("${{ 'a }}", 1, "no closing quote"),
        ("${{ nope.x }}", 1, "unknown name nope"),
        ("x ${{ fromJSON('{') }}", 1, "fromJSON: the text is not JSON (line 1, column 2)"),
        ("${{ env.B || fromJSON(env.B }}", 24, "unexpected the end"),
        ("${{ hashFiles('x') }}", 1, "hashFiles: there are no files to hash here"),
    ],
)
def test_interpolate_broken_expression_fails_with_its_place(text: str, position: int, words: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        interpolate(text, SCOPE)
    assert words in caught.value.message
    assert caught.value.position == position


def test_errors_never_show_the_content_of_a_context() -> None:
    scope = Scope({"secrets": {"TOKEN": "hunter2{"}})
    for text in ("${{ fromJSON(secrets.TOKEN) }}", "${{ format(secrets.TOKEN) }}"):
        with pytest.raises(ExpressionError) as caught:
            interpolate(text, scope)
        assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("${{ matrix.list }}", [1, "x"]),
        ("${{ matrix.list.* }}", [1, "x"]),
        ("${{ matrix.map }}", {"k": True}),
        ("${{ fromJSON('2') }}", 2),
        ("${{ true }}", True),
        ("${{ null }}", None),
        (" ${{ true }}", " true"),
        ("${{ true }}${{ true }}", "truetrue"),
        ("true", "true"),
    ],
)
def test_evaluate_template_of_one_expression_keeps_its_type(text: str, result: object) -> None:
    value = evaluate_template(text, SCOPE)
    assert (value, type(value)) == (result, type(result))


@pytest.mark.parametrize(
    ("value", "after_success", "after_failure", "after_cancel"),
    [
        (None, True, False, False),
        ("", True, False, False),
        ("  ", True, False, False),
        ("${{ 'a' }} == 'b'", True, False, False),
        ("a ${{ failure() }}", True, True, True),
        ("!startsWith('ab','a')", False, False, False),
        ("success() && 'x'", True, False, False),
        ("'success()'", True, False, False),
        ("contains('a', 'a') || failure()", True, True, True),
        ("always()", True, True, True),
        ("${{ always() }}", True, True, True),
        ("failure()", False, True, False),
        ("cancelled()", False, False, True),
        ("!cancelled()", True, True, False),
        ("contains('x', FAILURE())", False, False, False),
        ("github.event_name == 'push'", True, False, False),
        ("${{ github.event_name == 'pull' }}", False, False, False),
        (True, True, False, False),
        (False, False, False, False),
        (1, True, False, False),
        (0, False, False, False),
        (0.0, False, False, False),
        ("0", False, False, False),
        ("'0'", True, False, False),
        ("false", False, False, False),
        ("fromJSON('[]')", True, False, False),
    ],
)
def test_evaluate_condition_implies_success(
    value: Value, after_success: bool, after_failure: bool, after_cancel: bool
) -> None:
    seen = tuple(evaluate_condition(value, scope) for scope in (SCOPE, FAILED, CANCELLED))
    assert seen == (after_success, after_failure, after_cancel)


def test_evaluate_condition_default_is_taken_only_for_nothing() -> None:
    assert evaluate_condition(None, FAILED, default="always()") is True
    assert evaluate_condition("", FAILED, default="always()") is True
    assert evaluate_condition("true", FAILED, default="always()") is False


@pytest.mark.parametrize("value", [[], {}, ["always()"]])
def test_evaluate_condition_of_a_collection_is_an_error(value: Value) -> None:
    with pytest.raises(ExpressionError, match="a condition must be a text, a boolean or a number"):
        evaluate_condition(value, SCOPE)


@pytest.mark.parametrize("text", ["1 +", "nope.x", "${{ }}", "${{ 1", "a ${{ nope.x }}"])
def test_evaluate_condition_that_is_broken_is_an_error_even_after_a_failure(text: str) -> None:
    with pytest.raises(ExpressionError):
        evaluate_condition(text, FAILED)


def test_expand_evaluates_keys_and_values_at_any_depth() -> None:
    value: Value = {"a-${{ env.B }}": ["${{ matrix.list }}", {"x": "${{ 1 }}", "y": 2.5, "z": None}], "t": True}
    assert expand(value, SCOPE) == {"a-b": [[1, "x"], {"x": 1, "y": 2.5, "z": None}], "t": True}


def test_expand_value_nested_without_end_is_an_error() -> None:
    value: list[Value] = []
    value.append(value)
    with pytest.raises(ExpressionError, match="nested deeper"):
        expand(value, SCOPE)


@pytest.mark.parametrize(
    ("text", "uses"),
    [
        ("success()", True),
        ("${{ github.x && Always() }}", True),
        ("contains('a', toJSON(failure()))", True),
        ("'success()'", False),
        ("github.success", False),
        ("text ${{ cancelled() }}", True),
        ("", False),
    ],
)
def test_uses_status_function_looks_at_calls_only(text: str, uses: bool) -> None:
    assert uses_status_function(text) is uses


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("${{ GitHub.ref }} ${{ matrix[env.X] && needs.a }}", {"github", "matrix", "env", "needs"}),
        ("github.ref == 'x' && inputs.y", {"github", "inputs"}),
        ("just words here", set()),
        ("${{ 'github' }}", set()),
        ("", set()),
    ],
)
def test_contexts_used_gives_lower_case_names(text: str, names: set[str]) -> None:
    assert contexts_used(text) == names


def test_scope_finds_contexts_without_case_and_reads_a_lazy_mapping_once_needed() -> None:
    class Lazy(Mapping[str, Value]):
        reads = 0

        def __getitem__(self, key: str) -> Value:
            Lazy.reads += 1
            return {"ref": "main"}[key]

        def __iter__(self) -> Iterator[str]:
            return iter(("ref",))

        def __len__(self) -> int:
            return 1

    scope = Scope({"GitHub": Lazy()})
    assert interpolate("${{ false && github.ref }}", scope) == "false"
    assert Lazy.reads == 0
    assert interpolate("${{ GITHUB.REF }}", scope) == "main"


def test_hash_files_passes_texts_and_turns_refusals_into_errors() -> None:
    asked: list[list[str]] = []
    scope = Scope(hash_files=lambda patterns: asked.append(list(patterns)) or "abc")  # type: ignore[func-returns-value] # append returns None
    assert interpolate("${{ hashFiles('**/*.lock', 1) }}", scope) == "abc"
    assert asked == [["**/*.lock", "1"]]

    def slow(_: object) -> str:
        raise TimeoutError("more than a minute")

    with pytest.raises(ExpressionError, match="hashFiles: more than a minute"):
        interpolate("${{ hashFiles('x') }}", Scope(hash_files=slow))


@pytest.mark.parametrize(
    "text",
    [
        "format('{0}{0}{0}{0}{0}{0}{0}{0}', " * 12 + "env.BIG" + ")" * 12,
        "toJSON(" * 30 + "env.QUOTES" + ")" * 30,
        "join(fromJSON(format('[{0}1]', env.COMMAS)), env.BIG)",
    ],
    ids=["format", "toJSON", "join"],
)
def test_evaluate_text_that_grows_without_end_is_refused(text: str) -> None:
    scope = Scope({"env": {"BIG": "x" * 10_000, "QUOTES": '"\\' * 100, "COMMAS": "1," * 1000}})
    with pytest.raises(ExpressionError, match="1048576 characters"):
        interpolate("${{ " + text + " }}", scope)


def test_interpolate_result_that_grows_without_end_is_refused() -> None:
    scope = Scope({"env": {"BIG": "x" * 1_000_000}})
    with pytest.raises(ExpressionError, match="grows beyond 10485760 characters"):
        interpolate("${{ env.BIG }}" * 1000, scope)


@pytest.mark.parametrize("text", ["[" * 101 + "]" * 101, "[" * 10_000, '{"a":' * 200 + "1" + "}" * 200, '"\\ud800"'])
def test_from_json_text_that_is_too_deep_or_half_a_character_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError, match="fromJSON: "):
        interpolate("${{ fromJSON(env.X) }}", Scope({"env": {"X": text}}))


def test_to_json_value_nested_without_end_is_refused() -> None:
    value: list[Value] = []
    value.append(value)
    with pytest.raises(ExpressionError, match="toJSON: the value is nested deeper than 100 levels"):
        interpolate("${{ toJSON(env) }}", Scope({"env": value}))


@settings(deadline=None)
@given(st.lists(st.sampled_from(["${{", "}}", "'", " ", "a", "env.B", "$", "{", "}", "\n"]), max_size=15).map("".join))
def test_interpolate_any_text_raises_nothing_but_its_error(text: str) -> None:
    try:
        result = interpolate(text, SCOPE)
    except ExpressionError as error:
        assert error.position >= 1
    else:
        assert "${{" in text or result == text
