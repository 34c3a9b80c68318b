package cello

import (
	"bytes"
	"context"
	"errors"
	"io"
	"regexp"
	"testing"

	"blobio/internal/amr"
	"blobio/internal/amr/cellodir"
	"blobio/internal/base/elem"
	"blobio/internal/base/h5"
)

// TestByteOrders: big-endian and little-endian files give the same data.
func TestByteOrders(t *testing.T) {
	ctx := context.Background()
	_, mem := flat(t)
	r := loadRaw(t, mem, "good")
	r.store(mem, "little")
	r.each(func(g *rawGroup) {
		for _, d := range g.data {
			if d.typ == h5.Float64 {
				b := d.value.([]byte)
				elem.Swap(b, bytes.Clone(b), 8)
			}
		}
	})
	// Header messages of datasets with type float64; messages of attributes have another kind.
	float64s := regexp.MustCompile(`(?s)\x03\x00.{3}\x00\x00\x00\x11\x20\x3f\x00\x08\x00\x00\x00`)
	for _, f := range r.files {
		f.patch = func(b []byte) []byte {
			return float64s.ReplaceAllFunc(b, func(m []byte) []byte { m = bytes.Clone(m); m[9] |= 1; return m })
		}
	}
	r.store(mem, "big")
	little, err := Open(ctx, "little", &OpenOptions{FS: mem})
	must(err)
	defer little.Close()
	big, err := Open(ctx, "big", &OpenOptions{FS: mem})
	must(err)
	defer big.Close()
	if little.cols[0].big || !big.cols[0].big || big.Meta().Fields[0].Type != amr.Float64 {
		t.Fatalf("%+v, %+v", little.cols[0], big.cols[0])
	}
	for i := range big.Blocks() {
		want, err := little.Block(ctx, i)
		must(err)
		got, err := big.Block(ctx, i)
		must(err)
		if err := same(big.Meta(), got, want); err != nil {
			t.Error(err)
		}
		for _, f := range want.Fields {
			if p, err := big.Field(ctx, i, f.Spec.Name, nil); err != nil || !bytes.Equal(p, f.Data) {
				t.Errorf("block %d: field %s differs, %v", i, f.Spec.Name, err)
			}
		}
	}
}

// TestCutMeanwhile: a file truncated after Open gives an error, not zeros, even without a manifest.
func TestCutMeanwhile(t *testing.T) {
	ctx := context.Background()
	_, mem := flat(t)
	must(mem.Remove("good/" + cellodir.Manifest))
	k, err := Open(ctx, "good", &OpenOptions{FS: mem})
	must(err)
	defer k.Close()
	i := 0 // a block with data; its file is cut in the middle of the data
	e, n := k.extent(&k.recs[i], 0)
	f, err := mem.OpenRW(k.path(int(k.recs[i].file)))
	must(err)
	must(f.Truncate(e.off + n/2))
	must(f.Close())
	if _, err := k.Block(ctx, i); !errors.Is(err, ErrTruncated) {
		t.Errorf("Block: %v", err)
	}
	if _, err := k.Field(ctx, i, k.Meta().Fields[k.cols[0].place].Name, nil); !errors.Is(err, ErrTruncated) {
		t.Errorf("Field: %v", err)
	}
	if err := k.readAt(int(k.recs[i].file), make([]byte, 8), e.off+n, "x"); !errors.Is(err, ErrTruncated) || errors.Is(err, io.EOF) {
		t.Errorf("beyond the end: %v", err)
	}
}
