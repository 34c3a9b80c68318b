package pio

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"blobio/cdf5"
	"blobio/decomp/mapfile"
)

// namesOf returns an error unless the first attribute of a decomposition file is the version, and its source is the one that PIO writes. Collective.
func namesOf(ctx context.Context, s *System, path, version, value string) error {
	f, err := s.Open(ctx, path, nil)
	if err != nil {
		return err
	}
	first, err := f.AttName(Global, 0)
	if v, source := textOf(f, version), textOf(f, "source"); first != version || v != value || source != "Decomposition file produced by PIO library." {
		err = errors.Join(err, fmt.Errorf("%s: first %q, %s %q, source %q", path, first, version, v, source))
	}
	return errors.Join(err, f.Close(ctx))
}

// TestDecompFiles checks that decompositions survive a write and a read, as netCDF and as text, with holes and ranks without
// elements. Package mapfile can read the text too.
func TestDecompFiles(t *testing.T) {
	dir := t.TempDir()
	nc, dat := filepath.Join(dir, "d.nc"), filepath.Join(dir, "d.dat")
	maps := [][]int64{{5, 0, 1}, {}, {2, 6, 3, 4}}
	together(t, 3, func(ctx context.Context, s *System) error {
		mine := maps[s.c.Rank()]
		d, err := s.InitDecomp(ctx, cdf5.Int, []int64{2, 3}, mine, false)
		if err != nil {
			return err
		}
		info := DecompInfo{Title: "a title", History: "a history", Fortran: true}
		if err := errors.Join(s.WriteDecomp(ctx, nc, d, info, true), wants("no clobber", s.WriteDecomp(ctx, nc, d, info, true), EEXIST)); err != nil {
			return err
		}
		long := DecompInfo{History: strings.Repeat("h", MaxName+1)}
		if err := wants("long history", s.WriteDecomp(ctx, nc, d, long, false), EINVAL); err != nil {
			return err
		}
		own := nc
		if s.c.Rank() > 0 {
			own = fmt.Sprint(nc, s.c.Rank())
		}
		if err := s.WriteDecomp(ctx, own, d, info, false); err != nil {
			return err
		}
		if _, err := os.Stat(own); s.c.Rank() > 0 && err == nil {
			return fmt.Errorf("%s is there", own)
		}
		if err := namesOf(ctx, s, nc, "version", "2.0.1"); err != nil {
			return err
		}
		if info.NCAR = true; s.c.Rank() == 0 {
			own = nc + ".ncar"
		}
		if err := errors.Join(s.WriteDecomp(ctx, own, d, info, false), namesOf(ctx, s, nc+".ncar", "PIO_library_version", "2.7.0")); err != nil {
			return err
		}
		e, got, err := s.ReadDecomp(ctx, own, cdf5.Double)
		if err != nil {
			return err
		}
		if got != info || e.key != d.key || !slices.Equal(e.Map(), mine) || !slices.Equal(e.Dims(), d.Dims()) || e.Type() != cdf5.Double {
			return fmt.Errorf("%+v: %v, want %v", got, e.Map(), mine)
		}
		if err := WriteMap(ctx, s.c, dat, d.Dims(), mine); err != nil {
			return err
		}
		dims, compdof, err := ReadMap(ctx, s.c, dat)
		if err != nil || !slices.Equal(dims, d.Dims()) || !slices.Equal(compdof, mine) {
			return fmt.Errorf("%v of %v, want %v: %w", compdof, dims, mine, err)
		}
		_, _, err = ReadMap(ctx, s.c, nc)
		return errors.Join(wants("netCDF as text", err, EINVAL), s.c.Barrier(ctx))
	})
	r, err := mapfile.Open(dat)
	if err != nil || r.Procs != 3 || r.Maps[0].Reqs.Count(2) != 4 {
		t.Errorf("%+v, %v", r, err)
	}
	text, err := os.ReadFile(dat)
	if err != nil || string(text) != "version 2001 npes 3 ndims 2 \n2 3 \n0 3\n5 0 1 \n1 0\n\n2 4\n2 6 3 4 \n" {
		t.Errorf("%q, %v", text, err)
	}
	if err := os.WriteFile(dat, append([]byte("\ufeff"), text...), 0o666); err != nil {
		t.Fatal(err)
	}
	together(t, 3, func(ctx context.Context, s *System) error {
		_, compdof, err := ReadMap(ctx, s.c, dat)
		if err != nil || !slices.Equal(compdof, maps[s.c.Rank()]) {
			return fmt.Errorf("with a byte order mark: %v: %w", compdof, err)
		}
		return nil
	})
	together(t, 2, func(ctx context.Context, s *System) error {
		_, _, err := s.ReadDecomp(ctx, nc, cdf5.Int)
		_, _, terr := ReadMap(ctx, s.c, dat)
		return errors.Join(wants("other ranks", err, EINVAL), wants("fewer ranks", terr, EINVAL))
	})
	// A file with holes can declare any number of elements, which must not be allocated before they are read.
	h := &cdf5.Header{Version: cdf5.CDF5, Dims: []cdf5.Dim{{Name: "dims", Len: 1}, {Name: "task", Len: 1}, {Name: "map_element", Len: 1 << 40}},
		Vars: []cdf5.Var{{Name: varSizes, Type: cdf5.Int64, Dims: []int{0}}, {Name: varLens, Type: cdf5.Int64, Dims: []int{1}}, {Name: varMap, Type: cdf5.Byte, Dims: []int{1, 2}}}}
	err = h.Layout(nil)
	head, herr := h.AppendTo(nil, binary.BigEndian, false)
	head = binary.BigEndian.AppendUint64(head, 4)
	for n, want := range map[uint64]Code{1 << 40: ENOMEM, 1 << 30: EINVAL} {
		body := append(binary.BigEndian.AppendUint64(slices.Clone(head), n), 1, 9)
		if err := errors.Join(err, herr, os.WriteFile(nc, body, 0o666), os.Truncate(nc, h.FileSize(0))); err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		together(t, 1, func(ctx context.Context, s *System) error {
			_, _, err := s.ReadDecomp(ctx, nc, cdf5.Int)
			return wants("long map", err, want)
		})
		if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > 1<<28 {
			t.Errorf("a map of %d elements: %d bytes allocated", n, after.TotalAlloc-before.TotalAlloc)
		}
	}
	for i, bad := range []string{"", "version 2000 npes 1 ndims 1\n3\n0 0\n", "version 2001 npes 1 ndims 1 \n3\n1 0\n", "version 2001 npes 1 ndims 1 \n3\n0 9223372036854775807\n1 ", "version 2001 npes 2 ndims 1 \n3\n0 1\n1\n"} {
		if err := os.WriteFile(dat, []byte(bad), 0o666); err != nil {
			t.Fatal(err)
		}
		together(t, 3, func(ctx context.Context, s *System) error {
			_, _, err := ReadMap(ctx, s.c, dat)
			return wants(fmt.Sprint("bad text ", i), err, EINVAL)
		})
	}
}
