package redset

import (
	"encoding/binary"
	"fmt"

	"blobio/internal/base/fault"
	"blobio/scr/kvtree"
)

// maxElements is the maximum number of elements of a record. A valid record of maxHeader bytes has fewer elements.
const maxElements = 32 << 20

// put makes v the only value below a path of keys.
func put(t *kvtree.Tree, v any, keys ...string) {
	last := len(keys) - 1
	t.Touch(keys[:last]...).Value(keys[last]).SetStr(fmt.Sprint(v))
}

// putCRC makes a CRC-32 the only value below a path of keys.
func putCRC(t *kvtree.Tree, crc uint32, keys ...string) {
	last := len(keys) - 1
	t.Touch(keys[:last]...).Value(keys[last]).SetCRC32(crc)
}

// reader reads numbers and keeps the first error.
type reader struct {
	t   *kvtree.Tree
	err error
}

func (r *reader) keep(err error) {
	if r.err == nil {
		r.err = err
	}
}

// int64 returns the number of a key, which must be in lo ... hi. After an error it returns lo.
func (r *reader) int64(key string, lo, hi int64) int64 {
	n, err := r.t.Value(key).Int64()
	if err == nil && (n < lo || n > hi) {
		err = fmt.Errorf("%s is %d, want %d to %d", key, n, lo, hi)
	}
	if err != nil {
		r.keep(err)
		return lo
	}
	return n
}

// int is like int64, but returns an int.
func (r *reader) int(key string, lo, hi int) int { return int(r.int64(key, int64(lo), int64(hi))) }

// crc returns a CRC-32.
func (r *reader) crc(key string) uint32 {
	n, err := r.t.Value(key).CRC32()
	r.keep(err)
	return n
}

// encodeTree returns the file record of a tree. It sorts each level as SCR's redset does, so that equal trees have equal
// bytes.
func encodeTree(t *kvtree.Tree) ([]byte, error) {
	n, err := kvtree.PackedSize(t)
	if err == nil && n > maxHeader-64 {
		err = formatErr("", -1, "record", fmt.Sprintf("%d bytes: too many files for one header", n), fault.ErrTooLarge)
	}
	if err != nil {
		return nil, err
	}
	t.SortAll()
	return kvtree.Encode(t)
}

// decodeTree parses the record at the beginning of b and returns its length.
func decodeTree(name string, b []byte) (*kvtree.Tree, int, error) {
	r, err := kvtree.Decode(b, &kvtree.Options{MaxBytes: maxHeader, MaxElements: maxElements, MaxDepth: maxDepth, File: name})
	if err != nil {
		return nil, 0, err
	}
	return r.Tree, int(r.Size), nil
}

// recordSum returns the checksum at the end of a record.
func recordSum(record []byte) uint32 {
	if len(record) < 4 {
		return 0
	}
	return binary.BigEndian.Uint32(record[len(record)-4:])
}
