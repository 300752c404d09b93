from mockgitea.core.journal import Journal
from mockgitea.transport.fault_verdicts import note_cut


def test_a_cut_is_noted_on_calls_that_it_may_have_cost_their_answers_once() -> None:
    journal = Journal(entries_max=10, bytes_max=1000)
    old, recent, still_open, grpc = (journal.open(0, opened_s) for opened_s in (1.0, 9.0, 9.0, 9.0))
    journal.close(old, 1.5)
    journal.close(recent, 9.4)
    recent.fault = "slow"
    grpc.transport = "grpc"
    for _ in range(2):
        note_cut(journal, "reboot", 9.5)
    assert [entry.fault for entry in (old, recent, still_open, grpc)] == ["", "slow, reboot", "reboot", ""]
