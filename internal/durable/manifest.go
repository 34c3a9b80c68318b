package durable

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"strconv"

	"blobio/internal/fault"
)

// A Manifest is a kind of files as a Seal is, whose second line is JSON, too, and whose content has a field with the version in the
// place of a SealHead.
//
//	{"blobio_manifest":1,...}
//	{"crc32":"1b2c3d4e"}
type Manifest struct {
	Pkg     string // stands before errors
	Field   string // with the version
	Version int
	Oldest  int // version that is still read; 0: Version is the only one
}

// Encode returns the file of a content.
func (k Manifest) Encode(content any) ([]byte, error) {
	b, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	b = append(b, '\n')
	return fmt.Appendf(b, "{\"crc32\":\"%08x\"}\n", crc32.ChecksumIEEE(b)), nil
}

// Decode reads what Encode wrote. version is the field of the content. The other fields are for the caller to check. Errors are FormatErrors of the
// classes ErrChecksum, ErrCorrupt and ErrVersion.
func (k Manifest) Decode(b []byte, name string, content any, version *int) error {
	bad := func(off int, field string, class error, format string, args ...any) error {
		return fault.Pkg(k.Pkg).At(name, int64(off), field, class, format, args...)
	}
	n := bytes.IndexByte(b, '\n') + 1
	if n == 0 {
		n = len(b)
	}
	line, rest := b[:n], b[n:]
	var end struct {
		CRC string `json:"crc32"`
	}
	err := json.Unmarshal(rest, &end)
	want, perr := strconv.ParseUint(end.CRC, 16, 32)
	if err != nil || perr != nil || len(end.CRC) != 8 || rest[len(rest)-1] != '\n' {
		return bad(n, "crc32", fault.ErrChecksum, "no closing checksum: the manifest was not written to its end")
	}
	if got := crc32.ChecksumIEEE(line); got != uint32(want) {
		return bad(n, "crc32", fault.ErrChecksum, "bytes sum to %08x, the file says %08x", got, want)
	}
	if err := json.Unmarshal(line, content); err != nil {
		return bad(0, "manifest", fault.ErrCorrupt, "%v", err)
	}
	if oldest := k.Oldest; oldest == 0 || oldest == k.Version {
		if *version != k.Version {
			return bad(0, k.Field, fault.ErrVersion, "%d, want %d", *version, k.Version)
		}
	} else if *version < oldest || *version > k.Version {
		return bad(0, k.Field, fault.ErrVersion, "%d, want %d to %d", *version, oldest, k.Version)
	}
	return nil
}
