"""The numbers of a plan in words, never without their gaps."""

from locktender.contracts.stacks.analysis import GapReason, PlanCounts, PlanGap, PlanSummary, describe


def test_the_numbers_are_one_sentence() -> None:
    counts = PlanCounts(create=2, replace=1, imports=1, outputs_changed=1)
    assert (
        describe(PlanSummary(has_changes=True, counts=counts))
        == "2 to create, 1 to replace, 1 imported, 1 output changed."
    )
    assert describe(PlanSummary(has_changes=False)) == "No changes."


def test_numbers_with_gaps_are_lower_bounds() -> None:
    gaps = (
        PlanGap(reason=GapReason.DEFERRED, address="a.b"),
        PlanGap(reason=GapReason.DEFERRED, address="a.c"),
        PlanGap(reason=GapReason.NARROWED),
    )
    summary = PlanSummary(has_changes=True, counts=PlanCounts(delete=1), gaps=gaps)
    assert summary.gap_reasons() == (GapReason.DEFERRED, GapReason.NARROWED)
    assert describe(summary) == (
        "At least 1 to delete: some changes are deferred to a later plan; the plan was narrowed to some resources."
    )


def test_a_reason_of_a_newer_runner_is_a_gap_without_its_name() -> None:
    said = (
        '{"hasChanges": true, "counts": {"update": 1, "rotated": 3}, "gaps": [{"reason": "sand_in_the_gears", "x": 1}]}'
    )
    summary = PlanSummary.model_validate_json(said)
    assert not summary.counts_complete
    assert describe(summary) == "At least 1 to update: incomplete analysis."
    assert "sand" not in summary.model_dump_json()


def test_every_reason_has_a_label() -> None:
    assert all(reason.label for reason in GapReason)


def test_what_is_kept_reads_back() -> None:
    summary = PlanSummary(has_changes=True, counts=PlanCounts(outputs_changed=2))
    text = summary.model_dump_json(by_alias=True)
    assert '"outputsChanged":2' in text
    assert PlanSummary.model_validate_json(text) == summary
