package netcdf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"blobio/amr/cello"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/internal/amr"
	"blobio/internal/amr/gen"
	"blobio/internal/base/elem"
	"blobio/internal/base/testfiles"
)

func open(t testing.TB, dir string, o *cello.OpenOptions) *cello.Checkpoint {
	t.Helper()
	k, err := cello.Open(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.Close() })
	return k
}

func form(t testing.TB, k *cello.Checkpoint, p *Part, memory int64) *File {
	t.Helper()
	f, err := New(t.Context(), k, p, memory)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// generated writes a checkpoint of each tree from the generators.
func generated(t testing.TB) map[string]string {
	t.Helper()
	cases, err := gen.Cases(3)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, c := range cases {
		list := c.Set.All()
		if len(list) > 2 && len(c.Set.Meta.Particles) > 0 { // add attributes of all kinds
			for i, b := range list {
				b.Attrs = map[string]any{"fixed": []float64{float64(i), 3}, "ragged": make([]int64, i%3)}
				if i%4 == 0 {
					b.Attrs["some"] = []string{"x", "yz"}
				}
			}
		}
		c.Set.Meta.Attrs = map[string]any{"units": []float64{1, 2}, "by": []string{"me"}}
		dir := filepath.Join(t.TempDir(), "Check")
		if err := cello.Write(t.Context(), comm.Self(), dir, c.Set.Meta, list, &cello.Options{Files: 2, Ghosts: c.Set.Ghosts, NoSync: true}); err != nil {
			t.Fatal(err)
		}
		out[c.Name] = dir
	}
	return out
}

// TestForm: the netCDF file has all content of the checkpoint.
func TestForm(t *testing.T) {
	dirs := generated(t)
	for _, name := range []string{"CheckA-10", "CheckE-05", "CheckP2-05"} {
		dirs[name] = testfiles.Dir(t, "cello", name)
	}
	leaves := func(_ amr.Index, leaf bool) bool { return leaf }
	for name, dir := range dirs {
		t.Run(name, func(t *testing.T) {
			k := open(t, dir, nil)
			for _, p := range []*Part{nil, {Bare: true}, {Keep: leaves}, {Fields: []string{}}} {
				holds(t, k, p)
			}
			if n := len(k.Meta().Fields); n > 0 {
				holds(t, k, &Part{Keep: leaves, Fields: []string{k.Meta().Fields[n-1].Name}, Bare: true})
			}
		})
	}
}

// parsed is a netCDF file whose rows are found by the header alone.
type parsed struct {
	h *cdf5.Header
	b []byte
}

// rows returns the bytes of rows of a variable.
func (p *parsed) rows(v int, first, n int64) []byte {
	size := int64(p.h.Vars[v].Type.Size())
	for _, d := range p.h.Vars[v].Dims[1:] {
		size *= p.h.Dims[d].Len
	}
	begin, _ := p.h.Extent(v, 0)
	return p.b[begin+first*size : begin+(first+n)*size]
}

func (p *parsed) i64(name string, i int) int64 {
	return int64(binary.BigEndian.Uint64(p.rows(p.h.VarIndex(name), int64(i), 1)))
}

// of returns the rows of variable v that belong to block i.
func (p *parsed) of(v, i int) []byte {
	x := &p.h.Vars[v]
	list := x.Name
	switch {
	case p.h.Dims[x.Dims[0]].Name == "block":
		return p.rows(v, int64(i), 1)
	case cdf5.FindAtt(x.Atts, "particle_type") != nil:
		list = "particle_" + cdf5.FindAtt(x.Atts, "particle_type").Value.(string)
	}
	return p.rows(v, p.i64("block_"+list+"_start", i), max(p.i64("block_"+list+"_count", i), 0))
}

func holds(t *testing.T, k *cello.Checkpoint, part *Part) {
	t.Helper()
	f := form(t, k, part, 0)
	b, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size()))
	if err != nil {
		t.Fatal(err)
	}
	h, _, err := cdf5.DecodeHeader(bytes.NewReader(b), int64(len(b)), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name := range k.Meta().Attrs {
		if cdf5.FindAtt(h.Atts, "meta_"+name) == nil && cdf5.FindAtt(h.Atts, "metastrings_"+name) == nil {
			t.Errorf("attribute %q of the whole is missing", name)
		}
	}
	p := &parsed{h, b}
	row := map[amr.Index]int64{}
	i := -1
	for n, info := range k.Blocks() {
		if part != nil && part.Keep != nil && !part.Keep(info.Index, info.Leaf) {
			continue
		}
		i++
		want, err := k.Block(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		row[info.Index] = int64(i)
		same := func(name string, data []byte, size int) {
			t.Helper()
			big := make([]byte, len(data))
			elem.Reorder(big, data, size, true)
			if v := h.VarIndex(name); v < 0 || !bytes.Equal(p.of(v, i), big) {
				t.Fatalf("block %d: %s is not what the checkpoint has", i, name)
			}
		}
		same("block_index", elem.Bytes(want.Index[:]), 4)
		same("block_time", elem.Bytes([]float64{want.Time}), 8)
		same("block_cost", elem.Bytes([]float64{want.Cost}), 8)
		lo, _ := want.Index.Bounds(&k.Meta().Geometry)
		same("block_lower", elem.Bytes(lo[:]), 8)
		if parent, ok := row[want.Index.Parent()]; p.i64("block_parent", i) != parent && ok {
			t.Errorf("block %d: parent %d, want %d", i, p.i64("block_parent", i), parent)
		}
		for _, x := range want.Fields {
			data := x.Data
			v := h.VarIndex("field_" + x.Spec.Name)
			if part != nil && part.Fields != nil && v < 0 {
				continue
			}
			if part != nil && part.Bare && x.Ghosts {
				g := &k.Meta().Geometry
				from, to, size := g.Shape(x.Spec, true), g.Shape(x.Spec, false), x.Spec.Type.Size()
				data = nil
				for at := range from[0] * from[1] * from[2] {
					in := true
					for a, c := range [3]int{at % from[0], at / from[0] % from[1], at / from[0] / from[1]} {
						in = in && c >= g.Ghost[a] && c < g.Ghost[a]+to[a]
					}
					if in {
						data = append(data, x.Data[at*size:(at+1)*size]...)
					}
				}
			}
			same("field_"+x.Spec.Name, data, x.Spec.Type.Size())
		}
		for _, x := range want.Particles {
			for a, d := range x.Data {
				same("particle_"+x.Spec.Name+"_"+x.Spec.Attrs[a].Name, d, x.Spec.Attrs[a].Type.Size())
			}
		}
		if want.Adapt != nil {
			same("adapt", bytes.TrimRight(want.Adapt, "\x00"), 1)
		}
		for name, x := range want.Attrs {
			if t, data, ok := elem.Of(x); ok {
				same("attr_"+name, data, t.Size())
			}
		}
	}
	if i+1 != int(h.Dims[h.Vars[h.VarIndex("block_level")].Dims[0]].Len) {
		t.Errorf("%d blocks, the file has %v", i+1, h.Dims)
	}
}

// TestReads: concurrent reads of any part of the file, with little memory, return the same bytes as a
// read of the whole file.
func TestReads(t *testing.T) {
	for _, dir := range []string{generated(t)["2d-one-root"], testfiles.Dir(t, "cello", "CheckE-05")} {
		k := open(t, dir, nil)
		f := form(t, k, nil, 0)
		want, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size()))
		if err != nil {
			t.Fatal(err)
		}
		f = form(t, k, nil, 1<<10)
		var wg sync.WaitGroup
		for seed := range uint64(4) {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(seed, 7))
				for range 100 {
					off := r.Int64N(f.Size())
					n := min(1+r.Int64N(20000), f.Size()-off)
					b := make([]byte, n)
					if k, err := f.ReadAt(b, off); err != nil || int64(k) != n || !bytes.Equal(b, want[off:off+n]) {
						t.Errorf("%d bytes from %d on: %d, %v, or other bytes", n, off, k, err)
						return
					}
				}
			})
		}
		wg.Wait()
	}
}

// TestDamage: one damaged byte of a field causes errors only at the bytes of this field in this block.
func TestDamage(t *testing.T) {
	g := gen.Geometry(2, 2, 8, 2, 1)
	tree, err := gen.Shock(&g, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	set := gen.NewSet(tree, 1, gen.Fields(3, amr.Float64), nil)
	list := set.All()
	dir := filepath.Join(t.TempDir(), "Check")
	if err := cello.Write(t.Context(), comm.Self(), dir, set.Meta, list, &cello.Options{Files: 2, NoSync: true}); err != nil {
		t.Fatal(err)
	}
	f := form(t, open(t, dir, nil), nil, 0)
	want, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size()))
	if err != nil {
		t.Fatal(err)
	}
	const victim = 3
	whole, err := open(t, dir, nil).Block(t.Context(), victim)
	if err != nil {
		t.Fatal(err)
	}
	flipIn(t, dir, whole.Fields[1].Data)
	f = form(t, open(t, dir, nil), nil, 0)
	h := f.Header()
	v := h.VarIndex("field_" + whole.Fields[1].Spec.Name)
	row := h.Bytes(v) / int64(len(list))
	at := h.Vars[v].Begin + victim*row
	bad := func(off, n int64) bool { return off < at+row && off+n > at }
	const step = 100
	for off := int64(0); off < f.Size(); off += step {
		n := min(step, f.Size()-off)
		b := make([]byte, n)
		k, err := f.ReadAt(b, off)
		switch {
		case bad(off, n) && !errors.Is(err, cello.ErrChecksum):
			t.Fatalf("%d bytes at %d are damaged: %v", n, off, err)
		case !bad(off, n) && err != nil:
			t.Fatalf("%d bytes at %d are not damaged: %v", n, off, err)
		case !bytes.Equal(b[:k], want[off:off+int64(k)]):
			t.Fatalf("%d bytes at %d are others", k, off)
		}
	}
	b := make([]byte, 4*row)
	if n, err := f.ReadAt(b, at-2*row); int64(n) != 2*row || !errors.Is(err, cello.ErrChecksum) {
		t.Errorf("from two blocks before it on %d bytes are right, %v, want %d", n, err, 2*row)
	}
}

// flipIn flips a bit in the middle of data, in the file of a checkpoint that contains them.
func flipIn(t *testing.T, dir string, data []byte) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.h5"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if at := bytes.Index(b, data); at >= 0 {
			b[at+len(data)/2] ^= 1
			if err := os.WriteFile(name, b, 0o666); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatal("no file has these bytes")
}

// TestPart: a nonexistent field or block is refused.
func TestPart(t *testing.T) {
	k := open(t, testfiles.Dir(t, "cello", "CheckA-10"), nil)
	for name, p := range map[string]*Part{"field": {Fields: []string{"none"}}, "blocks": {Keep: func(amr.Index, bool) bool { return false }}} {
		if _, err := New(t.Context(), k, p, 0); err == nil {
			t.Errorf("no %s: no error", name)
		}
	}
}
