package blob

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"pgregory.net/rapid"

	"blobio/cdf5"
	"blobio/internal/vfs"
)

// TestCanonicalBytes: at any offset and length the canonical file has the bytes that Convert writes.
func TestCanonicalBytes(t *testing.T) {
	checks(t, 150)
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		m := drawModel(t, 0)
		fsys := vfs.NewMem()
		t.Logf("%d ranks, %d records, vars %+v, %s", m.ranks, m.records, m.s.vars, drawWrite(t, m, fsys, "d.nc"))
		r, err := openWith(ctx, "d.nc", &OpenOptions{Workers: rapid.IntRange(1, 3).Draw(t, "readers"), Memory: 1 << 20}, knobs{fs: fsys})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		o := drawCanonical(t, r)
		want, err := convertBytes(ctx, r, &ConvertOptions{Version: o.Version, Vars: o.Vars, Records: o.Records, ZeroFill: o.ZeroFill})
		f, cerr := r.Canonical(o)
		if err != nil || cerr != nil { // what a version cannot hold
			if err == nil || cerr == nil {
				t.Fatalf("Convert: %v, Canonical: %v", err, cerr)
			}
			return
		}
		if f.Size() != int64(len(want)) {
			t.Fatalf("%d bytes, want %d", f.Size(), len(want))
		}
		drawCanonicalReads(t, f, want)
	})
}

// drawCanonical draws what is taken of a dataset.
func drawCanonical(t *rapid.T, r *Reader) *CanonicalOptions {
	o := &CanonicalOptions{ZeroFill: rapid.Bool().Draw(t, "zero"), Memory: 1 << 20,
		Version: rapid.SampledFrom([]cdf5.Version{0, cdf5.CDF5, cdf5.CDF2, cdf5.CDF1}).Draw(t, "version")}
	for i := range r.schema.vars {
		if rapid.IntRange(0, 2).Draw(t, "var") == 0 {
			o.Vars = append(o.Vars, r.schema.vars[i].Name)
		}
	}
	if r.records > 0 && rapid.Bool().Draw(t, "some") {
		first := rapid.Int64Range(0, r.records).Draw(t, "first")
		o.Records = &Range{first, rapid.Int64Range(first, r.records).Draw(t, "end")}
	}
	return o
}

// drawCanonicalReads reads anywhere, the end and what is beyond included.
func drawCanonicalReads(t *rapid.T, f *CanonicalFile, want []byte) {
	size := int64(len(want))
	for range rapid.IntRange(1, 12).Draw(t, "reads") {
		off := rapid.Int64Range(0, size+2).Draw(t, "off")
		n := rapid.Int64Range(0, size+2).Draw(t, "n")
		if rapid.Bool().Draw(t, "short") {
			n %= 9
		}
		b := bytes.Repeat([]byte{0xa5}, int(n))
		k, err := f.ReadAt(b, off)
		full := min(n, max(size-off, 0))
		if int64(k) != full || (err != nil) != (full < n) || err != nil && !errors.Is(err, io.EOF) {
			t.Fatalf("%d bytes at %d of %d: %d read, %v", n, off, size, k, err)
		}
		if k > 0 && !bytes.Equal(b[:k], want[off:off+int64(k)]) {
			t.Fatalf("%d bytes at %d: %s", n, off, firstDiff(b[:k], want[off:off+int64(k)]))
		}
	}
}
