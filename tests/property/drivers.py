"""Ways to do the model's operations to something real. Each answers in the model's words."""

from collections.abc import Mapping, Sequence
from typing import Any

import yaml
from model import JobSpec
from sqlalchemy import Connection, select

from actionswire.result import Result, Status
from mockgitea.clock import MovableClock
from mockgitea.core.errors import Refusal
from mockgitea.core.messages import Registering, StepReport, TaskReport
from mockgitea.service.container import Services
from mockgitea.service.directory import RunnerRecord
from mockgitea.service.runs import EnqueueRequest
from mockgitea.settings import Settings
from mockgitea.storage.logs import read_text
from mockgitea.storage.schema import job, run, step, task, task_output, tasks_version

REPOSITORIES = ("alice/one", "alice/two")


class Heard(Exception):
    """The refusal a caller heard."""


def workflow(specs: Sequence[JobSpec]) -> str:
    """Write the workflow file of a run."""
    jobs = {}
    for spec in specs:
        body: dict[str, Any] = {"steps": [{"run": f"echo {number}"} for number in range(spec.steps)]}
        if spec.runs_on:
            body["runs-on"] = list(spec.runs_on)
        if spec.needs:
            body["needs"] = list(spec.needs)
        if spec.always:
            body["if"] = "${{ always() }}"
        jobs[spec.name] = body
    return yaml.safe_dump({"on": {"workflow_dispatch": {}}, "jobs": jobs}, sort_keys=False)


class ServicesDriver:
    """The product's services in this process, without HTTP."""

    def __init__(self, profile: str, database: str, *, inline: bool, start_us: int) -> None:
        self.settings = Settings(profile=profile, database=database, seed=7, repositories=REPOSITORIES)
        self.inline = inline
        self.clock = MovableClock("manual", start_us=start_us)
        self.identities: list[tuple[str, str]] = []
        self.run_ids: list[int] = []

    async def open(self) -> None:
        self.services = Services.build(self.settings, clock=self.clock, inline_store=self.inline)
        await self.services.start()
        await self.services.settle()
        names = [await self.services.repositories.get(name) for name in REPOSITORIES]
        self.repo_ids = [0, *(found.id for found in names)]
        self.owner_id = names[0].owner_id

    async def close(self) -> None:
        await self.services.close()

    async def do(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Do one operation; `Heard` when it is refused."""
        try:
            answer = await getattr(self, f"_{name}")(**arguments)
        except Refusal as refusal:
            raise Heard(refusal.message) from None
        await self.services.settle()
        return answer

    async def _register(
        self, token: str, name: str, owner: bool, repo: int, labels: tuple[str, ...], agent_labels: tuple[str, ...],
        ephemeral: bool, cancelling: bool,
    ) -> Any:  # fmt: skip
        scope = (self.owner_id if owner else 0, self.repo_ids[repo])
        real = await self.services.registration.registration_token(*scope) if token == "good" else token
        record, plain = await self.services.registration.register(
            Registering(
                name=name, token=real, labels=labels, agent_labels=agent_labels, ephemeral=ephemeral,
                capabilities=("cancelling",) if cancelling else (),
            )
        )  # fmt: skip
        self.identities.append((record.uuid, plain))
        return (record.name, record.labels, record.is_ephemeral)

    def _known(self, who: int) -> RunnerRecord:
        uuid, token = self.identities[who] if who < len(self.identities) else ("nobody", "nothing")
        return self.services.directory.authenticate(uuid, token)

    async def _declare(self, who: int, labels: tuple[str, ...], cancelling: bool) -> Any:
        capabilities = ("cancelling",) if cancelling else ()
        record = self._known(who)
        declared = await self.services.registration.declare(
            record, version="v1", labels=labels, capabilities=capabilities
        )
        return declared.labels

    async def _toggle(self, who: int, disabled: bool) -> None:
        await self.services.registration.update_runner(self._known(who).id, disabled=disabled)

    async def _delete_runner(self, who: int) -> None:
        await self.services.registration.delete_runner(self._known(who).id)

    async def _enqueue(self, repo: int, specs: Sequence[JobSpec]) -> None:
        request = EnqueueRequest(
            repository=REPOSITORIES[repo - 1], workflow_file="ci.yml", source=workflow(specs), event="workflow_dispatch"
        )
        self.run_ids.append((await self.services.runs.enqueue(request)).run_id)

    async def _rerun(self, number: int) -> None:
        await self.services.runs.rerun(self.run_ids[number])

    async def _cancel(self, number: int) -> None:
        await self.services.runs.cancel(self.run_ids[number])

    async def _release(self, number: int) -> None:
        await self.services.dispatch.release([number])

    async def _fetch(self, who: int, version: int, capacity: int | None, key: str) -> Any:
        fetched = await self.services.dispatch.fetch(
            self._known(who), tasks_version=version, capacity=capacity, request_key=key
        )
        tasks = []
        for one in fetched.tasks:
            needs = {name: (need.result.text, dict(need.outputs)) for name, need in one.needs.items()}
            run_number = self.run_ids.index(int(one.context["run_id"])) + 1
            (name,) = yaml.safe_load(one.payload)["jobs"]
            tasks.append((one.task_id, run_number, name, needs))
        return (fetched.tasks_version, tasks)

    async def _update_task(
        self, who: int, number: int, result: int, stopped: int, steps: Sequence[Mapping[str, int]],
        outputs: Mapping[str, str],
    ) -> Any:  # fmt: skip
        reports = tuple(
            StepReport(
                number=one["id"], result=Result(one["result"]), started_us=one["started"], stopped_us=one["stopped"],
                log_index=one["log_index"], log_length=one["log_length"],
            )
            for one in steps
        )  # fmt: skip
        report = TaskReport(task_id=number, result=Result(result), stopped_us=stopped, steps=reports)
        answer = await self.services.progress.update_task(self._known(who), report, outputs)
        return (answer.task_id, int(answer.result), sorted(answer.sent_outputs))

    async def _update_log(
        self, who: int, number: int, index: int, rows: Sequence[tuple[int, str]], no_more: bool
    ) -> Any:
        return await self.services.logs.append(
            self._known(who), task_id=number, index=index, rows=rows, no_more=no_more
        )

    async def _advance(self, seconds: float) -> None:
        self.clock.advance(seconds)

    async def _restart(self) -> None:
        await self.close()
        await self.open()

    async def snapshot(self) -> dict[str, Any]:
        """Read what a person would see straight from the database."""
        seen = await self.services.store.read(self._read)
        alive = {record.uuid for record in self.services.directory.all()}
        seen["runners"] = [number for number, (uuid, _) in enumerate(self.identities) if uuid in alive]
        return seen

    def _read(self, conn: Connection) -> dict[str, Any]:
        runs = []
        for row in conn.execute(select(run).order_by(run.c.id)):
            jobs = conn.execute(select(job).where(job.c.run_id == row.id, job.c.is_latest).order_by(job.c.id))
            shown = [(one.job_id, Status(one.status).text, one.task_id) for one in jobs]
            runs.append({"status": Status(row.status).text, "jobs": shown})
        tasks = {}
        for row in conn.execute(select(task).order_by(task.c.id)):
            steps = conn.execute(select(step).where(step.c.task_id == row.id).order_by(step.c.number))
            outputs = conn.execute(select(task_output).where(task_output.c.task_id == row.id))
            tasks[row.id] = {
                "status": Status(row.status).text,
                "steps": [
                    (Status(one.status).text, one.log_index, one.log_length, one.started_us, one.stopped_us)
                    for one in steps
                ],
                "outputs": {one.key: one.value for one in outputs},
                "sealed": row.is_log_sealed,
                "log": [line + b"" for line in b"".join(read_text(conn, row.id)).split(b"\n")[:-1]],
            }
        versions = {}
        for row in conn.execute(select(tasks_version)):
            scope = f"repo{self.repo_ids.index(row.repo_id)}" if row.repo_id else "owner" if row.owner_id else "global"
            versions[scope] = row.version
        return {"runs": runs, "tasks": tasks, "versions": versions}
