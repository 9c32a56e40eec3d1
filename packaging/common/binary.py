"""The `svc` binary: builds it for a release, and reads facts from a finished binary."""

import os
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

from common.project import ROOT, TARGETS, PackagingError, Target, host_target

# The oldest glibc that a release supports, if the build uses zig as its linker (`cargo zigbuild`).
GLIBC_FLOOR = "2.17"
# The libraries of glibc that a program may need, beside the loader.
LIBC6 = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "libutil.so.1"}


def cargo_command(target: Target) -> list[str]:
    """The command of a release build. docs/RELEASING.md explains each part."""
    command = ["cargo"]
    if shutil.which("cargo-auditable"):
        command.append("auditable")
    triple = target.triple
    if shutil.which("cargo-zigbuild"):
        command.append("zigbuild")
        triple = f"{triple}.{GLIBC_FLOOR}"
    else:
        command.append("build")
    command += ["--profile", "dist", "--locked", "--ignore-rust-version", "-p", "svc", "--bin", "svc"]
    return [*command, "--target", triple]


def target_folder() -> Path:
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))


def build_environment(epoch: int) -> dict[str, str]:
    """The environment of a build whose binary contains no path of this machine and no symbols."""
    cargo_home = os.environ.get("CARGO_HOME", str(Path.home() / ".cargo"))
    sysroot = _output(["rustc", "--print", "sysroot"]).strip()
    names = {str(ROOT): "/svc", str(target_folder()): "/svc/target", cargo_home: "/cargo", sysroot: "/rust"}
    # The last matching prefix applies, so the longer paths come last.
    prefixes = sorted(names.items(), key=lambda item: len(item[0]))
    rust = [f"--remap-path-prefix={path}={name}" for path, name in prefixes]
    c = [f"-ffile-prefix-map={path}={name}" for path, name in prefixes]
    return {
        "SOURCE_DATE_EPOCH": str(epoch),
        # Separated by a byte that paths do not contain.
        "CARGO_ENCODED_RUSTFLAGS": "\x1f".join(rust),
        "CFLAGS": " ".join([os.environ.get("CFLAGS", ""), *c]).strip(),
        "CARGO_PROFILE_DIST_STRIP": "symbols",
        "CARGO_INCREMENTAL": "0",
    }


def build(target: Target, epoch: int) -> Path:
    command = cargo_command(target)
    if "zigbuild" not in command:
        print(
            "note: cargo-zigbuild is not installed: the binary needs the glibc of this machine or newer",
            file=sys.stderr,
        )
    if "auditable" not in command:
        print("note: cargo-auditable is not installed: the binary has no list of its dependencies", file=sys.stderr)
    # The packages need the sources of all crates, also of crates that this build does not compile. Without them, the list of
    # contents would fail after the long build.
    fetched = subprocess.run(["cargo", "fetch", "--locked"], cwd=ROOT, check=False)
    if fetched.returncode != 0:
        raise PackagingError(f"`cargo fetch --locked` failed with exit code {fetched.returncode}")
    print("+ " + " ".join(command), file=sys.stderr)
    result = subprocess.run(command, cwd=ROOT, env={**os.environ, **build_environment(epoch)}, check=False)
    if result.returncode != 0:
        raise PackagingError(f"the build failed with exit code {result.returncode}")
    return target_folder() / target.triple / "dist" / "svc"


def target_of(binary: Path) -> Target:
    """Reads the machine from the head of the ELF file."""
    with binary.open("rb") as file:
        head = file.read(20)
    if head[:4] != b"\x7fELF":
        raise PackagingError(f"`{binary}` is not a Linux program")
    machine = struct.unpack("<H", head[18:20])[0]
    for target in TARGETS.values():
        if target.elf_machine == machine:
            return target
    raise PackagingError(f"`{binary}` is for machine {machine}; known are {', '.join(TARGETS)}")


def strip(binary: Path, target: Target, folder: Path) -> Path:
    """A copy without symbols; unchanged if the build has removed them. Keeps loaded sections, such as `.dep-v0`."""
    copy = folder / "svc"
    if ".symtab" not in _output(["readelf", "-SW", str(binary)]):
        shutil.copyfile(binary, copy)
    else:
        tools = ["strip" if host_target() == target else f"{target.name}-linux-gnu-strip", "llvm-strip"]
        tool = next((name for name in tools if shutil.which(name)), None)
        if tool is None:
            raise PackagingError(f"`{binary}` has symbols, and none of {', '.join(tools)} is installed to remove them")
        _output([tool, "--strip-all", "-o", str(copy), str(binary)])
    copy.chmod(0o755)
    return copy


def glibc_floor(binary: Path) -> tuple[int, int]:
    """The newest glibc version that a symbol of the binary requires."""
    found = re.findall(r"GLIBC_(\d+)\.(\d+)", _output(["readelf", "-VW", str(binary)]))
    if not found:
        raise PackagingError(f"`{binary}` requires no glibc version: is it linked statically?")
    return max((int(major), int(minor)) for major, minor in found)


def has_crate_list(binary: Path) -> bool:
    """Whether cargo-auditable has added the list of crates."""
    return ".dep-v0" in _output(["readelf", "-SW", str(binary)])


def needed_libraries(binary: Path) -> list[str]:
    return sorted(re.findall(r"\(NEEDED\).*\[(.+)\]", _output(["readelf", "-dW", str(binary)])))


def debian_packages(binary: Path) -> list[str]:
    """The Debian packages with the shared libraries that the binary needs."""
    packages = set()
    for library in needed_libraries(binary):
        if library == "libgcc_s.so.1":
            packages.add("libgcc-s1")
        elif library.startswith("ld-linux-") or library in LIBC6:
            packages.add("libc6")
        else:
            raise PackagingError(f"`{binary}` needs `{library}`: add its Debian package to packaging/common/binary.py")
    return sorted(packages)


def libunwind(binary: Path) -> str:
    """The version of LLVM's libunwind in the binary; empty if it uses libgcc_s. zig links it, in zig's version of LLVM."""
    if "libgcc_s.so.1" in needed_libraries(binary):
        return ""
    match = re.search(r"Linker: LLD (\d+\.\d+\.\d+)", _output(["readelf", "-p", ".comment", str(binary)]))
    if not match:
        raise PackagingError(
            f"`{binary}` needs no libgcc_s and was not linked by zig: which library unwinds its stack?"
        )
    return match.group(1)


def compiler(binary: Path) -> str:
    """The Rust version in the section `.comment` of the binary, or an empty text."""
    match = re.search(r"rustc version (\d+\.\d+\.\d+)", _output(["readelf", "-p", ".comment", str(binary)]))
    return match.group(1) if match else ""


def machine_paths(binary: Path) -> list[str]:
    """The folders of the build machine whose paths are in the binary. A release build has none."""
    # No slash before the first one: the licence texts in the binary contain addresses such as https://example.com/a.rs.
    found = re.findall(rb"(?<![\w./])(/[\w.+-]+/[\w.+-]+/)[\w.+/-]+\.(?:rs|c|h)\b", binary.read_bytes())
    # Names that the build gives to folders, and the folder of Rust's own library.
    given = ("/svc/", "/cargo/", "/rust/", "/rustc/")
    return sorted({path.decode() for path in found if not path.decode().startswith(given)})


def run(binary: Path, *arguments: str) -> str:
    """Output of the binary, in a fixed environment, so that the output does not depend on this machine."""
    return _output(
        [str(binary), *arguments],
        {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "COLUMNS": "100", "LC_ALL": "C.UTF-8"},
    )


def _output(command: list[str], environment: dict | None = None) -> str:
    try:
        result = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    except FileNotFoundError as error:
        raise PackagingError(f"`{command[0]}` is not installed") from error
    if result.returncode != 0:
        raise PackagingError(f"`{' '.join(command)}` failed: {result.stderr.strip()}")
    return result.stdout
