package blob

import (
	"context"
	"fmt"
	"testing"

	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/vfs"
)

// TestMapsDropped: with OpenOptions.Maps no more maps are kept than that, but for the last one, and all that is read is right.
func TestMapsDropped(t *testing.T) {
	const maps, ranks, n = 6, 2, 40_000
	ctx, fsys := t.Context(), vfs.NewMem()
	if err := comm.Run(ctx, ranks, nil, func(ctx context.Context, c comm.Comm) error {
		s := NewSchema()
		x := s.Dim("x", n)
		var parts []Part
		for k := range maps {
			d := s.Decomp(x)
			s.Var(fmt.Sprintf("v%d", k), cdf5.Int, []DimID{x}, Decomposed(d))
			p := Part{Decomp: d}
			for i := int64(0); i < n; i++ { // nothing repeats itself
				if (uint64(i+n*int64(k))*0x9e3779b97f4a7c15)>>40%ranks == uint64(c.Rank()) {
					p.Runs = append(p.Runs, decomp.Req{Offset: i, Length: 1})
				}
			}
			parts = append(parts, p)
		}
		w := need(createWith(ctx, c, "d.nc", s, parts, &settings{knobs: knobs{fs: fsys}}))
		for k := range maps {
			data := make([]int32, len(parts[k].Runs))
			for i, q := range parts[k].Runs {
				data[i] = int32(q.Offset) + int32(k)
			}
			must(Put(w, VarID(k), 0, data))
		}
		return w.Close(ctx)
	}); err != nil {
		t.Fatal(err)
	}
	r := opened(t, fsys, "d.nc", &OpenOptions{Maps: 1 << 20})
	one := int64(0)
	for round := range 3 {
		for k := range maps {
			got := make([]int32, n)
			noError(t, r.Read(ctx, fmt.Sprintf("v%d", k), nil, nil, got))
			for i, x := range got {
				if x != int32(i+k) {
					t.Fatalf("round %d: v%d[%d] = %d, want %d", round, k, i, x, i+k)
				}
			}
			sum, kept := int64(0), 0
			for i := range r.families[0].maps {
				if g, ok := r.maps.Get(&r.families[0].maps[i]); ok {
					sum, kept = sum+2*g.m.MemSize(), kept+1
					one = max(one, 2*g.m.MemSize())
				}
			}
			if _, ok := r.maps.Get(&r.families[0].maps[k]); !ok || sum > 1<<20 && kept > 1 {
				t.Fatalf("after v%d: %d maps of %d bytes are kept", k, kept, sum)
			}
		}
	}
	if one*maps <= 1<<20 {
		t.Fatalf("all maps together are %d bytes: nothing was to be dropped", one*maps)
	}
}
