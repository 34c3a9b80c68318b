package tree

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/base/testfiles"
)

var ok = testfiles.Must

const (
	ranks = 4
	width = 40
)

// write makes a dataset of one variable: element i of a record is seed + 100*record + i.
func write(t testing.TB, name string, seed int, records int64, o blob.Options) {
	t.Helper()
	o.Durability = blob.DurableNone
	if o.Subfiles == 0 {
		o.Subfiles = 2
	}
	ok(t, comm.Run(t.Context(), ranks, nil, func(ctx context.Context, c comm.Comm) error {
		s := blob.NewSchema()
		tm, col := s.Dim("time", blob.Unlimited), s.Dim("ncol", width)
		d := s.Decomp(col)
		v := s.Var("T", cdf5.Double, []blob.DimID{tm, col}, blob.Decomposed(d))
		const n = width / ranks
		w, err := blob.Create(ctx, c, name, s, []blob.Part{{Decomp: d, Runs: []decomp.Req{{Offset: int64(c.Rank() * n), Length: n}}}}, &o)
		if err != nil {
			return err
		}
		for rec := range records {
			data := make([]float64, n)
			for i := range data {
				data[i] = float64(seed + 100*int(rec) + c.Rank()*n + i)
			}
			if err := errors.Join(blob.Put(w, v, rec, data), w.Flush(ctx)); err != nil {
				w.Abort()
				return err
			}
		}
		return w.Close(ctx)
	}))
}

func converted(t testing.TB, name string) []byte {
	t.Helper()
	r, err := blob.Open(t.Context(), name, nil)
	ok(t, err)
	defer r.Close()
	out := filepath.Join(t.TempDir(), "out.nc")
	ok(t, blob.Convert(t.Context(), r, out, &blob.ConvertOptions{Durability: blob.DurableNone}))
	b, err := os.ReadFile(out)
	ok(t, err)
	return b
}

func open(t testing.TB, root string, o *Options) *Tree {
	t.Helper()
	tr, err := Open(root, o)
	ok(t, err)
	t.Cleanup(func() { ok(t, tr.Close()) })
	return tr
}

// bytesOf returns the bytes of the netCDF file of a dataset.
func bytesOf(t testing.TB, d *Dataset) []byte {
	t.Helper()
	b, err := io.ReadAll(io.NewSectionReader(d.Canonical(), 0, d.Canonical().Size()))
	ok(t, err)
	return b
}

// listed returns Names with the result of Lookup for each.
func listed(tr *Tree, dir string) ([]Entry, error) {
	list, err := tr.Names(dir)
	for i := range list {
		if e, err := tr.Lookup(filepath.Join(dir, list[i].Name)); err == nil {
			list[i] = e
		} else {
			list[i].Err = err
		}
	}
	return list, err
}

// shows checks the entries of a directory, as "name kind".
func shows(t *testing.T, tr *Tree, dir string, want ...string) {
	t.Helper()
	list, err := listed(tr, dir)
	ok(t, err)
	var got []string
	for _, e := range list {
		got = append(got, e.Name+" "+e.Kind.String())
		if e.Err != nil {
			t.Errorf("%s: %v", e.Name, e.Err)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q holds %q, want %q", dir, got, want)
	}
}

func absentAll(t *testing.T, tr *Tree, paths ...string) {
	t.Helper()
	for _, p := range paths {
		_, err := tr.Lookup(p)
		_, derr := tr.Dataset(t.Context(), p)
		_, ferr := tr.File(p)
		for _, err := range []error{err, derr, ferr} {
			if !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%q: %v, want nothing there", p, err)
			}
		}
	}
}

func equal(t *testing.T, what string, got, want []byte) {
	t.Helper()
	if !bytes.Equal(got, want) {
		t.Errorf("%s: %d bytes that differ from %d", what, len(got), len(want))
	}
}
