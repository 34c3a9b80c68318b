package pio

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"blobio/cdf5"
	"blobio/comm"
)

// TestDifferentCalls checks that the error names both calls if ranks make different collective calls.
func TestDifferentCalls(t *testing.T) {
	for _, c := range []struct {
		name  string
		other func(ctx context.Context, s *System, f *File, d *Decomp) error
	}{
		{"File.ReadDarray", func(ctx context.Context, s *System, f *File, d *Decomp) error {
			return f.ReadDarray(ctx, 0, d, make([]int32, 3))
		}},
		{"File.PutVars", func(ctx context.Context, s *System, f *File, d *Decomp) error {
			return f.PutVars(ctx, 0, Part{Start: []int64{0}, Count: []int64{9}}, make([]int32, 9))
		}},
		{"System.InitDecomp", func(ctx context.Context, s *System, f *File, d *Decomp) error {
			_, err := blocks(ctx, s, cdf5.Int, 9)
			return err
		}},
		{"File.Close", func(ctx context.Context, s *System, f *File, d *Decomp) error { return f.Close(ctx) }},
	} {
		path := filepath.Join(t.TempDir(), "a.nc")
		err := comm.Run(t.Context(), 3, nil, func(ctx context.Context, k comm.Comm) error {
			s, err := NewSystem(ctx, k, nil)
			if err != nil {
				return err
			}
			f, err := begun(ctx, s, path, 9, nil)
			if err != nil {
				return err
			}
			d, err := blocks(ctx, s, cdf5.Int, 9)
			if err != nil {
				return err
			}
			if k.Rank() == 1 {
				err = c.other(ctx, s, f, d)
			} else {
				err = f.Sync(ctx)
			}
			if !errors.Is(err, comm.ErrMismatch) || !strings.Contains(err.Error(), "File.Sync") || !strings.Contains(err.Error(), c.name) {
				return fmt.Errorf("rank %d: %v, want File.Sync and %s", k.Rank(), err, c.name)
			}
			return nil
		})
		if err != nil && !errors.Is(err, comm.ErrMismatch) || err != nil && strings.Contains(err.Error(), "want File.Sync") {
			t.Error(err)
		}
	}
}

// TestAnotherFrame checks that ranks write the log in the same call, also if one rank passed another frame, so that its write
// replaced an earlier one and its log is shorter. The call is then an error on all ranks, and the System stays usable.
func TestAnotherFrame(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.nc")
	together(t, 3, func(ctx context.Context, s *System) error {
		f, err := begun(ctx, s, path, 9, with(func(o *FileOptions) { o.Buffer = 20 }))
		if err != nil {
			return err
		}
		d, err := blocks(ctx, s, cdf5.Int, 9)
		if err != nil {
			return err
		}
		data := make([]int32, 9)
		err = errors.Join(f.WriteDarray(ctx, 1, d, data, nil), f.SetFrame(1, int64(1-s.c.Rank()/2)), wants("write", f.WriteDarray(ctx, 1, d, data, nil), EINVAL),
			wants("close", f.Close(ctx), EINVAL))
		g, e := s.Create(ctx, path, nil)
		return errors.Join(err, e, g.Close(ctx))
	})
}
