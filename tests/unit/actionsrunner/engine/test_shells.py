import pytest

from actionsrunner.engine.shells import ShellError, choose_shell


def with_bash(program: str) -> bool:
    return program == "bash"


def without_bash(program: str) -> bool:
    return False


@pytest.mark.parametrize(
    ("name", "extension", "argv"),
    [
        ("bash", ".sh", ("bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "/s")),
        (" bash ", ".sh", ("bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "/s")),
        ("sh", ".sh", ("sh", "-e", "/s")),
        ("python", ".py", ("python", "/s")),
        ("pwsh", ".ps1", ("pwsh", "-command", ". '/s'")),
        ("powershell", ".ps1", ("powershell", "-command", ". '/s'")),
        ("cmd", ".cmd", ("cmd", "/D", "/E:ON", "/V:OFF", "/S", "/C", 'CALL "/s"')),
        ("cat {0}", "", ("cat", "/s")),
        ("bash -x {0} 'two words'", "", ("bash", "-x", "/s", "two words")),
        ("env A={0} sh {0}", "", ("env", "A=/s", "sh", "/s")),
    ],
)
def test_choose_shell_gives_the_argument_vector(name: str, extension: str, argv: tuple[str, ...]) -> None:
    shell = choose_shell(name, without_bash)
    assert shell.extension == extension
    assert shell.argv("/s") == argv


def test_choose_shell_without_a_name_prefers_bash() -> None:
    assert choose_shell("", with_bash).words[0] == "bash"
    assert choose_shell("", without_bash).words == ("sh", "-e", "{0}")


@pytest.mark.parametrize(("name", "part"), [("fish", "{0}"), ("bash -e", "{0}"), ("sh 'x {0}", "split into words")])
def test_choose_shell_refuses_bad_templates(name: str, part: str) -> None:
    with pytest.raises(ShellError) as caught:
        choose_shell(name, with_bash)
    assert part in str(caught.value)
    assert name in str(caught.value)


def test_shell_keeps_a_path_with_blanks_in_one_word() -> None:
    assert choose_shell("sh -e {0}", with_bash).argv("/a b/s") == ("sh", "-e", "/a b/s")


def test_shell_content_counts_lines_like_the_workflow() -> None:
    assert choose_shell("bash", with_bash).content("echo 1\necho 2\n") == "echo 1\necho 2\n"
    assert choose_shell("cmd", with_bash).content("dir") == "@echo off\ndir\n"
    wrapped = choose_shell("pwsh", with_bash).content("Get-Item")
    assert wrapped.splitlines()[0] == "$ErrorActionPreference = 'stop'"
    assert "exit $LASTEXITCODE" in wrapped.splitlines()[-1]
