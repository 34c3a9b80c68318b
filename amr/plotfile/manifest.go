package plotfile

import (
	"hash/crc32"

	"blobio/internal/durable"
	"blobio/subfile"
)

// ManifestName is the file with checksums that this module adds.
const ManifestName = "blobio.manifest"

// manifest has the checksums of a plotfile, CRC-32 (IEEE). On disk it is one line of JSON, and a second with that of the first.
type manifest struct {
	Version    int                     `json:"blobio_plotfile"`
	ID         string                  `json:"id"`
	Unverified bool                    `json:"unverified,omitempty"` // copied without comparing the data with their checksums
	Heads      map[string]subfile.CRC  `json:"heads"`                // of text files, by name
	Levels     []subfile.CRCs          `json:"levels"`               // of each grid: of the header of the FAB, then of each field
	Kinds      map[string]subfile.CRCs `json:"particles,omitempty"`  // of the particles of each grid, by kind, level by level
}

var manifests = durable.Manifest{Pkg: string(pkg), Field: "blobio_plotfile", Version: 1}

func decodeManifest(b []byte) (*manifest, error) {
	m := new(manifest)
	_, err := manifests.Decode(b, ManifestName, m, &m.Version)
	return m, err
}

// compare holds a text file against its checksum.
func (m *manifest) compare(name string, b []byte) error {
	want, ok := m.Heads[name]
	if !ok {
		return pkg.At(ManifestName, -1, name, ErrCorrupt, "no checksum, want one of each text file")
	}
	if got := crc32.ChecksumIEEE(b); got != uint32(want) {
		return pkg.At(name, -1, "", ErrChecksum, "the file sums to %08x, the manifest says %08x", got, want)
	}
	return nil
}

// sum is the checksum of a field of a grid; of field -1 that of the header of the FAB.
func (m *manifest) sum(level, grid, field, fields int) (uint32, bool) {
	i := grid*(fields+1) + field + 1
	if level >= len(m.Levels) || i >= len(m.Levels[level]) {
		return 0, false
	}
	return m.Levels[level][i], true
}

// holdManifest holds the numbers of checksums against those of the grids.
func (p *Plotfile) holdManifest() error {
	if !p.verify {
		return nil
	}
	m := p.manifest
	if len(m.Levels) != len(p.Levels) || len(m.Kinds) != len(p.Kinds) {
		return pkg.At(ManifestName, -1, "levels", ErrCorrupt, "%d levels and %d kinds of particles, Header and directory have %d and %d", len(m.Levels), len(m.Kinds), len(p.Levels), len(p.Kinds))
	}
	for l := range p.Levels {
		if want := len(p.Levels[l].Grids) * (len(p.Fields) + 1); len(m.Levels[l]) != want {
			return pkg.At(ManifestName, -1, "levels", ErrCorrupt, "%d checksums of level %d, want %d", len(m.Levels[l]), l, want)
		}
	}
	for k := range p.Kinds {
		name := p.Kinds[k].Name
		if want := len(p.Kinds[k].parts); len(m.Kinds[name]) != want {
			return pkg.At(ManifestName, -1, "particles", ErrCorrupt, "%d checksums of %s, want %d", len(m.Kinds[name]), clip(name), want)
		}
	}
	return nil
}
