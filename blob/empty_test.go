package blob

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"blobio/blob/internal/check"
	"blobio/blob/internal/convert"
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/read"
	"blobio/blob/internal/resume"
	"blobio/blob/internal/write"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
)

// writeLopsided writes a dataset of 4 ranks on 2 subfiles. The ranks of the second subfile own nothing.
func writeLopsided(t *testing.T, name string, l dataset.Layout) {
	t.Helper()
	s := dataset.NewSchema()
	tm := s.Dim("time", dataset.Unlimited)
	col := s.Dim("ncol", 6)
	d := s.Decomp(col)
	s.Var("F", cdf5.Int, []dataset.DimID{col}, dataset.Decomposed(d))
	s.Var("R", cdf5.Double, []dataset.DimID{tm, col}, dataset.Decomposed(d))
	s.Var("time", cdf5.Double, []dataset.DimID{tm})
	noError(t, comm.Run(context.Background(), 4, nil, func(ctx context.Context, c comm.Comm) error {
		var runs []decomp.Req
		if c.Rank() < 2 {
			runs = []decomp.Req{{Offset: int64(3 * c.Rank()), Length: 3}}
		}
		w, err := write.Create(ctx, c, name, s, []write.Part{{Decomp: d, Runs: runs}}, &dataset.Options{Layout: l, Subfiles: 2})
		must(err)
		base := float64(3 * c.Rank())
		if n := w.Job.Count(d); n > 0 {
			err = write.Put(w, 0, 0, []float64{base, base + 1, base + 2})
			for rec := range int64(2) {
				if err == nil {
					err = write.Put(w, 1, rec, []float64{base, base + 1, base + 2})
				}
			}
		} else {
			err = write.Put(w, 0, 0, []int32{})
		}
		if err == nil {
			err = write.Put(w, 2, 1, []float64{7})
		}
		must(err)
		return w.Close(ctx)
	}))
}

func checkLopsided(t *testing.T, name string) {
	t.Helper()
	ctx := context.Background()
	r := opened(t, vfs.OS, name, nil)
	got := make([]float64, 12)
	noError(t, r.Read(ctx, "R", nil, nil, got))
	if fmt.Sprint(got) != "[0 1 2 3 4 5 0 1 2 3 4 5]" {
		t.Errorf("R = %v", got)
	}
	onlyNotes(t, "check", vfs.OS, name)
}

// TestSubfileWithoutElements checks subfiles without elements. Their dimensions must not have length 0, because length 0 means
// unlimited.
func TestSubfileWithoutElements(t *testing.T) {
	for _, l := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
		name := filepath.Join(t.TempDir(), "x")
		writeLopsided(t, name, l)
		checkLopsided(t, name)
		f := need(os.Open(name + ".0001"))
		defer f.Close()
		info, _ := f.Stat()
		pl, _, err := dataset.DecodePlace(f, info.Size(), name, 0)
		noError(t, err)
		for _, want := range []string{"D1.nelems", "D1.max_nreqs"} {
			if d := pl.Header.Dims[pl.Header.DimIndex(want)]; d.Len != 1 {
				t.Errorf("%v: %s = %d in a subfile without elements, want 1", l, want, d.Len)
			}
		}
	}
}

// TestReferenceSubfileWithoutElements checks that dimensions of length 0 in the process-centric layout read as empty. The
// reference implementation writes such dimensions.
func TestReferenceSubfileWithoutElements(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x")
	writeLopsided(t, name, dataset.ProcessCentric)
	file := name + ".0001"
	b := need(os.ReadFile(file))
	for _, dim := range []string{"D1.nelems", "D1.max_nreqs"} {
		i := bytes.Index(b, []byte(dim))
		at := i + (len(dim)+3)&^3
		if i < 0 || binary.LittleEndian.Uint64(b[at:]) != 1 {
			t.Fatalf("no %s of length 1 in header_blob", dim)
		}
		binary.LittleEndian.PutUint64(b[at:], 0)
	}
	noError(t, os.WriteFile(file, b, 0o666))
	noError(t, os.Remove(name+".manifest")) // the reference implementation writes no manifest
	checkLopsided(t, name)
}

// TestMissingPad checks files without padding after the last variable, like PnetCDF's. Such files are complete, with and
// without records, and can be appended to.
func TestMissingPad(t *testing.T) {
	ctx := context.Background()
	for _, records := range []int64{0, 2} {
		s := dataset.NewSchema()
		tm, col := s.Dim("time", dataset.Unlimited), s.Dim("ncol", 5)
		d := s.Decomp(col)
		fixed := s.Var("mask", cdf5.Byte, []dataset.DimID{col}, dataset.Decomposed(d))
		s.Var("time", cdf5.Double, []dataset.DimID{tm})
		rec := s.Var("flag", cdf5.Byte, []dataset.DimID{tm, col}, dataset.Decomposed(d))
		parts := []write.Part{{Decomp: d, Runs: []decomp.Req{{Offset: 0, Length: 5}}}}
		dir := t.TempDir()
		name, canonical := filepath.Join(dir, "a.nc"), filepath.Join(dir, "c.nc")
		values := []int8{1, 2, 3, 4, 5}
		putAll := func(w *write.Writer, first, n int64, withFixed bool) error {
			if withFixed {
				must(write.Put(w, fixed, 0, values))
			}
			for r := first; r < first+n; r++ {
				must(write.Put(w, rec, r, values))
			}
			return w.Close(ctx)
		}
		one := func(f func(ctx context.Context, c comm.Comm) error) {
			t.Helper()
			noError(t, comm.Run(ctx, 1, nil, f))
		}
		one(func(ctx context.Context, c comm.Comm) error {
			w := need(write.Create(ctx, c, name, s, parts, nil))
			return putAll(w, 0, records, true)
		})
		r, err := read.Open(ctx, name, nil)
		noError(t, err)
		err = convert.Convert(ctx, r, canonical, nil)
		r.Close()
		noError(t, err)
		noError(t, os.Remove(subfile.ManifestName(name)))
		for _, file := range []string{name + ".0000", canonical} {
			b := need(os.ReadFile(file))
			noError(t, os.WriteFile(file, b[:len(b)-3], 0o666))
			onlyNotes(t, fmt.Sprintf("%d records, no pad", records), vfs.OS, file)
		}
		one(func(ctx context.Context, c comm.Comm) error {
			w := need(resume.Append(ctx, c, name, nil, parts, nil))
			return putAll(w, records, 1, false)
		})
		onlyNotes(t, fmt.Sprintf("%d records, appended", records), vfs.OS, name)
		if r, err = read.Open(ctx, name, nil); err != nil {
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
		// A file that is one byte shorter is damaged.
		b, err := os.ReadFile(canonical)
		if err == nil {
			b = b[:len(b)-1]
			err = os.WriteFile(canonical, b, 0o666)
		}
		noError(t, err)
		worst := dataset.Note
		for f := range check.Check(ctx, canonical, nil) {
			worst = max(worst, f.Severity)
		}
		if worst != dataset.Warning {
			t.Errorf("%d records, a byte of the last variable cut: check says %v, want %v", records, worst, dataset.Warning)
		}
	}
}
