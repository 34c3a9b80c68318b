package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"blobio/blob/internal/convert"
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/read"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/vfs"
	"blobio/internal/comm/commtest"
)

// conversions returns options for conversions by several ranks.
func conversions() map[string]convert.ConvertOptions {
	return map[string]convert.ConvertOptions{
		"canonical": {},
		"variable":  {Blobs: true, Ranks: 5, Subfiles: 2},
		"process":   {Blobs: true, Layout: dataset.ProcessCentric, Ranks: 3, Subfiles: 2},
		"own maps":  {Blobs: true, Layout: dataset.ProcessCentric},
		"part":      {Blobs: true, Ranks: 2, Vars: []string{"T", "time"}, Records: &read.Range{First: 2, End: 5}},
	}
}

// TestConvertComm checks that the number of converting ranks does not change the output.
func TestConvertComm(t *testing.T) {
	m := tinyModel(1, 7)
	for _, l := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
		for name, co := range conversions() {
			t.Run(fmt.Sprintf("%v to %s", l, name), func(t *testing.T) {
				mem := vfs.NewMem()
				m.writeTo(t, mem, &dataset.Settings{Options: dataset.Options{Layout: l}, Knobs: dataset.Knobs{Fs: mem}})
				ctx := context.Background()
				convert := func(ctx context.Context, c comm.Comm, out string) error {
					r := need(read.OpenWith(ctx, "d.nc", nil, dataset.Knobs{Fs: mem}))
					defer r.Close()
					o := co
					return convert.ConvertComm(ctx, c, r, out, &o)
				}
				must(mem.Mkdir("one"))
				must(convert(ctx, comm.Self(), "one/o.nc"))
				for _, n := range []int{1, 2, 3, 4, 9} {
					dir := fmt.Sprintf("n%d", n)
					must(mem.Mkdir(dir))
					if err := run(n, func(ctx context.Context, c comm.Comm) error { return convert(ctx, commtest.Isolate(c), dir+"/o.nc") }); err != nil {
						t.Fatalf("%d ranks: %v", n, err)
					}
					want, got := names(mem, "one"), names(mem, dir)
					if len(want) == 0 || strings.Join(want, " ") != strings.Join(got, " ") {
						t.Fatalf("%d ranks made %v, one %v", n, got, want)
					}
					for _, f := range want {
						f, _, _ = strings.Cut(f, "(")
						a := need(slurp(mem, "one/"+f))
						b := need(slurp(mem, dir+"/"+f))
						if !strings.HasSuffix(f, ".manifest") && !bytes.Equal(a, b) {
							t.Errorf("%d ranks: %s: %s", n, f, firstDiff(b, a))
						}
					}
					wantSound(t, fmt.Sprintf("%d ranks", n), mem, dir+"/o.nc")
				}
			})
		}
	}
}

// TestFaultConvertComm checks that a failure on one rank is an error on all ranks, and that no output remains.
func TestFaultConvertComm(t *testing.T) {
	m := tinyModel(1, 7)
	mem := vfs.NewMem()
	m.writeTo(t, mem, &dataset.Settings{Knobs: dataset.Knobs{Fs: mem}})
	for name, co := range conversions() {
		for _, who := range crashtest.Some(t, 1, []int{0, 1, 2}) {
			t.Run(fmt.Sprintf("%s/%d", name, who), func(t *testing.T) {
				failed := 0
				for n := int64(1); ; n++ {
					here := mem.CrashClone(vfs.CrashOptions{})
					var hit vfs.Op
					errs, _ := eachRank(3, func(ctx context.Context, c comm.Comm) error {
						fsys := vfs.FS(here)
						if c.Rank() == who {
							fsys = vfs.NewFault(here, func(op vfs.Op) error {
								if op.Seq != n {
									return nil
								}
								hit = op
								return errDisk
							})
						}
						r, err := read.OpenWith(ctx, "d.nc", nil, dataset.Knobs{Fs: here})
						if err != nil {
							return err
						}
						defer r.Close()
						o := co
						o.Workers = 1
						return convert.ConvertWith(ctx, commtest.Isolate(c), r, "o.nc", &o, dataset.Knobs{Fs: fsys})
					})
					if hit.Seq == 0 {
						break // the conversion has fewer operations
					}
					bad := 0
					for r, err := range errs {
						if err != nil {
							bad++
							if r == who && !errors.Is(err, errDisk) || !strings.Contains(err.Error(), errDisk.Error()) {
								t.Fatalf("%v: rank %d: %v", hit, r, err)
							}
						}
					}
					if bad != 0 && bad != 3 || bad == 0 && !mayIgnore(hit) {
						t.Fatalf("%v: errors %v", hit, errs)
					}
					if bad > 0 {
						failed++
					}
					left := strings.Join(names(here, "."), " ")
					_, err := read.OpenWith(t.Context(), "o.nc", nil, dataset.Knobs{Fs: here})
					// If the conversion fails during removals or the sync of the directory, files remain, and the next writer removes them.
					if bad == 3 && err != nil && strings.Contains(left, "o.nc") && hit.Kind != vfs.OpRemove && hit.Kind != vfs.OpSyncDir {
						t.Errorf("%v: left: %s", hit, left)
					}
				}
				if failed == 0 {
					t.Error("nothing failed")
				}
			})
		}
	}
}

// TestConvertDropsNothingUnasked converts to maps that own fewer elements than the source. This is an error unless
// DropUncovered is set.
func TestConvertDropsNothingUnasked(t *testing.T) {
	ctx := context.Background()
	toy := newToy(3)
	dir := t.TempDir()
	name := filepath.Join(dir, "a.nc")
	noError(t, comm.Run(ctx, 3, nil, func(ctx context.Context, c comm.Comm) error { return toy.write(ctx, c, name, 1, new(dataset.Settings)) }))
	canonical := filepath.Join(dir, "c.nc")
	r := opened(t, vfs.OS, name, nil)
	noError(t, convert.Convert(ctx, r, canonical, nil))
	c := opened(t, vfs.OS, canonical, nil)
	small := decomp.NewBuilder([]int64{toyCol}, 1)
	must(small.Set(0, []decomp.Req{{Offset: 0, Length: 3}}))
	m := need(small.Map())
	for k, x := range []struct {
		r    *read.Reader
		maps []*decomp.Map
		drop bool
		ok   bool
	}{
		{r, []*decomp.Map{m}, false, false},
		{r, []*decomp.Map{m}, true, true},
		{r, toy.maps, false, true},  // elements without an owner in the source, too
		{c, toy.maps, false, false}, // the canonical file has fill values for these elements, which would be lost
		{c, toy.maps, true, true},
	} {
		out := filepath.Join(dir, string(rune('d'+k)))
		err := convert.Convert(ctx, x.r, out, &convert.ConvertOptions{Blobs: true, Maps: x.maps, DropUncovered: x.drop})
		if x.ok && err != nil || !x.ok && !errors.Is(err, dataset.ErrUsage) {
			t.Errorf("case %d: %v", k, err)
		}
	}
}

// nc4Of converts d.nc to a netCDF-4 file and returns its bytes.
func nc4Of(t *testing.T, fsys vfs.FS, ranks int, o convert.ConvertOptions) ([]byte, error) {
	t.Helper()
	o.Force = true
	err := run(ranks, func(ctx context.Context, c comm.Comm) error {
		r, err := read.OpenWith(ctx, "d.nc", nil, dataset.Knobs{Fs: fsys})
		if err != nil {
			return err
		}
		return errors.Join(convert.ConvertComm(ctx, c, r, "out.nc", &o), r.Close())
	})
	if err != nil {
		return nil, err
	}
	f := need(fsys.Open("out.nc"))
	defer f.Close()
	n := need(f.Size())
	return io.ReadAll(io.NewSectionReader(f, 0, n))
}

// TestNetCDF4SameBytes checks that the numbers of workers and ranks and the source's layout do not change the bytes of a
// netCDF-4 file.
func TestNetCDF4SameBytes(t *testing.T) {
	m := tinyModel(1, 3)
	for _, n := range []convert.NetCDF4Options{{}, {Deflate: 1, ChunkBytes: 8}, {Zstd: 3, NoShuffle: true, ChunkBytes: 24}} {
		var want []byte
		for _, layout := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
			mem := vfs.NewMem()
			m.writeTo(t, mem, &dataset.Settings{Options: dataset.Options{Layout: layout, Subfiles: 2}, Knobs: dataset.Knobs{Fs: mem}})
			for _, workers := range []int{1, 5} {
				for _, ranks := range []int{1, 3} {
					got := need(nc4Of(t, mem, ranks, convert.ConvertOptions{NetCDF4: &n, Workers: workers}))
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

// TestNetCDF4OfDamage checks that a conversion of data with a wrong checksum leaves no file under the output's name.
func TestNetCDF4OfDamage(t *testing.T) {
	m := tinyModel(1, 2)
	mem := vfs.NewMem()
	m.writeTo(t, mem, &dataset.Settings{Options: dataset.Options{Subfiles: 1}, Knobs: dataset.Knobs{Fs: mem}})
	flipAt(mem, "d.nc.0000", int64(len(need(slurp(mem, "d.nc.0000")))-5))
	if _, err := nc4Of(t, mem, 1, convert.ConvertOptions{NetCDF4: &convert.NetCDF4Options{ChunkBytes: 8}}); !errors.Is(err, dataset.ErrChecksum) {
		t.Errorf("a changed byte: %v", err)
	}
	if _, err := mem.Stat("out.nc"); err == nil {
		t.Error("there is an output")
	}
}

// TestNetCDF4Options checks that Convert rejects invalid NetCDF4Options before it makes any file.
func TestNetCDF4Options(t *testing.T) {
	for k, o := range []convert.ConvertOptions{
		{NetCDF4: &convert.NetCDF4Options{Deflate: 10}}, {NetCDF4: &convert.NetCDF4Options{Deflate: 1, Zstd: 1}}, {NetCDF4: &convert.NetCDF4Options{Zstd: -1}},
		{NetCDF4: &convert.NetCDF4Options{ChunkBytes: -1}}, {NetCDF4: &convert.NetCDF4Options{ChunkBytes: 2 << 20}, Memory: 8 << 20},
		{NetCDF4: &convert.NetCDF4Options{}, Blobs: true}, {NetCDF4: &convert.NetCDF4Options{}, Version: 5},
	} {
		if err := o.Validate(); !errors.Is(err, dataset.ErrUsage) {
			t.Errorf("%d: %v", k, err)
		}
	}
	if err := (&convert.ConvertOptions{NetCDF4: &convert.NetCDF4Options{ChunkBytes: 1 << 20}, Memory: 8 << 20}).Validate(); err != nil {
		t.Error(fmt.Errorf("an eighth of the memory: %w", err))
	}
}
