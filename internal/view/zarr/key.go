package zarr

import (
	"iter"
	"strconv"
	"strings"

	"blobio/internal/base/chunks"
)

// separator separates the indices in a chunk's key, so that all chunks of an array are in one directory.
const separator = '.'

// Prefixes of chunk keys after the array's name. The chunk of a scalar has only the second prefix.
const (
	prefixV3 = "c" + string(separator)
	scalarV3 = "c"
	scalarV2 = "0"
)

// chunkKey returns the key of a chunk below its array.
func (s *Store) chunkKey(index []int64) string {
	if len(index) == 0 {
		if s.version == V2 {
			return scalarV2
		}
		return scalarV3
	}
	var b []byte
	if s.version == V3 {
		b = append(b, prefixV3...)
	}
	for i, k := range index {
		if i > 0 {
			b = append(b, separator)
		}
		b = strconv.AppendInt(b, k, 10)
	}
	return string(b)
}

// chunkOf finds the chunk of a key. It accepts only the spelling of chunkKey.
func (s *Store) chunkOf(key string) (a *array, index []int64, ok bool) {
	slash := strings.LastIndexByte(key, '/')
	if slash < 0 {
		return nil, nil, false
	}
	i, ok := s.byName[key[:slash]]
	if !ok {
		return nil, nil, false
	}
	a = &s.arrays[i]
	rest := key[slash+1:]
	if rank := len(a.grid.Full); rank > 0 {
		if s.version == V3 {
			if rest, ok = strings.CutPrefix(rest, prefixV3); !ok {
				return nil, nil, false
			}
		}
		index = make([]int64, 0, rank)
		for part := range strings.SplitSeq(rest, string(separator)) {
			n, err := strconv.ParseInt(part, 10, 64)
			if err != nil || len(index) == rank {
				return nil, nil, false
			}
			index = append(index, n)
		}
	}
	return a, index, a.grid.Has(index) && s.chunkKey(index) == key[slash+1:]
}

// Size returns the length of a key's value without computing the value, or -1 if the value is compressed. It reports whether
// the store has the key.
func (s *Store) Size(key string) (int64, bool) {
	if b, ok := s.meta[key]; ok {
		return int64(len(b)), true
	}
	a, _, ok := s.chunkOf(key)
	if !ok {
		return 0, false
	}
	return s.codecs.size(a.chunkBytes()), true
}

// IsChunk reports whether a key of the store belongs to a chunk, whose value is read from the dataset; other keys are metadata.
func (s *Store) IsChunk(key string) bool {
	_, meta := s.meta[key]
	return !meta
}

// IsMeta reports whether the last name of a key is a metadata name in either version.
func IsMeta(name string) bool {
	switch name {
	case ".zgroup", ".zattrs", ".zarray", ".zmetadata", "zarr.json":
		return true
	}
	return false
}

// LooksLikeChunk reports whether the last name of a key could be a chunk of any array.
func LooksLikeChunk(name string, version Version) bool {
	if version == V3 {
		rest, ok := strings.CutPrefix(name, prefixV3)
		if !ok {
			return name == scalarV3
		}
		name = rest
	}
	return name != "" && strings.Trim(name, "0123456789"+string(separator)) == ""
}

// Keys yields all keys: metadata, then the chunks array by array.
func (s *Store) Keys() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, k := range s.keys {
			if !yield(k) {
				return
			}
		}
		for i := range s.arrays {
			for index := range s.arrays[i].all() {
				if !yield(s.arrays[i].name + "/" + s.chunkKey(index)) {
					return
				}
			}
		}
	}
}

// all yields the indices of the array's chunks. Each step overwrites the slice.
func (a *array) all() iter.Seq[[]int64] {
	return func(yield func([]int64) bool) {
		counts := a.grid.Counts()
		for _, n := range counts {
			if n == 0 {
				return
			}
		}
		for index := make([]int64, len(counts)); ; {
			if !yield(index) || !chunks.Next(index, counts) {
				return
			}
		}
	}
}
