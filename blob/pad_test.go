package blob

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/subfile"
)

// TestMissingPad: PnetCDF leaves out the pad behind the last variable. Such a
// file is whole, with and without records, and can be appended to.
func TestMissingPad(t *testing.T) {
	ctx := context.Background()
	for _, records := range []int64{0, 2} {
		s := NewSchema()
		tm, col := s.Dim("time", Unlimited), s.Dim("ncol", 5)
		d := s.Decomp(col)
		fixed := s.Var("mask", cdf5.Byte, []DimID{col}, Decomposed(d))
		s.Var("time", cdf5.Double, []DimID{tm})
		rec := s.Var("flag", cdf5.Byte, []DimID{tm, col}, Decomposed(d))
		parts := []Part{{d, []decomp.Req{{Offset: 0, Length: 5}}}}
		dir := t.TempDir()
		name, canonical := filepath.Join(dir, "a.nc"), filepath.Join(dir, "c.nc")
		values := []int8{1, 2, 3, 4, 5}
		write := func(w *Writer, first, n int64, withFixed bool) error {
			if withFixed {
				if err := Put(w, fixed, 0, values); err != nil {
					return err
				}
			}
			for r := first; r < first+n; r++ {
				if err := Put(w, rec, r, values); err != nil {
					return err
				}
			}
			return w.Close(ctx)
		}
		one := func(f func(ctx context.Context, c comm.Comm) error) {
			t.Helper()
			noError(t, comm.Run(ctx, 1, nil, f))
		}
		one(func(ctx context.Context, c comm.Comm) error {
			w, err := Create(ctx, c, name, s, parts, nil)
			if err != nil {
				return err
			}
			return write(w, 0, records, true)
		})
		r, err := Open(ctx, name, nil)
		noError(t, err)
		err = Convert(ctx, r, canonical, nil)
		r.Close()
		noError(t, err)
		noError(t, os.Remove(subfile.ManifestName(name)))
		for _, file := range []string{name + ".0000", canonical} {
			b, err := os.ReadFile(file)
			noError(t, err)
			noError(t, os.WriteFile(file, b[:len(b)-3], 0o666))
			for f := range Check(ctx, file, nil) {
				if f.Severity > Note {
					t.Errorf("%d records, no pad: %v", records, f)
				}
			}
		}
		one(func(ctx context.Context, c comm.Comm) error {
			w, err := Append(ctx, c, name, parts, nil)
			if err != nil {
				return err
			}
			return write(w, records, 1, false)
		})
		for f := range Check(ctx, name, nil) {
			if f.Severity > Note {
				t.Errorf("%d records, appended: %v", records, f)
			}
		}
		if r, err = Open(ctx, name, nil); err != nil {
			t.Fatal(err)
		}
		got := make([]int8, 5*(records+1))
		noError(t, r.Read(ctx, "flag", nil, nil, got))
		for i, v := range got {
			if v != values[i%5] {
				t.Errorf("%d records and one more: flag[%d] = %d, want %d", records, i, v, values[i%5])
			}
		}
		r.Close()
		// One byte less is damage.
		b, err := os.ReadFile(canonical)
		if err == nil {
			b = b[:len(b)-1]
			err = os.WriteFile(canonical, b, 0o666)
		}
		noError(t, err)
		worst := Note
		for f := range Check(ctx, canonical, nil) {
			worst = max(worst, f.Severity)
		}
		if worst != Warning {
			t.Errorf("%d records, a byte of the last variable cut: check says %v, want %v", records, worst, Warning)
		}
	}
}
