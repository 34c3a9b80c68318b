package blob

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
)

// writeLopsided writes a dataset of 4 ranks on 2 subfiles; the second one's
// ranks own nothing.
func writeLopsided(t *testing.T, name string, l Layout) {
	t.Helper()
	s := NewSchema()
	tm := s.Dim("time", Unlimited)
	col := s.Dim("ncol", 6)
	d := s.Decomp(col)
	s.Var("F", cdf5.Int, []DimID{col}, Decomposed(d))
	s.Var("R", cdf5.Double, []DimID{tm, col}, Decomposed(d))
	s.Var("time", cdf5.Double, []DimID{tm})
	noError(t, comm.Run(context.Background(), 4, nil, func(ctx context.Context, c comm.Comm) error {
		var runs []decomp.Req
		if c.Rank() < 2 {
			runs = []decomp.Req{{Offset: int64(3 * c.Rank()), Length: 3}}
		}
		w, err := Create(ctx, c, name, s, []Part{{d, runs}}, &Options{Layout: l, Subfiles: 2})
		must(err)
		base := float64(3 * c.Rank())
		if n := w.Count(d); n > 0 {
			err = Put(w, 0, 0, []float64{base, base + 1, base + 2})
			for rec := range int64(2) {
				if err == nil {
					err = Put(w, 1, rec, []float64{base, base + 1, base + 2})
				}
			}
		} else {
			err = Put(w, 0, 0, []int32{})
		}
		if err == nil {
			err = Put(w, 2, 1, []float64{7})
		}
		must(err)
		return w.Close(ctx)
	}))
}

func checkLopsided(t *testing.T, name string) {
	t.Helper()
	ctx := context.Background()
	r, err := Open(ctx, name, nil)
	noError(t, err)
	defer r.Close()
	got := make([]float64, 12)
	noError(t, r.Read(ctx, "R", nil, nil, got))
	if fmt.Sprint(got) != "[0 1 2 3 4 5 0 1 2 3 4 5]" {
		t.Errorf("R = %v", got)
	}
	for f := range Check(ctx, name, nil) {
		if f.Severity != Note {
			t.Error(f)
		}
	}
}

// TestSubfileWithoutElements: no dimension of length 0, which would mean unlimited.
func TestSubfileWithoutElements(t *testing.T) {
	for _, l := range []Layout{VariableCentric, ProcessCentric} {
		name := filepath.Join(t.TempDir(), "x")
		writeLopsided(t, name, l)
		checkLopsided(t, name)
		f, err := os.Open(name + ".0001")
		noError(t, err)
		defer f.Close()
		info, _ := f.Stat()
		pl, _, err := decodePlace(f, info.Size(), name, 0)
		noError(t, err)
		for _, want := range []string{"D1.nelems", "D1.max_nreqs"} {
			if d := pl.Header.Dims[pl.Header.DimIndex(want)]; d.Len != 1 {
				t.Errorf("%v: %s = %d in a subfile without elements, want 1", l, want, d.Len)
			}
		}
	}
}

// TestReferenceSubfileWithoutElements: the reference writes such dimensions
// with length 0 in the process-centric layout. They are read as empty.
func TestReferenceSubfileWithoutElements(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x")
	writeLopsided(t, name, ProcessCentric)
	file := name + ".0001"
	b, err := os.ReadFile(file)
	noError(t, err)
	for _, dim := range []string{"D1.nelems", "D1.max_nreqs"} {
		i := bytes.Index(b, []byte(dim))
		at := i + (len(dim)+3)&^3
		if i < 0 || binary.LittleEndian.Uint64(b[at:]) != 1 {
			t.Fatalf("no %s of length 1 in header_blob", dim)
		}
		binary.LittleEndian.PutUint64(b[at:], 0)
	}
	noError(t, os.WriteFile(file, b, 0o666))
	noError(t, os.Remove(name+".manifest")) // the reference writes none
	checkLopsided(t, name)
}
