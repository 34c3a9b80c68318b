package blob

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"blobio/blob/internal/checksum"
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/read"
	"blobio/blob/internal/write"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/base/vfs"
)

// ints writes a variable A of int32 with the given dimensions. Each rank writes the runs that runs returns for the rank. The
// function value gives the value of an element.
func ints(t testing.TB, o dataset.Settings, dims []int64, ranks int, runs func(rank int64) []decomp.Req, value func(rank, at int64) int32) *vfs.Mem {
	t.Helper()
	m := vfs.NewMem()
	o.Fs, o.Durability = m, dataset.DurableNone
	s := dataset.NewSchema()
	var ids []dataset.DimID
	for i, n := range dims {
		ids = append(ids, s.Dim(fmt.Sprint("x", i), n))
	}
	d := s.Decomp(ids...)
	id := s.Var("A", cdf5.Int, ids, dataset.Decomposed(d))
	noError(t, comm.Run(t.Context(), ranks, nil, func(ctx context.Context, c comm.Comm) error {
		r := int64(c.Rank())
		w := need(write.CreateWith(ctx, c, sampleBase, s, []write.Part{{Decomp: d, Runs: runs(r)}}, &o))
		var data []int32
		for _, q := range runs(r) {
			for k := range q.Length {
				data = append(data, value(r, q.Offset+k))
			}
		}
		must(write.Put(w, id, 0, data))
		return w.Close(ctx)
	}))
	return m
}

// itself gives each element its own offset as value.
func itself(_, at int64) int32 { return int32(at) }

// flat writes a variable with one dimension by two ranks. Each rank has one half of the elements.
func flat(t testing.TB, l dataset.Layout, elems int64) *vfs.Mem {
	t.Helper()
	return ints(t, dataset.Settings{Options: dataset.Options{Layout: l}}, []int64{elems}, 2, func(rank int64) []decomp.Req {
		return []decomp.Req{{Offset: rank * elems / 2, Length: elems / 2}}
	}, itself)
}

// TestSmallReads checks that a small read reads its own bytes and the rest of their pieces from the files, and reads each piece
// only once while the dataset is open.
func TestSmallReads(t *testing.T) {
	const elems, piece = 1 << 20, checksum.DefaultPiece / 4 // 4 pieces
	for _, l := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
		n := vfs.Count(flat(t, l, elems))
		r := need(read.OpenWith(t.Context(), sampleBase, nil, dataset.Knobs{Fs: n}))
		noError(t, r.Read(t.Context(), "A", []int64{0}, []int64{1}, []int32{0})) // the first read also reads headers and maps
		rng := rand.New(rand.NewPCG(1, 1))
		seen := map[int64]bool{0: true}
		for range 60 {
			k := []int64{1, 256, 16384}[rng.IntN(3)]
			at := rng.Int64N(elems - k)
			want := 4 * k
			for p := at / piece; p <= (at+k-1)/piece; p++ {
				if lo, hi := max(at, p*piece), min(at+k, (p+1)*piece); !seen[p] {
					want += 4 * (piece - (hi - lo))
					seen[p] = true
				}
			}
			before, got := n.Bytes(vfs.OpRead), make([]int32, k)
			noError(t, r.Read(t.Context(), "A", []int64{at}, []int64{k}, got))
			if cost := n.Bytes(vfs.OpRead) - before; cost != want || got[0] != int32(at) || got[k-1] != int32(at+k-1) {
				t.Errorf("%v: %d elements from %d on: %d bytes were read, want %d", l, k, at, cost, want)
			}
		}
		if len(seen) != elems/piece {
			t.Errorf("%v: %d pieces were read", l, len(seen))
		}
		noError(t, r.Close())
	}
}

// TestProveReadsOnce checks that Prove of a file that is larger than the cache reads no byte twice.
func TestProveReadsOnce(t *testing.T) {
	const elems, step, window = 2 << 20, 16 << 10, 256 << 10
	mem := flat(t, dataset.VariableCentric, elems)
	cost := func(prove bool) int64 {
		n := vfs.Count(mem)
		r := need(read.OpenWith(t.Context(), sampleBase, nil, dataset.Knobs{Fs: n}))
		defer r.Close()
		f := need(r.Canonical(&read.CanonicalOptions{Memory: 2 << 20}))
		b := make([]byte, step)
		for off, to := int64(0), int64(0); off < f.Size(); off += step {
			if to = max(to, off); prove && to < off+window {
				to += need(f.Prove(t.Context(), to, off+window))
			}
			need(f.ReadAt(b[:min(step, f.Size()-off)], off))
		}
		return n.Bytes(vfs.OpRead)
	}
	if with, without := cost(true), cost(false); with > without+without/16 {
		t.Errorf("%d bytes were read, without proving %d", with, without)
	}
}
