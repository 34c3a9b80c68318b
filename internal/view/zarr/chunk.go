package zarr

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"blobio/cdf5"
)

// Get returns the value of a key. The caller may keep it but must not change it. A missing key is ErrNoKey. Other errors are
// never ErrNoKey. The value of a chunk has at most Options.ChunkBytes, or slightly more if a codec cannot compress it.
func (s *Store) Get(ctx context.Context, key string) ([]byte, error) { return s.GetIn(ctx, key, nil) }

// GetIn is Get with a buffer: it may use the memory of buf for the value of a chunk.
func (s *Store) GetIn(ctx context.Context, key string, buf []byte) ([]byte, error) {
	if b, ok := s.meta[key]; ok {
		return b, nil
	}
	a, index, ok := s.chunkOf(key)
	if !ok {
		return nil, fmt.Errorf("%s: %q: %w", s.src.Base(), key, ErrNoKey)
	}
	start, count := a.grid.Region(index)
	b := buf[:0]
	if size := a.chunkBytes(); int64(cap(b)) < size {
		b = make([]byte, size)
	} else {
		b = b[:size]
	}
	n := elems(count) * int64(a.v.Type.Size())
	err := s.read(ctx, a, start, count, b[:n])
	if err == nil {
		a.pad(b[n:])
		b, err = s.codecs.encode(b)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %q: %w", s.src.Base(), key, err)
	}
	return b, nil
}

// read reads part of an array, little-endian.
func (s *Store) read(ctx context.Context, a *array, start, count []int64, b []byte) error {
	if a.record {
		start = slices.Clone(start)
		start[0] += s.first
	}
	return s.src.ReadBytes(ctx, a.v.Name, start, count, b, false)
}

// pad fills the part of a chunk beyond the array. The elements come first, since a chunk is a run of the array.
func (a *array) pad(b []byte) { cdf5.FillBytes(b, a.v.Type, binary.LittleEndian, a.fill) }

func elems(n []int64) int64 {
	p := int64(1)
	for _, x := range n {
		p *= x
	}
	return p
}
