import structlog

from mockgitea.lab.run import quiet_logs


def test_quiet_logs_leave_a_process_that_chose_nothing_as_it_was() -> None:
    structlog.reset_defaults()
    with quiet_logs():
        structlog.get_logger("test").error("drowned")
    assert not structlog.is_configured()


def test_quiet_logs_put_a_chosen_configuration_back() -> None:
    structlog.configure(processors=[], cache_logger_on_first_use=False)
    try:
        with quiet_logs():
            assert structlog.get_config()["processors"] == []
        assert structlog.is_configured()
    finally:
        structlog.reset_defaults()
