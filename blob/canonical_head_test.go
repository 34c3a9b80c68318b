package blob

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/blob/internal/read"
	"blobio/blob/internal/write"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
)

// manyBlobs writes a dataset with the given number of ranks. Each rank has a list of each requests of single elements that lie
// far apart.
func manyBlobs(t *testing.T, l dataset.Layout, ranks, each int) map[string][]byte {
	t.Helper()
	s := dataset.NewSchema()
	x, y := s.Dim("x", int64(ranks*each)), s.Dim("y", int64(ranks))
	d, e := s.Decomp(x), s.Decomp(y)
	s.Var("lat", cdf5.Double, []dataset.DimID{x}, dataset.Decomposed(d))
	s.Var("lon", cdf5.Double, []dataset.DimID{x}, dataset.Decomposed(d))
	for _, name := range []string{"a", "b", "c", "d"} { // makes a blob longer than one read of its head
		s.Var(name, cdf5.Double, []dataset.DimID{x}, dataset.Decomposed(d))
	}
	s.Var("z", cdf5.Int, []dataset.DimID{y}, dataset.Decomposed(e))
	fs := vfs.NewMem()
	noError(t, comm.Run(t.Context(), ranks, nil, func(ctx context.Context, c comm.Comm) error {
		p := write.Part{Decomp: d}
		for k := range each {
			p.Runs = append(p.Runs, decomp.Req{Offset: int64(k*ranks + (c.Rank()*7+k*k)%ranks), Length: 1})
		}
		w := need(write.CreateWith(ctx, c, sampleBase, s, []write.Part{p, {Decomp: e, Runs: []decomp.Req{{Offset: int64(c.Rank()), Length: 1}}}},
			&dataset.Settings{Options: dataset.Options{Layout: l, Durability: dataset.DurableNone}, Knobs: dataset.Knobs{Fs: fs}}))
		data := make([]float64, each)
		for v := range 6 {
			for i, q := range p.Runs {
				data[i] = float64(v)*1e6 + float64(q.Offset)
			}
			must(write.Put(w, dataset.VarID(v), 0, data))
		}
		must(write.Put(w, 6, 0, []int32{int32(c.Rank())}))
		return w.Close(ctx)
	}))
	return memFiles(t, fs)
}

// TestHeaderRead reads the header of a canonical file of many ranks and some data after it. Such a read must not build and keep
// a whole map, must not decode a whole block, and must not need more reads than there are lists.
func TestHeaderRead(t *testing.T) {
	const ranks, each = 600, 30
	for _, l := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
		files := manyBlobs(t, l, ranks, each)
		var n *vfs.Counter
		open := func(files map[string][]byte) (*read.Reader, *read.CanonicalFile) {
			n = vfs.Count(memOf(t, files))
			r := need(read.OpenWith(t.Context(), sampleBase, &read.OpenOptions{Workers: 4}, dataset.Knobs{Fs: n}))
			c := need(r.Canonical(nil))
			return r, c
		}
		r, c := open(files)
		whole := make([]byte, c.Size())
		need(c.ReadAt(whole, 0))
		r.Close()

		r, c = open(files)
		head := len(c.Head)
		got := make([]byte, head+4000)
		before, bytesBefore := n.Kind(vfs.OpRead), n.Bytes(vfs.OpRead)
		if _, err := c.ReadAt(got[:head], 0); err != nil || n.Kind(vfs.OpRead) > before {
			t.Errorf("%v: the header: %v after %d reads, want none", l, err, n.Kind(vfs.OpRead)-before)
		}
		if _, err := c.ReadAt(got, 0); err != nil || !bytes.Equal(got, whole[:len(got)]) {
			t.Errorf("%v: header and 4000 bytes: %v, or other bytes than the file's", l, err)
		}
		if _, ok := r.Maps.Cache.Get(&r.Data.Families[0].Maps[0]); ok || len(c.Cache.Held) > 0 {
			t.Errorf("%v: a map is kept, or a block decoded", l)
		}
		// Bounds of calls and bytes. Variable-centric: the table, the lists and a variable are each read once. Process-centric: each
		// blob needs three reads (head, lists, data), and gaps between elements may be read too.
		calls, size := int64(20), int64(ranks*(2*20+2*each*8))
		if l == dataset.ProcessCentric {
			calls, size = 3*ranks+20, ranks*(512+each*8)+int64(len(files[subfile.Name(sampleBase, 0)]))
		}
		if k, b := n.Kind(vfs.OpRead)-before, n.Bytes(vfs.OpRead)-bytesBefore; k > calls || b > size {
			t.Errorf("%v: %d bytes are read in %d calls, want at most %d in %d", l, b, k, size, calls)
		}
		for range 3 { // the first read loads the whole map, and later reads use the cached block
			if _, err := c.ReadAt(got, 0); err != nil || !bytes.Equal(got, whole[:len(got)]) {
				t.Errorf("%v: again: %v, or other bytes than the file's", l, err)
			}
		}
		if _, ok := r.Maps.Cache.Get(&r.Data.Families[0].Maps[0]); !ok {
			t.Errorf("%v: the map is not kept, though it was wanted again", l)
		}
		p := r.Data.Sets[0].Parts[0]
		at, _ := p.Place.MapPiece(0, layout.MapOffsets, p.Table, ranks-1)
		name, table := p.Name, p.Table
		r.Close()

		// The damaged list could be the owner's list of any element, so no element is readable.
		bad := maps.Clone(files)
		bad[name] = flipped(files[name], at+4*(each-1), 0)
		r, c = open(bad)
		if k, err := c.ReadAt(got, 0); !errors.Is(err, dataset.ErrChecksum) && !errors.Is(err, dataset.ErrCorrupt) || k != head {
			t.Errorf("%v: with a damaged list: %d bytes, %v, want %d and a difference", l, k, err, head)
		}
		r.Close()
		if l != dataset.ProcessCentric {
			continue
		}
		// Wrong blob offsets in the manifest must not change the values read.
		m, err := subfile.Decode(files[subfile.ManifestName(sampleBase)], "m")
		noError(t, err)
		m.Sets[0].Subfiles[0].Blobs[ranks/2]++
		wrong := maps.Clone(files)
		if wrong[subfile.ManifestName(sampleBase)], err = m.Encode(); err != nil {
			t.Fatal(err)
		}
		r, c = open(wrong)
		if _, err := c.ReadAt(got, 0); err != nil || !bytes.Equal(got, whole[:len(got)]) || r.Data.Sets[0].Parts[0].Table.Blob[ranks/2] != table.Blob[ranks/2] {
			t.Errorf("wrong places in the manifest: %v, or other bytes", err)
		}
		r.Close()
	}
}

// TestCanonicalProves checks that data read to verify checksums are kept. With VerifyOnce, small reads of a variable read its
// bytes once in total, not more than with VerifyWhole.
func TestCanonicalProves(t *testing.T) {
	const ranks, lev = 64, 32
	for _, l := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
		mem := ints(t, dataset.Settings{Options: dataset.Options{Layout: l}, Knobs: dataset.Knobs{Piece: 16 << 10}}, []int64{lev, 32 * ranks}, ranks, func(rank int64) (runs []decomp.Req) {
			for k := range int64(32 * lev) {
				runs = append(runs, decomp.Req{Offset: k*ranks + rank, Length: 1})
			}
			return runs
		}, itself)
		var all int64
		bytesRead := func(verify read.Verification) int64 {
			n := vfs.Count(mem)
			r := need(read.OpenWith(t.Context(), sampleBase, &read.OpenOptions{Verify: verify}, dataset.Knobs{Fs: n}))
			defer r.Close()
			f := need(r.Canonical(&read.CanonicalOptions{Memory: 1 << 20}))
			need(r.Now().Maps.Map(t.Context(), 1))
			before := n.Bytes(vfs.OpRead)
			all = f.Size()
			for off := f.Size() / 4; off < f.Size()/2; off += f.Size() / 16 {
				need(f.ReadAt(make([]byte, 128), off))
			}
			r.Life.Work.Wait()
			return n.Bytes(vfs.OpRead) - before
		}
		whole := bytesRead(read.VerifyWhole)
		for _, verify := range []read.Verification{read.VerifyOnce, read.VerifyAlways} {
			if n := bytesRead(verify); n > all*5/4 {
				t.Errorf("%v: reads of 128 bytes read %d bytes of a variable of %d, %d without checksums", l, n, all, whole)
			}
		}
	}
}

// TestCanonicalPool checks that canonical files with a shared pool stay within the pool's limit together, whatever their own
// limits are. Closing a Reader frees the pool's memory of its file.
func TestCanonicalPool(t *testing.T) {
	const most = 2048
	files, want := canonicalSets(t)
	pool := read.NewCanonicalPool(most)
	held := func() (bytes int64, blocks int) {
		pool.Mu.Lock()
		defer pool.Mu.Unlock()
		for _, f := range files {
			for _, b := range f.Cache.Held {
				bytes, blocks = bytes+b.To-b.From, blocks+1
			}
		}
		if pool.Bytes > most {
			t.Errorf("%d bytes are kept, want at most %d", pool.Bytes, most)
		}
		return bytes, blocks
	}
	for _, f := range files {
		own := need(f.R.Canonical(&read.CanonicalOptions{Version: f.O.Version, Memory: 1 << 20, Pool: pool}))
		f.Cache = own.Cache
		f.Cache.C = f
	}
	var all sync.WaitGroup
	for i, f := range files {
		for k := range 2 {
			all.Go(func() {
				rnd := rand.New(rand.NewPCG(uint64(i), uint64(k)))
				for range 60 {
					off := rnd.Int64N(f.Size())
					b := make([]byte, min(1+rnd.Int64N(300), f.Size()-off))
					if _, err := f.ReadAt(b, off); err != nil || !bytes.Equal(b, want[i][off:off+int64(len(b))]) {
						t.Errorf("file %d, %d bytes at %d: %v", i, len(b), off, err)
						return
					}
					held()
				}
			})
		}
	}
	all.Wait()
	for _, f := range files {
		f.R.Life.Work.Wait() // for the read-ahead
	}
	if sum, n := held(); n == 0 || sum != pool.Bytes {
		t.Errorf("%d blocks of %d bytes are kept, of which %d count", n, sum, pool.Bytes)
	}
	for _, f := range files {
		f.R.Close()
	}
	if pool.Bytes != 0 || pool.Idle.Len() != 0 {
		t.Errorf("%d bytes and %d blocks are kept of closed Readers", pool.Bytes, pool.Idle.Len())
	}
}

// A program that makes a new CanonicalFile for each commit must not keep the former ones in memory.
func TestCanonicalForgotten(t *testing.T) {
	files, _ := canonicalSets(t)
	r, pool := files[0].R, read.NewCanonicalPool(1<<20)
	kept := 0
	for range 20 {
		need(r.Canonical(&read.CanonicalOptions{Pool: pool}))
		runtime.GC()
		kept = max(kept, len(r.Life.Caches))
	}
	if kept > 10 {
		t.Errorf("%d caches are kept", kept)
	}
}
