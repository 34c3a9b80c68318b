package blob_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
)

// TestBaseNameOfManifest: a manifest is JSON, and could not name the subfiles of a base name that is no UTF-8.
func TestBaseNameOfManifest(t *testing.T) {
	name := filepath.Join(t.TempDir(), "bad\xff.nc")
	err := comm.Run(t.Context(), 2, nil, func(ctx context.Context, c comm.Comm) error {
		s := blob.NewSchema()
		x := s.Dim("x", 4)
		d := s.Decomp(x)
		s.Var("a", cdf5.Int, []blob.DimID{x}, blob.Decomposed(d))
		w, err := blob.Create(ctx, c, name, s, []blob.Part{{Decomp: d, Runs: []decomp.Req{{Offset: 2 * int64(c.Rank()), Length: 2}}}}, nil)
		if w != nil {
			w.Abort()
		}
		if !errors.Is(err, blob.ErrUsage) {
			t.Errorf("rank %d: Create: %v", c.Rank(), err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if list, _ := filepath.Glob(filepath.Join(filepath.Dir(name), "*")); len(list) > 0 {
		t.Errorf("left: %q", list)
	}
}
