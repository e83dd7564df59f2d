import pytest

from locktender.contracts.stacks.vocabulary import RunMode
from locktender.contracts.stacks.wire import Narrowing
from locktender.integrations.tofu import arguments
from locktender.integrations.tofu.engine import Engine
from locktender.integrations.tofu.failures import ExcludesUnsupported, UnsafeAddress

TERRAFORM = Engine(tool="terraform", path="/bin/terraform", version="1.11.4")
TOFU = Engine(tool="tofu", path="/bin/tofu", version="1.9.0")


def planned(mode: RunMode = RunMode.PLAN, narrowing: Narrowing | None = None, engine: Engine = TERRAFORM) -> list[str]:
    return arguments.plan(engine, mode, narrowing or Narrowing(), "/run/plan.tfplan")


def test_a_plan_never_asks_never_locks_and_tells_changes_by_its_exit_code() -> None:
    assert planned() == [
        "/bin/terraform",
        "plan",
        "-input=false",
        "-no-color",
        "-lock=false",
        "-detailed-exitcode",
        "-out=/run/plan.tfplan",
    ]


def test_destroy_and_refresh_only_plan() -> None:
    assert planned(RunMode.DESTROY)[1] == planned(RunMode.REFRESH)[1] == "plan"
    assert "-destroy" in planned(RunMode.DESTROY)
    assert "-refresh-only" in planned(RunMode.REFRESH)


@pytest.mark.parametrize("mode", [RunMode.APPLY, RunMode.RAW])
def test_what_does_not_plan_has_no_plan_arguments(mode: RunMode) -> None:
    with pytest.raises(ValueError, match="does not plan"):
        planned(mode)


def test_targets_and_replaces_are_handed_on_one_by_one() -> None:
    narrowing = Narrowing(targets=("module.a", "null_x.b[0]"), replaces=('null_x.c["k.e/y"]',))
    assert planned(narrowing=narrowing)[-3:] == [
        "-target=module.a",
        "-target=null_x.b[0]",
        '-replace=null_x.c["k.e/y"]',
    ]


def test_only_an_opentofu_that_knows_excludes_is_asked_for_them() -> None:
    narrowing = Narrowing(excludes=("terraform_data.a",))
    assert planned(narrowing=narrowing, engine=TOFU)[-1] == "-exclude=terraform_data.a"
    old = Engine(tool="tofu", path="/bin/tofu", version="1.8.9")
    for engine in (TERRAFORM, old):
        with pytest.raises(ExcludesUnsupported, match="use targets"):
            planned(narrowing=narrowing, engine=engine)


@pytest.mark.parametrize(
    "address",
    [
        "terraform_data.a",
        "data.x_y.z",
        "module.a",
        "module.a[0].module.b-c",
        'module.a["x"].terraform_data.b["a\\"b"]',
        "ephemeral.x_y.z",
        "größe.wert",
    ],
)
def test_addresses_of_resources_and_modules_are_accepted(address: str) -> None:
    assert planned(narrowing=Narrowing(targets=(address,)))[-1] == f"-target={address}"


@pytest.mark.parametrize(
    "address",
    [
        "",
        "-destroy",
        "a",
        "a.b -destroy",
        "a.b\n",
        "a.b[x]",
        'a.b["',
        "module.",
        "a.b;c",
        'a.b["\n"]',
        "a." + "b" * 2000,
    ],
)
def test_what_is_no_address_is_refused_by_its_place(address: str) -> None:
    with pytest.raises(UnsafeAddress) as refused:
        planned(narrowing=Narrowing(targets=("a.b", address)))
    assert (refused.value.option, refused.value.place) == ("targets", 1)


def test_an_apply_takes_the_plan_file_and_nothing_else() -> None:
    argv = arguments.apply(TERRAFORM, "/run/plan.tfplan")
    assert argv[1] == "apply"
    assert argv[-1] == "/run/plan.tfplan"
    assert not any(word.startswith(("-target", "-auto-approve", "-var")) for word in argv)


def test_a_script_is_a_file_for_a_tracing_shell() -> None:
    assert arguments.raw("/bin/bash", "/run/script") == ["/bin/bash", "-x", "/run/script"]
