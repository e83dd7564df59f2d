"""Plans of the real engine, each shown as what it is: counts, gaps, actions, differences, and no secret anywhere."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from locktender.contracts.stacks.analysis import PlanChanges, PlanSummary, RunAnalysis, StateOpKind, describe
from locktender.integrations.tofu.analysis import analyse_plan, analyse_state
from locktender.testkit.scratch import scratch_dir

HERE = Path(__file__).parent / "plan_shapes"
ENGINE = shutil.which("tofu") or shutil.which("terraform")
SHAPES: dict[str, dict[str, Any]] = {
    shape["name"]: shape for path in sorted(HERE.glob("*.yaml")) for shape in yaml.safe_load(path.read_text())
}
SECONDS, AT_ONCE = 60, 3
CANARY = "canary"


@dataclass(frozen=True, slots=True)
class Planned:
    document: bytes
    summary: PlanSummary
    analysis: RunAnalysis
    state: RunAnalysis

    @property
    def changes(self) -> PlanChanges:
        assert self.analysis.plan_changes is not None
        return self.analysis.plan_changes


Plans = Callable[[str], Planned]


@pytest.fixture(scope="module")
def planned() -> Iterator[Plans]:
    """Every shape by its name, planned. A few at once, as each takes processes of its own."""
    assert ENGINE is not None, "neither tofu nor terraform is on the PATH; nothing would be proved"
    with scratch_dir() as place, ThreadPoolExecutor(AT_ONCE) as pool:
        futures = {name: pool.submit(plan, place / str(turn), SHAPES[name]) for turn, name in enumerate(SHAPES)}
        try:
            yield lambda name: futures[name].result(timeout=SECONDS)
        finally:
            pool.shutdown(cancel_futures=True)


def plan(place: Path, shape: dict[str, Any]) -> Planned:
    for name, text in {**shape.get("files", {}), "main.tf": shape.get("before", shape["config"])}.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    # The built-in provider needs no installation, so only modules have to be known first.
    known = initialised(place, shape)
    if "before" in shape:
        ran(place, "apply", "-auto-approve", "-refresh=false")
        (place / "main.tf").write_text(shape["config"])
        known = initialised(place, shape) if known else known
    if "edit" in shape:
        state = (place / "terraform.tfstate").read_text()
        for old, new in shape["edit"]:
            assert old in state, f"{old} is not in the state"
            state = state.replace(old, new, 1)
        (place / "terraform.tfstate").write_text(state)
    done = ran(place, "plan", "-out=plan.tfplan", "-detailed-exitcode", *shape.get("args", []), codes=(0, 2))
    document = ran(place, "show", "-json", "plan.tfplan").stdout
    state = ran(place, "show", "-json").stdout if "before" in shape else b'{"format_version": "1.0"}'
    return Planned(document, *analysed(shape, document, has_changes=done.returncode == 2), analyse_state(state))


def analysed(shape: dict[str, Any], document: bytes, *, has_changes: bool) -> tuple[PlanSummary, RunAnalysis]:
    narrowed = any(each.startswith(("-target", "-exclude")) for each in shape.get("args", []))
    return analyse_plan(document, has_changes=has_changes, narrowed=narrowed)


def initialised(place: Path, shape: dict[str, Any]) -> bool:
    if not any(name.endswith(".tf") for name in shape.get("files", {})):
        return False
    ran(place, "init", "-backend=false")
    return True


def ran(place: Path, command: str, *options: str, codes: tuple[int, ...] = (0,)) -> subprocess.CompletedProcess[bytes]:
    assert ENGINE is not None
    flags = ["-no-color"] if command == "show" else ["-no-color", "-input=false"]
    done = subprocess.run(  # noqa: PLW1510 - the code is judged below
        [ENGINE, command, *flags, *options],
        cwd=place,
        env={"PATH": os.environ["PATH"], "HOME": str(place), "CHECKPOINT_DISABLE": "1", "TF_IN_AUTOMATION": "1"},
        capture_output=True,
        timeout=SECONDS,
    )
    assert done.returncode in codes, f"{command} ended with {done.returncode}: {done.stdout + done.stderr!r}"
    return done


def diffs(changes: PlanChanges) -> list[str]:
    return [line for each in (*changes.resources, *changes.outputs) for line in each.diff]


def test_there_are_enough_shapes() -> None:
    assert len(SHAPES) >= 50
    assert sum(len(yaml.safe_load(path.read_text())) for path in HERE.glob("*.yaml")) == len(SHAPES)


@pytest.mark.parametrize("name", SHAPES)
def test_a_plan_is_shown_as_what_it_is(name: str, planned: Plans) -> None:
    shape = SHAPES[name]
    summary, changes = planned(name).summary, planned(name).changes

    assert summary.has_changes is shape.get("changes", True)
    assert {key: number for key, number in summary.counts if number} == shape["counts"]
    assert [gap.reason for gap in summary.gaps] == shape.get("gaps", [])
    assert "sentence" not in shape or describe(summary) == shape["sentence"]

    told = "\n".join(diffs(changes))
    missing = [words for words in shape.get("shows", []) if words not in told]
    assert not missing, f"{missing} is not in\n{told}"
    assert [words for words in shape.get("hides", []) if words in told] == []
    assert set(shape.get("reasons", [])) <= {change.reason for change in changes.resources}
    assert [change.address for change in changes.drift] == shape.get("drift", [])
    if "addresses" in shape:
        assert sorted(change.address for change in changes.resources) == sorted(shape["addresses"])


@pytest.mark.parametrize("name", [name for name, shape in SHAPES.items() if {"moves", "imports", "checks"} & {*shape}])
def test_what_stands_beside_the_actions_is_told(name: str, planned: Plans) -> None:
    shape, changes = SHAPES[name], planned(name).changes
    operations = [(change.address, operation) for change in changes.resources for operation in change.state_ops]
    moves = [[each.from_address, address] for address, each in operations if each.kind is StateOpKind.MOVE]
    imports = [each.id for _, each in operations if each.kind is StateOpKind.IMPORT]
    checks = [[check.address, check.status, *check.messages] for check in changes.checks]
    assert (moves, imports, checks) == tuple(shape.get(key, []) for key in ("moves", "imports", "checks"))


@pytest.mark.parametrize("name", [name for name, shape in SHAPES.items() if "edges" in shape])
def test_the_graph_follows_the_configuration(name: str, planned: Plans) -> None:
    shape = SHAPES[name]
    graph = planned(name).analysis.resource_graph
    assert graph is not None
    edges = [[edge.source, edge.target, *(["explicit"] if edge.explicit else [])] for edge in graph.edges]
    assert edges == sorted(shape["edges"])
    assert list(graph.partial) == shape.get("partial", [])


@pytest.mark.parametrize("name", SHAPES)
def test_the_inventory_of_a_plan_and_of_its_state_are_one(name: str, planned: Plans) -> None:
    shape = SHAPES[name]
    prior, now = planned(name).analysis.state_resources, planned(name).state.state_resources
    assert prior is not None
    assert now is not None
    # A plan reads data anew and has moved what moves; otherwise it starts from the state.
    if not shape.get("moves") and "edit" not in shape and "imports" not in shape and not shape.get("drift"):
        managed = [each.address for each in prior.resources if each.mode == "managed"]
        assert sorted(managed) == sorted(each.address for each in now.resources if each.mode == "managed")


@pytest.mark.parametrize("name", SHAPES)
def test_no_secret_leaves(name: str, planned: Plans) -> None:
    found = planned(name)
    kept = [each.model_dump_json(by_alias=True) for each in (found.summary, found.analysis, found.state)]
    assert [text for text in kept if CANARY in text] == []
    # Otherwise the test would prove nothing.
    secret = CANARY in str(SHAPES[name])
    assert secret is (CANARY in found.document.decode()) or "ephemeral" in name


def test_the_same_plan_is_told_byte_by_byte_the_same(planned: Plans) -> None:
    for name, shape in SHAPES.items():
        found = planned(name)
        again = analysed(shape, found.document, has_changes=found.summary.has_changes)
        assert [each.model_dump_json() for each in again] == [
            each.model_dump_json() for each in (found.summary, found.analysis)
        ]


def test_the_inventory_tells_what_is_sensitive_and_what_depends_on_what(planned: Plans) -> None:
    secret = planned("a sensitive value that stays").analysis
    assert secret.state_resources is not None
    (resource,) = secret.state_resources.resources
    assert resource.attributes["input"] == resource.attributes["output"] == "(sensitive value)"
    assert resource.sensitive == {"input": True, "output": True}

    chained = planned("what depends on a change is known after it").state.state_resources
    assert chained is not None
    assert {each.address: each.depends_on for each in chained.resources} == {
        "terraform_data.a": (),
        "terraform_data.b": ("terraform_data.a",),
    }
