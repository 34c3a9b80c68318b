package tree

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"blobio/amr/cello"
	"blobio/blob"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/internal/amr/gen"
	"blobio/internal/amr/netcdf"
	"blobio/internal/base/testfiles"
	"blobio/versioned"
)

func checkpoint(t testing.TB, to string) {
	t.Helper()
	ok(t, os.CopyFS(to, os.DirFS(testfiles.Dir(t, "cello", "CheckA-10"))))
}

func native(t testing.TB, dir string) []byte {
	t.Helper()
	k, err := cello.Open(t.Context(), dir, nil)
	ok(t, err)
	defer k.Close()
	f, err := netcdf.New(t.Context(), k, &netcdf.Part{Grids: true}, 0)
	ok(t, err)
	b, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size()))
	ok(t, err)
	return b
}

// rewrite makes a checkpoint with checksums.
func rewrite(t testing.TB, from, to string) {
	t.Helper()
	k, err := cello.Open(t.Context(), from, nil)
	ok(t, err)
	defer k.Close()
	ok(t, cello.WriteFrom(t.Context(), comm.Self(), to, k.Meta(), k.Share(0, 1), &cello.Options{Files: 2, EnzoFloat: k.EnzoFloat(), Ghosts: k.Ghosts(0), NoSync: true}))
}

// commit adds a version, with all 100 numbers equal to x, to an array. It creates the array if necessary.
func commit(t testing.TB, store, name string, ty versioned.Type, x float64, o *versioned.Options) {
	t.Helper()
	if o == nil {
		o = &versioned.Options{}
	}
	o.Durability = versioned.DurableNone
	ok(t, comm.Run(t.Context(), 2, nil, func(ctx context.Context, c comm.Comm) error {
		st := &versioned.Store{Dir: store}
		a, err := versioned.Open(ctx, c, st, name, o)
		if errors.Is(err, versioned.ErrMissing) {
			a, err = versioned.Create(ctx, c, st, versioned.Spec{Name: name, Type: ty, Shape: []int64{100}, Chunk: 512}, o)
		}
		if err != nil {
			return err
		}
		if c.Rank() == 0 && ty == versioned.TypeOf[float64]() {
			data := make([]float64, 100)
			for i := range data {
				data[i] = x
			}
			err = versioned.Put(ctx, a, []int64{0}, []int64{100}, data)
		}
		if err == nil {
			_, err = a.Inc(ctx, 1, "")
		}
		return errors.Join(err, a.Close(ctx))
	}))
}

// elements reads record rec of a numeric variable with the Reader.
func elements(t *testing.T, d *Dataset, name string, rec, n int64) []float64 {
	t.Helper()
	out := make([]float64, n)
	ok(t, d.Reader().Read(t.Context(), name, []int64{rec, 0}, []int64{1, n}, out))
	return out
}

// TestForms checks that a file appears beside a checkpoint and an array, with the output of the conversion, as bytes and by the
// Reader.
func TestForms(t *testing.T) {
	root := t.TempDir()
	checkpoint(t, filepath.Join(root, "run", "Check-10"))
	ok(t, os.Mkdir(filepath.Join(root, "store"), 0o777))
	commit(t, filepath.Join(root, "store"), "rho", versioned.TypeOf[float64](), 1.5, nil)
	tr := open(t, root, nil)
	shows(t, tr, "run", "Check-10 directory", "Check-10.nc dataset")
	shows(t, tr, "store", "rho directory", "rho.nc dataset")
	absentAll(t, tr, "run.nc", ".nc", "run/.nc", "run/Check-11.nc", "run/Check-10.nc.nc")

	d, err := tr.Dataset(t.Context(), "run/Check-10.nc")
	ok(t, err)
	defer d.Release()
	want := native(t, filepath.Join(root, "run", "Check-10"))
	equal(t, "checkpoint", bytesOf(t, d), want)
	if d.Form() != "checkpoint of Cello" {
		t.Errorf("form %q", d.Form())
	}
	e, err := tr.Lookup("run/Check-10.nc")
	if err != nil || e.Size != int64(len(want)) || e.ID != d.ID() || e.Err != nil {
		t.Errorf("%+v, %v", e, err)
	}
	if e, err := tr.Lookup("run/Check-10"); err != nil || e.Kind != KindDir || !e.Parts {
		t.Errorf("%+v, %v", e, err)
	}
	if e, err := tr.Lookup("run"); err != nil || e.Parts {
		t.Errorf("%+v, %v", e, err)
	}
	h := d.Canonical().Header()
	for v := range h.Vars {
		shape := h.Shape(v)
		got := make([]byte, h.Bytes(v))
		ok(t, d.Reader().ReadBytes(t.Context(), h.Vars[v].Name, make([]int64, len(shape)), shape, got, true))
		equal(t, h.Vars[v].Name, got, want[h.Vars[v].Begin:h.Vars[v].Begin+h.Bytes(v)])
	}
	f, err := tr.File("run/Check-10/check.file_list") // the files of the checkpoint are visible, too
	ok(t, err)
	ok(t, f.Close())

	a, err := tr.Dataset(t.Context(), "store/rho.nc")
	ok(t, err)
	defer a.Release()
	if got := elements(t, a, "rho", 1, 100); got[0] != 1.5 || got[99] != 1.5 {
		t.Errorf("version 1: %v", got)
	}
	if list, err := tr.Check(t.Context(), "store/rho.nc", blob.CheckOptions{}); err != nil {
		t.Error(err)
	} else {
		for f := range list {
			t.Error(f)
		}
	}
}

// TestFormChanges checks that a committed version is a new state, and that the holder of the old state keeps it. When a
// checkpoint disappears, its file disappears, too.
func TestFormChanges(t *testing.T) {
	root := t.TempDir()
	commit(t, root, "rho", versioned.TypeOf[float64](), 1, nil)
	tr := open(t, root, nil)
	old, err := tr.Dataset(t.Context(), "rho.nc")
	ok(t, err)
	before := bytesOf(t, old)
	commit(t, root, "rho", versioned.TypeOf[float64](), 2, nil)
	now, err := tr.Dataset(t.Context(), "rho.nc")
	ok(t, err)
	if now.ID() == old.ID() || now.Reader().Records() != 3 || old.Reader().Records() != 2 {
		t.Errorf("records %d and %d, want 2 and then 3; %s and %s", old.Reader().Records(), now.Reader().Records(), old.ID(), now.ID())
	}
	if got := elements(t, now, "rho", 2, 100); got[50] != 2 {
		t.Errorf("version 2: %v", got)
	}
	equal(t, "the state before", bytesOf(t, old), before)
	now.Release()
	old.Release()

	checkpoint(t, filepath.Join(root, "from"))
	rewrite(t, filepath.Join(root, "from"), filepath.Join(root, "Check"))
	e, err := tr.Lookup("Check.nc")
	ok(t, err)
	ok(t, os.Rename(filepath.Join(root, "Check"), filepath.Join(root, "Check.partial")))
	ok(t, os.WriteFile(filepath.Join(root, "Check.partial", "blobio.writing"), nil, 0o666))
	absentAll(t, tr, "Check.nc", "Check.partial.nc")
	ok(t, os.RemoveAll(filepath.Join(root, "Check.partial")))
	rewrite(t, filepath.Join(root, "from"), filepath.Join(root, "Check"))
	again, err := tr.Lookup("Check.nc")
	if err != nil || again.ID == e.ID || again.Size != e.Size {
		t.Errorf("%+v, %v, was %+v", again, err, e)
	}
	ok(t, os.WriteFile(filepath.Join(root, "Check.nc"), []byte("mine"), 0o666)) // an existing file with this name takes precedence
	shows(t, tr, "", "Check directory", "Check.nc file", "from directory", "from.nc dataset", "rho directory", "rho.nc dataset")
	if e, err := tr.Lookup("Check"); err != nil || e.Parts {
		t.Errorf("%+v, %v", e, err)
	}
}

// TestNoForm checks that directories without a netCDF form are shown unchanged.
func TestNoForm(t *testing.T) {
	root := t.TempDir()
	commit(t, root, "amr.level0", versioned.TypeOf[uint8](), 0, nil)
	commit(t, root, "secret", versioned.TypeOf[float64](), 0, &versioned.Options{Key: make([]byte, 16)})
	ok(t, os.Mkdir(filepath.Join(root, "other"), 0o777))
	ok(t, os.WriteFile(filepath.Join(root, "other", "versions"), []byte("1.0\n1.1\n"), 0o666))
	tr := open(t, root, nil)
	shows(t, tr, "", "amr.level0 directory", "other directory", "secret directory")
	shows(t, tr, "other", "versions file")
	absentAll(t, tr, "amr.level0.nc", "secret.nc", "other.nc")
}

// TestFormDamage checks that unopenable forms give the reason, and that a damaged byte is an error when read with verification.
func TestFormDamage(t *testing.T) {
	root := t.TempDir()
	checkpoint(t, filepath.Join(root, "from"))
	dir := filepath.Join(root, "Check")
	rewrite(t, filepath.Join(root, "from"), dir)
	want := native(t, dir)
	k, err := cello.Open(t.Context(), dir, nil)
	ok(t, err)
	b, err := k.Block(t.Context(), 2)
	ok(t, err)
	ok(t, k.Close())
	names, err := filepath.Glob(filepath.Join(dir, "*.h5"))
	ok(t, err)
	field := &b.Fields[0]
	for _, n := range names {
		raw, err := os.ReadFile(n)
		ok(t, err)
		if at := bytes.Index(raw, field.Data); at >= 0 {
			raw[at+9] ^= 4
			ok(t, os.WriteFile(n, raw, 0o666))
		}
	}
	d, err := open(t, root, nil).Dataset(t.Context(), "Check.nc")
	ok(t, err)
	defer d.Release()
	h := d.Canonical().Header()
	v := h.VarIndex("field_" + field.Spec.Name)
	n := int64(len(field.Data))
	begin := h.Vars[v].Begin
	got := make([]byte, n)
	if _, err := d.Canonical().ReadAt(got, begin+2*n+8); !errors.Is(err, blob.ErrChecksum) {
		t.Errorf("damaged data: %v", err)
	}
	for _, i := range []int64{1, 3} {
		_, err := d.Canonical().ReadAt(got, begin+i*n)
		ok(t, err)
		equal(t, "data beside", got, want[begin+i*n:begin+(i+1)*n])
	}
	rescued, err := open(t, root, &Options{Verify: blob.VerifyNever}).Dataset(t.Context(), "Check.nc")
	ok(t, err)
	defer rescued.Release()
	if len(bytesOf(t, rescued)) < len(want) {
		t.Error("without the checksums it cannot be read")
	}
	ok(t, os.Remove(names[0]))
	ok(t, os.WriteFile(filepath.Join(dir, "blobio.manifest"), []byte("no manifest"), 0o666))
	e, err := open(t, root, nil).Lookup("Check.nc")
	if err != nil || e.Err == nil || e.Size != 0 {
		t.Errorf("a file is missing: %+v, %v", e, err)
	}
}

// TestFormVersion checks that an array of doubles also has the older formats. A checkpoint has types that the older formats
// lack, so these versions are an error.
func TestFormVersion(t *testing.T) {
	root := t.TempDir()
	checkpoint(t, filepath.Join(root, "Check"))
	commit(t, root, "rho", versioned.TypeOf[float64](), 3, nil)
	tr := open(t, root, &Options{Version: cdf5.CDF2})
	d, err := tr.Dataset(t.Context(), "rho.nc")
	ok(t, err)
	defer d.Release()
	b := bytesOf(t, d)
	h, _, err := cdf5.DecodeHeader(bytes.NewReader(b), int64(len(b)), nil)
	if err != nil || h.Version != cdf5.CDF2 || h.NumRecs != 2 {
		t.Fatalf("%+v, %v", h, err)
	}
	e, err := tr.Lookup("Check.nc")
	if err != nil || e.Err == nil {
		t.Errorf("%+v, %v", e, err)
	}
}

// TestFormGenerated checks trees of every kind from the generators.
func TestFormGenerated(t *testing.T) {
	cases, err := gen.Cases(2)
	ok(t, err)
	root := t.TempDir()
	for _, c := range cases {
		ok(t, cello.Write(t.Context(), comm.Self(), filepath.Join(root, c.Name), c.Set.Meta, c.Set.All(), &cello.Options{Files: 3, Ghosts: c.Set.Ghosts, NoSync: true}))
	}
	tr := open(t, root, nil)
	for _, c := range cases {
		d, err := tr.Dataset(t.Context(), c.Name+".nc")
		ok(t, err)
		equal(t, c.Name, bytesOf(t, d), native(t, filepath.Join(root, c.Name)))
		d.Release()
	}
}
