"""A plan of a stack as a comment on a pull request."""

from locktender.cli.render.stacks.markdown import LONGEST, plan_markdown
from locktender.contracts.stacks.analysis import ChangeAction, PlanChanges
from locktender.testkit.stack_views import CHANGES, change, deployment_view, run_view, shown


def told(changes: PlanChanges | None) -> str:
    return plan_markdown(shown(deployment_view()), None if changes is None else shown(changes))


def test_a_sentence_the_gaps_a_table_and_the_diffs_to_unfold() -> None:
    text = told(CHANGES)
    assert text.startswith("### network \\#12: needs confirmation\n\n**At least 1 to create")
    assert "> - the plan was narrowed to some resources" in text
    assert "Apply it with `locktender stack confirm network 12`." in text
    assert "| + create | <code>null_resource.a</code> |  |" in text
    assert "| ~ update | <code>null_resource.b</code> | moved from null\\_resource.old; it is tainted |" in text
    assert "| changed outside | <code>null_resource.gone</code> |  |" in text
    assert "| ~ update | output <code>url</code> | |" in text
    assert '<details><summary>null_resource.b</summary>\n\n```diff\n! ~ resource "null_resource" "b" {' in text


def test_what_does_not_fit_is_counted_and_never_cut_within() -> None:
    many = tuple(change(f"a.r{n}", ChangeAction.CREATE, *["    + line = 1" * 20] * 20) for n in range(40))
    text = told(PlanChanges(resources=many))
    assert len(text) <= LONGEST
    assert text.count("<details>") == text.count("</details>") < 40
    assert f"> {40 - text.count('<details>')} of 40 diffs do not fit into this comment." in text


def test_more_resources_than_a_comment_holds_stay_below_its_limit() -> None:
    many = tuple(change(f"a.{'long' * 100}{n}", ChangeAction.CREATE, "+ x") for n in range(1_000))
    text = told(PlanChanges(resources=many))
    assert len(text) <= LONGEST
    assert "fit into this comment" in text


def test_nothing_in_a_plan_can_leave_its_place() -> None:
    evil = change("a.b|</code><img>", ChangeAction.CREATE, "+ x = <<EOT", "````", "</details>")
    text = told(PlanChanges(resources=(evil,)))
    assert "| + create | <code>a.b&#124;&lt;/code&gt;&lt;img&gt;</code> |  |" in text
    assert "`````diff\n" in text
    assert "<summary>a.b|&lt;/code&gt;&lt;img&gt;</summary>" in text


def test_a_plan_that_was_not_analysed_says_so() -> None:
    run = run_view(plan=None, analysed=False)
    text = plan_markdown(shown(deployment_view(run=run)), None)
    assert "**It has changes; how many is not known.**" in text
    assert "in detail is not known here" in text
