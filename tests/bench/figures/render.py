"""`render`: the documents of a template worked out by one thread, from the text of the template to plain values.

Each round reads the declarations, names an instance, fills in the values of the inputs and renders all documents: what
one deployment costs. Writing the documents as YAML is not in it and has its own number.
"""

import time
from collections.abc import Callable

from locktender.integrations.templates.render import Rendered, allocated, render
from locktender.integrations.templates.template import read_template
from locktender.testkit.dialect.templates import shop
from tests.bench.report import Figure, note, rounded, scaled

_APPS = 40
_ROUNDS = 9
_VARIABLES = {"SEALOS_NAMESPACE": "ns-shop", "SEALOS_CLOUD_DOMAIN": "cloud.example.org"}


async def measure() -> Figure:
    """The best of several rounds, since only noise makes a round slower."""
    text = shop(max(int(scaled(_APPS)), 1))
    documents = len(_rendered(text).documents)
    rendering = min(_seconds(lambda: _rendered(text)) for _ in range(_ROUNDS))
    declarations = min(_seconds(lambda: read_template(text)) for _ in range(_ROUNDS))
    done = _rendered(text)
    writing = min(_seconds(done.yaml) for _ in range(_ROUNDS))
    note(f"{documents} documents rendered in {rendering:.3f} s, written in {writing:.3f} s")
    return Figure(
        "render", documents / rendering, "documents/s",
        rest={
            "n": documents, "rounds": _ROUNDS,
            "details": {
                "expressions": text.count("${{"), "megabytes": rounded(len(text) / 1e6),
                "written_as_yaml": rounded(documents / (rendering + writing)),
                "declarations_only_ms": rounded(declarations * 1_000),
            },
        },
    )  # fmt: skip


def _rendered(text: str) -> Rendered:
    template = read_template(text)
    instance = allocated(template, _VARIABLES, b"seed")
    return render(template, instance, _VARIABLES, {"password": "hunter2 hunter2"}, seed=b"seed")


def _seconds(work: Callable[[], object]) -> float:
    """Processor time, which other processes lengthen less."""
    began = time.process_time()
    work()
    return time.process_time() - began
