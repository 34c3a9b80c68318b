package blob

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	"blobio/blob/internal/check"
	"blobio/blob/internal/convert"
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/blob/internal/read"
	"blobio/blob/internal/resume"
	"blobio/blob/internal/write"
	"blobio/comm"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
)

// TestSaving checks that VerifyNever reads damaged data, and that Convert marks its output as unverified.
func TestSaving(t *testing.T) {
	for _, h := range crashtest.Some(t, 2, histories()) {
		files := h.write(t)
		var e read.Extent
		for _, x := range whereIs(t, files) {
			if x.Name == "T" && x.Bytes > 0 {
				e = x.Extent
				break
			}
		}
		files[e.File] = flipped(files[e.File], e.Offset, 3)
		fs := memOf(t, files)
		r, err := read.OpenWith(t.Context(), sampleBase, &read.OpenOptions{Verify: read.VerifyNever}, dataset.Knobs{Fs: fs})
		noError(t, err)
		for _, s := range slabsOf(r) {
			if _, err := readWhole(t.Context(), r, s); err != nil {
				t.Errorf("%s: %v: %v", h.name, s, err)
			}
		}
		for _, base := range []string{"once.nc", "twice.nc"} {
			if err := convert.Convert(t.Context(), r, base, &convert.ConvertOptions{Blobs: true, Ranks: 2, DropUncovered: true}); err != nil {
				t.Fatalf("%s: %v", h.name, err)
			}
			r.Close()
			if r, err = read.OpenWith(t.Context(), base, nil, dataset.Knobs{Fs: fs}); err != nil {
				t.Fatal(err)
			}
			if !r.Now().Files.Manifest.Unverified {
				t.Errorf("%s: %s: not marked", h.name, base)
			}
			said := slices.Collect(check.CheckWith(t.Context(), base, nil, dataset.Knobs{Fs: fs}))
			if !slices.ContainsFunc(said, func(f dataset.Finding) bool { return f.Severity == dataset.Warning && f.Field == "unverified" }) {
				t.Errorf("%s: %s: Check does not warn: %v", h.name, base, said)
			}
		}
		var runs [2][]write.Part // runs of the last dataset, for each rank
		for d := range r.Now().Data.Schema.Decomps {
			m := need(r.Now().Maps.Map(t.Context(), dataset.DecompID(d+1)))
			for rank := range runs {
				runs[rank] = append(runs[rank], write.Part{Decomp: dataset.DecompID(d + 1), Runs: m.AppendReqs(nil, rank)})
			}
		}
		r.Close()
		if err := comm.Run(t.Context(), 2, nil, func(ctx context.Context, c comm.Comm) error {
			w := need(resume.AppendWith(ctx, c, "twice.nc", runs[c.Rank()], &dataset.Settings{Knobs: dataset.Knobs{Fs: fs}}))
			v, _ := w.Job.Schema.VarID("time")
			must(write.Put(w, v, 3, []float64{3}))
			return w.Close(ctx)
		}); err != nil {
			t.Fatalf("%s: append: %v", h.name, err)
		}
		if r, err = read.OpenWith(t.Context(), "twice.nc", nil, dataset.Knobs{Fs: fs}); err != nil {
			t.Fatal(err)
		}
		if !r.Now().Files.Manifest.Unverified || r.Now().Data.Records != 4 {
			t.Errorf("%s: appended: %d records, not marked", h.name, r.Now().Data.Records)
		}
		r.Close()
	}
}

// TestAppendToDamaged damages a dataset and appends to it. The append must not compute new checksums for damaged data.
func TestAppendToDamaged(t *testing.T) {
	for _, h := range crashtest.Some(t, 2, histories()) {
		if h.first == 3 {
			continue
		}
		files := h.write(t)
		for _, x := range whereIs(t, files) {
			if x.Bytes == 0 || x.Rank > 0 {
				continue
			}
			bad := maps.Clone(files)
			bad[x.File] = flipped(files[x.File], x.Offset, 3)
			fs := memOf(t, bad)
			toy, o := newToy(3), h.o
			o.Durability, o.Fs = dataset.DurableNone, fs
			if err := comm.Run(t.Context(), 3, nil, func(ctx context.Context, c comm.Comm) error {
				w := need(resume.AppendWith(ctx, c, sampleBase, toy.parts(c.Rank()), &o))
				must(toy.put(w, c.Rank(), 3, false))
				return w.Close(ctx)
			}); err != nil {
				t.Fatalf("%s: %v", h.name, err)
			}
			var faults []dataset.Finding
			for f := range check.CheckWith(t.Context(), sampleBase, nil, dataset.Knobs{Fs: fs}) {
				if f.Severity >= dataset.Error {
					faults = append(faults, f)
				}
			}
			if len(faults) != 1 || faults[0].Err != dataset.ErrChecksum || !strings.Contains(faults[0].Field, `"`+x.Name+`"`) {
				t.Errorf("%s: a bit of %s of record %d: %v", h.name, x.Name, x.Record, faults)
			}
		}
	}
}

// TestOldManifest checks datasets whose manifest has no checksums of pieces. Reads verify whole extents, and an append adds no
// checksums of pieces.
func TestOldManifest(t *testing.T) {
	for _, h := range crashtest.Some(t, 2, histories()) {
		if h.o.Piece == 0 || h.first == 3 {
			continue
		}
		files := h.write(t)
		name := subfile.ManifestName(sampleBase)
		m, err := subfile.Decode(files[name], name)
		noError(t, err)
		if m.Piece != h.o.Piece {
			t.Fatalf("%s: pieces of %d bytes", h.name, m.Piece)
		}
		m.Piece = 0
		for i := range m.Sets {
			for k := range m.Sets[i].Subfiles {
				m.Sets[i].Subfiles[k].Pieces = nil
			}
		}
		if files[name], err = m.Encode(); err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(files[name], []byte("piece")) {
			t.Fatalf("%s: an old manifest has no such field: %s", h.name, files[name])
		}
		fs := memOf(t, files)
		toy, o := newToy(3), h.o
		o.Durability, o.Fs = dataset.DurableNone, fs
		if err := comm.Run(t.Context(), 3, nil, func(ctx context.Context, c comm.Comm) error {
			w := need(resume.AppendWith(ctx, c, sampleBase, toy.parts(c.Rank()), &o))
			must(toy.put(w, c.Rank(), 3, false))
			return w.Close(ctx)
		}); err != nil {
			t.Fatalf("%s: %v", h.name, err)
		}
		onlyNotes(t, h.name, fs, sampleBase)
		files = memFiles(t, fs)
		if _, errs := readout(t, files); errors.Join(errs...) != nil {
			t.Errorf("%s: %v", h.name, errors.Join(errs...))
		}
		for _, x := range whereIs(t, files) {
			if x.Name != "T" || x.Bytes == 0 {
				continue
			}
			bad := maps.Clone(files)
			bad[x.File] = flipped(files[x.File], x.Offset+x.Bytes-1, 6)
			if _, errs := readout(t, bad); !errors.Is(errors.Join(errs...), dataset.ErrChecksum) {
				t.Errorf("%s: a bit of T of record %d: %v", h.name, x.Record, errs)
			}
		}
	}
}

// TestTable moves an element from one blob to the next in the table of blobs. The table is consistent, but a reader must find
// the wrong checksum before it uses the table.
func TestTable(t *testing.T) {
	s := newSample(t, dataset.VariableCentric, 1, true)
	name := s.subfile(0)
	pl, tab := s.place(t, name)
	file := slices.Clone(s.files[name])
	put := func(m, j int, v int64) {
		off, n := pl.MapPiece(0, m, tab, j)
		dataset.PutInt(file[off:], s.order(), n, v)
	}
	put(layout.MapCount, 0, tab.Count[0]-1) // moves an element to the next blob
	put(layout.MapStart, 1, tab.Start[pl.Header.Maps]-1)
	put(layout.MapCount, 1, tab.Count[pl.Header.Maps]+1)
	r := opened(t, memOf(t, s.with(name, file)), sampleBase, nil)
	if err := r.Read(t.Context(), "scale", nil, nil, make([]float32, toyLev)); !errors.Is(err, dataset.ErrChecksum) {
		t.Errorf("%v, want %v", err, dataset.ErrChecksum)
	}
}

// TestReplacedBeforeDamaged replaces an open dataset. A reader must report the replacement, and not call the other dataset's
// bytes damaged.
func TestReplacedBeforeDamaged(t *testing.T) {
	s := newSample(t, dataset.VariableCentric, 1, true)
	name, manifest := s.subfile(0), subfile.ManifestName(sampleBase)
	m := memOf(t, s.files)
	r := opened(t, m, sampleBase, nil)
	scale := make([]float32, toyLev)
	noError(t, r.Read(t.Context(), "scale", nil, nil, scale))
	late := &staleFS{FS: m, old: memOf(t, s.files), name: manifest, looks: 8} // one more than other calls need
	l := opened(t, late, sampleBase, nil)
	damage := func(file string, b []byte, off int64) {
		f := need(m.OpenRW(file))
		defer f.Close()
		need(f.WriteAt(b, off))
	}
	for _, e := range whereIs(t, s.files) {
		if e.Name == "scale" {
			damage(name, []byte{1, 2, 3}, e.Offset)
		}
	}
	if err := r.Read(t.Context(), "scale", nil, nil, scale); !errors.Is(err, dataset.ErrChecksum) {
		t.Errorf("damaged: %v, want %v", err, dataset.ErrChecksum)
	}
	other := need(subfile.Decode(s.files[manifest], manifest))
	other.ID = strings.Repeat("5", len(other.ID))
	b := need(other.Encode())
	damage(manifest, b, 0)
	if err := r.Read(t.Context(), "scale", nil, nil, scale); !errors.Is(err, dataset.ErrBroken) || !strings.Contains(err.Error(), "was replaced") {
		t.Errorf("replaced: %v, want that it was replaced", err)
	}
	if err := l.Read(t.Context(), "scale", nil, nil, scale); !errors.Is(err, dataset.ErrBroken) || late.looks > 0 {
		t.Errorf("replaced, and seen late: %v with %d looks to come, want that it was replaced", err, late.looks)
	}
}

// TestOpenSeenLate checks a network file system on which the new manifest becomes visible after the new files. Open must return
// the new state. Files that are really missing must remain an error.
func TestOpenSeenLate(t *testing.T) {
	t.Parallel()
	then, now := newSample(t, dataset.VariableCentric, 1, true), newSample(t, dataset.ProcessCentric, 1, true)
	manifest := subfile.ManifestName(sampleBase)
	late := &staleFS{FS: memOf(t, now.files), old: memOf(t, then.files), name: manifest, looks: 6}
	r := opened(t, late, sampleBase, nil)
	if r.Now().Data.Layout != dataset.ProcessCentric || late.looks > 0 {
		t.Errorf("%v, %d looks to come", r.Now().Data.Layout, late.looks)
	}
	m := memOf(t, now.files)
	noError(t, m.Remove(now.subfile(0)))
	late = &staleFS{FS: m}
	if _, err := read.OpenWith(t.Context(), sampleBase, nil, dataset.Knobs{Fs: late}); !errors.Is(err, dataset.ErrMissing) {
		t.Errorf("%v, want %v", err, dataset.ErrMissing)
	}
}

// TestOpenBetween checks an ordinary file that another machine replaces. A client may see neither version for a short time, so
// Open must try again.
func TestOpenBetween(t *testing.T) {
	s := newSample(t, dataset.VariableCentric, 1, true)
	m := memOf(t, s.files)
	r := opened(t, m, sampleBase, nil)
	noError(t, convert.ConvertWith(t.Context(), comm.Self(), r, "c.nc", &convert.ConvertOptions{}, dataset.Knobs{Fs: m}))
	for _, cause := range []error{fs.ErrNotExist, vfs.ErrStale} {
		f := &goneFS{FS: m, name: "c.nc", cause: cause, looks: 4}
		one, err := read.OpenWith(t.Context(), "c.nc", nil, dataset.Knobs{Fs: f})
		if err != nil || f.looks > 0 {
			t.Errorf("%v: %v, %d looks to come", cause, err, f.looks)
			continue
		}
		one.Close()
	}
	if _, err := read.OpenWith(t.Context(), "none.nc", nil, dataset.Knobs{Fs: &goneFS{FS: m}}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, want that there is no such file", err)
	}
}

// goneFS returns an error for the first looks calls of Stat of a file, although the directory lists the file.
type goneFS struct {
	vfs.FS
	name  string
	cause error
	looks int
}

func (f *goneFS) Local(string) bool { return false }

func (f *goneFS) Stat(name string) (fs.FileInfo, error) {
	if name != f.name || f.looks == 0 {
		return f.FS.Stat(name)
	}
	f.looks--
	return nil, &fs.PathError{Op: "stat", Path: name, Err: f.cause}
}

// staleFS is a client of a network file system. Its first looks calls of Open for a name open the former file of this name.
type staleFS struct {
	vfs.FS
	old   vfs.FS
	name  string
	looks int
}

func (f *staleFS) Local(string) bool { return false }

func (f *staleFS) Open(name string) (vfs.File, error) {
	if name != f.name || f.looks == 0 {
		return f.FS.Open(name)
	}
	f.looks--
	return f.old.Open(name)
}
