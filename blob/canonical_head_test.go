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

	"blobio/blob/internal/layout"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/base/vfs"
	"blobio/subfile"
)

// manyBlobs writes a dataset of so many ranks with a long list of requests each, in which the elements of a rank lie far apart.
func manyBlobs(t *testing.T, l Layout, ranks, each int) map[string][]byte {
	t.Helper()
	s := NewSchema()
	x, y := s.Dim("x", int64(ranks*each)), s.Dim("y", int64(ranks))
	d, e := s.Decomp(x), s.Decomp(y)
	s.Var("lat", cdf5.Double, []DimID{x}, Decomposed(d))
	s.Var("lon", cdf5.Double, []DimID{x}, Decomposed(d))
	for _, name := range []string{"a", "b", "c", "d"} { // so that a blob is longer than what is read of its head
		s.Var(name, cdf5.Double, []DimID{x}, Decomposed(d))
	}
	s.Var("z", cdf5.Int, []DimID{y}, Decomposed(e))
	fs := vfs.NewMem()
	noError(t, comm.Run(t.Context(), ranks, nil, func(ctx context.Context, c comm.Comm) error {
		p := Part{Decomp: d}
		for k := range each {
			p.Runs = append(p.Runs, decomp.Req{Offset: int64(k*ranks + (c.Rank()*7+k*k)%ranks), Length: 1})
		}
		w := need(createWith(ctx, c, sampleBase, s, []Part{p, {e, []decomp.Req{{Offset: int64(c.Rank()), Length: 1}}}},
			&settings{Options: Options{Layout: l, Durability: DurableNone}, knobs: knobs{fs: fs}}))
		data := make([]float64, each)
		for v := range 6 {
			for i, q := range p.Runs {
				data[i] = float64(v)*1e6 + float64(q.Offset)
			}
			must(Put(w, VarID(v), 0, data))
		}
		must(Put(w, 6, 0, []int32{int32(c.Rank())}))
		return w.Close(ctx)
	}))
	return memFiles(t, fs)
}

// TestHeaderRead: who reads the header of a canonical file of many ranks and, as kernels do, some of what is behind it, gets its bytes without
// that a map is compacted and kept or a block decoded, and without more reads than there are lists.
func TestHeaderRead(t *testing.T) {
	const ranks, each = 600, 30
	for _, l := range []Layout{VariableCentric, ProcessCentric} {
		files := manyBlobs(t, l, ranks, each)
		var n *vfs.Counter
		open := func(files map[string][]byte) (*Reader, *CanonicalFile) {
			n = vfs.Count(memOf(t, files))
			r := need(openWith(t.Context(), sampleBase, &OpenOptions{Workers: 4}, knobs{fs: n}))
			c := need(r.Canonical(nil))
			return r, c
		}
		r, c := open(files)
		whole := make([]byte, c.Size())
		need(c.ReadAt(whole, 0))
		r.Close()

		r, c = open(files)
		head := len(c.head)
		got := make([]byte, head+4000)
		before, bytesBefore := n.Kind(vfs.OpRead), n.Bytes(vfs.OpRead)
		if _, err := c.ReadAt(got[:head], 0); err != nil || n.Kind(vfs.OpRead) > before {
			t.Errorf("%v: the header: %v after %d reads, want none", l, err, n.Kind(vfs.OpRead)-before)
		}
		if _, err := c.ReadAt(got, 0); err != nil || !bytes.Equal(got, whole[:len(got)]) {
			t.Errorf("%v: header and 4000 bytes: %v, or other bytes than the file's", l, err)
		}
		if _, ok := r.maps.Get(&r.families[0].maps[0]); ok || len(c.cache.held) > 0 {
			t.Errorf("%v: a map is kept, or a block decoded", l)
		}
		// A table in columns, a list in rows and a variable, at most; or a head and lists of each blob, the rest of its piece, and what lies between elements, at most once.
		calls, size := int64(20), int64(ranks*(2*20+2*each*8))
		if l == ProcessCentric {
			calls, size = 3*ranks+20, ranks*(512+each*8)+int64(len(files[subfile.Name(sampleBase, 0)]))
		}
		if k, b := n.Kind(vfs.OpRead)-before, n.Bytes(vfs.OpRead)-bytesBefore; k > calls || b > size {
			t.Errorf("%v: %d bytes are read in %d calls, want at most %d in %d", l, b, k, size, calls)
		}
		for range 3 { // now with the whole map, later from the block
			if _, err := c.ReadAt(got, 0); err != nil || !bytes.Equal(got, whole[:len(got)]) {
				t.Errorf("%v: again: %v, or other bytes than the file's", l, err)
			}
		}
		if _, ok := r.maps.Get(&r.families[0].maps[0]); !ok {
			t.Errorf("%v: the map is not kept, though it was wanted again", l)
		}
		p := r.sets[0].parts[0]
		at, _ := p.place.MapPiece(0, layout.MapOffsets, p.table, ranks-1)
		name, table := p.name, p.table
		r.Close()

		// A list that is damaged, of whichever rank, may be of the rank that has the element.
		bad := maps.Clone(files)
		bad[name] = flipped(files[name], at+4*(each-1), 0)
		r, c = open(bad)
		if k, err := c.ReadAt(got, 0); !errors.Is(err, ErrChecksum) && !errors.Is(err, ErrCorrupt) || k != head {
			t.Errorf("%v: with a damaged list: %d bytes, %v, want %d and a difference", l, k, err, head)
		}
		r.Close()
		if l != ProcessCentric {
			continue
		}
		// Places in the manifest that are not those of the blobs are of no use, and do no harm.
		m, err := subfile.Decode(files[subfile.ManifestName(sampleBase)], "m")
		noError(t, err)
		m.Sets[0].Subfiles[0].Blobs[ranks/2]++
		wrong := maps.Clone(files)
		if wrong[subfile.ManifestName(sampleBase)], err = m.Encode(); err != nil {
			t.Fatal(err)
		}
		r, c = open(wrong)
		if _, err := c.ReadAt(got, 0); err != nil || !bytes.Equal(got, whole[:len(got)]) || r.sets[0].parts[0].table.Blob[ranks/2] != table.Blob[ranks/2] {
			t.Errorf("wrong places in the manifest: %v, or other bytes", err)
		}
		r.Close()
	}
}

// TestCanonicalProves: what is read to compare checksums with is kept. Small reads of a variable with VerifyOnce read it once, all told, and no more
// than with VerifyWhole.
func TestCanonicalProves(t *testing.T) {
	const ranks, lev = 64, 32
	for _, l := range []Layout{VariableCentric, ProcessCentric} {
		mem := ints(t, settings{Options: Options{Layout: l}, knobs: knobs{piece: 16 << 10}}, []int64{lev, 32 * ranks}, ranks, func(rank int64) (runs []decomp.Req) {
			for k := range int64(32 * lev) {
				runs = append(runs, decomp.Req{Offset: k*ranks + rank, Length: 1})
			}
			return runs
		}, itself)
		var all int64
		bytesRead := func(verify Verification) int64 {
			n := vfs.Count(mem)
			r := need(openWith(t.Context(), sampleBase, &OpenOptions{Verify: verify}, knobs{fs: n}))
			defer r.Close()
			f := need(r.Canonical(&CanonicalOptions{Memory: 1 << 20}))
			need(r.Map(t.Context(), 1))
			before := n.Bytes(vfs.OpRead)
			all = f.Size()
			for off := f.Size() / 4; off < f.Size()/2; off += f.Size() / 16 {
				need(f.ReadAt(make([]byte, 128), off))
			}
			r.work.Wait()
			return n.Bytes(vfs.OpRead) - before
		}
		whole := bytesRead(VerifyWhole)
		for _, verify := range []Verification{VerifyOnce, VerifyAlways} {
			if n := bytesRead(verify); n > all*5/4 {
				t.Errorf("%v: reads of 128 bytes read %d bytes of a variable of %d, %d without checksums", l, n, all, whole)
			}
		}
	}
}

// TestCanonicalPool: files that share a pool keep no more together than it may hold, whatever each may, and what they read is right. A
// Reader that is closed gives back what its file kept.
func TestCanonicalPool(t *testing.T) {
	const most = 2048
	files, want := canonicalSets(t)
	pool := NewCanonicalPool(most)
	held := func() (bytes int64, blocks int) {
		pool.mu.Lock()
		defer pool.mu.Unlock()
		for _, f := range files {
			for _, b := range f.cache.held {
				bytes, blocks = bytes+b.to-b.from, blocks+1
			}
		}
		if pool.bytes > most {
			t.Errorf("%d bytes are kept, want at most %d", pool.bytes, most)
		}
		return bytes, blocks
	}
	for _, f := range files {
		own := need(f.r.Canonical(&CanonicalOptions{Version: f.o.Version, Memory: 1 << 20, Pool: pool}))
		f.cache = own.cache
		f.cache.c = f
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
		f.r.work.Wait() // for what is read ahead
	}
	if sum, n := held(); n == 0 || sum != pool.bytes {
		t.Errorf("%d blocks of %d bytes are kept, of which %d count", n, sum, pool.bytes)
	}
	for _, f := range files {
		f.r.Close()
	}
	if pool.bytes != 0 || pool.idle.Len() != 0 {
		t.Errorf("%d bytes and %d blocks are kept of closed Readers", pool.bytes, pool.idle.Len())
	}
}

// A reader that makes a file for each commit of a dataset does not keep those that nobody holds any more.
func TestCanonicalForgotten(t *testing.T) {
	files, _ := canonicalSets(t)
	r, pool := files[0].r, NewCanonicalPool(1<<20)
	kept := 0
	for range 20 {
		need(r.Canonical(&CanonicalOptions{Pool: pool}))
		runtime.GC()
		kept = max(kept, len(r.caches))
	}
	if kept > 10 {
		t.Errorf("%d caches are kept", kept)
	}
}
