package blob

import (
	"context"
	"sync/atomic"
	"testing"

	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/vfs"
)

// TestCanonicalProves: what is read to compare checksums with is kept. Small reads of a variable with VerifyOnce read it once, all told, and no more
// than with VerifyWhole.
func TestCanonicalProves(t *testing.T) {
	const ranks, lev = 64, 32
	for _, l := range []Layout{VariableCentric, ProcessCentric} {
		mem := vfs.NewMem()
		s := NewSchema()
		rec, z, x := s.Dim("time", Unlimited), s.Dim("lev", lev), s.Dim("ncol", 32*ranks)
		d := s.Decomp(z, x)
		v := s.Var("T", cdf5.Float, []DimID{rec, z, x}, Decomposed(d))
		var all int64
		noError(t, comm.Run(t.Context(), ranks, nil, func(ctx context.Context, c comm.Comm) error {
			p := Part{Decomp: d}
			for k := range 32 * lev {
				p.Runs = append(p.Runs, decomp.Req{Offset: int64(k*ranks + c.Rank()), Length: 1})
			}
			w := need(createWith(ctx, c, sampleBase, s, []Part{p}, &settings{Options: Options{Layout: l, Durability: DurableNone}, knobs: knobs{fs: mem, piece: 16 << 10}}))
			must(Put(w, v, 0, make([]float32, len(p.Runs))))
			return w.Close(ctx)
		}))
		read := func(verify Verification) int64 {
			var n atomic.Int64
			r := need(openWith(t.Context(), sampleBase, &OpenOptions{Verify: verify}, knobs{fs: countFS{mem, &n}}))
			defer r.Close()
			f, err := r.Canonical(&CanonicalOptions{Memory: 1 << 20})
			must(err)
			_, err = r.Map(t.Context(), d)
			must(err)
			n.Store(0)
			all = f.Size()
			for off := f.Size() / 4; off < f.Size()/2; off += f.Size() / 16 {
				if _, err := f.ReadAt(make([]byte, 128), off); err != nil {
					t.Fatal(err)
				}
			}
			r.work.Wait()
			return n.Load()
		}
		whole := read(VerifyWhole)
		for _, verify := range []Verification{VerifyOnce, VerifyAlways} {
			if n := read(verify); n > all*5/4 {
				t.Errorf("%v: reads of 128 bytes read %d bytes of a variable of %d, %d without checksums", l, n, all, whole)
			}
		}
	}
}
