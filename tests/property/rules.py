"""What each server release does, written down from the contract's text; deliberately not the product's own table."""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Rules:
    """One release, as the reference model sees it. Defaults: Gitea 1.27."""

    has_declare: bool = True
    has_versions: bool = True
    agent_labels: bool = False
    ephemeral: bool = True
    capabilities: bool = True
    disabling: bool = True
    checks_owner: bool = True
    empty_call_seals: bool = True
    bumps_on_finish: bool = True
    bumps_on_final_update: bool = False
    bumps_on_toggle: bool = True
    several_tasks: bool = False
    request_key: bool = False
    empty_runs_on_matches: bool = True
    forgejo: bool = False
    transfers_logs: bool = False
    resolves_after_stop: bool = True
    releases_claims: bool = True
    run_order: str = "1.27"
    rerun_clones: bool = True


NEW = Rules()
OLD_1_25 = replace(
    NEW, capabilities=False, disabling=False, empty_call_seals=False, bumps_on_finish=False, bumps_on_toggle=False,
    resolves_after_stop=False, releases_claims=False, run_order="1.25", rerun_clones=False,
)  # fmt: skip
OLD_1_21 = replace(OLD_1_25, agent_labels=True, ephemeral=False, checks_owner=False, run_order="1.22")
FORGEJO_15 = replace(
    OLD_1_25, forgejo=True, bumps_on_final_update=True, several_tasks=True, request_key=True,
    empty_runs_on_matches=False, transfers_logs=True, run_order="forgejo",
)  # fmt: skip
RULES = {
    "gitea-1.20": replace(OLD_1_21, has_declare=False, has_versions=False),
    "gitea-1.21": OLD_1_21,
    "gitea-1.25": OLD_1_25,
    "gitea-1.27": NEW,
    "gitea-next": NEW,
    "forgejo-11": replace(
        FORGEJO_15, ephemeral=False, several_tasks=False, request_key=False, transfers_logs=False,
        bumps_on_final_update=False,
    ),
    "forgejo-15": FORGEJO_15,
}  # fmt: skip
