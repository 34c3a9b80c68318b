package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"blobio/blob/internal/convert"
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/read"
	"blobio/cdf5"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/vfs"
)

// TestCanonicalBytes checks that ReadAt at any offset and length returns the bytes that Convert writes.
func TestCanonicalBytes(t *testing.T) {
	checks(t, 1500)
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		m := drawModel(t, 0)
		fsys := vfs.NewMem()
		t.Logf("%d ranks, %d records, vars %+v, %s", m.ranks, m.records, m.s.Vars, drawWrite(t, m, fsys, "d.nc"))
		r := opened(t, fsys, "d.nc", &read.OpenOptions{Workers: rapid.IntRange(1, 3).Draw(t, "readers"), Memory: 1 << 20})
		o := drawCanonical(t, r)
		want, err := convertBytes(ctx, r, &convert.ConvertOptions{Version: o.Version, Vars: o.Vars, Records: o.Records, ZeroFill: o.ZeroFill})
		f, cerr := r.Canonical(o)
		if err != nil || cerr != nil { // the CDF version lacks a type of the dataset
			if err == nil || cerr == nil {
				t.Fatalf("Convert: %v, Canonical: %v", err, cerr)
			}
			return
		}
		if f.Size() != int64(len(want)) {
			t.Fatalf("%d bytes, want %d", f.Size(), len(want))
		}
		if rapid.Bool().Draw(t, "small") { // a small cache, with memory for only a few blocks
			f.Cache = read.NewBlockCache(f, rapid.Int64Range(64, 4096).Draw(t, "cache"), nil)
		}
		drawCanonicalReads(t, f, want)
		readForward(t, f, want, rapid.IntRange(1, 500).Draw(t, "step"))
		drawCanonicalReads(t, f, want)
	})
}

// readForward reads the whole file sequentially, n bytes at a time, and compares the bytes.
func readForward(t failer, f *read.CanonicalFile, want []byte, n int) {
	got, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size()))
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("read forward: %v, %s", err, firstDiff(got, want))
	}
	for off := 0; off < len(want); off += n {
		b := make([]byte, min(n, len(want)-off))
		if _, err := f.ReadAt(b, int64(off)); err != nil || !bytes.Equal(b, want[off:off+len(b)]) {
			t.Fatalf("read forward by %d, at %d: %v, %s", n, off, err, firstDiff(b, want[off:]))
		}
	}
	k := f.Cache
	k.Mu.Lock()
	defer k.Mu.Unlock()
	if k.Bytes > k.Limit {
		t.Fatalf("%d bytes are kept, the limit is %d", k.Bytes, k.Limit)
	}
}

// failer is a test of any kind.
type failer interface{ Fatalf(string, ...any) }

// canonicalSets returns datasets of all layouts, plain and compressed, with one and two subfiles. Some are written in one
// session, and others in several.
func canonicalSets(t testing.TB) (out []*read.CanonicalFile, want [][]byte) {
	list := crashtest.Some(t, 2, histories())
	for _, first := range []int64{1, 3} {
		list = append(list, history{name: "compressed", first: first, o: dataset.Settings{Options: dataset.Options{Layout: dataset.ProcessCentric, Subfiles: 2, Compress: dataset.Compress{Method: dataset.Zstd}}, Knobs: dataset.Knobs{Chunk: 64}}})
	}
	for _, h := range list {
		mem := memOf(t, h.write(t))
		for _, v := range []cdf5.Version{cdf5.CDF1, cdf5.CDF2, cdf5.CDF5} {
			r := need(read.OpenWith(t.Context(), sampleBase, &read.OpenOptions{Workers: 2}, dataset.Knobs{Fs: mem}))
			t.Cleanup(func() { r.Close() })
			f, err := r.Canonical(&read.CanonicalOptions{Version: v})
			if err != nil {
				continue // the CDF version lacks a type of the dataset
			}
			b, err := convertBytes(t.Context(), r, &convert.ConvertOptions{Version: v})
			if err != nil {
				t.Fatalf("%s: %v", h.name, err)
			}
			out, want = append(out, f), append(want, b)
		}
	}
	return out, want
}

// TestCanonicalTogether lets many goroutines read one file concurrently. The cache has memory for a few blocks.
func TestCanonicalTogether(t *testing.T) {
	files, want := canonicalSets(t)
	for i, f := range files {
		f.Cache = read.NewBlockCache(f, 1024, nil)
		var all sync.WaitGroup
		var bad atomic.Pointer[string]
		for k := range 8 {
			all.Go(func() {
				rnd := rand.New(rand.NewPCG(uint64(i), uint64(k)))
				for range 30 {
					off := rnd.Int64N(f.Size())
					b := make([]byte, min(1+rnd.Int64N(300), f.Size()-off))
					ctx, cancel := context.WithCancel(t.Context())
					if rnd.IntN(8) == 0 {
						cancel()
					}
					if p, back := f.Borrow(ctx, off, len(b)); p != nil {
						if !bytes.Equal(p, want[i][off:off+int64(len(p))]) || len(p) != len(b) {
							what := fmt.Sprintf("%d bytes lent at %d", len(p), off)
							bad.Store(&what)
						}
						back()
					}
					n, err := f.ReadAtContext(ctx, b, off)
					if canceled := ctx.Err() != nil; err != nil && !(canceled && errors.Is(err, context.Canceled)) || !bytes.Equal(b[:n], want[i][off:off+int64(n)]) {
						what := fmt.Sprintf("%d bytes at %d: %d, %v", len(b), off, n, err)
						bad.Store(&what)
					}
					cancel()
				}
			})
		}
		all.Wait()
		if s := bad.Load(); s != nil {
			t.Fatalf("file %d: %s", i, *s)
		}
		readForward(t, f, want[i], 100)
	}
}

// TestCanonicalOnce checks that concurrent reads of one block read its data from the subfiles once.
func TestCanonicalOnce(t *testing.T) {
	for _, h := range crashtest.Some(t, 2, histories()) {
		mem := memOf(t, h.write(t))
		read := func(readers int) int64 {
			n := vfs.Count(mem)
			r := need(read.OpenWith(t.Context(), sampleBase, nil, dataset.Knobs{Fs: n}))
			defer r.Close()
			f := need(r.Canonical(nil))
			from, to := f.Cache.Blocks.At(f.Size() / 2)
			var all sync.WaitGroup
			for k := range readers {
				all.Go(func() {
					b := make([]byte, to-from-1) // a block that is read whole is not kept
					if _, err := f.ReadAt(b, from+int64(k%2)); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			r.Life.Work.Wait() // waits for the read-ahead
			return n.Bytes(vfs.OpRead)
		}
		if one, many := read(1), read(16); one != many || one == 0 {
			t.Errorf("%s: 16 readers read %d bytes, one %d", h.name, many, one)
		}
	}
}

// TestCanonicalClose checks that Close ends the background work of reads.
func TestCanonicalClose(t *testing.T) {
	files, _ := canonicalSets(t)
	for _, f := range files {
		f.Cache = read.NewBlockCache(f, 2048, nil)
		b := make([]byte, f.Size())
		need(f.ReadAt(b[:len(b)/2], 0))
		must(f.R.Close())
		if f.R.Life.Behind(func(context.Context) { t.Error("after Close") }) {
			t.Error("something may begin after Close")
		}
		for from, x := range f.Cache.Held {
			select {
			case <-x.Ready:
			default:
				t.Errorf("block %d is still being decoded", from)
			}
		}
	}
}

// drawCanonical draws options: variables, records and version.
func drawCanonical(t *rapid.T, r *read.Reader) *read.CanonicalOptions {
	o := &read.CanonicalOptions{ZeroFill: rapid.Bool().Draw(t, "zero"), Memory: 1 << 20,
		Version: rapid.SampledFrom([]cdf5.Version{0, cdf5.CDF5, cdf5.CDF2, cdf5.CDF1}).Draw(t, "version")}
	for i := range r.Data.Schema.Vars {
		if rapid.IntRange(0, 2).Draw(t, "var") == 0 {
			o.Vars = append(o.Vars, r.Data.Schema.Vars[i].Name)
		}
	}
	if r.Data.Records > 0 && rapid.Bool().Draw(t, "some") {
		first := rapid.Int64Range(0, r.Data.Records).Draw(t, "first")
		o.Records = &read.Range{First: first, End: rapid.Int64Range(first, r.Data.Records).Draw(t, "end")}
	}
	return o
}

// drawCanonicalReads reads at random positions, including the end and beyond.
func drawCanonicalReads(t *rapid.T, f *read.CanonicalFile, want []byte) {
	size := int64(len(want))
	for range rapid.IntRange(1, 12).Draw(t, "reads") {
		off := rapid.Int64Range(-1, size+2).Draw(t, "off")
		n := rapid.Int64Range(0, size+2).Draw(t, "n")
		if rapid.Bool().Draw(t, "short") {
			n %= 9
		}
		b := bytes.Repeat([]byte{0xa5}, int(n))
		k, err := f.ReadAt(b, off)
		full := min(n, max(size-off, 0))
		if off < 0 {
			full = 0
		}
		if int64(k) != full || (err != nil) != (full < n || off < 0) || err != nil && off >= 0 && !errors.Is(err, io.EOF) {
			t.Fatalf("%d bytes at %d of %d: %d read, %v", n, off, size, k, err)
		}
		if k > 0 && !bytes.Equal(b[:k], want[off:off+int64(k)]) {
			t.Fatalf("%d bytes at %d: %s", n, off, firstDiff(b[:k], want[off:off+int64(k)]))
		}
	}
}
