"""Lexing and parsing: what is refused, where, and with which hint; nothing hostile gets far."""

import math
import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actionswire.expressions import ExpressionError, Scope, Value, evaluate, parse
from actionswire.expressions.parser import EXPRESSION_CHARS_MAX, EXPRESSION_DEPTH_MAX


@pytest.mark.parametrize(
    ("text", "position", "words"),
    [
        ("", 1, "the expression is empty"),
        ("  ", 1, "the expression is empty"),
        ("1 + 1", 3, "'+' is not a number (there is no arithmetic)"),
        ("2 * 3", 3, "unexpected *"),
        ("4 / 2", 3, "unexpected / (there is no arithmetic)"),
        ('github.ref == "x"', 15, 'unexpected " (text stands in single quotes)'),
        ("a = 1", 3, "unexpected = (equality is ==)"),
        ("a & b", 3, "unexpected & (and is &&)"),
        ("a | b", 3, "unexpected | (or is ||)"),
        ("a == 'b", 6, "no closing quote"),
        ("a == 'b''", 6, "no closing quote"),
        ("${{ a }}", 1, "leave out the ${{ }}"),
        ("1.2.3", 1, "'1.2.3' is not a number"),
        ("1 == 0xZZ", 6, "'0xZZ' is not a number"),
        ("-0x10", 1, "'-0x10' is not a number"),
        ("github.", 8, "unexpected the end, expected a property name or *"),
        ("github..ref", 8, "unexpected ., expected a property name"),
        ("github[0", 9, "unexpected the end, expected ']'"),
        ("(1", 3, "unexpected the end, expected ')'"),
        ("1 2", 3, "unexpected 2, expected an operator or the end"),
        ("a &&", 5, "unexpected the end, expected a value"),
        ("'abc'.x", 6, "a literal has no properties"),
        ("true.x", 5, "a literal has no properties"),
        ("1 == nope('x')", 6, "unknown function nope (known: always, cancelled, contains"),
        ("contains('a')", 1, "contains takes 2 arguments, not 1"),
        ("tojson()", 1, "toJSON takes 1 argument, not 0"),
        ("success(1)", 1, "success takes no arguments, not 1"),
        ("join('a', 'b', 'c')", 1, "join takes 1 to 2 arguments, not 3"),
        ("1 && success", 6, "success is a function and needs parentheses"),
        ("a.b\n== \x01", 8, "unexpected U+0001"),
    ],
)
def test_parse_broken_expression_names_the_place_and_a_way_out(text: str, position: int, words: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse(text)
    assert words in caught.value.message
    assert caught.value.position == position


def test_error_text_quotes_expression_and_column_on_one_line() -> None:
    with pytest.raises(ExpressionError) as caught:
        parse("a ==\n'b' ?")
    assert str(caught.value) == "unexpected ? at column 10 of expression \"a == 'b' ?\""


def test_error_text_of_a_long_expression_shows_the_part_around_the_place() -> None:
    with pytest.raises(ExpressionError) as caught:
        parse("a || " * 1000 + "?")
    shown = str(caught.value)
    assert "at column 5001" in shown
    assert len(shown) < 300
    assert '"…' in shown


def test_evaluate_unknown_context_is_an_error_even_where_it_is_not_needed() -> None:
    with pytest.raises(ExpressionError, match=r"unknown name nope \(known here: env, github\) at column 9"):
        evaluate("true || nope.x", Scope({"github": {}, "env": {}}))


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("1 < 2 == true", True),
        ("3 > 2 > 1", False),
        ("null != null", False),
        ("null < null", False),
        ("' ' == 0", True),
        ("'+1' == 1 && '.5' == 0.5 && '5.' == 5 && '007' == 7", True),
        ("'0o17' == 15 && '0XFF' == 255", True),
        ("'_' < 'a'", False),
        ("'ß' == 'SS'", False),
        ("+1 == 1 && .5 == 0.5 && 5. == 5 && 1e+2 == 100 && 0o17 == 15 && 01 == 1", True),
        ("-Infinity < 0", True),
        ("9007199254740993 == 9007199254740992", True),
        ("x.nope", None),
        ("x['EVENT']", "e"),
        ("x.commits[1.9].id", 2),
        ("x.commits['0'].id", 1),
        ("x.commits.length", None),
        ("x.commits.*.author", ["a"]),
        ("x.nope.*", []),
        ("x.commits[0].id.*", []),
        ("x.nested.*[0]", [1, 3]),
        ("x.commits[*].id", [1, 2]),
        ("x.nested.*.*", [1, 2, 3]),
        ("x.map.*", [{"n": 1}, {"n": 2}]),
        ("x.map.*.n", [1, 2]),
        ("x.map == x.map && x.nested == x.nested", True),
        ("x.map.* == x.map.*", False),
        ("fromJSON('[]') == fromJSON('[]')", False),
        ("startsWith(fromJSON('[]'), '')", False),
        ("join(fromJSON('{\"a\":1}'))", ""),
        ("fromJSON(true) == true && fromJSON(1) == 1", True),
        ("toJSON('a<b')", '"a<b"'),
        ("x.true", "yes"),
        ("x[x.key]", "e"),
        ("x[1]", "one"),
    ],
)
def test_evaluate_where_engines_differ_follows_github(text: str, result: object) -> None:
    context: Value = {
        "event": "e",
        "key": "EVENT",
        "true": "yes",
        "1": "one",
        "commits": [{"id": 1, "author": "a"}, {"id": 2}],
        "nested": [[1, 2], [3]],
        "map": {"x": {"n": 1}, "y": {"n": 2}},
    }
    assert evaluate(text, Scope({"x": context})) == result


@pytest.mark.parametrize(
    "text", ["contains('a','b','c')", "fromJSON('[NaN]')", "format('{0,5}', 1)", "case(true, 1, 2)"]
)
def test_evaluate_what_no_engine_or_only_one_accepts_is_an_error(text: str) -> None:
    with pytest.raises(ExpressionError):
        evaluate(text, Scope())


def test_parse_accepts_the_depth_limit_and_refuses_one_more() -> None:
    parse("!" * (EXPRESSION_DEPTH_MAX - 1) + "1")
    parse("(" * EXPRESSION_DEPTH_MAX + "1" + ")" * EXPRESSION_DEPTH_MAX)
    for text in (
        "!" * EXPRESSION_DEPTH_MAX + "1",
        "(" * (EXPRESSION_DEPTH_MAX + 1) + "1",
        "a" + ".b" * EXPRESSION_DEPTH_MAX,
        "1" + " == 1" * EXPRESSION_DEPTH_MAX,
        "a[" * EXPRESSION_DEPTH_MAX + "0" + "]" * EXPRESSION_DEPTH_MAX,
    ):
        with pytest.raises(ExpressionError, match="nested deeper than 50 levels"):
            parse(text)


def test_parse_long_chains_of_one_logical_operator_are_not_deep() -> None:
    assert evaluate(" || ".join(["false"] * 1000 + ["'last'"]), Scope()) == "last"
    assert evaluate(" && ".join(["true"] * 1000 + ["'last'"]), Scope()) == "last"


def test_parse_accepts_the_length_limit_and_refuses_one_more() -> None:
    text = "'" + "x" * (EXPRESSION_CHARS_MAX - 2) + "'"
    assert evaluate(text, Scope()) == text[1:-1]
    with pytest.raises(ExpressionError, match="21001 characters, more than 21000"):
        parse(text + " ")


@pytest.mark.parametrize(
    "piece",
    ["'", "''", "a.", "!", "(", "[", "1", "-", ".", "a||", "a==", "f(", " ", "{", "1e", "0x", "a-", "é", "'a' "],
)
def test_parse_long_repetition_takes_little_time(piece: str) -> None:
    text = (piece * EXPRESSION_CHARS_MAX)[:EXPRESSION_CHARS_MAX]
    started = time.process_time()
    with pytest.raises(ExpressionError):
        parse(text + "?")
    for tail in ("", "'", "a"):
        try:
            parse((text + tail)[-EXPRESSION_CHARS_MAX:])
        except ExpressionError:
            continue
    assert time.process_time() - started < 5


PIECES = [
    *(
        "github",
        ".",
        "ref",
        "[",
        "]",
        "(",
        ")",
        "'a'",
        "''",
        "'",
        "1",
        "-1",
        ".5",
        "0x1f",
        "1e3",
        "null",
        "true",
        "NaN",
    ),
    *(
        "==",
        "!=",
        "<",
        "<=",
        ">",
        ">=",
        "&&",
        "||",
        "!",
        ",",
        "*",
        " ",
        "contains",
        "format",
        "success",
        "toJSON",
        "\n",
    ),
    *("=", "&", "|", "{", "}", "$", '"', "\\", "é", "\x00", "\ud800"),
]


@settings(deadline=None)
@given(st.text(max_size=50) | st.lists(st.sampled_from(PIECES), max_size=20).map("".join))
def test_evaluate_any_text_raises_nothing_but_its_error(text: str) -> None:
    try:
        evaluate(text, Scope({"github": {"ref": "r", "n": [1, {"a": None}]}}))
    except ExpressionError as error:
        assert 1 <= error.position <= len(text) + 1
        assert str(error)


# A grammar of its own, from which text and expected value grow together.
def grown(rng: random.Random, depth: int) -> tuple[str, object]:
    if depth == 0:
        return rng.choice(
            [("1", 1), ("0", 0), ("'a'", "a"), ("''", ""), ("true", True), ("false", False), ("null", None)]
        )
    kind = rng.choice(["and", "or", "not", "group", "leaf"])
    left, left_value = grown(rng, depth - 1)
    right, right_value = grown(rng, depth - 1)
    match kind:
        case "and":
            return f"({left}) && ({right})", right_value if left_value else left_value
        case "or":
            return f"({left}) || ({right})", left_value or right_value
        case "not":
            return f"!({left})", not left_value
        case "group":
            return f"( {left} )", left_value
        case _:
            return left, left_value


@pytest.mark.parametrize("seed", range(50))
def test_evaluate_grown_logic_gives_the_value_it_was_grown_with(seed: int) -> None:
    text, value = grown(random.Random(seed), 4)
    result = evaluate(text, Scope())
    assert (result, type(result)) == (value, type(value)), f"seed {seed}: {text}"


def test_parse_same_text_gives_the_same_tree_object() -> None:
    assert parse("github.ref == 'x'") is parse("github.ref == 'x'")


def test_evaluate_keywords_not_a_number_and_infinity() -> None:
    assert math.isnan(evaluate("NaN", Scope()))  # type: ignore[arg-type] # it is a float
    assert evaluate("Infinity", Scope()) == math.inf
