package cello

import (
	"fmt"
	"hash/crc32"
	"slices"

	"blobio/internal/amr/cellodir"
	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/internal/base/h5"
	"blobio/internal/subfile"
)

const (
	manifestVersion = 1
	maxManifest     = 1 << 30
)

// manifest describes the content of a directory. On disk it is one line of JSON, followed by a line with the CRC-32 (IEEE) of the
// first line with its line feed. Other programs ignore it.
type manifest struct {
	Version int    `json:"blobio_cello"`
	ID      string `json:"id"`               // random, 32 hex digits
	Dump    bool   `json:"dump,omitempty"`   // a dump of selected fields, levels or leaves, which is not a checkpoint
	Broken  bool   `json:"broken,omitempty"` // copied from a checkpoint with scrambled cells
	// Reversed means that the datasets of fields have their dimensions in reverse (see Options.ForEnzoE).
	Reversed bool `json:"reversed,omitempty"`
	// Unverified means that the blocks were read with NoVerify, or copied from an unverified checkpoint. The checksums match the
	// bytes that were read, which may be damaged.
	Unverified bool           `json:"unverified,omitempty"`
	Datasets   []string       `json:"datasets"`        // datasets of every block, in the order of its checksums and data
	List       subfile.CRC    `json:"file_list"`       // CRC-32 of check.file_list
	Costs      bool           `json:"costs,omitempty"` // each file stores the cost of each block
	Files      []manifestFile `json:"files"`
}

// manifestFile describes a file and its block list.
type manifestFile struct {
	Name   string      `json:"name"` // without suffix
	Size   int64       `json:"size"` // size of the HDF5 file
	Blocks int         `json:"blocks"`
	List   subfile.CRC `json:"list"` // CRC-32 of the block list
	Meta   int64       `json:"meta"` // size of the metadata at the start of the file
	Head   subfile.CRC `json:"head"` // CRC-32 of the metadata
	// Groups and Root are the CRC-32 of parts of the metadata: the group of each block, and the bytes before the first group.
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
		case !cellodir.PlainName(f.Name):
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

// Before the caller gets a block, its group and each of its datasets are compared in memory with the manifest's checksums.
// OpenOptions.NoVerify skips only this comparison.

// differs returns an ErrChecksum error.
func differs(file string, off int64, field string, got, want uint32) error {
	return fault.At(file, off, field, ErrChecksum, "bytes sum to %08x, the manifest says %08x", got, want)
}

// sums locates the checksums of a checkpoint's data.
type sums struct {
	on     bool    // compare the data read
	colAt  []int   // index in manifest.Datasets, by column
	listAt []int32 // index of each block in its list
}

// compareData compares a dataset of block i, in file form, with its checksum.
func (k *Checkpoint) compareData(i, c int, p []byte) error {
	if !k.sums.on {
		return nil
	}
	info := &k.blocks[i]
	want := k.man.Files[info.File].Data[int(k.sums.listAt[i])*len(k.man.Datasets)+k.sums.colAt[c]]
	if got := crc32.ChecksumIEEE(p); got != want {
		return differs(k.path(info.File), k.recs[i].data[k.colAt[c]].off, info.Name+" "+k.cols[c].name, got, want)
	}
	return nil
}

// compareGroup compares the group of block i with its checksum. b is the group's bytes, or nil if they were not read yet.
func (k *Checkpoint) compareGroup(i int, b []byte) error {
	if rec := &k.recs[i]; rec.damaged { // also with NoVerify
		info := &k.blocks[i]
		return fault.At(k.path(info.File), rec.addr, info.Name, ErrChecksum, "group is unreadable and differs from the written bytes")
	}
	if !k.sums.on {
		return nil
	}
	info := &k.blocks[i]
	at, want := k.recs[i].addr, k.man.Files[info.File].Groups[k.sums.listAt[i]]
	if b == nil {
		return compareBytes(poolReader{k.pool, k.path(info.File)}, at, k.recs[i].span, info.Name, want)
	}
	if got := crc32.ChecksumIEEE(b); got != want {
		return differs(k.path(info.File), at, info.Name, got, want)
	}
	return nil
}

// compareBytes compares n bytes of a file with their checksum.
func compareBytes(r poolReader, off, n int64, field string, want uint32) error {
	got, err := sumOf(r, off, n, nil)
	if err == nil && got != want {
		err = differs(r.name, off, field, got, want)
	}
	return err
}

// spare reports whether a fault in block n of a file is caused by damage to its group, the bytes from at to end. If so, spare
// marks the block as damaged; the other blocks stay readable.
func (s *scanner) spare(file, n int, at, end int64) bool {
	f := s.files[file]
	if s.man == nil || file >= len(s.man.Files) || len(s.man.Files[file].Groups) != len(f.list) {
		return false
	}
	e, b := &s.man.Files[file], &f.blocks[n]
	if at < 0 || end <= at || end > e.Meta {
		return false
	}
	got, err := sumOf(poolReader{s.pool, s.pathOf(f.name + cellodir.DataSuffix)}, at, end-at, nil)
	if err != nil || got == e.Groups[n] {
		return false
	}
	b.addr, b.known, b.damaged, b.order, b.count = at, false, true, -1, -1
	b.data = make([]extent, len(s.schema.cols))
	return true
}

// end returns the end of the group of block n of a file, or -1 if unknown. It uses the addresses of the links.
func (s *scanner) end(file, n int, links map[string]h5.Link) int64 {
	f := s.files[file]
	if n+1 < len(f.list) {
		if l, ok := links[f.list[n+1].Name]; ok {
			return l.Addr()
		}
	} else if s.man != nil && file < len(s.man.Files) {
		return s.man.Files[file].Meta
	}
	return -1
}

// spans sets the lengths of the groups of each file. The groups are adjacent, and the last one ends with the metadata.
func (s *scanner) spans(m *manifest) {
	for i, f := range s.files {
		for n := range f.blocks {
			end := m.Files[i].Meta
			if n+1 < len(f.blocks) {
				end = f.blocks[n+1].addr
			}
			f.blocks[n].span = max(end-f.blocks[n].addr, 0)
		}
	}
}

// match finds the checksum of each column of blocks in a manifest.
func (s *sums) match(m *manifest, cols []column, file string) error {
	for c := range cols {
		at := slices.Index(m.Datasets, cols[c].name)
		if at < 0 {
			return fault.At(file, -1, "datasets", ErrCorrupt, "%s, which blocks have, is not among the %d", cols[c].name, len(m.Datasets))
		}
		s.colAt = append(s.colAt, at)
	}
	if len(cols) != len(m.Datasets) {
		return fault.At(file, -1, "datasets", ErrCorrupt, "%d, but blocks have %d", len(m.Datasets), len(cols))
	}
	s.on = true
	return nil
}

// describes returns an error if block n of a file, from which the schema would be taken, is damaged. With n = -1 it checks the
// bytes before the first group. Without a manifest it returns nil.
func (s *scanner) describes(file int, root *h5.Group, list []cellodir.Entry, n int) error {
	if s.man == nil || file >= len(s.man.Files) || s.man.Files[file].Name != s.files[file].name || s.man.Files[file].Blocks != len(list) {
		return nil // the manifest belongs to another checkpoint: scanner.manifest returns that error
	}
	e := &s.man.Files[file]
	r := poolReader{s.pool, s.pathOf(e.Name + cellodir.DataSuffix)}
	addr := func(n int) (int64, error) {
		if n == len(list) {
			return e.Meta, nil
		}
		l, err := root.Link(list[n].Name)
		return l.Addr(), err
	}
	from, name, want := int64(0), "/", uint32(e.Root)
	if n >= 0 {
		var err error
		if from, err = addr(n); err != nil {
			return err
		}
		name, want = list[n].Name, e.Groups[n]
	}
	to, err := addr(n + 1)
	if err != nil {
		return err
	}
	if from < 0 || to < from || to > e.Meta {
		return fault.At(r.name, from, name, ErrCorrupt, "group extends from %d to %d, but the metadata have %d bytes", from, to, e.Meta)
	}
	return compareBytes(r, from, to-from, name, want)
}

// damaged returns the error for a checkpoint whose mesh description is damaged.
func damaged(err error) error {
	return fmt.Errorf("the mesh cannot be described: %w", err)
}
