package blob

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"blobio/blob/internal/checksum"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/vfs"
)

// flat writes a dataset of one variable of consecutive int32, each of two ranks half of it.
func flat(t testing.TB, l Layout, elems int64) *vfs.Mem {
	t.Helper()
	m := vfs.NewMem()
	s := NewSchema()
	x := s.Dim("x", elems)
	d := s.Decomp(x)
	id := s.Var("A", cdf5.Int, []DimID{x}, Decomposed(d))
	noError(t, comm.Run(t.Context(), 2, nil, func(ctx context.Context, c comm.Comm) error {
		lo := int64(c.Rank()) * elems / 2
		w := need(createWith(ctx, c, sampleBase, s, []Part{{d, []decomp.Req{{Offset: lo, Length: elems / 2}}}}, &settings{Options: Options{Layout: l, Durability: DurableNone}, knobs: knobs{fs: m}}))
		data := make([]int32, elems/2)
		for i := range data {
			data[i] = int32(lo) + int32(i)
		}
		must(Put(w, id, 0, data))
		return w.Close(ctx)
	}))
	return m
}

// TestSmallReads: a small read moves its own bytes and the rest of the pieces in which they lie, of each piece once while the dataset is open.
func TestSmallReads(t *testing.T) {
	const elems, piece = 1 << 20, checksum.DefaultPiece / 4 // 4 pieces
	for _, l := range []Layout{VariableCentric, ProcessCentric} {
		n := new(reads)
		r := need(openWith(t.Context(), sampleBase, nil, knobs{fs: counted{flat(t, l, elems), n}}))
		noError(t, r.Read(t.Context(), "A", []int64{0}, []int64{1}, []int32{0})) // with headers and maps
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
			before, got := n.bytes.Load(), make([]int32, k)
			noError(t, r.Read(t.Context(), "A", []int64{at}, []int64{k}, got))
			if cost := n.bytes.Load() - before; cost != want || got[0] != int32(at) || got[k-1] != int32(at+k-1) {
				t.Errorf("%v: %d elements from %d on: %d bytes were read, want %d", l, k, at, cost, want)
			}
		}
		if len(seen) != elems/piece {
			t.Errorf("%v: %d pieces were read", l, len(seen))
		}
		noError(t, r.Close())
	}
}

// BenchmarkSmallReads reads at random places of a variable of 32 MiB: the mean of the first 200 after an open, and the median.
func BenchmarkSmallReads(b *testing.B) {
	const elems = 8 << 20
	m := flat(b, VariableCentric, elems)
	for _, k := range []int64{1, 256, 16384} {
		for v, name := range map[Verification]string{VerifyOnce: "once", VerifyNever: "never"} {
			b.Run(fmt.Sprintf("%d/%s", 4*k, name), func(b *testing.B) {
				rng := rand.New(rand.NewPCG(1, 1))
				dst := make([]int32, k)
				var took []time.Duration
				for i := 0; b.Loop(); {
					b.StopTimer()
					r := need(openWith(b.Context(), sampleBase, &OpenOptions{Verify: v}, knobs{fs: m}))
					noError(b, r.Read(b.Context(), "A", []int64{0}, []int64{1}, []int32{0}))
					b.StartTimer()
					for range 200 {
						at, begin := rng.Int64N(elems-k), time.Now()
						noError(b, r.Read(b.Context(), "A", []int64{at}, []int64{k}, dst))
						took = append(took, time.Since(begin))
						i++
					}
					b.StopTimer()
					noError(b, r.Close())
					b.StartTimer()
				}
				slices.Sort(took)
				sum := time.Duration(0)
				for _, x := range took {
					sum += x
				}
				b.ReportMetric(float64(sum)/float64(len(took)), "mean-ns/read")
				b.ReportMetric(float64(took[len(took)/2]), "median-ns/read")
				b.ReportMetric(float64(took[len(took)-1]), "most-ns/read")
			})
		}
	}
}
