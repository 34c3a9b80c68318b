package blob

import (
	"context"
	"testing"

	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/vfs"
)

// TestTiles: an array of several tiles, to which ranks contribute strips of each row, reads right as a whole and from any row on.
func TestTiles(t *testing.T) {
	const ranks, rows, cols, strip = 5, 20, 1 << 16, 7
	for _, l := range []Layout{VariableCentric, ProcessCentric} {
		m := vfs.NewMem()
		s := NewSchema()
		tm, z, x := s.Dim("time", Unlimited), s.Dim("z", rows), s.Dim("x", cols)
		d := s.Decomp(z, x)
		for _, name := range []string{"A", "B"} {
			s.Var(name, cdf5.Int, []DimID{tm, z, x}, Decomposed(d))
		}
		noError(t, comm.Run(t.Context(), ranks, nil, func(ctx context.Context, c comm.Comm) error {
			var runs []decomp.Req
			for r := range int64(rows) {
				for at := int64(c.Rank() * strip); at < cols; at += ranks * strip {
					runs = append(runs, decomp.Req{Offset: r*cols + at, Length: min(strip, cols-at)})
				}
			}
			w := need(createWith(ctx, c, sampleBase, s, []Part{{d, runs}}, &settings{Options: Options{Layout: l, Durability: DurableNone}, knobs: knobs{fs: m}}))
			for v := range s.vars {
				var data []int32
				for _, q := range runs {
					for i := range q.Length {
						data = append(data, int32(q.Offset+i)*2+int32(v))
					}
				}
				must(Put(w, VarID(v), 0, data))
			}
			return w.Close(ctx)
		}))
		r := opened(t, m, sampleBase, &OpenOptions{Workers: 2})
		for v := range int32(2) {
			for _, part := range [][2]int64{{0, rows}, {3, rows - 4}} {
				got := make([]int32, part[1]*cols)
				noError(t, r.Read(t.Context(), s.vars[v].Name, []int64{0, part[0], 0}, []int64{1, part[1], cols}, got))
				for i, is := range got {
					if want := (int32(part[0]*cols)+int32(i))*2 + v; is != want {
						t.Fatalf("%v, variable %d, from row %d on: element %d is %d, want %d", l, v, part[0], i, is, want)
					}
				}
			}
		}
	}
}
