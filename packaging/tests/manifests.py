"""Checks the compose file, Kubernetes manifests, workflows and SBOM against their published schemas."""

import os
import subprocess
import sys
import tarfile

from common.project import ROOT
from tests.case import Case

# The Kubernetes version whose schemas are used. The manifests need nothing newer.
KUBERNETES = "1.33"
VALIDATOR = "cyclonedx-python-lib[json-validation]"
# Prints the errors of the document on stdin.
VALIDATE = """
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
print(JsonStrictValidator(SchemaVersion.V1_5).validate_str(sys.stdin.read()) or "valid")
"""


def check(case: Case) -> None:
    tools = case.cache / "schema-tools"
    if not (tools / "bin/kubernetes-validate").exists():
        case.run(sys.executable, "-m", "venv", tools)
        case.run(
            tools / "bin/pip",
            "install",
            "--quiet",
            "check-jsonschema",
            "kubernetes-validate",
            VALIDATOR,
            env=dict(os.environ),
        )
    compose = [tools / "bin/check-jsonschema", "--builtin-schema", "vendor.compose-spec"]
    workflow = [tools / "bin/check-jsonschema", "--builtin-schema", "vendor.github-workflows"]
    kubernetes = [tools / "bin/kubernetes-validate", "--strict", "-k", KUBERNETES]
    _pair(case, compose, case.package("svc-compose.yaml").read_text(), "read_only: true", "read_only: [perhaps]")
    _pair(case, kubernetes, case.package("svc-kubernetes.yaml").read_text(), "replicas: 1", "replicas: one")
    for file in sorted((ROOT / ".github/workflows").glob("*.yml")):
        _pair(case, workflow, file.read_text(), "runs-on:", "runs-at:")
    dependabot = [tools / "bin/check-jsonschema", "--builtin-schema", "vendor.dependabot"]
    _pair(case, dependabot, (ROOT / ".github/dependabot.yml").read_text(), "weekly", "sometimes")
    with tarfile.open(case.package(f"svc-{case.target.triple}.tar.gz")) as archive:
        name = next(name for name in archive.getnames() if name.endswith("/sbom.cdx.json"))
        document = archive.extractfile(name).read().decode()
    said = [
        case.run(tools / "bin/python", "-c", VALIDATE, stdin=text)
        for text in (document, document.replace("SHA-256", "SHA-0"))
    ]
    case.expect(
        said[0] == "valid\n" and said[1] != "valid\n",
        "CycloneDX 1.5: accepts the list of contents, refuses a wrong hash name",
    )


def _pair(case: Case, command: list, text: str, right: str, wrong: str) -> None:
    """Checks that the file passes, and that a copy with a fault fails. The fault proves that the schema is used."""
    name = command[0].name if "builtin" not in str(command) else command[-1]
    file = case.work / "file.yaml"
    file.write_text(text)
    case.run(*command, file)
    file.write_text(text.replace(right, wrong))
    result = subprocess.run([*command, file], capture_output=True, check=False)
    case.expect(right in text and result.returncode != 0, f"{name}: accepts the file, refuses `{wrong}`")
