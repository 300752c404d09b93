"""What a dependant sees of its needs, and whether a blocked job goes on, per profile."""

import pytest

from actionswire.result import Result, Status
from mockgitea.core.errors import InvalidInput
from mockgitea.core.needs import Needed, Sibling, Verdict, judge, merged_outputs, needs_context, seen_needs
from mockgitea.core.profiles import profile_named
from mockgitea.core.scopes import Surroundings

AROUND = Surroundings(github={"ref": "refs/heads/main"}, inputs={"deploy": True}, vars={"ON": "yes"})
S, F, C, K = Status.SUCCESS, Status.FAILURE, Status.CANCELLED, Status.SKIPPED
NEW, OLD, VERY_OLD, FORGEJO = "gitea-1.27", "gitea-1.25", "gitea-1.21", "forgejo-15"


def rows(*statuses: Status, continues: bool = False) -> list[Sibling]:
    return [Sibling(status=status, continues_on_error=continues) for status in statuses]


def decide(needed: Needed, if_text: str, profile: str) -> Verdict:
    return judge(if_text, needed, profile_named(profile), AROUND, field="jobs.b.if")


@pytest.mark.parametrize("profile", [NEW, OLD, FORGEJO])
def test_unfinished_need_holds(profile: str) -> None:
    assert decide({"a": rows(S, Status.RUNNING)}, "always()", profile) is Verdict.HOLD


@pytest.mark.parametrize("profile", [NEW, OLD, FORGEJO])
def test_no_needs_start_whatever_the_condition_says(profile: str) -> None:
    assert decide({}, "false", profile) is Verdict.START


@pytest.mark.parametrize(
    ("statuses", "if_text", "new", "old"),
    [
        ([S], "", True, True),
        ([F], "", False, False),
        ([K], "", False, False),
        ([C], "", False, False),
        ([S, K], "", True, False),
        ([F], "always()", True, True),
        ([F], "failure()", True, True),
        ([S], "failure()", False, True),
        ([C], "cancelled()", True, True),
        ([S], "cancelled()", False, True),
        ([F], "true", False, True),
        ([S], "false", False, True),
        ([S], "github.ref == 'refs/heads/main' && inputs.deploy && vars.ON == 'yes'", True, True),
        ([S], "needs.a.result == 'success'", True, True),
        ([F], "always() && needs.a.result == 'failure'", True, True),
        ([F], "!cancelled()", True, True),
        ([F, C], "failure()", False, True),
        ([S], "secrets.X == ''", True, True),
    ],
)
def test_condition_is_the_servers_business_on_new_servers_only(
    statuses: list[Status], if_text: str, new: bool, old: bool
) -> None:
    assert decide({"a": rows(*statuses)}, if_text, NEW) is (Verdict.START if new else Verdict.SKIP)
    for profile in (OLD, VERY_OLD, FORGEJO):
        assert decide({"a": rows(*statuses)}, if_text, profile) is (Verdict.START if old else Verdict.SKIP)


def test_tolerated_failure_counts_as_success_on_new_servers_only() -> None:
    needed = {"a": rows(F, continues=True)}
    assert decide(needed, "", NEW) is Verdict.START
    assert decide(needed, "", OLD) is Verdict.SKIP
    assert seen_needs(needed, profile_named(NEW))["a"].result is Result.SUCCESS


def test_condition_that_fails_is_refused_with_its_field() -> None:
    with pytest.raises(InvalidInput, match=r"jobs\.b\.if: fromJSON"):
        decide({"a": rows(S)}, "fromJSON('x')", NEW)
    assert decide({"a": rows(S)}, "fromJSON('x')", OLD) is Verdict.START


def test_condition_sees_outputs() -> None:
    needed = {"a": [Sibling(status=S, outputs={"go": "yes"})]}
    assert decide(needed, "needs.a.outputs.go == 'yes'", NEW) is Verdict.START
    assert decide(needed, "needs.a.outputs.go == 'no'", NEW) is Verdict.SKIP


@pytest.mark.parametrize(
    ("statuses", "profile", "result"),
    [
        ([S, K], NEW, Result.SUCCESS),
        ([F, C], NEW, Result.CANCELLED),
        ([F, S], NEW, Result.FAILURE),
        ([K, K], NEW, Result.SKIPPED),
        ([F, C], OLD, Result.CANCELLED),
        ([F, C], FORGEJO, Result.CANCELLED),
        ([F, C], VERY_OLD, Result.CANCELLED),
        ([F, K], VERY_OLD, Result.SKIPPED),
    ],
)
def test_result_of_siblings_is_their_aggregate(statuses: list[Status], profile: str, result: Result) -> None:
    assert seen_needs({"a": rows(*statuses)}, profile_named(profile))["a"].result is result


def outputs(*siblings: dict[str, str] | None, profile: str) -> dict[str, str]:
    held = [Sibling(status=S, has_task=each is not None, outputs=each or {}) for each in siblings]
    return merged_outputs(held, profile_named(profile))


@pytest.mark.parametrize("profile", [NEW, OLD, FORGEJO])
def test_later_siblings_outputs_replace_earlier_ones(profile: str) -> None:
    assert outputs({"a": "1", "b": "2"}, {"a": "3"}, profile=profile) == {"a": "3"}
    assert outputs({"a": "1"}, {"a": "", "c": "4"}, profile=profile) == {"a": "1", "c": "4"}


def test_sibling_without_task_erases_or_is_passed_over() -> None:
    assert outputs({"a": "1"}, None, profile=NEW) == {}
    assert outputs({"a": "1"}, None, {"b": "2"}, profile=NEW) == {"b": "2"}
    assert outputs({"a": "1"}, None, profile=OLD) == {"a": "1"}
    assert outputs({"a": "1"}, None, profile=FORGEJO) == {"a": "1"}


def test_very_old_servers_take_the_last_row_alone() -> None:
    assert outputs({"a": "1"}, {"a": ""}, profile=VERY_OLD) == {"a": ""}


def test_unfinished_need_has_no_result_in_the_context() -> None:
    seen = seen_needs({"a": rows(Status.RUNNING), "gone": []}, profile_named(NEW))
    assert needs_context(seen) == {"a": {"result": "", "outputs": {}}, "gone": {"result": "", "outputs": {}}}
