"""Runner identities: Register, Declare, registration tokens, and what a person may do to a runner.

Rows and memory change together: the directory follows only what was committed. Knows no jobs.
Source: docs/protocol.md, "Register and Declare".
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import structlog
from sqlalchemy.exc import IntegrityError

from actionswire.headers import CANCELLING
from mockgitea.core.errors import BadRegistration, Conflict, InvalidInput, NotRegistered
from mockgitea.core.messages import Registering
from mockgitea.core.profiles import Profile
from mockgitea.core.runner_name import cut_name
from mockgitea.core.secret_hash import hash_token
from mockgitea.randomness import Randomness
from mockgitea.service.directory import RunnerDirectory, RunnerRecord
from mockgitea.storage import runners, tokens, versions
from mockgitea.storage.facts import RunnerAdded
from mockgitea.storage.interface import Store, Tx

log = structlog.get_logger(__name__)

REGISTRATION_TOKEN_MAX: Final = 64
"""Longest preset registration token; the column holds no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRunner:
    """What makes a runner row, whoever asked for it."""

    name: str
    version: str = ""
    description: str = ""
    labels: tuple[str, ...] = ()
    is_ephemeral: bool = False
    has_cancelling: bool = False


class Registration:
    """Makes, changes and removes runners and registration tokens.

    Args:
        store: where the rows live.
        directory: the runners in memory.
        profile: which fields the imitated server reads.
        randomness: source of UUIDs, tokens and salts.
    """

    def __init__(self, *, store: Store, directory: RunnerDirectory, profile: Profile, randomness: Randomness) -> None:
        self._store = store
        self._directory = directory
        self._profile = profile
        self._randomness = randomness

    async def register(self, request: Registering) -> tuple[RunnerRecord, str]:
        """Make a runner for whoever holds a registration token.

        Returns:
            The runner and its plain token, which is shown this once.

        Raises:
            BadRegistration: name or token missing, token unknown or replaced.
            RegistrationFault: the token's owner or repository is gone.
        """
        if not request.token or not request.name:
            raise BadRegistration("missing runner token, name")
        profile = self._profile
        labels = request.labels
        if profile.labels_from_agent_labels and not labels:
            labels = request.agent_labels
        new = NewRunner(
            name=cut_name(request.name, profile.runner_name_cut),
            version=request.version,
            labels=labels,
            is_ephemeral=request.ephemeral and profile.has_ephemeral,
            has_cancelling=profile.has_runner_capabilities and CANCELLING in request.capabilities,
        )
        values, token = self._identity(new, uuid=None, token=None)

        def intent(tx: Tx) -> dict[str, Any]:
            scope = tokens.check(tx, request.token)
            return self._add(tx, {**values, "owner_id": scope.owner_id, "repo_id": scope.repo_id})

        record = self._directory.get((await self._store.write(intent))["id"])
        log.info("runner_registered", runner_id=record.id, name=record.name, labels=record.labels)
        return record, token

    async def declare(
        self, record: RunnerRecord, *, version: str, labels: Sequence[str], capabilities: Sequence[str]
    ) -> RunnerRecord:
        """Replace the runner's version, labels and capabilities.

        Raises:
            NotRegistered: the runner was deleted meanwhile.
        """
        can_cancel = self._profile.has_runner_capabilities and CANCELLING in capabilities
        values = {"version": version, "labels": list(labels), "has_cancelling": can_cancel}
        await self._change(record, values)
        log.info("runner_declared", runner_id=record.id, version=version, labels=record.labels)
        return record

    async def create_runner(
        self,
        *,
        name: str,
        owner_id: int = 0,
        repo_id: int = 0,
        labels: Sequence[str] = (),
        ephemeral: bool = False,
        description: str = "",
        uuid: str | None = None,
        token: str | None = None,
    ) -> tuple[RunnerRecord, str]:
        """Make a runner without Register; a repository's runner belongs to no owner.

        Returns:
            The runner and its plain token.

        Raises:
            InvalidInput: the name is empty, or the imitated server has no ephemeral runners.
            Conflict: the UUID is taken.
        """
        if not name:
            raise InvalidInput("name: must not be empty", field="name")
        if ephemeral and not self._profile.has_ephemeral:
            raise InvalidInput(f"ephemeral: {self._profile.name} has no ephemeral runners", field="ephemeral")
        new = NewRunner(
            name=cut_name(name, self._profile.runner_name_cut),
            description=description,
            labels=tuple(labels),
            is_ephemeral=ephemeral,
        )
        values, plain = self._identity(new, uuid=uuid, token=token)
        values |= {"owner_id": 0 if repo_id else owner_id, "repo_id": repo_id}
        row = await self._store.write(lambda tx: self._add(tx, values))
        log.info("runner_created", runner_id=row["id"], name=name)
        return self._directory.get(row["id"]), plain

    async def update_runner(
        self, runner_id: int, *, disabled: bool | None = None, description: str | None = None
    ) -> RunnerRecord:
        """Change what a person may change; enabling and disabling bump the runner's versions where the profile does.

        Raises:
            NotFound: no such runner.
            InvalidInput: the imitated server cannot disable runners.
        """
        record = self._directory.get(runner_id)
        if disabled and not self._profile.has_disabled_runners:
            raise InvalidInput(f"disabled: {self._profile.name} cannot disable runners", field="disabled")
        values: dict[str, Any] = {}
        if disabled is not None and disabled != record.is_disabled:
            values["is_disabled"] = disabled
        if description is not None:
            values["description"] = description
        if values:
            await self._change(record, values, bumps="is_disabled" in values)
        return record

    async def delete_runner(self, runner_id: int) -> None:
        """Soft-delete a runner; its calls are unregistered from now on.

        Raises:
            NotFound: no such runner.
        """
        self._directory.get(runner_id)
        await self._store.write(lambda tx: runners.remove(tx, runner_id))
        log.info("runner_deleted", runner_id=runner_id)

    async def registration_token(self, owner_id: int, repo_id: int, *, reset: bool = False) -> str:
        """Return the scope's active token, making one if there is none; ``reset`` makes a new one and ends the old."""
        fresh = self._randomness.registration_token(self._profile.registration_token_alphabet)

        def intent(tx: Tx) -> str:
            existing = None if reset else tokens.active(tx, owner_id, repo_id)
            return existing or tokens.renew(tx, owner_id, repo_id, fresh)

        return await self._store.write(intent)

    async def preset(self, token: str) -> None:
        """Make ``token`` the global registration token; a known one, even an ended one, is left as it is.

        Raises:
            InvalidInput: longer than `REGISTRATION_TOKEN_MAX`.
        """
        if len(token) > REGISTRATION_TOKEN_MAX:
            raise InvalidInput(
                f"registration_token: at most {REGISTRATION_TOKEN_MAX} characters, got {len(token)}",
                field="registration_token",
            )

        def intent(tx: Tx) -> None:
            if not tokens.is_known(tx, token):
                tokens.renew(tx, 0, 0, token)

        await self._store.write(intent)

    def _identity(self, new: NewRunner, *, uuid: str | None, token: str | None) -> tuple[dict[str, Any], str]:
        plain = token or self._randomness.token_hex()
        salt = self._randomness.salt(self._profile.token_salt_length)
        values = {
            "uuid": uuid or self._randomness.uuid4(),
            "name": new.name,
            "version": new.version,
            "description": new.description,
            "labels": list(new.labels),
            "is_ephemeral": new.is_ephemeral,
            "has_cancelling": new.has_cancelling,
            "token_hash": hash_token(plain, salt),
            "token_salt": salt,
            "is_disabled": False,
            "last_online_us": 0,
            "last_active_us": 0,
        }
        return values, plain

    def _add(self, tx: Tx, values: Mapping[str, Any]) -> dict[str, Any]:
        try:
            runner_id = runners.add(tx, values)
        except IntegrityError as error:
            raise Conflict(f"uuid: a runner with UUID {values['uuid']} exists already", field="uuid") from error
        row = {**values, "id": runner_id, "created_us": tx.now_us}
        tx.announce(RunnerAdded(row))
        return row

    async def _change(self, record: RunnerRecord, values: Mapping[str, Any], *, bumps: bool = False) -> None:
        def intent(tx: Tx) -> None:
            if not runners.change(tx, record.id, values):
                raise NotRegistered
            if bumps and self._profile.bump_on_runner_toggle:
                versions.bump(tx, record.owner_id, record.repo_id)
            tx.on_commit(partial(_apply, record, values))

        await self._store.write(intent)


def _apply(record: RunnerRecord, values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        setattr(record, name, tuple(value) if name == "labels" else value)
