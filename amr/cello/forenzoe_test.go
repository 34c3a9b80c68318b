package cello

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"blobio/comm"
	"blobio/internal/amr"
	"blobio/internal/amr/gen"
	"blobio/internal/base/elem"
	"blobio/internal/base/vfs"
)

// enzoReads simulates Enzo-E's reader. It interprets the dimensions of a dataset as x, y and z, and passes the field's shape in
// memory to libhdf5 with the slowest axis first. It returns the field with its ghosts, or false if H5Dread fails and Enzo-E
// aborts.
func enzoReads(mem [3]int, dims []int64, data []byte, size int) (field []byte, ok bool) {
	d := [3]int{1, 1, 1}
	for i, n := range dims {
		d[i] = int(n)
	}
	count, offset := mem, [3]int{}
	if mem[0] > d[0] { // the dataset has no ghosts: read it into the middle
		count = d
		for a := range offset {
			offset[a] = (mem[a] - d[a]) / 2
		}
	}
	for a := range count {
		if count[a] > mem[a] || count[a] > d[a] {
			return nil, false
		}
	}
	var from []int // selected elements of the dataset, first dimension slowest
	for i := range count[0] {
		for j := range count[1] {
			for k := range count[2] {
				from = append(from, (i*d[1]+j)*d[2]+k)
			}
		}
	}
	field = make([]byte, mem[0]*mem[1]*mem[2]*size)
	n := 0
	for z := range count[2] {
		for y := range count[1] {
			for x := range count[0] {
				to := ((z+offset[2])*mem[1]+y+offset[1])*mem[0] + x + offset[0]
				copy(field[to*size:(to+1)*size], data[from[n]*size:])
				n++
			}
		}
	}
	return field, true
}

// outcomes simulates Enzo-E's reads of all fields in a checkpoint of set's blocks, and counts the outcomes.
func outcomes(t *testing.T, mem vfs.FS, dir string, set *gen.Set) (of map[outcome]int) {
	t.Helper()
	of = map[outcome]int{}
	m, blocks := set.Meta, map[string]*amr.Block{}
	for _, b := range set.All() {
		blocks[b.Index.Name(m.Rank, m.Roots)+fmt.Sprint(" ", b.Index.Level())] = b
	}
	for _, f := range loadRaw(t, mem, dir).files {
		here := map[string]*amr.Block{}
		for _, line := range f.lines {
			here[strings.Fields(line)[0]] = blocks[line]
		}
		for _, g := range f.groups {
			b := here[g.name]
			for _, d := range g.data {
				name, is := strings.CutPrefix(d.name, fieldPrefix)
				if !is {
					continue
				}
				want := b.Field(name)
				got, ok := enzoReads(m.Shape(want.Spec, true), d.dims, d.value.([]byte), want.Spec.Type.Size())
				switch {
				case !ok:
					of[stops]++
				case bytes.Equal(inner(m, want.Spec, got, true), inner(m, want.Spec, want.Data, want.Ghosts)) && (!want.Ghosts || bytes.Equal(got, little(want))):
					of[readsRight]++
				default:
					of[readsWrong]++
				}
			}
		}
	}
	return of
}

// little returns a field in file form.
func little(f *amr.Field) []byte {
	out := make([]byte, len(f.Data))
	elem.Reorder(out, f.Data, f.Spec.Type.Size(), false)
	return out
}

// inner returns the cells of a field without ghosts.
func inner(m *amr.Meta, s *amr.FieldSpec, data []byte, ghosts bool) []byte {
	if !ghosts {
		return data
	}
	out := make([]byte, m.FieldBytes(s, false))
	m.Strip(out, data, s)
	return out
}

// TestForEnzoE: with reversed dimensions, Enzo-E reads each field of blocks of any shape correctly. Without them, the outcome is
// the one that the function restarts predicts. This package reads both forms, and Verify finds no fault in either.
func TestForEnzoE(t *testing.T) {
	if elem.HostBig {
		t.Skip("SKIPPED: the emulation compares bytes of little-endian files")
	}
	ctx := t.Context()
	faces := append(gen.Fields(1, amr.Float32), gen.FaceFields(3, amr.Float64)...)
	fields, wrong := 0, 0
	for _, rank := range []int{2, 3} {
		list := faces
		if rank == 2 { // without the field centred on z faces
			list = append(gen.Fields(1, amr.Float32), gen.FaceFields(2, amr.Float64)...)
		}
		for i := range list[1:] {
			list[i+1].Name = fmt.Sprintf("f%d", i)
		}
		for _, block := range [][3]int{{4, 4, 4}, {8, 4, 4}, {4, 8, 6}, {4, 4, 12}, {6, 4, 2}} {
			for _, ghosts := range []bool{false, true} {
				g := gen.Geometry(rank, 2, 4, 2, 1)
				copy(g.Block[:rank], block[:rank])
				tree, err := gen.Shock(&g, 0.3)
				must(err)
				set := gen.NewSet(tree, 7, list, gen.Tracers(2))
				set.Ghosts = ghosts
				mem := memDir(t)
				for dir, reversed := range map[string]bool{"plain": false, "reversed": true} {
					must(Write(ctx, comm.Self(), dir, set.Meta, set.All(), &Options{FS: mem, Files: 2, Ghosts: ghosts, ForEnzoE: reversed, NoSync: true, EnzoFloat: amr.Float64}))
					of, want := outcomes(t, mem, dir, set), map[outcome]int{}
					k, err := Open(ctx, dir, &OpenOptions{FS: mem})
					must(err)
					for i := range list {
						want[restarts(&k.meta.Geometry, &k.meta.Fields[i], ghosts, reversed)] += len(k.Blocks())
					}
					if fmt.Sprint(of) != fmt.Sprint(want) {
						t.Errorf("rank %d, %v, ghosts %v, %s: %v, want %v", rank, block, ghosts, dir, of, want)
					}
					if reversed {
						fields, wrong = fields+of[readsRight], wrong+of[readsWrong]+of[stops]
						if l := k.Unfit(); len(l) > 0 {
							t.Errorf("%v: %v", block, l)
						}
					}
					for i, b := range set.All() {
						for n := range k.Blocks() {
							if k.Blocks()[n].Index != b.Index {
								continue
							}
							got, err := k.Block(ctx, n)
							if err == nil {
								err = same(set.Meta, got, b)
							}
							if err != nil {
								t.Fatalf("%s, block %d: %v", dir, i, err)
							}
						}
					}
					must(k.Close())
					for _, f := range errorsOf(findings(mem, dir, &VerifyOptions{ForRestart: reversed})) {
						if !strings.Contains(f.Msg, "enzo_float") { // the list includes fields of both types
							t.Errorf("%s, %v: %v", dir, block, f)
						}
					}
				}
			}
		}
	}
	if wrong > 0 || fields < 500 {
		t.Errorf("Enzo-E reads %d fields right and %d wrong", fields, wrong)
	}
	if _, err := (&Options{ForEnzoE: true, LeavesOnly: true}).withDefaults(); !errors.Is(err, ErrUsage) {
		t.Errorf("a dump for Enzo-E: %v", err)
	}
}
