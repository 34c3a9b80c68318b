package blob

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
)

// TestPutAfterPutAt: a whole put takes the place of the parts put before it,
// and parts put after it are laid over it.
func TestPutAfterPutAt(t *testing.T) {
	ctx := context.Background()
	for _, l := range []Layout{VariableCentric, ProcessCentric} {
		s := NewSchema()
		x := s.Dim("x", 4)
		a := s.Var("a", cdf5.Int, []DimID{x})
		b := s.Var("b", cdf5.Int, []DimID{x})
		name := filepath.Join(t.TempDir(), "o.nc")
		if err := comm.Run(ctx, 1, nil, func(ctx context.Context, c comm.Comm) error {
			w, err := Create(ctx, c, name, s, nil, &Options{Layout: l})
			if err != nil {
				return err
			}
			if err := errors.Join(
				PutAt(w, a, 0, []int64{1}, []int64{2}, []int32{8, 9}),
				PutAt(w, b, 0, []int64{0}, []int64{1}, []int32{5}),
				Put(w, a, 0, []int32{1, 2, 3, 4}),
				PutAt(w, a, 0, []int64{3}, []int64{1}, []int32{40})); err != nil {
				return err
			}
			return w.Close(ctx)
		}); err != nil {
			t.Fatal(err)
		}
		r, err := Open(ctx, name, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]int32, 4)
		if err := r.Read(ctx, "a", nil, nil, got); err != nil || fmt.Sprint(got) != "[1 2 3 40]" {
			t.Errorf("%v: a = %v, %v", l, got, err)
		}
		if err := r.Read(ctx, "b", nil, nil, got); err != nil || got[0] != 5 {
			t.Errorf("%v: b = %v, %v", l, got, err)
		}
		r.Close()
	}
}

// TestWideMapsAreKept: an appended set, and a conversion to blobs, have the
// int64 offsets of the first set without being asked for them.
func TestWideMapsAreKept(t *testing.T) {
	ctx := context.Background()
	for _, l := range []Layout{VariableCentric, ProcessCentric} {
		s := NewSchema()
		tm := s.Dim("t", Unlimited)
		y, x := s.Dim("y", 70000), s.Dim("x", 70000)
		d := s.Decomp(y, x)
		v := s.Var("v", cdf5.Int, []DimID{tm, y, x}, Decomposed(d))
		name := filepath.Join(t.TempDir(), "w.nc")
		for session := range int64(2) {
			if err := comm.Run(ctx, 2, nil, func(ctx context.Context, c comm.Comm) error {
				parts := []Part{{d, []decomp.Req{{Offset: 3_000_000_000 + int64(c.Rank())*100, Length: 2}}}}
				w, err := (*Writer)(nil), error(nil)
				if session == 0 {
					w, err = Create(ctx, c, name, s, parts, &Options{Layout: l, WideMaps: true})
				} else {
					w, err = Append(ctx, c, name, parts, nil)
				}
				if err != nil {
					return err
				}
				if err := Put(w, v, session, []int64{int64(c.Rank()), session}); err != nil {
					return err
				}
				return w.Close(ctx)
			}); err != nil {
				t.Fatal(err)
			}
		}
		r, err := Open(ctx, name, nil)
		if err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(t.TempDir(), "out.nc")
		if err := Convert(ctx, r, out, &ConvertOptions{Blobs: true, Layout: ProcessCentric - l}); err != nil {
			t.Fatal(err)
		}
		r.Close()
		for _, name := range []string{name, out} {
			for f := range Check(ctx, name, nil) {
				if f.Severity != Note {
					t.Errorf("%v: %v", l, f)
				}
			}
			r, err := Open(ctx, name, nil)
			if err != nil {
				t.Fatal(err)
			}
			got := make([]int32, 4)
			if err := r.ReadRuns(ctx, "v", 1, []decomp.Req{{Offset: 3_000_000_100, Length: 2}, {Offset: 3_000_000_000, Length: 2}}, got); err != nil || fmt.Sprint(got) != "[1 1 0 1]" {
				t.Errorf("%v: %s: %v, %v", l, name, got, err)
			}
			r.Close()
		}
	}
}
