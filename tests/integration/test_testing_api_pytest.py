"""The pytest plugin in pytest runs of its own: fixtures, marker, failure report, xdist, async tests."""

from importlib.metadata import entry_points

import pytest

pytest_plugins = ["pytester"]

PASSING = """
    import urllib.request
    import pytest

    @pytest.mark.mockgitea(profile="forgejo-15", clock="manual", seed=77)
    def test_marked(mockgitea, mockgitea_url):
        assert (mockgitea.profile, mockgitea.clock.mode, mockgitea.seed) == ("forgejo-15", "manual", 77)
        assert mockgitea_url == mockgitea.url

    def test_default(mockgitea):
        assert (mockgitea.profile, mockgitea.clock.mode) == ("gitea-1.27", "offset")
        mockgitea.new_runner("r1")

    def test_own_server_each_time(mockgitea):
        assert mockgitea.snapshot()["runners"] == []
"""
FAILING = """
    def test_wrong(mockgitea):
        mockgitea.enqueue("on: push\\njobs:\\n  a:\\n    runs-on: linux\\n    steps: [{run: x}]\\n")
        with mockgitea.new_runner("r1").play() as played:
            task = played.fetch()
            played.report(task["id"], "success")
        assert False, "on purpose"
"""


@pytest.fixture
def pytester(pytester: pytest.Pytester) -> pytest.Pytester:
    """A pytest run that treats warnings as errors and markers strictly."""
    pytester.makeini("[pytest]\nfilterwarnings = error\naddopts = --strict-markers -p no:randomly\n")
    return pytester


def run(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    """Run in a process of its own, with the plugin whether or not its entry point is installed."""
    is_installed = any(each.name == "mockgitea" for each in entry_points(group="pytest11"))
    plugin = () if is_installed else ("-p", "mockgitea.pytest_plugin")
    return pytester.runpytest_subprocess(*plugin, *arguments)


def test_fixtures_and_marker(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(PASSING)
    run(pytester).assert_outcomes(passed=3)


def test_fixtures_under_xdist(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_one=PASSING, test_two=PASSING)
    run(pytester, "-n", "2").assert_outcomes(passed=6)


def test_async_tests_have_the_same_fixtures(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import asyncio
        import pytest

        @pytest.fixture
        def anyio_backend():
            return "asyncio"

        @pytest.mark.anyio
        async def test_async(mockgitea):
            with mockgitea.new_runner("r1").play() as played:
                fetching = asyncio.create_task(asyncio.to_thread(played.fetch))
                await mockgitea.journal.wait_for_async("FetchTask", "r1")
                await fetching
        """
    )
    run(pytester).assert_outcomes(passed=1)


def test_failure_report_shows_calls_seed_and_audit(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(FAILING)
    result = run(pytester)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*mockgitea journal*",
            "gitea-1.27, seed *",
            "2 calls were recorded: FetchTask task 1, UpdateTask ok 1",
            "*#1 * FetchTask r1 task 1 tasks_version 0 -> task",
            "*mockgitea audit*",
            "audit: 1 findings*",
            "*result-before-log: r1 task 1*",
        ]
    )
    result.stdout.no_fnmatch_line("*server_started*")


def test_failure_after_the_test_closed_the_server_is_reported_calmly(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_closed(mockgitea):\n    mockgitea.close()\n    assert False\n")
    result = run(pytester)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["the server was closed by the test*"])


def test_shared_server_is_new_for_each_test_and_the_sessions_is_kept(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        urls = set()

        def test_one(mockgitea_shared):
            mockgitea_shared.new_runner("r1")
            urls.add(mockgitea_shared.url)

        def test_two(mockgitea_shared, mockgitea_session):
            assert mockgitea_shared is mockgitea_session
            assert mockgitea_shared.snapshot()["runners"] == []
            urls.add(mockgitea_shared.url)
            assert len(urls) == 1
        """
    )
    run(pytester).assert_outcomes(passed=2)


def test_misuse_is_an_error_that_says_what_to_do(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.mockgitea("forgejo-15")
        def test_value(mockgitea): pass

        @pytest.mark.mockgitea(profil="x")
        def test_unknown(mockgitea): pass

        @pytest.mark.mockgitea(seed=1)
        def test_shared(mockgitea_shared): pass
        """
    )
    result = run(pytester)
    result.assert_outcomes(errors=3)
    result.stdout.fnmatch_lines_random(
        ["*takes settings by name*", "*profil: there is no such setting*", "*use the fixture mockgitea*"]
    )


def test_class_marker_holds_and_the_nearest_wins(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.mockgitea(profile="forgejo-15", seed=1)
        class TestForgejo:
            def test_class(self, mockgitea):
                assert (mockgitea.profile, mockgitea.seed) == ("forgejo-15", 1)

            @pytest.mark.mockgitea(seed=2)
            def test_method(self, mockgitea):
                assert (mockgitea.profile, mockgitea.seed) == ("forgejo-15", 2)
        """
    )
    run(pytester).assert_outcomes(passed=2)


def test_plugin_imports_nothing_until_it_is_used(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import sys

        def test_light():
            assert not {"mockgitea.app", "sqlalchemy", "uvicorn"} & sys.modules.keys()
        """
    )
    run(pytester).assert_outcomes(passed=1)


def test_marker_is_documented_by_pytest_itself(pytester: pytest.Pytester) -> None:
    run(pytester, "--markers").stdout.fnmatch_lines(["@pytest.mark.mockgitea(profile=..., *"])
