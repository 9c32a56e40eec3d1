"""Tools for every test of a package: folders, commands with a time limit, and messages about the results."""

import os
import shutil
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from common.project import PackagingError, Target, host_target

MINUTE = 60.0


@dataclass
class Case:
    # Where `packaging/build` wrote the packages.
    out: Path
    # Empty at the start, removed at the end.
    work: Path
    # Kept between runs: root folders and tools that take a long time to create.
    cache: Path
    # The version that the packages must have.
    version: str
    names: dict
    # The packages are for a release, so the binary must be a release build with all tools.
    release: bool = False
    target: Target = field(default_factory=host_target)

    def package(self, pattern: str) -> Path:
        found = sorted(self.out.glob(pattern))
        if len(found) != 1:
            raise PackagingError(
                f"{len(found)} files match `{pattern}` in `{self.out}`, expected one: run packaging/build first"
            )
        return found[0].resolve()

    def empty_home(self, name: str = "home") -> dict[str, str]:
        """The environment of a new user: an empty home, and no variable of this process."""
        home = self.work / name
        home.mkdir()
        temporary = self.work / f"{name}-tmp"
        temporary.mkdir()
        return {
            "HOME": str(home),
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "LC_ALL": "C.UTF-8",
            "TMPDIR": str(temporary),
        }

    def run(
        self,
        *command: str | Path,
        env: dict | None = None,
        cwd: Path | None = None,
        stdin: str = "",
        limit: float = 5 * MINUTE,
    ) -> str:
        """The command's stdout. Raises an error with the output if the command fails or exceeds the time limit."""
        words = [str(word) for word in command]
        try:
            result = subprocess.run(
                words,
                env=env,
                cwd=cwd or self.work,
                input=stdin,
                capture_output=True,
                text=True,
                timeout=limit,
                check=False,
            )
        except FileNotFoundError as error:
            raise PackagingError(f"`{words[0]}` is not installed") from error
        except subprocess.TimeoutExpired as error:
            raise PackagingError(f"`{' '.join(words)}` did not end within {limit:.0f} s") from error
        if result.returncode != 0:
            raise PackagingError(
                f"`{' '.join(words)}` failed with {result.returncode}:\n{result.stdout}{result.stderr}"
            )
        return result.stdout

    def expect(self, condition: bool, message: str) -> None:
        """`message` describes the expected result."""
        if not condition:
            raise PackagingError(f"this is not true: {message}")
        self.say(message)

    def say(self, message: str) -> None:
        print(f"  {message}", flush=True)

    def sizes(self, *files: Path) -> None:
        for file in files:
            self.say(f"{file.name}: {file.stat().st_size / 1e6:.1f} MB")


def need(**programs: str) -> None:
    """Checks that programs are installed. Each value is the Debian package of a program; `_` stands for `-`."""
    missing = [package for program, package in programs.items() if not shutil.which(program.replace("_", "-"))]
    if missing:
        raise PackagingError(
            f"this test needs: apt-get install --no-install-recommends {' '.join(sorted(set(missing)))}"
        )


def need_root() -> None:
    if os.geteuid() != 0:
        raise PackagingError("this test makes root folders and containers: run it as root")


def wait_until(condition, limit: float, message: str):
    """Waits for the first true value of `condition()` and returns it. `message` describes the condition."""
    end = time.monotonic() + limit
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise PackagingError(f"after {limit:.0f} s this is still not true: {message}")
        time.sleep(0.05)
