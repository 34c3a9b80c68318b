package redset

import (
	"encoding/binary"
	"io/fs"
	"strconv"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// evidence is what was found of one member. It can be sent to other ranks.
type evidence struct {
	name   string // name of the redundancy file without directory; "" if no readable file exists
	header []byte // record of the redundancy file
	sums   []byte // content of the checksum file
}

// readRecord returns the record at the beginning of a file.
func readRecord(fsys vfs.FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	const least = 28 // length of an empty record
	if size < least {
		return nil, formatErr(name, 0, "record", "file of "+strconv.FormatInt(size, 10)+" bytes, want at least 28", fault.ErrTruncated)
	}
	b := make([]byte, least)
	if err := readFull(f, b, 0); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint64(b[8:])
	switch {
	case n < least || n > uint64(size):
		return nil, formatErr(name, 8, "file size", strconv.FormatUint(n, 10)+", want 28 to "+strconv.FormatInt(size, 10), fault.ErrTruncated)
	case n > maxHeader:
		return nil, formatErr(name, 8, "file size", strconv.FormatUint(n, 10)+" bytes", fault.ErrTooLarge)
	}
	b = make([]byte, n)
	return b, readFull(f, b, 0)
}

func readHeader(fsys vfs.FS, f found) (*header, error) {
	b, err := readRecord(fsys, f.name)
	if err != nil {
		return nil, err
	}
	return parseHeader(f.name, f.position, b)
}

// readPlaces reads a .redset file. It returns positions by world rank.
func readPlaces(fsys vfs.FS, name string) (map[int]position, error) {
	b, err := readRecord(fsys, name)
	if err != nil {
		return nil, err
	}
	return parsePlaces(name, b)
}

func parsePlaces(name string, b []byte) (map[int]position, error) {
	t, _, err := decodeTree(name, b)
	if err != nil {
		return nil, err
	}
	v := map[int]position{}
	for key, pt := range t.All() {
		p, err := parsePlace(pt)
		if err != nil {
			return nil, formatErr(name, -1, key, err.Error(), fault.ErrCorrupt)
		}
		if key != strconv.Itoa(p.world) {
			return nil, formatErr(name, -1, key, "is of rank "+strconv.Itoa(p.world), fault.ErrCorrupt)
		}
		v[p.world] = p
	}
	return v, nil
}

// pack and unpackEvidence convert evidence to and from messages.
func (e *evidence) pack() []byte {
	var b []byte
	for _, part := range [][]byte{[]byte(e.name), e.header, e.sums} {
		b = binary.AppendUvarint(b, uint64(len(part)))
		b = append(b, part...)
	}
	return b
}

func unpackEvidence(b []byte) (*evidence, error) {
	var parts [3][]byte
	for i := range parts {
		n, k := binary.Uvarint(b)
		if k <= 0 || n > uint64(len(b)-k) {
			return nil, formatErr("", -1, "message", "the evidence of another member is truncated", fault.ErrCorrupt)
		}
		parts[i], b = b[k:k+int(n)], b[k+int(n):]
	}
	return &evidence{string(parts[0]), parts[1], parts[2]}, nil
}

// findEvidence finds the redundancy file and the checksums of the member with a given position. all are the redundancy files
// with this prefix. An unreadable file is treated as missing.
func findEvidence(fsys vfs.FS, prefix string, all []found, p position) *evidence {
	e := &evidence{}
	for _, f := range all {
		if f.gen != p.gen || f.set != p.set || f.rank != p.rank || f.n != p.n || f.scheme != p.scheme || p.gen == GenC && f.world != p.world {
			continue
		}
		b, err := readRecord(fsys, f.name)
		if err != nil {
			continue
		}
		if _, err := parseHeader(f.name, f.position, b); err != nil {
			continue
		}
		e.name, e.header = f.name[len(prefix):], b
	}
	if b, err := vfs.ReadFile(fsys, p.sumName(prefix), maxHeader); err == nil {
		e.sums = b
	}
	return e
}

// isRegular returns the size of a file, or -1 if it is not a regular file.
func isRegular(fsys vfs.FS, name string) int64 {
	st, err := fsys.Stat(name)
	if err != nil || st.Mode()&fs.ModeType != 0 {
		return -1
	}
	return st.Size()
}
