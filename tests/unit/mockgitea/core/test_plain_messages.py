from mockgitea.core.plain_messages import plain_request, plain_response


def test_numbers_names_and_results_are_plain() -> None:
    state = {"id": "7", "result": "RESULT_SUCCESS", "steps": [{"id": "1", "logLength": "3"}]}
    assert plain_request("UpdateTask", {"state": state, "outputs": {"camelKey": "v"}}) == {
        "state": {
            "id": 7, "result": "success", "started_at": None, "stopped_at": None,
            "steps": [{"id": 1, "result": "unspecified", "started_at": None, "stopped_at": None,
                       "log_index": 0, "log_length": 3}],
        },
        "outputs": {"camelKey": "v"},
    }  # fmt: skip


def test_defaults_that_canonical_json_leaves_out_are_there() -> None:
    assert plain_request("UpdateLog", {}) == {"task_id": 0, "index": 0, "rows": [], "no_more": False}
    assert plain_response("FetchTask", {}) == {"tasks_version": 0, "task": None, "additional_tasks": []}


def test_absent_optional_number_stays_absent_and_a_present_one_is_a_number() -> None:
    absent, present = plain_request("FetchTask", {}), plain_request("FetchTask", {"taskCapacity": "2"})
    assert absent is not None and absent["task_capacity"] is None
    assert present is not None and present["task_capacity"] == 2


def test_error_answers_and_unknown_methods_stay_as_they_are() -> None:
    error = {"code": "unknown", "status": 500}
    assert plain_response("FetchTask", error) == error
    assert plain_request("rest", {"aB": 1}) == {"aB": 1}
    assert plain_request("rest", None) is None
