from typing import Any

import pytest

from calls import UUID, Recording
from mockgitea.core.audit import AuditFacts, AuditReport, Rule, audit


def rules(recording: Recording, **facts: Any) -> list[tuple[str, tuple[int, ...]]]:
    found = audit(recording.records, AuditFacts(**facts)).findings
    return [(finding.rule.value, finding.entries) for finding in found]


def healthy() -> Recording:
    recording = Recording()
    recording.add("Declare")
    recording.fetch()
    recording.fetch(7)
    recording.log(7, 0, 2)
    recording.state(7, steps=[{"id": "0", "startedAt": "2026-01-01T00:00:00Z"}])
    recording.log(7, 2, 1, end=True)
    recording.state(7, "success", steps=[{"id": "0", "startedAt": "x", "result": "RESULT_SUCCESS"}])
    recording.fetch()
    return recording


def test_healthy_session_is_clean() -> None:
    report = audit(healthy().records, AuditFacts(capacity={"r1": 1}))
    assert report.is_clean, str(report)
    assert (report.calls, report.tasks, report.runners, report.notes) == (8, 1, 1, ())
    assert str(report) == "audit: no rule was broken (8 calls, 1 tasks, 1 runners)"


def begun(*tasks: int) -> Recording:
    recording = Recording()
    for task in tasks or (7,):
        recording.fetch(task)
    return recording


# --- log
def test_log_gap_is_found_once_and_only_for_the_runner_that_left_rows_out() -> None:
    recording = begun()
    recording.log(7, 0, 2)
    recording.log(7, 5, 1, ack=2)
    assert rules(recording) == [("log-gap", (2, 3))]


def test_log_gap_at_the_very_beginning_is_found() -> None:
    recording = begun()
    recording.log(7, 3, 1, ack=0)
    assert rules(recording) == [("log-gap", (2,))]


def test_log_of_an_evicted_beginning_is_not_judged_before_its_first_ack() -> None:
    recording = Recording()
    recording.log(7, 30, 1)
    recording.log(7, 40, 1, ack=31)
    assert rules(recording, evicted=5) == [("log-gap", (1, 2))]


def test_log_repeat_of_acknowledged_rows_is_found() -> None:
    recording = begun()
    recording.log(7, 0, 3)
    recording.log(7, 0, 3)
    assert rules(recording) == [("log-repeat", (2, 3))]


@pytest.mark.parametrize(
    "lost", [{"outcome": "abandoned"}, {"fault": "lost", "outcome": "refused"}, {"outcome": "internal", "status": 500}]
)
def test_log_repeat_after_a_lost_answer_is_right(lost: dict[str, Any]) -> None:
    recording = begun()
    recording.log(7, 0, 3, **lost)
    recording.log(7, 0, 3)
    assert rules(recording) == []


def test_log_sent_while_the_answer_before_is_under_way_is_excused() -> None:
    recording = begun()
    recording.log(7, 0, 3, closed_after=3)
    recording.log(7, 0, 3)
    assert rules(recording) == []


def test_log_regress_without_an_ack_that_asked_for_it_is_found() -> None:
    recording = begun()
    recording.log(7, 0, 3)
    recording.log(7, 3, 3)
    recording.log(7, 2, 4)
    assert rules(recording) == [("log-regress", (3, 4))]


def test_log_resend_after_a_lower_ack_is_the_servers_breach_and_not_the_runners() -> None:
    recording = begun()
    recording.log(7, 0, 5)
    recording.log(7, 5, 1, ack=3)
    recording.log(7, 3, 3)
    assert rules(recording) == [("log-ack", (2, 3))]


def test_log_ack_above_what_was_sent_is_found_and_following_it_is_excused() -> None:
    recording = begun()
    recording.log(7, 0, 1, ack=4, fault="wrong-ack")
    recording.log(7, 4, 1)
    assert rules(recording) == [("log-ack", (2,))]


def test_rows_after_the_end_are_found_and_an_empty_repeat_of_the_end_is_not() -> None:
    recording = begun()
    recording.log(7, 0, 1, end=True)
    recording.log(7, 1, 0, end=True)
    recording.log(7, 1, 2, ack=1)
    assert rules(recording) == [("log-after-end", (2, 4))]


# --- state
def test_final_report_is_repeated_without_a_finding_but_never_changed() -> None:
    recording = begun()
    recording.log(7, 0, 0, end=True)
    recording.state(7, "success")
    recording.state(7, "success")
    recording.state(7, "failure", answer="success")
    recording.state(7, answer="success")
    assert rules(recording) == [("task-transition", (3, 5)), ("task-transition", (3, 6))]


def test_step_taken_back_left_out_or_changed_is_found() -> None:
    recording = begun()
    done = {"id": "0", "startedAt": "x", "result": "RESULT_SUCCESS"}
    recording.state(7, steps=[done])
    recording.state(7, steps=[{"id": "0", "startedAt": "x"}])
    recording.state(7, steps=[{"id": "1"}])
    recording.state(7, steps=[done | {"result": "RESULT_FAILURE"}])
    assert rules(recording) == [
        ("step-transition", (2, 3)), ("step-transition", (3, 4)), ("step-transition", (2, 5)),
    ]  # fmt: skip


def test_result_before_the_end_of_the_log_is_found() -> None:
    recording = begun(7, 8)
    recording.state(7, "success")
    recording.log(7, 0, 1, end=True)
    recording.state(8, "failure")
    assert rules(recording) == [("result-before-log", (3, 4)), ("result-before-log", (5,))]


def test_result_after_an_end_of_the_log_that_failed_is_right() -> None:
    recording = begun()
    recording.log(7, 0, 1, end=True, outcome="unavailable", status=503)
    recording.state(7, "success")
    assert rules(recording) == []


def test_report_on_a_task_of_nobody_is_found_unless_the_beginning_is_gone() -> None:
    recording = Recording()
    recording.state(9)
    assert rules(recording) == [("task-owner", (1,))]
    assert rules(recording, evicted=1) == []


# --- presence
def test_capacity_that_was_told_is_kept() -> None:
    recording = begun(7)
    recording.fetch(8)
    assert rules(recording) == []
    assert rules(recording, capacity={"r1": 2}) == []
    assert rules(recording, capacity={UUID: 1}) == [("fetch-while-full", (1, 2)), ("over-capacity", (1, 2))]


def test_fetch_while_full_is_found_until_the_result_is_reported() -> None:
    recording = begun(7)
    recording.fetch()
    recording.log(7, 0, 0, end=True)
    recording.state(7, "success")
    recording.fetch()
    assert rules(recording, capacity={"r1": 1}) == [("fetch-while-full", (1, 2))]


@pytest.mark.parametrize("code", ["unauthenticated", "unknown"])
def test_a_task_that_the_server_seems_not_to_know_takes_no_slot_any_more(code: str) -> None:
    recording = begun(7)
    recording.state(7, outcome=code, code=code, status=500)
    recording.fetch(8)
    assert rules(recording, capacity={"r1": 1}) == []


def test_a_task_whose_report_may_be_repeated_keeps_its_slot() -> None:
    recording = begun(7)
    recording.state(7, outcome="refused", code="unavailable", status=503)
    recording.fetch()
    assert rules(recording, capacity={"r1": 1}) == [("fetch-while-full", (1, 3))]


def test_capacity_that_forgejos_runners_tell_is_kept() -> None:
    recording = Recording()
    recording.fetch(7, request={"taskCapacity": "2"})
    recording.fetch(request={"taskCapacity": "1"})
    assert rules(recording) == []
    recording.fetch(request={"taskCapacity": "2"})
    assert rules(recording) == [("over-capacity", (1, 3))]


def test_more_tasks_than_asked_for_are_found() -> None:
    recording = Recording()
    recording.fetch(7, 8, 9, request={"taskCapacity": "2"})
    assert rules(recording) == [("over-capacity", (1,))]


def test_silence_about_a_running_task_is_found_and_ends_with_its_result() -> None:
    recording = begun()
    recording.state(7, after_s=59.0)
    recording.state(7, after_s=90.0)
    recording.log(7, 0, 0, end=True)
    recording.state(7, "success")
    recording.fetch(after_s=500.0)
    assert rules(recording) == [("heartbeat-gap", (2, 3))]
    assert rules(recording, heartbeat_s=100.0) == []


def test_reports_refused_before_they_were_read_count_as_heartbeats() -> None:
    recording = begun()
    for _ in range(3):
        recording.add("UpdateTask", outcome="refused", status=503, request=None, runner_uuid="", after_s=50.0)
    recording.state(7, after_s=50.0)
    assert rules(recording) == []


def test_silence_after_a_cancel_is_right() -> None:
    recording = begun()
    recording.state(7, answer="cancelled")
    recording.log(7, 0, 0, end=True, after_s=300.0)
    recording.state(7, "cancelled")
    assert rules(recording) == []


def test_second_process_under_one_identity_is_found() -> None:
    recording = Recording(peer="127.0.0.1:1")
    recording.add("Declare")
    recording.fetch()
    recording.peer = "127.0.0.1:2"
    recording.add("Declare")
    recording.fetch()
    assert rules(recording) == []  # a restarted process
    recording.peer = "127.0.0.1:1"
    recording.fetch()
    recording.fetch()
    assert rules(recording) == [("identity-twice", (3, 5))]


def test_fetch_after_a_told_stop_is_found() -> None:
    recording = Recording()
    recording.fetch()
    recording.fetch()
    assert rules(recording, stopped={"r1": 1}) == [("poll-after-stop", (2,))]
    assert rules(recording, stopped={"r1": 2}) == []


def test_fetch_after_unauthenticated_is_found_only_where_the_code_travelled() -> None:
    for code, expected in (("unauthenticated", [("poll-after-stop", (1, 2))]), ("unknown", [])):
        recording = Recording()
        for _ in range(2):
            recording.fetch(runner_uuid="", outcome="unauthenticated", code=code, status=401)
        assert rules(recording) == expected


def test_fetch_after_a_report_that_was_unauthenticated_is_no_breach() -> None:
    recording = begun(7)
    recording.log(7, 0, 1, outcome="unauthenticated", code="unauthenticated", status=401, runner_uuid="")
    recording.fetch()
    assert rules(recording) == []


@pytest.mark.parametrize(("outcome", "fault"), [("abandoned", ""), ("unauthenticated", "truncated")])
def test_fetch_after_an_unauthenticated_answer_that_may_not_have_arrived_is_no_breach(outcome: str, fault: str) -> None:
    recording = Recording()
    recording.fetch(runner_uuid="", outcome=outcome, code="unauthenticated", status=401, fault=fault)
    recording.fetch()
    assert rules(recording) == []


def test_fetch_of_a_spent_ephemeral_runner_is_found() -> None:
    recording = begun()
    recording.log(7, 0, 0, end=True)
    recording.state(7, "success")
    recording.fetch()
    assert rules(recording, ephemeral=frozenset({UUID})) == [("poll-after-stop", (3, 4))]


# --- the report
def test_finding_tells_rule_runner_task_entries_and_what_is_correct() -> None:
    recording = begun()
    recording.state(7, "success")
    [finding] = audit(recording.records).findings
    assert str(finding) == (
        "result-before-log: r1 task 7: reported success without ending the log (#2); "
        "a correct peer ends the log (UpdateLog with no_more) before it reports the task's result"
    )


def test_report_says_what_it_could_not_judge() -> None:
    recording = begun()
    recording.add("UpdateLog", request=None)
    notes = audit(recording.records, AuditFacts(evicted=3)).notes
    assert notes == (
        "3 calls were evicted from the journal; what they held was not judged",
        "1 calls have no decoded body (cut, or no runner message); they were not judged",
        "task 7 of r1 has no result yet",
    )


def test_by_rule_filters_and_refuses_a_rule_that_does_not_exist() -> None:
    recording = begun()
    recording.state(7, "success")
    report = audit(recording.records)
    assert len(report.by_rule("result-before-log")) == 1
    assert report.by_rule(Rule.LOG_GAP) == []
    with pytest.raises(ValueError, match="no-such-rule"):
        report.by_rule("no-such-rule")


def test_audit_of_nothing_is_clean() -> None:
    assert audit([]) == AuditReport((), (), 0, 0, 0)


def test_audit_of_many_calls_is_linear() -> None:
    recording = begun()
    for number in range(3000):
        recording.log(7, number, 1, after_s=0.01)
    assert rules(recording) == []
