"""XML against the schemas of those who wrote the formats, judged by libxml2.

``schemas`` holds them under the addresses that they have on the web, see its README; libxml2 is
xmllint, compiled for Node, and comes with the JavaScript packages. No network is asked: an
address in a schema is looked up in the folder.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tools import ROOT
from tools.bundle import NODE, packages

SCHEMAS = Path(__file__).with_name("schemas")
OF_PACKAGES = ROOT / "classroom/adapters/scorm_files"  # SCORM wants its schemas in each package
QTI = "www.imsglobal.org/xsd/imsqti_v2p1.xsd"
QTI_PACKAGE = "www.imsglobal.org/xsd/qti/qtiv2p1/qtiv2p1_imscpv1p2_v1p0.xsd"
SCORM = "adlcp_rootv1p2.xsd"
ADDRESS = re.compile(r'(schemaLocation\s*=\s*")http://([^"]+\.xsd")')
# Metadata that our packages have none of: the schema that allows it only has to know its name.
ABSENT = {
    "www.imsglobal.org/xsd/imsmd_loose_v1p3p2.xsd": ("http://ltsc.ieee.org/xsd/LOM", "lom"),
    "www.imsglobal.org/xsd/qti/qtiv2p1/imsqti_metadata_v2p1p1.xsd": (
        "http://www.imsglobal.org/xsd/imsqti_metadata_v2p1", "qtiMetadata",
    ),
}  # fmt: skip
RUN = """
const { createRequire } = await import("node:module");
const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const { beside, xml, schema, preload } = JSON.parse(Buffer.concat(chunks).toString());
const { validateXML } = createRequire(beside)("xmllint-wasm");
const memory = { initialMemoryPages: 2048, maxMemoryPages: 16384 };
const { valid, rawOutput } = await validateXML({ xml, schema, preload, ...memory });
process.stdout.write(JSON.stringify({ valid, said: rawOutput }));
"""


def _local(name: str, content: bytes) -> str:
    """A schema whose addresses are paths in the folder; the file itself stays as it is."""
    text = content.decode("utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    return ADDRESS.sub(rf"\1{'../' * name.count('/')}\2", text)


def _schemas() -> dict[str, str]:
    files = {path.relative_to(SCHEMAS).as_posix(): path for path in SCHEMAS.rglob("*.xsd")}
    files |= {path.name: path for path in OF_PACKAGES.glob("*.xsd")}
    found = {name: _local(name, path.read_bytes()) for name, path in files.items()}
    for name, (namespace, element) in ABSENT.items():
        found[name] = (
            f'<schema xmlns="http://www.w3.org/2001/XMLSchema" targetNamespace="{namespace}">'
            f'<element name="{element}"/></schema>'
        )
    return found


def violations(files: Mapping[str, bytes], schema: str) -> list[str]:
    """What is wrong with XML files by a schema, in xmllint's words; none where all are valid."""
    schemas = _schemas()
    given = {
        "beside": str(packages() / "x.js"),
        "xml": [{"fileName": n, "contents": c.decode()} for n, c in files.items()],
        "schema": [{"fileName": schema, "contents": schemas.pop(schema)}],
        "preload": [{"fileName": n, "contents": c} for n, c in schemas.items()],
    }
    done = subprocess.run(
        [NODE, "--input-type=module", "--eval", RUN],
        input=json.dumps(given).encode(), capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    result = json.loads(done.stdout)
    said = [line for line in result["said"].splitlines() if line]
    right = {f"{name} validates" for name in files}
    if result["valid"]:
        assert right <= set(said)  # each was looked at; SCORM's ims_xml.xsd itself has a slip
        return []
    return [line for line in said if line not in right]
