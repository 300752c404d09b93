import asyncio
import random
from collections.abc import Awaitable, Callable

from mockgitea.clock import MovableClock
from mockgitea.core.downtime import DownKind, Downtime, Downtimes
from mockgitea.transport.port_keeper import PortKeeper


class Port:
    def __init__(self) -> None:
        self.did: list[str] = []
        self.is_open = True

    async def pause(self) -> None:
        self._change(False, "pause")

    async def resume(self) -> None:
        self._change(True, "resume")

    def cut(self) -> int:
        self.did.append("cut")
        return 0

    def _change(self, is_open: bool, verb: str) -> None:
        if self.is_open is not is_open:
            self.is_open = is_open
            self.did.append(verb)


class Scene:
    def __init__(self) -> None:
        self.clock = MovableClock("manual", start_us=0)
        self.downtimes = Downtimes()
        self.port = Port()
        self.cuts: list[tuple[str, int]] = []
        """Name of each rule that cut, with how often the port had been cut by then."""
        self.keeper = PortKeeper(self.clock, self.downtimes, self.port, on_cut=self._note)

    def _note(self, name: str) -> None:
        self.cuts.append((name, self.port.did.count("cut")))

    async def add(self, kind: DownKind, **fields: float) -> None:
        downtime = Downtime(name=kind, kind=kind, duration_s=5.0, **fields)  # type: ignore[arg-type]
        self.downtimes.add(downtime, now_us=self.clock.now_us(), rng=random.Random(1))
        await self.keeper.settle()

    async def advance(self, seconds: float) -> None:
        self.clock.advance(seconds)
        await self.keeper.settle()


def keeping(body: Callable[[Scene], Awaitable[None]]) -> None:
    async def main() -> None:
        scene = Scene()
        loop = asyncio.ensure_future(scene.keeper.run_forever())
        async with asyncio.timeout(10):
            await body(scene)
        loop.cancel()
        await asyncio.gather(loop, return_exceptions=True)

    asyncio.run(main())


def test_the_port_follows_a_refused_window() -> None:
    async def body(scene: Scene) -> None:
        await scene.add(DownKind.REFUSED, start_s=2.0)
        assert scene.port.did == []
        await scene.advance(2.0)
        assert scene.port.did == ["pause", "cut"]
        await scene.advance(5.0)
        assert scene.port.did == ["pause", "cut", "resume"]

    keeping(body)


def test_a_window_that_does_not_close_the_port_may_cut() -> None:
    async def body(scene: Scene) -> None:
        await scene.add(DownKind.PLANNED)
        await scene.add(DownKind.BLACK_HOLE, cuts=True)
        assert scene.port.did == ["cut"]

    keeping(body)


def test_a_cut_is_told_under_the_name_of_its_rule_before_it_is_done() -> None:
    async def body(scene: Scene) -> None:
        await scene.add(DownKind.REFUSED)
        scene.keeper.cut("restart")
        assert scene.cuts == [("refused", 0), ("restart", 1)]
        assert scene.port.did == ["pause", "cut", "cut"]

    keeping(body)


def test_a_reset_opens_the_port_and_a_later_rule_cuts_again() -> None:
    async def body(scene: Scene) -> None:
        for _ in range(2):
            await scene.add(DownKind.REFUSED)
            scene.downtimes.reset()
            await scene.keeper.settle()
            await scene.advance(1.0)
        assert scene.port.did == ["pause", "cut", "resume"] * 2

    keeping(body)


def test_a_restart_keeps_the_port_closed_whatever_the_windows_say() -> None:
    async def body(scene: Scene) -> None:
        scene.keeper.close_port()
        await scene.keeper.settle()
        await scene.add(DownKind.REFUSED)
        scene.downtimes.reset()
        await scene.keeper.settle()
        assert not scene.port.is_open
        scene.keeper.open_port()
        await scene.keeper.settle()
        assert scene.port.is_open

    keeping(body)
