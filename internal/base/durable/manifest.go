package durable

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"

	"blobio/internal/base/fault"
)

// A Manifest is a kind of Seal. Its second line is JSON, too, and its content has a version field instead of a SealHead.
//
//	{"blobio_manifest":1,...}
//	{"crc32":"1b2c3d4e"}
//
// With Twice, the second line repeats the content, so that damage of one copy does not lose the content. Both copies are renamed
// or appended in one step, so they cannot disagree after a crash. A program that reads only the first line ignores the copy.
//
//	{"blobio_manifest":1,...}
//	{"crc32":"1b2c3d4e","copy":{"blobio_manifest":1,...},"copy_crc32":"1b2c3d4e"}
type Manifest struct {
	Field   string // name of the version field
	Version int
	Oldest  int // oldest readable version; 0: only Version
	Twice   bool
}

const (
	sumField = `crc32":"`  // text before the 8 digits
	sumFirst = "\n{\""     // between the content and sumField
	sumCopy  = `,"copy_`   // between the copy and sumField
	copyHead = `","copy":` // between the digits and the copy
	sumLen   = 8           // number of digits
	sumEnd   = "\"}\n"
	copyAt   = len(sumFirst) + len(sumField) + sumLen + len(copyHead) // offset of the copy in the second line
)

// Encode returns the bytes of a file with this content.
func (k Manifest) Encode(content any) ([]byte, error) {
	b, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	return bytes.Join(framed(b, k.Twice), nil), nil
}

// framed returns the pieces of the file for a first line, given without its line feed.
func framed(line []byte, twice bool) [][]byte {
	sum := fmt.Appendf(nil, "%08x", sumOf(line))
	all := [][]byte{line, []byte(sumFirst + sumField), sum}
	if twice {
		all = append(all, []byte(copyHead), line, []byte(sumCopy+sumField), sum)
	}
	return append(all, []byte(sumEnd))
}

// sumOf returns the checksum of a first line, given without its line feed.
func sumOf(line []byte) uint32 {
	return crc32.Update(crc32.ChecksumIEEE(line), crc32.IEEETable, []byte{'\n'})
}

// differ compares b with the concatenation of all. n is the length of the concatenation. at is the offset of the first
// difference, -1 if there is none, and the length of b if b is a prefix.
func differ(b []byte, all [][]byte) (n, at int) {
	at = -1
	for _, want := range all {
		have := b[min(n, len(b)):min(n+len(want), len(b))]
		if at < 0 && !bytes.Equal(have, want) {
			k := 0
			for k < len(have) && have[k] == want[k] {
				k++
			}
			at = n + k
		}
		n += len(want)
	}
	return n, at
}

// whole returns the first line of b without its line feed. n is the number of bytes up to the end of its checksum. It returns nil
// if the line is missing or its checksum differs. No content contains sumField, because JSON escapes quotes.
func whole(b []byte) (line []byte, n int, copied bool) {
	at := bytes.Index(b, []byte(sumField))
	n = at + len(sumField) + sumLen
	if at < 0 || n > len(b) {
		return nil, 0, false
	}
	switch content := b[:at]; {
	case bytes.HasSuffix(content, []byte(sumFirst)):
		line = content[:at-len(sumFirst)]
	case bytes.HasSuffix(content, []byte(sumCopy)):
		line, copied = content[:at-len(sumCopy)], true
	default:
		return nil, 0, false
	}
	want, err := strconv.ParseUint(string(b[n-sumLen:n]), 16, 32)
	if err != nil || sumOf(line) != uint32(want) {
		return nil, 0, false
	}
	return line, n, copied
}

// find returns the line at the beginning of b, and whether it should have a copy. It returns nil if the line and the copy are
// damaged.
func (k Manifest) find(b []byte) (line []byte, twice bool) {
	line, n, copied := whole(b)
	if line != nil && !copied {
		return line, !once(b[n:])
	}
	from := bytes.Index(b[min(1, len(b)):], k.start()) + 1
	if from == 0 {
		return nil, false
	}
	// The copy's offset follows from the length of the first line.
	if line, _, copied = whole(b[from:]); line == nil || !copied || from != len(line)+copyAt {
		return nil, false
	}
	return line, true
}

// DecodeCopy decodes the copy of the content at the start of b, if the copy is whole.
func (k Manifest) DecodeCopy(b []byte, content any) bool {
	line, _, copied := whole(b)
	return line != nil && copied && json.Unmarshal(line, content) == nil
}

// Length returns the length of the content at the start of b, with its checksum and copy. It returns 0 if the first line is
// incomplete.
func (k Manifest) Length(b []byte) int {
	end := bytes.IndexByte(b, '\n')
	if end < 0 || !bytes.HasPrefix(b, k.start()) || !json.Valid(b[:end]) {
		return 0
	}
	n, _ := differ(nil, framed(b[:end], true))
	return n
}

// once reports whether the bytes after the first checksum are the end of a file without a copy, except for at most one damaged
// byte.
func once(b []byte) bool {
	same := 0
	for i, c := range []byte(sumEnd) {
		if i < len(b) && b[i] == c {
			same++
		}
	}
	return same >= 2
}

// start returns the beginning of a content.
func (k Manifest) start() []byte { return []byte(`{"` + k.Field + `":`) }

// CopyAt returns the offset of the copy, if any, in a file of size bytes.
func (k Manifest) CopyAt(size int64) int64 {
	return max(size-int64(copyAt+len(sumCopy+sumField)+sumLen+len(sumEnd)), 0)/2 + int64(copyAt)
}

// In reports whether b contains any part of an output of Encode, even with a flipped bit.
func (k Manifest) In(b []byte) bool {
	return bytes.Contains(b, k.start()) || bytes.Contains(b, []byte(sumField))
}

// Torn reports whether a crash can have left b, the last bytes of a file, at offset off. A crash leaves a prefix of an output of
// Encode, or zeros in blocks that were not written. All other bytes are damage.
func (k Manifest) Torn(b []byte, off int64) bool {
	for at := 0; at < len(b); {
		from := bytes.IndexByte(b[at:], 0)
		if from < 0 {
			break
		}
		from += at
		for at = from; at < len(b) && b[at] == 0; {
			at++
		}
		if at == len(b) || (from == 0 || (off+int64(from))%sector == 0) && (off+int64(at))%sector == 0 {
			return true
		}
	}
	start, end := k.start(), bytes.IndexByte(b, '\n')
	if n := min(len(start), len(b)); !bytes.Equal(b[:n], start[:n]) {
		return false
	} else if n == len(b) {
		return true
	}
	d := json.NewDecoder(bytes.NewReader(b))
	var content json.RawMessage
	err := d.Decode(&content)
	if end < 0 {
		return errors.Is(err, io.ErrUnexpectedEOF) || err == nil && d.InputOffset() == int64(len(b))
	}
	if err != nil || d.InputOffset() != int64(end) {
		return false
	}
	for _, twice := range []bool{false, true} {
		if _, at := differ(b, framed(b[:end], twice)); at == len(b) {
			return true
		}
	}
	return false
}

// sector is the minimum length of a write to disk, in bytes.
const sector = 512

// Decode decodes the output of Encode. version is the content's version field. The caller must check the other fields. Errors are
// *FormatError of the classes ErrChecksum, ErrCorrupt and ErrVersion. If one copy is damaged but the content can be verified, err
// is nil, and flaw, of class ErrChecksum, reports the damage.
func (k Manifest) Decode(b []byte, name string, content any, version *int) (flaw, err error) {
	n, flaw, err := k.DecodeFirst(b, name, 0, content, version)
	if err == nil && n != len(b) {
		return nil, k.bad(name, int64(n), "crc32", fault.ErrChecksum, "%d bytes follow the closing checksum", len(b)-n)
	}
	return flaw, err
}

// DecodeFirst is Decode for bytes at an offset of a file; other contents may follow. n is the number of decoded bytes.
func (k Manifest) DecodeFirst(b []byte, name string, off int64, content any, version *int) (n int, flaw, err error) {
	line, twice := k.find(b)
	if line == nil {
		return 0, nil, k.broken(b, name, off)
	}
	all := framed(line, twice)
	n, at := differ(b, all)
	if n > len(b) || at >= 0 && !k.Twice {
		return 0, nil, k.broken(b, name, off)
	}
	if at >= 0 {
		flaw = k.bad(name, off+int64(at), "manifest", fault.ErrChecksum, "one copy is damaged from this offset on, but the other copy is intact")
	}
	if err := json.Unmarshal(line, content); err != nil {
		return 0, nil, k.bad(name, off, "manifest", fault.ErrCorrupt, "%v", err)
	}
	if oldest := k.Oldest; oldest == 0 || oldest == k.Version {
		if *version != k.Version {
			return 0, nil, k.bad(name, off, k.Field, fault.ErrVersion, "%d, want %d", *version, k.Version)
		}
	} else if *version < oldest || *version > k.Version {
		return 0, nil, k.bad(name, off, k.Field, fault.ErrVersion, "%d, want %d to %d", *version, oldest, k.Version)
	}
	return n, flaw, nil
}

func (k Manifest) bad(name string, off int64, field string, class error, format string, args ...any) error {
	return fault.At(name, off, field, class, format, args...)
}

// broken returns the error of a manifest or log entry whose two copies are damaged.
func (k Manifest) broken(b []byte, name string, off int64) error {
	n := bytes.IndexByte(b, '\n') + 1
	if n == 0 {
		n = len(b)
	}
	rest := b[n:]
	if head := []byte(sumFirst[1:] + sumField); bytes.HasPrefix(rest, head) && len(rest) >= len(head)+sumLen {
		if said := rest[len(head):][:sumLen]; string(said) != fmt.Sprintf("%08x", crc32.ChecksumIEEE(b[:n])) {
			return k.bad(name, off+int64(n), "crc32", fault.ErrChecksum, "checksum is %08x, but the file says %s", crc32.ChecksumIEEE(b[:n]), said)
		}
	}
	return k.bad(name, off+int64(n), "crc32", fault.ErrChecksum, "no closing checksum, so the manifest is incomplete")
}
