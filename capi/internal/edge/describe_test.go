package edge

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/comm"
)

// small creates a dataset with one variable.
func small(t *testing.T, path string, force bool) {
	t.Helper()
	ctx := context.Background()
	s := blob.NewSchema()
	s.GlobalAtt("title", "small")
	x := s.Dim("x", 3)
	v := s.Var("a", cdf5.Double, []blob.DimID{x}, blob.Att("units", "m"))
	w, err := blob.Create(ctx, comm.Self(), path, s, nil, &blob.Options{Force: force, Durability: blob.DurableNone})
	if err == nil {
		err = blob.Put(w, v, 0, []float64{1, 2, 3})
	}
	if err == nil {
		err = w.Close(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func state(t *testing.T, path string, o *blob.OpenOptions) string {
	t.Helper()
	r, err := blob.Open(context.Background(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s, err := StateOf(r)
	if err != nil || len(s) != 32 {
		t.Fatalf("state %q, %v", s, err)
	}
	return s
}

// TestStateOf checks that the state is the same for all readers of a dataset and changes when the dataset is replaced, also
// without a manifest.
func TestStateOf(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.nc")
	small(t, path, false)
	one := state(t, path, nil)
	if again := state(t, path+".0000", nil); again != one {
		t.Errorf("%s, then %s", one, again)
	}
	small(t, path, true)
	if two := state(t, path, nil); two == one {
		t.Errorf("replaced, and still %s", one)
	}
	if err := os.Remove(path + ".manifest"); err != nil {
		t.Fatal(err)
	}
	one = state(t, path, nil)
	if again := state(t, path, nil); again != one {
		t.Errorf("without manifest %s, then %s", one, again)
	}
	b, err := os.ReadFile(path + ".0000")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".0000", append(b, 0, 0, 0, 0), 0o644); err != nil {
		t.Fatal(err)
	}
	if longer := state(t, path, nil); longer == one {
		t.Errorf("longer, and still %s", one)
	}
}

// TestHeader checks that the header equals the beginning of an ordinary netCDF file.
func TestHeader(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "a.nc")
	small(t, path, false)
	r, err := blob.Open(ctx, path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got, err := Header(r)
	if err != nil {
		t.Fatal(err)
	}
	out := path + ".canonical"
	if err := blob.Convert(ctx, r, out, nil); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(out)
	if err != nil || len(got) == 0 || !bytes.HasPrefix(want, got) {
		t.Errorf("%d bytes of header %q, the file begins with %.80q, %v", len(got), got, want, err)
	}
}
