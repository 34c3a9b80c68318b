package redset

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/scr/kvtree"
)

// Payload describes the bytes that follow the header of a redundancy file, according to the header.
type Payload struct {
	Offset int64 // offset in the file, in bytes
	Length int64 // in bytes
	Parts  []Part
}

// Part is a part of a payload that has a checksum of its own. It is a row of parity, or the copy of one file.
type Part struct {
	Name   string // "parity 0", "copy of file 1 of member 2"; members count from 0
	Offset int64  // offset in the file, in bytes
	Length int64  // in bytes
	CRC    uint32 // CRC-32 of the part, if HasCRC
	HasCRC bool
}

// nameDesc matches the end of the name of a descriptor file.
var nameDesc = regexp.MustCompile(`^\d+\.redset$`)

// ReadPayload returns the layout that the bytes after a file's header should have. It does not read these bytes. name includes
// the directory. Descriptor and checksum files consist of one record and have an empty payload. Checksums are taken from the
// checksum file, if it was made for this header. If the header is invalid or the name is unknown, the error is a
// *kvtree.FormatError.
func ReadPayload(fsys vfs.FS, prefix, name string) (*Payload, error) {
	fsys = vfs.OrOS(fsys)
	rest := strings.TrimPrefix(name, prefix)
	b, err := readRecord(fsys, name)
	if err != nil {
		return nil, err
	}
	p, ok := parseName(rest)
	switch {
	case ok:
	case nameDesc.MatchString(rest) || strings.HasSuffix(rest, sumSuffix):
		return &Payload{Offset: int64(len(b))}, nil
	default:
		return nil, formatErr(name, -1, "name", fmt.Sprintf("%.200q, want the name of a redundancy file", filepath.Base(name)), fault.ErrCorrupt)
	}
	h, err := parseHeader(name, p, b)
	if err != nil {
		return nil, err
	}
	pay := &Payload{Offset: h.length}
	sums := h.sumsBeside(fsys, prefix)
	add := func(name string, length int64, member int, path ...string) {
		part := Part{Name: name, Offset: pay.Offset + pay.Length, Length: length}
		r := reader{t: sums[member].At(path[:len(path)-1]...)}
		part.CRC = r.crc(path[len(path)-1])
		part.HasCRC = r.err == nil
		pay.Parts = append(pay.Parts, part)
		pay.Length += length
	}
	switch h.scheme {
	case XOR, RS:
		for i := range h.k {
			add(fmt.Sprintf("parity %d", i), h.chunk, h.rank, "ROW", strconv.Itoa(i))
		}
	case Partner:
		for j := 1; j <= h.k; j++ {
			m := (h.rank - j + h.n) % h.n
			d := h.descs[m]
			if d == nil {
				return nil, formatErr(name, 0, "header", fmt.Sprintf("the list of files of member %d is missing, but the payload has copies of these files", m), fault.ErrCorrupt)
			}
			for i, size := range d.sizes() {
				add(fmt.Sprintf("copy of file %d of member %d", i, m), size, m, "FILE", strconv.Itoa(i), "CRC", "0")
			}
		}
	}
	return pay, nil
}

// sumsBeside returns the checksums in the checksum file of a header, by member. It returns none if the file is unreadable or
// belongs to another header.
func (h *header) sumsBeside(fsys vfs.FS, prefix string) map[int]*kvtree.Tree {
	name := h.sumName(prefix)
	b, err := vfs.ReadFile(fsys, name, maxHeader)
	if err != nil {
		return nil
	}
	sums, err := parseSums(name, b)
	if err != nil {
		return nil
	}
	r := reader{t: sums[h.rank]}
	if crc := r.crc("HEADER"); r.err != nil || crc != h.crc {
		return nil
	}
	return sums
}
