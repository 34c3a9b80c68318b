package durable

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// MaxSeal is the maximum length of a seal in bytes.
const MaxSeal = 256 << 20

// SealHead is the first part of the content of each seal.
type SealHead struct {
	Format string `json:"format"`
	Ver    int    `json:"version"`
	Seq    int64  `json:"seq"` // commit number, ascending
}

// A Seal is a kind of small file whose replacement commits a change: one line of JSON, which begins with a SealHead,
// and one line with the CRC-32 (IEEE) of the first, its newline included.
//
//	{"format":"blobio versions","version":1,"seq":3,...}
//	crc32 1b2c3d4e
//
// Such a file is replaced as a whole: see Replace.
type Seal struct {
	Format  string
	Version int
}

// Head returns the head of commit seq.
func (k Seal) Head(seq int64) SealHead { return SealHead{k.Format, k.Version, seq} }

// Encode returns the file for a content. A file of more than MaxSeal bytes is ErrTooLarge.
func (k Seal) Encode(content any) ([]byte, error) {
	b, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	b = append(b, '\n')
	b = fmt.Appendf(b, "crc32 %08x\n", crc32.ChecksumIEEE(b))
	if len(b) > MaxSeal {
		return nil, fmt.Errorf("seal of %d bytes, want at most %d: %w", len(b), MaxSeal, fault.ErrTooLarge)
	}
	return b, nil
}

// Decode decodes the output of Encode. head is the head of content. The caller must check the other fields. Errors are
// *FormatError of the classes ErrTruncated, ErrNotFormat, ErrChecksum and ErrVersion.
func (k Seal) Decode(b []byte, name string, content any, head *SealHead) error {
	bad := func(off int, field string, class error, format string, args ...any) error {
		return fault.At(name, int64(off), field, class, format, args...)
	}
	n := bytes.IndexByte(b, '\n') + 1
	if n == 0 {
		return bad(len(b), "seal", fault.ErrTruncated, "the JSON line is missing")
	}
	line, rest := b[:n], b[n:]
	if err := json.Unmarshal(line, content); err != nil || head.Format != k.Format {
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

// IsSeal reports whether a file begins like a seal of any kind. It is false if name is missing or is not a file.
func IsSeal(fsys vfs.FS, name string) (bool, error) {
	info, err := fsys.Stat(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	f, err := fsys.Open(name)
	if err != nil {
		return false, err
	}
	const begin = `{"format":"blobio `
	b := make([]byte, len(begin))
	if _, err = f.ReadAt(b, 0); errors.Is(err, io.EOF) {
		err = nil
	}
	return string(b) == begin, errors.Join(err, f.Close())
}
