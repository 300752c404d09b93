from actionsrunner.engine.environment import JobEnvironment, host_layer


def job_environment() -> JobEnvironment:
    return JobEnvironment(host={"PATH": "/usr/bin:/bin", "HOME": "/root", "A": "host"}, runner={"CI": "true"})


def test_for_step_later_layers_win() -> None:
    environment = job_environment()
    assert environment.for_step({}, {})["A"] == "host"
    environment.declare({"A": "workflow"})
    environment.declare({"A": "job"})
    environment.declare({"A": "configuration"})
    assert environment.for_step({}, {})["A"] == "configuration"
    environment.write({"A": "written"})
    assert environment.for_step({}, {})["A"] == "written"
    assert environment.for_step({}, {"A": "step"})["A"] == "step"
    assert environment.for_step({}, {})["A"] == "written"


def test_for_step_runner_variables_beat_all_but_the_step() -> None:
    environment = job_environment()
    environment.declare({"CI": "no", "GITHUB_ENV": "mine"})
    assert environment.for_step({"GITHUB_ENV": "/f"}, {})["GITHUB_ENV"] == "/f"
    assert environment.for_step({}, {})["CI"] == "true"
    assert environment.for_step({}, {"CI": "step"})["CI"] == "step"


def test_for_step_keeps_names_that_differ_by_case() -> None:
    environment = job_environment()
    environment.declare({"name": "1", "NAME": "2"})
    environ = environment.for_step({}, {})
    assert (environ["name"], environ["NAME"]) == ("1", "2")


def test_add_paths_puts_the_newest_in_front_once() -> None:
    environment = job_environment()
    environment.add_paths(["/one", "/two"])
    environment.add_paths(["/one"])
    assert environment.for_step({}, {})["PATH"] == "/one:/two:/usr/bin:/bin"


def test_add_paths_stand_before_the_steps_own_path() -> None:
    environment = job_environment()
    environment.add_paths(["/one"])
    assert environment.for_step({}, {"PATH": "/mine"})["PATH"] == "/one:/mine"
    assert JobEnvironment(host={}, paths=["/one"]).for_step({}, {})["PATH"] == "/one"
    assert "PATH" not in JobEnvironment(host={}).for_step({}, {})


def test_write_refuses_names_of_the_runner() -> None:
    environment = job_environment()
    refused = environment.write({"GITHUB_SHA": "x", "RUNNER_TEMP": "x", "NODE_OPTIONS": "x", "A\0": "x", "B": "1"})
    assert len(refused) == 4
    assert environment.declared == {"B": "1"}


def test_context_shows_declared_and_step_values_only() -> None:
    environment = job_environment()
    environment.declare({"B": "1"})
    assert environment.context({"C": "2"}) == {"B": "1", "C": "2"}


def test_host_layer_holds_back_what_belongs_to_the_runner() -> None:
    kept = host_layer(
        {
            "PATH": "/bin",
            "LANG": "C",
            "GITEA_RUNNER_REGISTRATION_TOKEN": "x",
            "CREDENTIALS_DIRECTORY": "x",
            "NOTIFY_SOCKET": "x",
            "INVOCATION_ID": "x",
            "GITHUB_TOKEN": "x",
            "ACTIONS_RUNTIME_TOKEN": "x",
            "INPUT_X": "x",
        }
    )
    assert kept == {"PATH": "/bin", "LANG": "C"}
