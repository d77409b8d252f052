"""The machine-readable list of the program's contents: CycloneDX, as JSON."""

import uuid
from datetime import UTC, datetime

from cyclonedx.factory.license import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from packageurl import PackageURL

from contents import Part, parts

# An arbitrary value, but the same for the same program.
NAMESPACE = uuid.UUID("0c0f1ad2-0b4e-4f53-9b52-6b62a3f0f8b4")


def sbom(version: str, commit: str, time_s: int, triple: str) -> str:
    program = Component(name="fathom", version=version, type=ComponentType.APPLICATION, bom_ref="fathom",
                        licenses=[LicenseFactory().make_from_string("Apache-2.0")])
    components = [component(part) for part in parts(triple)]
    when = datetime.fromtimestamp(time_s, UTC)
    serial = uuid.uuid5(NAMESPACE, f"{version} {commit} {triple}")
    bom = Bom(components=components, serial_number=serial, metadata=BomMetaData(component=program, timestamp=when))
    bom.register_dependency(program, components)
    return make_outputter(bom, OutputFormat.JSON, SchemaVersion.V1_6).output_as_string(indent=1) + "\n"


def component(part: Part) -> Component:
    return Component(
        name=part.name, version=part.version, type=ComponentType.LIBRARY, bom_ref=part.purl, description=part.where,
        purl=PackageURL.from_string(part.purl), licenses=[LicenseFactory().make_from_string(part.terms)],
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=part.sha256)] if part.sha256 else [],
    )
