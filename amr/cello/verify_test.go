package cello

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"blobio/internal/amr"
	"blobio/internal/amr/cellodir"
	"blobio/internal/base/fault"
	"blobio/internal/base/h5"
	"blobio/internal/base/testfiles"
	"blobio/internal/base/vfs"
)

// TestVerify: Verify reports each input on which Enzo-E hangs, crashes or runs wrong, and each other fault.
func TestVerify(t *testing.T) {
	_, mem := flat(t)
	// Take any block with children, one of its children, and a leaf.
	k, err := Open(context.Background(), "good", &OpenOptions{FS: mem})
	if err != nil {
		t.Fatal(err)
	}
	var child, leaf string
	for _, b := range k.Blocks() {
		if b.Level == 2 && child == "" {
			child = b.Name
		}
		if b.Level == 1 && b.Leaf && leaf == "" {
			leaf = b.Name
		}
	}
	k.Close()
	const root = "B10_01"
	for _, c := range []struct {
		name   string
		damage func(r *raw)
		want   string // part of a finding; "": no finding of severity Error
		sev    fault.Severity
		open   bool // Open accepts the input
	}{
		{"nothing", func(*raw) {}, "", note, true},
		{"order of files, names, one line", func(r *raw) {
			slices.Reverse(r.files)
			r.list = "3"
			for i, f := range r.files {
				f.name = "f" + string(rune('0'+i))
				slices.Reverse(f.lines)
				r.list += " " + f.name
			}
		}, "", note, true},
		{"two more empty files", func(r *raw) {
			r.files = append(r.files, &rawFile{name: "e1", attrs: r.files[0].attrs}, &rawFile{name: "e2", attrs: r.files[0].attrs})
		}, "has no blocks", note, true},
		{"no levels below 0", func(r *raw) {
			for _, n := range []string{"B_", "B0_0", "B1_0", "B0_1", "B1_1"} {
				r.remove(n)
			}
			r.renumber()
		}, "no blocks below level 0", note, true},
		{"scalar dataspace", func(r *raw) { a := r.group(leaf).attr("time"); a.dims, a.value = nil, 1.25 }, "time: a scalar dataspace", Error, true},
		{"scalar index", func(r *raw) { a := r.group(leaf).attr("index"); a.dims, a.value = nil, 1 }, "index: a scalar dataspace", Error, false},
		{"adapt_buffer of zeros", func(r *raw) { r.group(leaf).attr("adapt_buffer").value = make([]int32, 1000) }, "adapt_buffer: face_level_curr: 0 levels, want 27 (byte 0) (Enzo-E aborts)", Error, true},
		{"adapt_buffer too long", func(r *raw) {
			a := r.group(leaf).attr("adapt_buffer")
			a.dims, a.value = []int64{1001}, append(a.value.([]int32), 0)
		}, "adapt_buffer: shape [1001], want a vector of 1000 (Enzo-E writes past the end of its memory)", Error, true},
		{"adapt_buffer of another block", func(r *raw) { r.group(leaf).attr("adapt_buffer").value = r.group(root).attr("adapt_buffer").value }, "adapt_buffer", Error, true},
		{"adapt_buffer with a wrong neighbour", func(r *raw) {
			v := slices.Clone(r.group(leaf).attr("adapt_buffer").value.([]int32))
			v[adaptNeighbour/4+1] ^= 1 << 20
			r.group(leaf).attr("adapt_buffer").value = v
		}, "the list of neighbours", Error, true},
		{"adapt_buffer with a wrong level of a neighbour", func(r *raw) {
			a := r.group(leaf).attr("adapt_buffer")
			b, err := binary.Append(nil, binary.LittleEndian, a.value)
			must(err)
			info, err := decodeAdapt(b)
			must(err)
			info.Neighbours[len(info.Neighbours)-1].Now++
			b, err = info.bytes()
			must(err)
			v := make([]int32, len(b)/4)
			_, err = binary.Decode(b, binary.LittleEndian, v)
			must(err)
			a.value = v
		}, "the list of neighbours", Error, true},
		{"attribute missing", func(r *raw) { r.group(leaf).drop("enzo_redshift") }, "enzo_redshift: attribute is missing (Enzo-E aborts)", Error, true},
		{"index missing", func(r *raw) { r.group(leaf).drop("index") }, "index: attribute is missing", Error, false},
		{"root attribute missing", func(r *raw) { r.files[1].attrs = r.files[1].attrs[1:] }, "block_data-1.h5: rank: attribute is missing", Error, false},
		{"fields as f32", func(r *raw) {
			r.each(func(g *rawGroup) {
				for i := range g.data {
					if d := &g.data[i]; strings.HasPrefix(d.name, fieldPrefix) {
						d.typ, d.value = h5.Float32, d.value.([]byte)[:64]
					}
				}
			})
		}, "field_density: float32, but enzo_float is float64 (Enzo-E runs on with wrong data", Error, true},
		{"one field as f32", func(r *raw) { d := &r.group(leaf).data[0]; d.typ, d.value = h5.Float32, d.value.([]byte)[:64] }, "type float32, but float64 in block", Error, false},
		{"count_order 0", func(r *raw) { r.group(leaf).attr("count_order").value = []int64{0} }, "count_order: 0, want", Error, true},
		{"count_order wrong", func(r *raw) { r.group(leaf).attr("count_order").value = []int64{7} }, "count_order: 7, the lists have", Error, true},
		{"index_order twice", func(r *raw) { r.group(leaf).attr("index_order").value = []int64{0} }, "index_order: ", Error, true},
		{"index_order too large", func(r *raw) { r.group(leaf).attr("index_order").value = []int64{1 << 40} }, "index_order: 1099511627776, want 0 to", Error, true},
		{"index_order negative", func(r *raw) { r.group(leaf).attr("index_order").value = []int64{-1} }, "index_order: -1, want a number from 0 on (Enzo-E crashes)", Error, true},
		{"count_order negative", func(r *raw) { r.group(leaf).attr("count_order").value = []int64{-1} }, "count_order: -1, want a number from 0 on", Error, true},
		{"particles of int16", func(r *raw) {
			r.each(func(g *rawGroup) {
				for i := range g.data {
					if d := &g.data[i]; d.name == "particle_trace_id" {
						d.typ, d.value = h5.Int16, d.value.([]byte)[:2*d.dims[0]]
					}
				}
			})
		}, "particle_trace_id: type int16, which Enzo-E writes but cannot read (Enzo-E aborts)", Error, true},
		{"the last root blocks along x missing", func(r *raw) { dropBranch(r, "B11"); r.renumber() }, "B11_00: root block is missing (Enzo-E runs on with wrong data", Error, true},
		{"one child missing", func(r *raw) { r.remove(child); r.renumber() }, child + ": block of level 2 is missing, but its siblings exist (Enzo-E hangs)", Error, true},
		{"parent missing", func(r *raw) { r.remove(parentName(child)); r.renumber() }, "is missing, but has children (Enzo-E hangs)", Error, true},
		{"duplicate line", func(r *raw) { f := r.files[0]; f.lines = append(f.lines, f.lines[3]) }, "listed twice, before in block_data-0.block_list (Enzo-E hangs)", Error, false},
		{"duplicate block in another file", func(r *raw) {
			r.files[2].lines = append(r.files[2].lines, r.files[0].lines[2])
			r.files[2].groups = append(r.files[2].groups, r.files[0].groups[slices.IndexFunc(r.files[0].groups, func(g *rawGroup) bool { return g.name == "B00_00" })])
		}, "block_data-2.block_list: B00_00: listed twice", Error, false},
		{"root block missing", func(r *raw) { r.remove(root); r.renumber() }, root + ": root block is missing (Enzo-E runs on with wrong data", Error, true},
		{"HDF5 file cut in half", func(r *raw) { r.files[1].patch = func(b []byte) []byte { return b[:len(b)/2] } }, "block_data-1.h5", Error, false},
		{"HDF5 file is none", func(r *raw) { r.files[1].patch = func(b []byte) []byte { return []byte("hello") } }, "block_data-1.h5", Error, false},
		{"listed, but missing", func(r *raw) { f := r.files[0]; f.groups = f.groups[1:] }, "group of the block list is missing in the file (Enzo-E aborts)", Error, false},
		{"not listed", func(r *raw) { f := r.files[2]; f.lines = f.lines[:len(f.lines)-1]; r.renumber() }, "1 groups are not in the block list", warning, true},
		{"level in the list", func(r *raw) {
			for _, f := range r.files {
				for i, l := range f.lines {
					if l == leaf+" 1" {
						f.lines[i] = leaf + " 2"
					}
				}
			}
		}, "is of level 1, the block list says 2", Error, false},
		{"index of another block", func(r *raw) {
			r.group(leaf).attr("index").value = r.group(root).attr("index").value
		}, "index: ", Error, false},
		{"index with stray bits", func(r *raw) {
			v := slices.Clone(r.group(leaf).attr("index").value.([]int32))
			v[0] |= 1 << 12
			r.group(leaf).attr("index").value = v
		}, "index: ", Error, false},
		{"deeper than max_level", func(r *raw) {
			for _, f := range r.files {
				for i := range f.attrs {
					if f.attrs[i].name == "max_level" {
						f.attrs[i].value = []int32{1}
					}
				}
			}
		}, "level: 2, want at most max_level 1 (Enzo-E crashes)", Error, true},
		{"bounds", func(r *raw) { r.group(leaf).attr("lower").value = []float64{9, 9, 9} }, "lower: [9 9], want", warning, true},
		{"bounds, by a little", func(r *raw) { r.group(leaf).attr("upper").value.([]float64)[1] += 1e-5 }, "upper: ", warning, true},
		{"no bounds", func(r *raw) { r.group(leaf).attr("lower").value.([]float64)[0] = math.NaN() }, "lower: [NaN ", warning, true},
		{"grid", func(r *raw) { r.group(leaf).attr("enzo_GridDimension").value = []int32{4, 4, 1} }, "enzo_GridDimension: [4 4 1], want [8 8 1]", Error, true},
		{"array", func(r *raw) { r.group(leaf).attr("array").value = []int32{3, 3, 3} }, "array: [3 3 3], want", warning, true},
		{"time of a block", func(r *raw) { r.group(leaf).attr("time").value = []float64{2} }, "time: 2, want 1.25", warning, true},
		{"cycle of a file", func(r *raw) {
			for i := range r.files[1].attrs {
				if a := &r.files[1].attrs[i]; a.name == "cycle" {
					a.value = []int32{99}
				}
			}
		}, "block_data-1.h5: /: attributes", warning, true},
		{"dataset missing", func(r *raw) { g := r.group(leaf); g.data = g.data[1:] }, "dataset is missing", Error, false},
		{"dataset more", func(r *raw) {
			g := r.group(leaf)
			d := g.data[0]
			d.name = "field_zz"
			g.data = append(g.data, d)
		}, "field_zz: dataset is absent in block B00_00", Error, false},
		{"data that were never written", func(r *raw) {
			for _, f := range r.files {
				f.patch = func(b []byte) []byte { return unwritten(b, leaf, "field_density") }
			}
		}, "field_density: data were never written", warning, true},
		{"shape", func(r *raw) { d := &r.group(leaf).data[0]; d.dims = []int64{2, 8} }, "shape [2 8], but [4 4] in block", Error, false},
		{"particles", func(r *raw) {
			g := r.group(leaf)
			for i := range g.data {
				if d := &g.data[i]; d.name == "particle_trace_id" {
					d.dims[0]++
					d.value = make([]byte, 8*d.dims[0])
				}
			}
		}, "particles, another attribute", Error, false},
		{"file list: too few", func(r *raw) { r.list = "4\nblock_data-0\nblock_data-1\nblock_data-2\n" }, "3 names, want 4 as announced", Error, false},
		{"file list: a path", func(r *raw) { r.list = "1\n../x\n" }, "want a name without directory", Error, false},
		{"file list: no number", func(r *raw) { r.list = "block_data-0\n" }, "number of files", Error, false},
		{"file list: name of no file", func(r *raw) { r.list = "4\nblock_data-0\nblock_data-1\nblock_data-2\nzz\n" }, "zz.block_list", Error, false},
		{"file list: a file is left out", func(r *raw) { r.list = "2\nblock_data-0\nblock_data-1\n" }, "2 files are not listed in check.file_list", warning, true},
		{"block list: no level", func(r *raw) { r.files[1].lines = append(r.files[1].lines, "B0") }, "the list ends after the name B0", Error, false},
		{"block list: garbage", func(r *raw) { r.files[1].lines = append(r.files[1].lines, "hello 1") }, "want B and binary digits", Error, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := loadRaw(t, mem, "good")
			c.damage(r)
			bad := vfs.NewMem()
			r.store(bad, "bad")
			l := findings(bad, "bad", &VerifyOptions{ForRestart: true})
			found := c.want == "" && len(errorsOf(l)) == 0
			for _, f := range l {
				if c.want != "" && strings.Contains(f.String(), c.want) {
					found = true
					if f.Severity != c.sev {
						t.Errorf("%v, want %v: %v", f.Severity, c.sev, f)
					}
				}
			}
			if !found {
				t.Errorf("want %q, found %v", c.want, l)
			}
			if c.sev != Error && len(errorsOf(l)) > 0 && c.name != "not listed" && !strings.Contains(c.name, "left out") {
				t.Errorf("errors: %v", errorsOf(l))
			}
			k, err := Open(context.Background(), "bad", &OpenOptions{FS: bad})
			if (err == nil) != c.open {
				t.Errorf("Open: %v, want success: %v", err, c.open)
			}
			if err == nil {
				k.Close()
			}
			// A restart restores all blocks. If Verify finds an error, the restart must fail, unless the error concerns parts
			// that only Enzo-E uses.
			apps, err := restartAll(context.Background(), 2, false, "bad", &RestartOptions{OpenOptions: OpenOptions{FS: bad}}, nil)
			if err == nil && strings.Contains(c.want, "is missing, but") {
				t.Errorf("restarted, %d ranks", len(apps))
			}
		})
	}
}

// unwritten removes a dataset's data from a file: it clears the address in the dataset's layout message. It returns files without
// the block unchanged.
func unwritten(b []byte, block, name string) []byte {
	h, err := h5.NewFile(bytes.NewReader(b), int64(len(b)), block)
	must(err)
	root, err := h.Root()
	must(err)
	d, err := root.Dataset(block + "/" + name)
	if err != nil {
		return b
	}
	off, _ := d.Offset()
	layout := binary.LittleEndian.AppendUint64([]byte{3, 1}, uint64(off)) // version, contiguous, address
	at := bytes.Index(b, layout)
	copy(b[at+2:], bytes.Repeat([]byte{0xff}, 8))
	return b
}

// dropBranch removes all blocks of level 0 or finer whose names begin with prefix.
func dropBranch(r *raw, prefix string) {
	var l []string
	r.each(func(g *rawGroup) {
		if strings.HasPrefix(g.name, prefix) {
			l = append(l, g.name)
		}
	})
	for _, n := range l {
		r.remove(n)
	}
}

// TestVerifyCause: an unreadable part gives a single finding. Verify does not also report its listed blocks as missing or their
// neighbours as wrong.
func TestVerifyCause(t *testing.T) {
	_, mem := flat(t)
	for _, c := range []struct {
		name   string
		damage func(r *raw)
		want   []string // parts of the errors
	}{
		{"file", func(r *raw) { r.files[1].patch = func(b []byte) []byte { return b[:len(b)/2] } }, []string{"block_data-1.h5: 0x1d558: end of file"}},
		{"list", func(r *raw) { f := r.files[1]; f.lines[0] = "B\x1b[31m 0" }, []string{"block_data-1.block_list: "}},
		{"index", func(r *raw) { r.group("B01_01").drop("index") }, []string{"B01_01: index: attribute is missing"}},
		{"group", func(r *raw) {
			for _, f := range r.files {
				f.groups = slices.DeleteFunc(f.groups, func(g *rawGroup) bool { return g.name == "B01_01" })
			}
		}, []string{"B01_01: group of the block list is missing"}},
		{"level", func(r *raw) {
			for _, f := range r.files {
				for i, l := range f.lines {
					if l == "B01_01 0" {
						f.lines[i] = "B01_01 1"
					}
				}
			}
		}, []string{"B01_01: index: "}},
		{"count_order of all", func(r *raw) {
			r.each(func(g *rawGroup) { g.attr("count_order").value = []int64{0} })
		}, []string{"0, want", "0, want", "0, want", "wrong in "}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := loadRaw(t, mem, "good")
			c.damage(r)
			bad := vfs.NewMem()
			r.store(bad, "bad")
			l := errorsOf(findings(bad, "bad", nil))
			for i, f := range l {
				if len(l) != len(c.want) || !strings.Contains(f.String(), c.want[i]) {
					t.Errorf("%v, want %q", f, c.want)
				}
			}
			if len(l) == 0 {
				t.Error("nothing found")
			}
		})
	}
}

func parentName(child string) string {
	axes := strings.Split(child[1:], "_")
	for i, a := range axes {
		axes[i] = a[:len(a)-1]
	}
	return "B" + strings.Join(axes, "_")
}

// TestVerifyForRestart: if Enzo-E cannot restart from a sound checkpoint, Verify reports an error with ForRestart and a note
// without it.
func TestVerifyForRestart(t *testing.T) {
	_, mem := flat(t)
	typed := func(prefix string, typ h5.Type, size func(d *rawAttr) int64) func(r *raw) {
		return func(r *raw) {
			r.each(func(g *rawGroup) {
				for i := range g.data {
					if d := &g.data[i]; strings.HasPrefix(d.name, prefix) {
						d.typ, d.value = typ, d.value.([]byte)[:size(d)]
					}
				}
			})
		}
	}
	one := 1
	for _, c := range []struct {
		name   string
		damage func(r *raw)
		o      VerifyOptions
		want   string
	}{
		{"sound", func(*raw) {}, VerifyOptions{}, ""},
		{"fields as f32", typed(fieldPrefix, h5.Float32, func(*rawAttr) int64 { return 64 }), VerifyOptions{}, "but enzo_float is float64"},
		{"particles of int16", typed("particle_trace_id", h5.Int16, func(d *rawAttr) int64 { return 2 * d.dims[0] }), VerifyOptions{}, "cannot read"},
		{"another type in the program", func(*raw) {}, VerifyOptions{EnzoFloat: amr.Float32}, "float32"},
		{"another level in the program", func(*raw) {}, VerifyOptions{MaxLevel: &one}, "want at most max_level 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := loadRaw(t, mem, "good")
			c.damage(r)
			bad := vfs.NewMem()
			r.store(bad, "bad")
			for _, ask := range []bool{false, true} {
				o := c.o
				o.ForRestart = ask
				l := findings(bad, "bad", &o)
				errs, notes := len(errorsOf(l)), 0
				for _, f := range l {
					if strings.Contains(f.Msg, "--for-enzo-e") {
						notes++
					}
					if f.Severity >= Error && (!strings.Contains(f.String(), c.want) || !errors.Is(f.Err, ErrUnfit)) {
						t.Errorf("%v", f)
					}
				}
				if (errs > 0) != (ask && c.want != "") || (notes == 1) != (!ask && c.want != "") {
					t.Errorf("asked %v: %d errors, %d notes", ask, errs, notes)
				}
			}
		})
	}
}

// TestVerifyUnchecked: content that this version does not support is not reported as an error, because it may be sound.
func TestVerifyUnchecked(t *testing.T) {
	for err, want := range map[error]fault.Severity{fault.ErrUnsupported: fault.Unchecked, ErrCorrupt: Error} {
		v := &verifier{o: &VerifyOptions{}, yield: func(f Finding) bool {
			if f.Severity != want {
				t.Errorf("%v, want %v", f, want)
			}
			return true
		}}
		v.add(Error, spot{file: "f"}, err, aborts, "%v", err)
	}
}

// TestVerifyStates verifies directories that are not whole checkpoints.
func TestVerifyStates(t *testing.T) {
	_, mem := flat(t)
	must(mem.Mkdir("empty"))
	for dir, want := range map[string]error{"nowhere": vfsNotExist, "empty": ErrNotFormat} {
		if _, err := Open(context.Background(), dir, &OpenOptions{FS: mem}); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", dir, err, want)
		}
		if l := errorsOf(findings(mem, dir, nil)); len(l) != 1 || !errors.Is(l[0].Err, want) {
			t.Errorf("%s: %v", dir, l)
		}
	}
	must(vfs.WriteFile(mem, "good/"+cellodir.Lock, nil))
	if _, err := Open(context.Background(), "good", &OpenOptions{FS: mem}); !errors.Is(err, ErrNotCommitted) {
		t.Errorf("unfinished: %v", err)
	}
	if l := errorsOf(findings(mem, "good", nil)); len(l) != 1 || l[0].Effect == aborts || l[0].File != cellodir.Lock {
		t.Errorf("unfinished: %+v", l) // Enzo-E ignores the mark of an unfinished directory
	}
}

// TestVerifyReal: Enzo-E's checkpoints have no faults.
func TestVerifyReal(t *testing.T) {
	for _, n := range realCheckpoints {
		for f := range Verify(context.Background(), testfiles.Dir(t, "cello", n), nil) {
			if f.Severity != note {
				t.Error(n, f)
			}
		}
	}
}

// TestVerifyOrder: findings about the tree come before findings that the faults of the tree cause.
func TestVerifyOrder(t *testing.T) {
	_, mem := flat(t)
	r := loadRaw(t, mem, "good")
	f := r.files[1]
	last := f.lines[len(f.lines)-1]
	f.lines = f.lines[:len(f.lines)-1]
	bad := vfs.NewMem()
	r.store(bad, "bad")
	at := map[string]int{}
	for i, d := range errorsOf(findings(bad, "bad", nil)) {
		what := d.Field
		if errors.Is(d.Err, ErrMissing) {
			what = "missing"
			if d.Block != strings.Fields(last)[0] {
				t.Errorf("missing: %s, want %s", d.Block, last)
			}
		}
		if _, ok := at[what]; !ok {
			at[what] = i
		}
	}
	if len(at) < 3 || at["missing"] != 0 || at["count_order"] > at["adapt_buffer"] {
		t.Errorf("first findings of each kind: %v", at)
	}
}

// TestVerifyProgress: Progress counts each byte once.
func TestVerifyProgress(t *testing.T) {
	_, mem := flat(t)
	for _, quick := range []bool{false, true} {
		var mu sync.Mutex
		most, of := int64(0), int64(0)
		o := &VerifyOptions{StructureOnly: quick, Progress: func(done, total int64) {
			mu.Lock()
			defer mu.Unlock()
			most, of = max(most, done), total
		}}
		if l := errorsOf(findings(mem, "good", o)); len(l) > 0 {
			t.Fatal(l)
		}
		if most == 0 || most != of {
			t.Errorf("%d of %d bytes at the end", most, of)
		}
	}
}
