package cello

import (
	"fmt"

	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/subfile"
)

const (
	manifestVersion = 1
	maxManifest     = 1 << 30
)

// manifest says what a directory consists of. On disk it is one line of JSON,
// and a second with the CRC-32 (IEEE) of the first, its line feed included.
// Other programs do not look at it.
type manifest struct {
	Version int    `json:"blobio_cello"`
	ID      string `json:"id"`               // random, 32 hex digits
	Dump    bool   `json:"dump,omitempty"`   // chosen fields, levels or leaves: no checkpoint
	Broken  bool   `json:"broken,omitempty"` // copied from a checkpoint whose cells are scrambled
	// Unverified: made with NoVerify, or from a checkpoint that was. The sums are sums of the bytes that were read.
	Unverified bool           `json:"unverified,omitempty"`
	Datasets   []string       `json:"datasets"`        // of every block, in the order of its checksums and of its data
	List       subfile.CRC    `json:"file_list"`       // CRC-32 of check.file_list
	Costs      bool           `json:"costs,omitempty"` // each file has the cost of each block
	Files      []manifestFile `json:"files"`
}

// manifestFile describes a file and its block list.
type manifestFile struct {
	Name   string      `json:"name"` // without suffix
	Size   int64       `json:"size"` // bytes of the HDF5 file
	Blocks int         `json:"blocks"`
	List   subfile.CRC `json:"list"` // CRC-32 of the block list
	Meta   int64       `json:"meta"` // bytes of metadata, at the start of the file
	Head   subfile.CRC `json:"head"` // CRC-32 of them
	// Groups and Root are CRC-32 of the parts of it: the group of each block, and what is before
	// the first one.
	Groups subfile.CRCs `json:"groups,omitempty"`
	Root   subfile.CRC  `json:"root,omitempty"`
	Data   subfile.CRCs `json:"data"` // CRC-32 of each dataset, block by block
	Costs  []float64    `json:"costs,omitempty"`
}

// manifests identifies manifests by their first field.
var manifests = durable.Manifest{Field: "blobio_cello", Version: manifestVersion}

func (m *manifest) encode() ([]byte, error) {
	m.Version = manifestVersion
	return manifests.Encode(m)
}

func decodeManifest(b []byte, file string) (*manifest, error) {
	m := new(manifest)
	if _, err := manifests.Decode(b, file, m, &m.Version); err != nil {
		return nil, err
	}
	for i := range m.Files {
		f := &m.Files[i]
		switch {
		case !plainName(f.Name):
			return nil, fault.At(file, -1, fmt.Sprintf("files[%d].name", i), ErrCorrupt, "%q, want a name without directory", f.Name)
		case f.Blocks < 0 || f.Size < 0 || f.Meta < 0 || f.Meta > f.Size:
			return nil, fault.At(file, -1, fmt.Sprintf("files[%d]", i), ErrCorrupt, "%d blocks, %d bytes of metadata in %d", f.Blocks, f.Meta, f.Size)
		case int64(len(f.Data)) != int64(f.Blocks)*int64(len(m.Datasets)):
			return nil, fault.At(file, -1, fmt.Sprintf("files[%d].data", i), ErrCorrupt, "%d checksums for %d blocks of %d datasets", len(f.Data), f.Blocks, len(m.Datasets))
		case len(f.Groups) != f.Blocks:
			return nil, fault.At(file, -1, fmt.Sprintf("files[%d].groups", i), ErrCorrupt, "%d checksums for %d blocks", len(f.Groups), f.Blocks)
		case m.Costs && len(f.Costs) != f.Blocks:
			return nil, fault.At(file, -1, fmt.Sprintf("files[%d].costs", i), ErrCorrupt, "%d costs for %d blocks", len(f.Costs), f.Blocks)
		}
	}
	return m, nil
}
