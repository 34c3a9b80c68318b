package blob

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"testing"

	"blobio/blob/internal/check"
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/blob/internal/read"
	"blobio/comm"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
)

// TestCheckSaysWhatItCouldNotList lets one listing of the directory fail. Check lists the directory to find the dataset, and
// again to find leftovers. It must report a listing that failed.
func TestCheckSaysWhatItCouldNotList(t *testing.T) {
	s := otherSample(t, dataset.VariableCentric, 2, 1, nil)
	mem := memOf(t, s.files)
	c := vfs.Count(mem)
	for range check.CheckWith(t.Context(), sampleBase, &check.CheckOptions{Workers: 1}, dataset.Knobs{Fs: c}) {
	}
	lists := c.Kind(vfs.OpReadDir)
	for n := int64(1); n <= lists; n++ {
		said := false
		fsys := vfs.NewFault(mem, vfs.FailOn(vfs.OpReadDir, "", n, fs.ErrPermission))
		for f := range check.CheckWith(t.Context(), sampleBase, &check.CheckOptions{Workers: 1}, dataset.Knobs{Fs: fsys}) {
			said = said || errors.Is(f.Err, fs.ErrPermission)
		}
		if !said {
			t.Errorf("listing %d of %d failed and no finding says so", n, lists)
		}
	}
}

// TestCheckStreams checks that Check yields the first finding before it opens the last file. If the caller stops there, Check
// must not examine further files.
func TestCheckStreams(t *testing.T) {
	const files = 40
	toy := newToy(files)
	s := writeSample(t, toy, dataset.VariableCentric, files, true, 1)
	first := subfile.Name(sampleBase, 0)
	if len(s.files[first]) == 0 {
		t.Fatalf("no %s", first)
	}
	s.files[first][0] ^= 1
	opens := func(want int) (n int64) {
		c := vfs.Count(memOf(t, s.files))
		for range check.CheckWith(t.Context(), sampleBase, &check.CheckOptions{Workers: 2}, dataset.Knobs{Fs: c}) {
			if want--; want == 0 {
				break
			}
		}
		return c.Kind(vfs.OpOpen)
	}
	if one, all := opens(1), opens(-1); all-one < files/2 {
		t.Errorf("%d files are opened before the first finding, %d in all", one, all)
	}
}

// TestCheckFindsAnyByte checks that Check finds a changed byte anywhere in a committed dataset: in headers, data and maps, in
// padding, and in HDF5 metadata that blobio itself does not read.
func TestCheckFindsAnyByte(t *testing.T) {
	step := times(67, 1)
	for name, o := range map[string]dataset.Settings{
		"variable-centric": {},
		"process-centric":  {Options: dataset.Options{Layout: dataset.ProcessCentric}},
		"compressed":       {Options: dataset.Options{Layout: dataset.ProcessCentric, Compress: dataset.Compress{Method: dataset.AutoCompression}}},
	} {
		mem := vfs.NewMem()
		o.Fs, o.Workers, o.Durability, o.Subfiles = mem, 1, dataset.DurableNone, 2
		m := tinyModel(1, 2)
		must(run(m.ranks, func(ctx context.Context, c comm.Comm) error { return m.create(ctx, c, "d.nc", &o) }))
		must(run(m.ranks, func(ctx context.Context, c comm.Comm) error { return m.upTo(3).add(ctx, c, "d.nc", &o) }))
		files := memFiles(t, mem)
		found := func(files map[string][]byte) bool {
			for f := range check.CheckWith(context.Background(), "d.nc", &check.CheckOptions{Workers: 1}, dataset.Knobs{Fs: memOf(t, files)}) {
				if f.Severity != dataset.Note {
					return true
				}
			}
			return false
		}
		if found(files) {
			t.Fatalf("%s: findings of a good dataset", name)
		}
		for k, file := range slices.Sorted(maps.Keys(files)) {
			for at := k % step; at < len(files[file]); at += step {
				b := bytes.Clone(files[file])
				b[at] ^= 0x10
				damaged := maps.Clone(files)
				damaged[file] = b
				if !found(damaged) {
					t.Errorf("%s: byte %#x of %s: no finding", name, at, file)
				}
			}
		}
	}
	// The sampled bytes above rarely fall into padding.
	s := newSample(t, dataset.VariableCentric, 1, true)
	pl, _ := s.place(t, s.subfile(0))
	pads := 0
	for v := range pl.Header.Vars {
		off, n := pl.Header.At.Extent(v, 0)
		if n&3 == 0 {
			continue
		}
		pads++
		at := int64(-1)
		for f := range check.CheckWith(context.Background(), sampleBase, &check.CheckOptions{Workers: 1}, dataset.Knobs{Fs: memOf(t, s.patch(s.subfile(0), off+n, []byte{1}))}) {
			if f.Severity != dataset.Note {
				at = f.Offset
			}
		}
		if at != off+n {
			t.Errorf("padding at %#x: found at %#x", off+n, at)
		}
	}
	if pads == 0 {
		t.Error("no pads in the sample")
	}
}

// TestHeaderAgainstManifest flips header bits. The manifest has the header's checksum, so the open must reject the file. The
// number of records is an exception: the manifest's number takes precedence, and values stay right.
func TestHeaderAgainstManifest(t *testing.T) {
	ctx := context.Background()
	for _, l := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
		t.Run(l.String(), func(t *testing.T) {
			s, mem := newToy(3), vfs.NewMem()
			o := dataset.Settings{Options: dataset.Options{Layout: l}, Knobs: dataset.Knobs{Fs: mem}}
			noError(t, comm.Run(ctx, 3, nil, func(ctx context.Context, c comm.Comm) error { return s.write(ctx, c, "d.nc", 2, &o) }))
			r := need(read.OpenWith(ctx, "d.nc", nil, dataset.Knobs{Fs: mem}))
			pl := r.Data.Sets[0].Parts[0].Place
			name := r.Data.Sets[0].Parts[0].Name
			r.Close()
			f := need(mem.OpenRW(name))
			defer f.Close()
			b := make([]byte, pl.Header.Len)
			need(f.ReadAt(b, pl.Header.Off))
			refused := 0
			for at := int(l); at < len(b); at += times(5, 1) {
				was := bytes.Clone(b[at : at+1])
				need(f.WriteAt([]byte{was[0] ^ 1<<(at%8)}, pl.Header.Off+int64(at)))
				r, err := read.OpenWith(ctx, "d.nc", nil, dataset.Knobs{Fs: mem})
				if err == nil {
					err = r.Data.Sets[0].Load(ctx) // Open may leave headers of a set unread
					r.Close()
				}
				if inCount := at >= layout.NumrecsAt && at < layout.NumrecsAt+layout.NumrecsLen; err == nil && !inCount {
					t.Errorf("byte %#x of the header: nothing found", at)
				} else if errors.Is(err, dataset.ErrChecksum) {
					refused++
				}
				need(f.WriteAt(was, pl.Header.Off+int64(at)))
			}
			if refused == 0 {
				t.Error("no header that makes sense was refused by its sum")
			}
		})
	}
}
