package ffformat

import (
	"blobio/internal/crashtest"
	"bytes"
	"context"
	"errors"
	"testing"
)

// keptSums are digests of the blocks of a file, as a side file has them.
type keptSums struct {
	bs int
	of map[Digest][]byte // by the hash of the chunk
}

func (k keptSums) blockSums(c *Container) ([]byte, int) { return k.of[c.Hash], k.bs }

func keepSums(f *File, b []byte, bs int) keptSums {
	k := keptSums{bs, map[Digest][]byte{}}
	for p := range f.all() {
		data := b[p.Fptr : p.Fptr+p.ChunkSize]
		sums := make([]byte, (len(data)+bs-1)/bs*16)
		sumBlocks(data, sums, bs)
		k.of[p.Hash] = sums
	}
	return k
}

// TestReadVarsByBlocks: with digests of blocks the bytes are the same, the
// first block that is damaged is named, and digests of another shape are not used.
func TestReadVarsByBlocks(t *testing.T) {
	for i, k := range kinds {
		for _, size := range []int64{1, 600, 5000, 9 << 20} {
			if !crashtest.Long() && size > 1<<20 && i%4 != 0 {
				continue
			}
			f, b := build(t, k.layout, k.hash, 4096, [][]spec{{{1, size, size}, {2, 700, 700}}, {{1, 5000, 3333}}})
			sums := keepSums(f, b, 1024)
			r, err := NewReader(bytes.NewReader(b), f.Size, "x", nil)
			must(t, err)
			want := append(bytes.Clone(b[f.at(0, 0).Fptr:][:size]), b[f.at(1, 0).Fptr:][:3333]...)
			got := make([]byte, len(want))
			for _, s := range []blockSums{sums, nil, keptSums{512, sums.of}} {
				clear(got)
				if err := r.readVars(context.Background(), []VarBuf{{1, got}}, 0, s); err != nil || !bytes.Equal(got, want) {
					t.Errorf("%s: %v", k.name, err)
				}
			}
			at := f.at(1, 0).Fptr + 2048
			b[at+17] ^= 1
			err = r.readVars(context.Background(), []VarBuf{{1, got}}, 0, sums)
			var fe *FormatError
			if !errors.As(err, &fe) || fe.Offset != at || !errors.Is(err, ErrChecksum) {
				t.Errorf("%s: %v, want %#x", k.name, err, at)
			}
		}
	}
}
