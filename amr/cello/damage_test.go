package cello

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"blobio/comm"
	"blobio/internal/amr"
	"blobio/internal/amr/cellodir"
	"blobio/internal/base/vfs"
	"blobio/internal/comm/commtest"
)

// flip flips a bit of a file; a second call restores it.
func flip(fsys vfs.FS, name string, off int64, bit int) {
	f, err := fsys.OpenRW(name)
	must(err)
	b := make([]byte, 1)
	_, err = f.ReadAt(b, off)
	must(err)
	b[0] ^= 1 << bit
	_, err = f.WriteAt(b, off)
	must(err)
	must(f.Close())
}

// TestDamage: if a bit flips in any file of a checkpoint with a manifest, a restart and a copy fail or give the original data.
// A failed copy leaves no files.
func TestDamage(t *testing.T) {
	ctx := context.Background()
	s := tiny()
	s.costs = true
	c := s.build(t)
	mem := memDir(t)
	must(c.write(ctx, 2, false, "c", &Options{Files: 2, FS: mem}))
	want := map[amr.Index]*amr.Block{}
	for _, b := range c.blocks {
		want[b.Index] = b
	}
	step := int64(1409)
	if long {
		step = 17
	}
	refused, all := 0, 0
	for _, name := range names(mem, "c") {
		f, err := mem.Open("c/" + name)
		must(err)
		size, err := f.Size()
		must(err)
		must(f.Close())
		for off := int64(len(name)); off < size; off += min(step, size/4+1) {
			bit := int(off % 8)
			flip(mem, "c/"+name, off, bit)
			all++
			at := fmt.Sprintf("%s, bit %d of byte %d", name, bit, off)
			o := &RestartOptions{}
			o.FS = mem
			apps, err := restartAll(ctx, 2, off%2 == 0, "c", o, nil)
			if err != nil {
				refused++
			} else {
				for _, a := range apps {
					for x, b := range a.blocks {
						if err := same(c.meta, b, want[x]); err != nil {
							t.Errorf("%s: restarted with other data: %v", at, err)
						}
					}
				}
			}
			k, oerr := Open(ctx, "c", &OpenOptions{FS: mem})
			if oerr == nil {
				oerr = WriteFrom(ctx, comm.Self(), "copy", k.Meta(), k.Share(0, 1), &Options{FS: mem})
				k.Close()
			}
			if (oerr == nil) != (err == nil) {
				t.Errorf("%s: the restart says %v, the copy %v", at, err, oerr)
			}
			if oerr == nil {
				if err := c.holds(ctx, "copy", &OpenOptions{FS: mem}); err != nil {
					t.Errorf("%s: the copy holds other data: %v", at, err)
				}
				must(cellodir.RemovePartial(mem, "copy"))
			} else if l := names(mem, "."); len(l) != 1 {
				t.Errorf("%s: the copy failed and left %v", at, l)
			}
			flip(mem, "c/"+name, off, bit)
		}
	}
	if refused < all/2 {
		t.Errorf("%d of %d were refused", refused, all)
	}
}

// TestDamagedBlock: the error for a damaged block names file, block, dataset and checksums, and the other blocks are readable.
// With NoVerify the undamaged parts of the block are read, and copies of the block are marked.
func TestDamagedBlock(t *testing.T) {
	ctx := context.Background()
	c := tiny().build(t)
	mem := memDir(t)
	must(c.write(ctx, 1, false, "c", &Options{Files: 2, FS: mem}))
	k, err := Open(ctx, "c", &OpenOptions{FS: mem})
	must(err)
	const hit = 3
	rec, file := k.recs[hit], "c/"+k.files[k.recs[hit].file].name+cellodir.DataSuffix
	first, firstFile := k.recs[1], "c/"+k.files[k.recs[1].file].name+cellodir.DataSuffix // the first block describes the mesh
	data := rec.data[k.colAt[0]]
	k.Close()
	for _, d := range []struct {
		what  string
		file  string
		off   int64
		block int
		words []string
	}{
		{"data", file, data.off + 5, hit, []string{"c/block_data-0.h5", rec.name + " field_", "bytes sum to ", "the manifest says "}},
		{"group", file, rec.addr + rec.span - 9, hit, []string{"c/block_data-0.h5", rec.name, "bytes sum to "}},
		{"header of the group", file, rec.addr, hit, []string{rec.name, "group is unreadable and differs from the written bytes"}},
		{"first group", firstFile, first.addr, 1, []string{first.name, "group is unreadable and differs from the written bytes"}},
		{"end of the first group", firstFile, first.addr + first.span - 9, 1, []string{first.name, "bytes sum to "}},
	} {
		for bit := range 8 {
			flip(mem, d.file, d.off, bit)
			k, err := Open(ctx, "c", &OpenOptions{FS: mem})
			if err != nil {
				t.Fatalf("%s, bit %d: %v", d.what, bit, err)
			}
			for i := range k.Blocks() {
				b, err := k.Block(ctx, i)
				if i != d.block {
					if err != nil {
						t.Errorf("%s, bit %d: block %d cannot be read: %v", d.what, bit, i, err)
					} else if err := same(c.meta, b, c.blocks[i]); err != nil {
						t.Errorf("%s, bit %d: %v", d.what, bit, err)
					}
					continue
				}
				if !errors.Is(err, ErrChecksum) {
					t.Errorf("%s, bit %d: %v", d.what, bit, err)
					continue
				}
				if strings.Count(err.Error(), "checksum mismatch") != 1 {
					t.Errorf("%v", err)
				}
				for _, w := range d.words {
					if bit == 0 && !strings.Contains(err.Error(), w) {
						t.Errorf("%s: %v, want %q", d.what, err, w)
					}
				}
				if _, err := k.Field(ctx, i, "density", nil); d.what == "data" && !errors.Is(err, ErrChecksum) {
					t.Errorf("Field: %v", err)
				}
			}
			k.Close()
			if k, err = Open(ctx, "c", &OpenOptions{FS: mem, NoVerify: true}); err != nil {
				t.Fatal(err)
			}
			_, err = k.Block(ctx, d.block)
			if unreadable := strings.Contains(strings.Join(d.words, " "), "differs from the written bytes"); (err != nil) != unreadable {
				t.Errorf("%s, bit %d, not compared: %v", d.what, bit, err)
			} else if err == nil {
				must(WriteFrom(ctx, comm.Self(), "copy", k.Meta(), k.Share(0, 1), &Options{FS: mem}))
				marked := 0
				for _, f := range findings(mem, "copy", nil) {
					if f.Field == "unverified" && f.Severity == warning {
						marked++
					}
				}
				if marked != 1 {
					t.Errorf("%s: Verify says nothing of the rescued copy", d.what)
				}
				must(cellodir.RemovePartial(mem, "copy"))
			}
			k.Close()
			flip(mem, d.file, d.off, bit)
		}
	}
}

// TestManifestCounts: a manifest whose number of checksums or costs differs from the number of blocks is refused, and so is an
// impossible file, even if the manifest's own checksum is right.
func TestManifestCounts(t *testing.T) {
	for what, spoil := range map[string]func(m *manifest, f *manifestFile){
		"":                       func(*manifest, *manifestFile) {},
		"too few sums":           func(_ *manifest, f *manifestFile) { f.Data = f.Data[1:] },
		"no sums":                func(_ *manifest, f *manifestFile) { f.Data = nil },
		"too many sums":          func(_ *manifest, f *manifestFile) { f.Data = append(f.Data, 1) },
		"another dataset":        func(m *manifest, _ *manifestFile) { m.Datasets = append(m.Datasets, "field_c") },
		"too few groups":         func(_ *manifest, f *manifestFile) { f.Groups = f.Groups[1:] },
		"too few costs":          func(_ *manifest, f *manifestFile) { f.Costs = f.Costs[1:] },
		"blocks below 0":         func(_ *manifest, f *manifestFile) { f.Blocks = -1 },
		"metadata beyond a file": func(_ *manifest, f *manifestFile) { f.Meta = f.Size + 1 },
		"a path":                 func(_ *manifest, f *manifestFile) { f.Name = "../a" },
	} {
		m := manifest{Datasets: []string{"field_a", "field_b"}, Costs: true, Files: []manifestFile{
			{Name: "a", Size: 10, Meta: 5, Blocks: 3, Data: make([]uint32, 6), Groups: make([]uint32, 3), Costs: make([]float64, 3)}}}
		spoil(&m, &m.Files[0])
		b, err := m.encode()
		must(err)
		if _, err := decodeManifest(b, "x"); errors.Is(err, ErrCorrupt) != (what != "") {
			t.Errorf("%q: %v", what, err)
		}
	}
}

// TestDamagedDescription: Open takes the description of the mesh from a file where the description is undamaged. If there is no
// such file, Open fails.
func TestDamagedDescription(t *testing.T) {
	ctx := context.Background()
	c := tiny().build(t)
	for _, apart := range []bool{false, true} {
		mem := memDir(t)
		must(c.write(ctx, 1, false, "c", &Options{Files: 2, FS: mem}))
		open := func(o OpenOptions) (errs [2]error, times [2]float64) {
			o.FS = mem
			_ = comm.Run(ctx, 2, nil, func(ctx context.Context, co comm.Comm) error {
				r := co.Rank()
				if apart {
					co = commtest.Isolate(co)
				}
				k, err := OpenComm(ctx, co, "c", &o)
				if errs[r] = err; err == nil {
					times[r] = k.Meta().Time
					return k.Close()
				}
				return nil
			})
			return errs, times
		}
		for i, file := range []string{"c/block_data-0.h5", "c/block_data-1.h5"} {
			b, err := vfs.ReadFile(mem, file, 1<<20)
			must(err)
			at := bytes.Index(b, binary.LittleEndian.AppendUint64(nil, math.Float64bits(c.meta.Time))) // of "/"
			flip(mem, file, int64(at), 3)
			errs, times := open(OpenOptions{})
			for r := range errs {
				if i == 0 && (errs[r] != nil || times[r] != c.meta.Time) || i == 1 && (!errors.Is(errs[r], ErrChecksum) || !strings.Contains(errs[r].Error(), "the mesh cannot be described")) {
					t.Errorf("apart %v, %d files damaged: rank %d: %v, time %v", apart, i+1, r, errs[r], times[r])
				}
			}
		}
		if errs, times := open(OpenOptions{NoVerify: true}); errs[0] != nil || times[0] == c.meta.Time {
			t.Errorf("not compared: %v", errs[0])
		}
	}
}

// TestNoVerifyManifest: NoVerify reads a checkpoint even if the manifest is damaged or does not match the lists.
func TestNoVerifyManifest(t *testing.T) {
	ctx := context.Background()
	c := tiny().build(t)
	mem := memDir(t)
	must(c.write(ctx, 1, false, "c", &Options{Files: 2, FS: mem}))
	for _, d := range []struct {
		file string
		add  string
	}{{cellodir.Manifest, " "}, {cellodir.FileList, "\n"}, {"block_data-1" + cellodir.ListSuffix, "\n"}} {
		name := "c/" + d.file
		b, err := vfs.ReadFile(mem, name, 1<<20)
		must(err)
		must(mem.Remove(name))
		must(vfs.WriteFile(mem, name, append(b[:len(b):len(b)], d.add...)))
		if _, err := Open(ctx, "c", &OpenOptions{FS: mem}); !errors.Is(err, ErrChecksum) {
			t.Errorf("%s: %v", d.file, err)
		}
		if err := c.holds(ctx, "c", &OpenOptions{FS: mem, NoVerify: true}); err == nil || !strings.Contains(err.Error(), "Unverified:true") {
			t.Errorf("%s, not compared: %v", d.file, err) // unchanged except for the mark
		}
		k, err := Open(ctx, "c", &OpenOptions{FS: mem, NoVerify: true})
		must(err)
		for i := range k.Blocks() {
			b, err := k.Block(ctx, i)
			must(err)
			if err := same(c.meta, b, c.blocks[i]); err != nil {
				t.Error(err)
			}
		}
		k.Close()
		must(mem.Remove(name))
		must(vfs.WriteFile(mem, name, b))
	}
	if err := c.holds(ctx, "c", &OpenOptions{FS: mem}); err != nil {
		t.Error(err)
	}
}

// TestFileOfError: findings name a file of the checkpoint, errors of Open its path, both only once.
func TestFileOfError(t *testing.T) {
	for name, x := range map[string]struct {
		file  string
		spoil func(b []byte) []byte // nil: remove the file
		class error
	}{
		"cut":        {"block_data-1.h5", func(b []byte) []byte { return b[:len(b)/2] }, ErrTruncated},
		"no root":    {"block_data-1.h5", func(b []byte) []byte { clear(b[100:500]); return b }, ErrCorrupt},
		"no data":    {"block_data-1.h5", nil, ErrMissing},
		"no list":    {"block_data-0.block_list", nil, ErrMissing},
		"wrong list": {"block_data-0.block_list", func(b []byte) []byte { return append(b, "B00 x\n"...) }, ErrCorrupt},
	} {
		_, mem := flat(t)
		at := "good/" + x.file
		b, err := vfs.ReadFile(mem, at, 1<<20)
		must(err)
		must(mem.Remove(at))
		if x.spoil != nil {
			must(vfs.WriteFile(mem, at, x.spoil(b)))
		}
		found := errorsOf(findings(mem, "good", nil))
		if len(found) == 0 || found[0].File != x.file || strings.Count(found[0].String(), x.file) != 1 || !errors.Is(found[0].Err, x.class) {
			t.Errorf("%s: found %v", name, found)
		}
		k, err := Open(context.Background(), "good", &OpenOptions{FS: mem})
		if !errors.Is(err, x.class) || strings.Count(err.Error(), x.file) != 1 || !strings.HasPrefix(err.Error(), at) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			must(k.Close())
		}
	}
}
