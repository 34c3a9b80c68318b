package blob

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"testing"

	"blobio/comm"
	"blobio/internal/vfs"
)

// TestCheckFindsAnyByte: whatever byte of a committed dataset is changed, check finds it: in headers, data and maps, in HDF5 metadata that
// only other programs read, and in padding.
func TestCheckFindsAnyByte(t *testing.T) {
	step := times(67, 1)
	for name, o := range map[string]settings{
		"variable-centric": {},
		"process-centric":  {Options: Options{Layout: ProcessCentric}},
		"compressed":       {Options: Options{Layout: ProcessCentric, Compress: Compress{Method: AutoCompression}}},
	} {
		mem := vfs.NewMem()
		o.fs, o.Workers, o.Durability, o.Subfiles = mem, 1, DurableNone, 2
		m := tinyModel(1, 2)
		must(run(m.ranks, func(ctx context.Context, c comm.Comm) error { return m.create(ctx, c, "d.nc", &o) }))
		must(run(m.ranks, func(ctx context.Context, c comm.Comm) error { return m.upTo(3).add(ctx, c, "d.nc", &o) }))
		files := memFiles(t, mem)
		found := func(files map[string][]byte) bool {
			for f := range checkWith(context.Background(), "d.nc", &CheckOptions{Workers: 1}, knobs{fs: memOf(t, files)}) {
				if f.Severity != Note {
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
	// A pad, which few steps meet.
	s := newSample(t, VariableCentric, 1, true)
	pl, _ := s.place(t, s.subfile(0))
	pads := 0
	for v := range pl.Header.Vars {
		off, n := pl.At.Extent(v, 0)
		if n&3 == 0 {
			continue
		}
		pads++
		at := int64(-1)
		for f := range checkWith(context.Background(), sampleBase, &CheckOptions{Workers: 1}, knobs{fs: memOf(t, s.patch(s.subfile(0), off+n, []byte{1}))}) {
			if f.Severity != Note {
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
