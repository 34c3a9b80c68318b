package blob

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
)

// TestPutAgainFreesTheOneBefore: the memory cap counts what is kept, not what was.
func TestPutAgainFreesTheOneBefore(t *testing.T) {
	ctx := context.Background()
	const n = 1000
	for _, retain := range []Retain{LendUntilFlush, CopyOnPut} {
		name := filepath.Join(t.TempDir(), "x.h5")
		s := NewSchema()
		tm, col := s.Dim("time", Unlimited), s.Dim("ncol", n)
		d := s.Decomp(col)
		v := s.Var("R", cdf5.Double, []DimID{tm, col}, Decomposed(d))
		w, err := Create(ctx, comm.Self(), name, s, []Part{{d, []decomp.Req{{Offset: 0, Length: n}}}}, &Options{Layout: ProcessCentric, Retain: retain, Memory: 5 * 8 * n})
		noError(t, err)
		data := make([]float64, n)
		for k := range 20 {
			for i := range data {
				data[i] = float64(k*n + i)
			}
			noError(t, Put(w, v, int64(k%2), data))
			if err := w.Flush(ctx); err != nil {
				t.Fatalf("retain %d, flush %d: %v", retain, k, err)
			}
		}
		if err := Put(w, v, 1<<40, data); !errors.Is(err, ErrUsage) {
			t.Errorf("a record far beyond the others: %v", err)
		}
		noError(t, w.Close(ctx))
		r, err := Open(ctx, name, nil)
		noError(t, err)
		got := make([]float64, 2*n)
		noError(t, r.Read(ctx, "R", nil, nil, got))
		r.Close()
		for i, x := range got {
			if want := float64((18+i/n)*n + i%n); x != want {
				t.Fatalf("R[%d][%d] = %v, want %v, of the last put", i/n, i%n, x, want)
			}
		}
	}
}
