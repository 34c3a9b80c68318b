package commitfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"

	"blobio/internal/fault"
)

// Most is how many bytes such a file may have.
const Most = 256 << 20

// Head is what each record begins with. It is embedded in it.
type Head struct {
	Format string `json:"format"`
	Ver    int    `json:"version"`
	Seq    int64  `json:"seq"` // number of the commit, ascending
}

// A Kind is a kind of records.
type Kind struct {
	Pkg     string // stands before errors
	Format  string
	Version int
}

// Head is that of commit seq.
func (k Kind) Head(seq int64) Head { return Head{k.Format, k.Version, seq} }

// Encode returns the file of a record. ErrTooLarge: it has more than Most bytes.
func (k Kind) Encode(record any) ([]byte, error) {
	b, err := json.Marshal(record)
	if err != nil {
		return nil, err
	}
	b = append(b, '\n')
	b = fmt.Appendf(b, "crc32 %08x\n", crc32.ChecksumIEEE(b))
	if len(b) > Most {
		return nil, fmt.Errorf("%s: record of %d bytes, want at most %d: keep fewer: %w", k.Pkg, len(b), Most, fault.ErrTooLarge)
	}
	return b, nil
}

// Decode reads what Encode wrote. head is that of the record. The other fields are for the
// caller to check. Errors are FormatErrors of the classes ErrTruncated, ErrNotFormat,
// ErrChecksum and ErrVersion.
func (k Kind) Decode(b []byte, name string, record any, head *Head) error {
	bad := func(off int, field string, class error, format string, args ...any) error {
		return &fault.FormatError{Pkg: k.Pkg, File: name, Offset: int64(off), Field: field, Msg: fmt.Sprintf(format, args...), Err: class}
	}
	n := bytes.IndexByte(b, '\n') + 1
	if n == 0 {
		return bad(len(b), "record", fault.ErrTruncated, "no line of JSON")
	}
	line, rest := b[:n], b[n:]
	if err := json.Unmarshal(line, record); err != nil || head.Format != k.Format {
		return bad(0, "format", fault.ErrNotFormat, "%q, want %q", head.Format, k.Format)
	}
	if want := fmt.Sprintf("crc32 %08x\n", crc32.ChecksumIEEE(line)); string(rest) != want {
		return bad(n, "crc32", fault.ErrChecksum, "%q, want %q", rest[:min(len(rest), 20)], want)
	}
	if head.Ver != k.Version {
		return bad(0, "version", fault.ErrVersion, "%d, want %d", head.Ver, k.Version)
	}
	return nil
}
