# From the build information of a Go program to CycloneDX 1.5.
def purl: "pkg:golang/" + (.Path | ascii_downcase) + "@" + .Version;
{
  "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
  bomFormat: "CycloneDX",
  specVersion: "1.5",
  version: 1,
  metadata: {
    timestamp: $time,
    component: {
      "bom-ref": "main", type: "application", name: $name, version: $version,
      licenses: [{license: {id: "BSD-3-Clause"}}],
      hashes: [{alg: "SHA-256", content: $sha256}],
      properties: ([.Settings[] | {name: ("go:" + .Key), value: .Value}] | sort_by(.name))
    }
  },
  components: ([
    {"bom-ref": "std", type: "library", name: "std", version: (.GoVersion | ltrimstr("go")), purl: ("pkg:golang/std@" + (.GoVersion | ltrimstr("go")))}
  ] + [.Deps[]? | (.Replace // .) | {"bom-ref": purl, type: "library", name: .Path, version: .Version, purl: purl, properties: [{name: "go:sum", value: .Sum}]}]),
  dependencies: [{ref: "main", dependsOn: (["std"] + [.Deps[]? | (.Replace // .) | purl])}]
}
