package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"blobio/comm"
	"blobio/internal/vfs"
)

// nc4Of converts d.nc to a netCDF-4 file and returns its bytes.
func nc4Of(t *testing.T, fsys vfs.FS, ranks int, o ConvertOptions) ([]byte, error) {
	t.Helper()
	o.Force = true
	err := run(ranks, func(ctx context.Context, c comm.Comm) error {
		r, err := openWith(ctx, "d.nc", nil, knobs{fs: fsys})
		if err != nil {
			return err
		}
		return errors.Join(ConvertComm(ctx, c, r, "out.nc", &o), r.Close())
	})
	if err != nil {
		return nil, err
	}
	f := need(fsys.Open("out.nc"))
	defer f.Close()
	n := need(f.Size())
	return io.ReadAll(io.NewSectionReader(f, 0, n))
}

// TestNetCDF4SameBytes: workers, ranks and the layout of the source have no influence on the file.
func TestNetCDF4SameBytes(t *testing.T) {
	m := tinyModel(1, 3)
	for _, n := range []NetCDF4Options{{}, {Deflate: 1, ChunkBytes: 8}, {Zstd: 3, NoShuffle: true, ChunkBytes: 24}} {
		var want []byte
		for _, layout := range []Layout{VariableCentric, ProcessCentric} {
			mem := vfs.NewMem()
			m.writeTo(t, mem, &settings{Options: Options{Layout: layout, Subfiles: 2}, knobs: knobs{fs: mem}})
			for _, workers := range []int{1, 5} {
				for _, ranks := range []int{1, 3} {
					got, err := nc4Of(t, mem, ranks, ConvertOptions{NetCDF4: &n, Workers: workers})
					noError(t, err)
					if want == nil {
						want = got
					}
					if !bytes.Equal(got, want) {
						t.Errorf("%+v: %v, %d workers, %d ranks: other bytes", n, layout, workers, ranks)
					}
					if back, err := canonicalOf(mem, "out.nc"); err != nil || !bytes.Equal(back, m.canonical(false)) {
						t.Errorf("%+v: it reads as something else: %v", n, err)
					}
				}
			}
		}
	}
}

// TestNetCDF4OfDamage: what does not match a checksum of the source never gets the name.
func TestNetCDF4OfDamage(t *testing.T) {
	m := tinyModel(1, 2)
	mem := vfs.NewMem()
	m.writeTo(t, mem, &settings{Options: Options{Subfiles: 1}, knobs: knobs{fs: mem}})
	f := need(mem.OpenRW("d.nc.0000"))
	n, err := f.Size()
	must(err)
	b := make([]byte, 1)
	_, err = f.ReadAt(b, n-5)
	must(err)
	b[0] ^= 4
	_, err = f.WriteAt(b, n-5)
	must(err)
	must(f.Close())
	if _, err := nc4Of(t, mem, 1, ConvertOptions{NetCDF4: &NetCDF4Options{ChunkBytes: 8}}); !errors.Is(err, ErrChecksum) {
		t.Errorf("a changed byte: %v", err)
	}
	if _, err := mem.Stat("out.nc"); err == nil {
		t.Error("there is an output")
	}
}

// TestNetCDF4Options: what cannot be is refused before anything is made.
func TestNetCDF4Options(t *testing.T) {
	for k, o := range []ConvertOptions{
		{NetCDF4: &NetCDF4Options{Deflate: 10}}, {NetCDF4: &NetCDF4Options{Deflate: 1, Zstd: 1}}, {NetCDF4: &NetCDF4Options{Zstd: -1}},
		{NetCDF4: &NetCDF4Options{ChunkBytes: -1}}, {NetCDF4: &NetCDF4Options{ChunkBytes: 2 << 20}, Memory: 8 << 20},
		{NetCDF4: &NetCDF4Options{}, Blobs: true}, {NetCDF4: &NetCDF4Options{}, Version: 5},
	} {
		if err := o.Validate(); !errors.Is(err, ErrUsage) {
			t.Errorf("%d: %v", k, err)
		}
	}
	if err := (&ConvertOptions{NetCDF4: &NetCDF4Options{ChunkBytes: 1 << 20}, Memory: 8 << 20}).Validate(); err != nil {
		t.Error(fmt.Errorf("an eighth of the memory: %w", err))
	}
}
