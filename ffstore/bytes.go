package ffstore

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"iter"
	"maps"
	"unsafe"

	"blobio/ffformat"
)

// bytesOf is the memory of a slice of numbers.
func bytesOf[T any](v []T) []byte {
	if len(v) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(v[0])))
}

func mapsKeys[K comparable, V any](m map[K]V) iter.Seq[K] { return maps.Keys(m) }

// parseRecords reads digests from records in memory, by slot.
func parseRecords(b []byte) (map[int][]*ffformat.Digests, error) {
	m := map[int][]*ffformat.Digests{}
	le := binary.LittleEndian
	for len(b) > 0 {
		if len(b) < logHeader || le.Uint64(b[16:]) > uint64(len(b)-logHeader) {
			return nil, fmt.Errorf("ffstore: message: %w", ErrTruncated)
		}
		n := int(le.Uint64(b[16:]))
		p := b[logHeader : logHeader+n]
		if crc32.Update(crc32.ChecksumIEEE(b[:24]), crc32.IEEETable, p) != le.Uint32(b[24:]) {
			return nil, fmt.Errorf("ffstore: message: %w", ErrChecksum)
		}
		d, err := ffformat.UnmarshalDigests(p, "message")
		if err != nil {
			return nil, err
		}
		m[int(b[5])] = append(m[int(b[5])], d)
		b = b[logHeader+n:]
	}
	return m, nil
}
