"""What a kustomization asks for: everything of it is one of the package's own files, or it is not run at all.

A kustomization is read here and written anew for the program, so that nothing in it means one thing to the check and
another to the program.
"""

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping

from locktender.integrations.kube.faults import shown
from locktender.integrations.kube.json_value import Json, JsonObject, as_array, as_object, as_text, leaf_texts
from locktender.integrations.templates.faults import TemplateFault
from locktender.integrations.templates.foreign import read_mapping, read_mappings
from locktender.integrations.templates.written import written

NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")

_PATHS = ("resources", "bases", "components", "crds", "configurations")
_PLUGINS = ("generators", "transformers", "validators")
_PATCHES = ("patches", "patchesJson6902", "replacements")
_MAKERS = ("configMapGenerator", "secretGenerator")
_FREE = frozenset(
    (
        *("apiVersion", "kind", "metadata", "namePrefix", "nameSuffix", "namespace", "commonLabels", "labels"),
        *("commonAnnotations", "images", "imageTags", "replicas", "vars", "sortOptions", "generatorOptions"),
        *("buildMetadata",),
    )
)
_KNOWN = _FREE.union(_PATHS, _PLUGINS, _PATCHES, _MAKERS, ("patchesStrategicMerge", "openapi"))
_NAMING_FILES = frozenset({"path", "files", "envs", "env"})

# The program takes a path that holds one of these for a repository, whether there is such a folder or not.
_REMOTE = re.compile(
    r"://|::|[?]|@|\.git(?:/|$)|(?:^|/)_git(?:/|$)|github\.com|gitlab\.com|bitbucket\.org", re.IGNORECASE
)
_ABOUT = "locktender.dev/"


def top(files: Mapping[str, str]) -> str | None:
    """The kustomization at the top of a package, if there is one."""
    return next((name for name in NAMES if name in files), None)


def about(files: Mapping[str, str], path: str) -> JsonObject:
    """What its metadata says: the name, and annotations such as `locktender.dev/title`, without that prefix."""
    metadata = as_object(read_mapping(files[path], path).get("metadata"))
    said: JsonObject = {
        key.removeprefix(_ABOUT): value
        for key, value in as_object(metadata.get("annotations")).items()
        if key.startswith(_ABOUT)
    }
    groups = [part.strip() for part in as_text(said.get("categories")).split(",")]
    return {**said, "categories": list[Json]([part for part in groups if part]), "name": metadata.get("name")}


def sealed(files: Mapping[str, str]) -> dict[str, str]:
    """The files as the program is given them.

    Raises:
        TemplateFault: a kustomization asks for something that is not in the package.
    """
    found = dict(files)
    for path, text in files.items():
        if posixpath.basename(path) in NAMES:
            body = read_mapping(text, path)
            for plugin in _check(body, _Place(path, files)):
                found[plugin] = written(_plugin(files[plugin], plugin))
            found[path] = written([body])
    return found


class _Place:
    """Where a kustomization stands, and what it can reach from there."""

    def __init__(self, path: str, files: Mapping[str, str]) -> None:
        self.path = path
        self._files = files
        self._folder = posixpath.dirname(path)

    def file(self, entry: str, field: str) -> str:
        """The file of the package that `entry` means."""
        target = self._target(entry, field)
        if target not in self._files:
            raise self.fault("missing-file", f"{field} asks for {shown(entry)}, which is no file of this template")
        return target

    def file_or_folder(self, entry: str, field: str) -> None:
        """`entry` is a file of the package, or a folder with a kustomization."""
        target = self._target(entry, field)
        below = [posixpath.join(target, name) if target else name for name in NAMES]
        if target not in self._files and not any(name in self._files for name in below):
            told = (
                f"{field} asks for {shown(entry)}, which is no file of this template and no folder with a kustomization"
            )
            raise self.fault("missing-file", told)

    def fault(self, code: str, problem: str) -> TemplateFault:
        return TemplateFault(code, f"{self.path}: {problem}")

    def _target(self, entry: str, field: str) -> str:
        if _REMOTE.search(entry) or not entry.strip() or not entry.isprintable():
            told = f"{field} asks for {shown(entry)}, and nothing remote is fetched; keep a copy with the template"
            raise self.fault("remote-resource", told)
        target = posixpath.normpath(posixpath.join(self._folder, entry))
        if entry.startswith("/") or target == ".." or target.startswith("../"):
            raise self.fault("outside", f"{field} asks for {shown(entry)}, which is outside of this template")
        return "" if target == "." else target


def _check(body: JsonObject, place: _Place) -> list[str]:
    """Everything that `body` asks for; the files of plugins that it names."""
    for key in body:
        if key not in _KNOWN:
            raise place.fault("unknown-field", f"`{shown(key)}` is not taken in a kustomization")
    for field, entry in _entries(body, _PATHS, place):
        place.file_or_folder(_path(entry, field, place), field)
    for field, entry in _entries(body, (*_PATCHES, *_MAKERS), place):
        _check_files(entry, field, place)
    for field, entry in _entries(body, ("patchesStrategicMerge",), place):
        text = _path(entry, field, place)
        if "\n" not in text:
            place.file(text, field)
    if body.get("openapi") is not None:
        _check_files(body["openapi"], "openapi", place)
    return list(_plugins(body, place))


def _entries(body: JsonObject, fields: Iterable[str], place: _Place) -> Iterator[tuple[str, Json]]:
    """Each field with each of its entries."""
    for field in fields:
        value = body.get(field)
        if value is not None and not isinstance(value, list):
            raise place.fault("bad-field", f"{field} must be a list")
        for entry in as_array(value):
            yield field, entry


def _path(entry: Json, field: str, place: _Place) -> str:
    if not isinstance(entry, str):
        raise place.fault("bad-field", f"an entry of {field} must be a text")
    return entry


def _check_files(entry: Json, field: str, place: _Place) -> None:
    if not isinstance(entry, dict):
        raise place.fault("bad-field", f"an entry of {field} must be a mapping")
    for key, value in entry.items():
        # The program does not mind how a name is written.
        if key.casefold() in _NAMING_FILES and key not in _NAMING_FILES:
            raise place.fault("unknown-field", f"`{shown(key)}` of {field} must be written `{key.casefold()}`")
        if key in _NAMING_FILES and value is not None:
            for one in value if isinstance(value, list) else [value]:
                text = _path(one, f"{field}.{key}", place)
                named = text.rpartition("=")[2] if key == "files" else text
                place.file(named, f"{field}.{key}")


def _plugins(body: JsonObject, place: _Place) -> Iterator[str]:
    """The files of built-in plugins. Settings that are written right here are written anew."""
    for field in _PLUGINS:
        anew: list[Json] = []
        for _, entry in _entries(body, (field,), place):
            text = _path(entry, field, place)
            if "\n" in text:
                anew.append(written(_plugin(text, f"{place.path}, {field}")))
            else:
                anew.append(text)
                yield place.file(text, field)
        if anew:
            body[field] = anew


def _plugin(text: str, path: str) -> list[JsonObject]:
    documents = read_mappings(text, path)
    for one in leaf_texts(documents):
        if "://" in one:
            raise TemplateFault("remote-resource", f"{path}: {shown(one)} is remote, and nothing remote is fetched")
    if any(document.get("apiVersion") != "builtin" for document in documents):
        raise TemplateFault("plugin", f"{path}: only plugins of `apiVersion: builtin` are run")
    return documents
