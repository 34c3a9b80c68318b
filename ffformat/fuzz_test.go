package ffformat

import (
	"bytes"
	"context"
	"testing"
)

func seeds(f *testing.F) {
	for _, k := range kinds {
		for _, s := range [][][]spec{six, seven, {{{1, 10, 10}, {2, 0, 0}}}} {
			_, b := build(f, k.layout, k.hash, 512, s)
			f.Add(b)
			f.Add(b[:len(b)-20])
		}
	}
}

// FuzzDecode: Decode does not panic, and a decoded file encodes to its original bytes.
func FuzzDecode(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		if g, err := decodeBytes(b, "", nil); err == nil {
			pieces, err := g.encode()
			must(t, err)
			for _, p := range pieces {
				if !bytes.Equal(p.Data, b[p.Off:][:len(p.Data)]) {
					t.Fatalf("other bytes at %d", p.Off)
				}
			}
		}
		g, err := decodeBytes(b, "", &Options{Lenient: true})
		if err == nil {
			g.encode() //nolint:errcheck // only checks that encode does not panic
		}
	})
}

// fuzzBlocks decodes blocks without a check of the hash, because a fuzzer cannot find a right hash.
func fuzzBlocks(b []byte, l Layout) *File {
	d := decoder{r: bytes.NewReader(b), size: int64(len(b)), maxMeta: maxMeta}
	f := &File{Layout: l, Size: d.size}
	if l.atEnd() {
		f.Blocks, _ = d.blocks(l, b[len(b)/2:], int64(len(b)/2))
		f.FB.DataSize = int64(len(b) / 2)
	} else {
		f.Blocks, _ = d.inline(l, d.size)
		f.FB.FileSize = d.size
	}
	return f
}

// FuzzCheck: Check does not panic or hang on any records. If a variable is read without an error, its
// size is right.
func FuzzCheck(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		for fi := range Check(context.Background(), bytes.NewReader(b), int64(len(b)), "", &Options{Workers: 1}) { // one worker: the same input must take the same path
			_ = fi.String()
		}
		for l := LayoutA; l <= LayoutF; l++ {
			g := fuzzBlocks(b, l)
			r := newReader(bytes.NewReader(b), g)
			for _, v := range g.Vars() {
				var p [16]byte
				r.ReadAt(v.ID, p[:], v.Size/2) //nolint:errcheck // only checks that ReadAt does not panic
				if n, err := r.VarSize(v.ID); err == nil && n < 1<<20 {
					r.ReadVars(context.Background(), []VarBuf{{v.ID, make([]byte, n)}}, &Options{Workers: 1}) //nolint:errcheck // must not panic
				}
			}
		}
	})
}
