"""One text to its documents, cut where kubectl cuts."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from locktender.integrations.kube.faults import Findings
from locktender.integrations.kube.json_text import comment_follows, json_values, read_json
from locktender.integrations.kube.limits import ManifestLimits
from locktender.integrations.kube.syntax import read_yaml
from locktender.integrations.kube.tree import Builder, Malformed, Tree

_MARK = "\ufeff"
_CUT = re.compile(r"^(?:---(?=[ \t\r#]|$)([^\n]*)|(%(?:YAML|TAG)\b)[^\n]*)$", re.MULTILINE)
_COMMENT = re.compile(r"[ \t\r]*(?:(?<=[ \t])#.*)?")
_END_MARK = re.compile(r"^\.\.\.|\}#", re.MULTILINE)
_BLANK = re.compile(r"[ \r\n]*")


@dataclass(frozen=True, slots=True)
class _Chunk:
    """The text between two separators, with the line on which it begins. `alone`: there is no separator at all."""

    text: str
    line: int
    first: bool
    alone: bool


def read_documents(text: str, limits: ManifestLimits, findings: Findings) -> Iterator[Tree]:
    """Each document of `text` that holds something, in order.

    Faults go to `findings`; one that ends a document does not end the reading of the others.
    """
    documents, builder = 0, Builder(limits, findings)
    for chunk in _chunks(text.removeprefix(_MARK), findings):
        builder.begin()
        try:
            for tree in _trees(chunk, builder):
                if tree.value is None:
                    continue
                documents += 1
                if documents > limits.documents:
                    findings.add(*too_many(limits), line=tree.line)
                    return
                yield tree
        except Malformed as fault:
            findings.add(fault.code, fault.problem, line=fault.line)
            if fault.code == "too-many-values":
                return


def too_many(limits: ManifestLimits) -> tuple[str, str]:
    """The refusal of more documents or objects than `limits` allows: its code and its message."""
    limit = f"the limit of {limits.documents} documents (manifests.documents)"
    return "too-many-documents", f"there are more than {limit}; deploy them in parts"


def _chunks(text: str, findings: Findings) -> Iterator[_Chunk]:
    begin, line, first = 0, 1, True
    for cut in _CUT.finditer(text):
        chunk = _Chunk(text[begin : cut.start()], line, first, alone=False)
        line += chunk.text.count("\n")
        if not _BLANK.fullmatch(chunk.text):
            yield chunk
        if cut.group(2):
            findings.add("yaml-directive", "YAML directives are not accepted; remove the line", line=line)
        elif not _COMMENT.fullmatch(cut.group(1)):
            findings.add("inline-document", "put the document on the lines after `---`, not beside it", line=line)
        begin, line, first = cut.end() + 1, line + 1, False
    rest = text[begin:]
    if not _BLANK.fullmatch(rest):
        # Every line that kubectl reads ends with a newline, and block scalars keep it.
        yield _Chunk(rest if rest.endswith("\n") else f"{rest}\n", line, first, alone=first)


def _trees(chunk: _Chunk, builder: Builder) -> Iterator[Tree]:
    """The first document is JSON to kubectl where it can be, and any other is YAML."""
    begins = chunk.text.lstrip()[:1] == "{"
    values = json_values(chunk.text) if begins else 0
    if values > 1 and not chunk.alone:
        raise Malformed("JSON objects follow one another; put a `---` line between them", chunk.line, "malformed-json")
    if values:
        yield from read_json(chunk.text, chunk.line, builder, as_yaml=not chunk.first)
        return
    if begins and chunk.alone and comment_follows(chunk.text):
        problem = "a comment follows the JSON object, and JSON has no comments; remove it"
        raise Malformed(problem, chunk.line, "malformed-json")
    if begins and (mark := _END_MARK.search(chunk.text)):
        line = chunk.line + chunk.text.count("\n", 0, mark.start())
        raise Malformed("neither `...` nor `}#` ends a document in braces; remove it, or put a space before `#`", line)
    read_yaml(chunk.text, chunk.line, builder)
    if (tree := builder.take()) is not None:
        yield tree
