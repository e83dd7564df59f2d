"""Pin every dependency of the workspace, with hashes and without the address of any index."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
UV = Path(sys.executable).with_name("uv")
LOCKS = {
    "requirements.lock": ("build",),
    "requirements-dev.lock": ("build", "dev"),
    "requirements-bench.lock": ("build", "dev", "bench"),
}
COMMON = (
    "export", "--quiet", "--no-emit-workspace", "--no-annotate", "--no-header", "--no-config",
    "--python", sys.executable, "--format", "requirements-txt",
)  # fmt: skip


def main() -> None:
    """Write the three lock files; each holds all that the one before it holds."""
    for name, extras in LOCKS.items():
        chosen = [part for extra in extras for part in ("--extra", extra)]
        subprocess.run([UV, *COMMON, *chosen, "--output-file", name], cwd=ROOT, check=True)
    (ROOT / "uv.lock").unlink(missing_ok=True)


if __name__ == "__main__":
    main()
