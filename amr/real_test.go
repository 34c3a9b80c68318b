package amr_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/amr"
	"blobio/internal/h5"
	"blobio/internal/testfiles"
	"blobio/sfc"
)

// realBlock is what the HDF5 files of a checkpoint of the real program say of
// one block.
type realBlock struct {
	name         string
	level        int
	index        amr.Index
	array        []int64
	lower, upper []float64
	order, count int64
	file         int
}

func readReal(t testing.TB, dir string) []realBlock {
	path := testfiles.Dir(t, "cello", dir)
	list, err := os.ReadFile(filepath.Join(path, "check.file_list"))
	if err != nil {
		t.Fatal(err)
	}
	var out []realBlock
	for n, base := range strings.Fields(string(list))[1:] {
		f, err := os.Open(filepath.Join(path, base+".h5"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		st, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		h, err := h5.NewFile(f, st.Size(), base)
		if err != nil {
			t.Fatal(err)
		}
		blocks, err := os.ReadFile(filepath.Join(path, base+".block_list"))
		if err != nil {
			t.Fatal(err)
		}
		words := strings.Fields(string(blocks))
		for i := 0; i < len(words); i += 2 {
			b := realBlock{name: words[i], file: n}
			if _, err := fmt.Sscan(words[i+1], &b.level); err != nil {
				t.Fatal(err)
			}
			o, err := h.Lookup("/" + b.name)
			if err != nil {
				t.Fatal(err)
			}
			ints := func(name string) []int64 {
				a, err := o.Attr(name)
				if err != nil {
					t.Fatal(err)
				}
				v, err := a.Int64s()
				if err != nil {
					t.Fatal(err)
				}
				return v
			}
			floats := func(name string) []float64 {
				a, err := o.Attr(name)
				if err != nil {
					t.Fatal(err)
				}
				v, err := a.Float64s()
				if err != nil {
					t.Fatal(err)
				}
				return v
			}
			for i, w := range ints("index") {
				b.index[i] = int32(w)
			}
			b.array, b.lower, b.upper = ints("array"), floats("lower"), floats("upper")
			b.order, b.count = ints("index_order")[0], ints("count_order")[0]
			out = append(out, b)
		}
	}
	return out
}

func same(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

// domain returns the attributes lower and upper of the first file.
func domain(t testing.TB, dir string) (lower, upper [3]float64) {
	f, err := os.Open(filepath.Join(testfiles.Dir(t, "cello", dir), "block_data-0.h5"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	h, err := h5.NewFile(f, st.Size(), dir)
	if err != nil {
		t.Fatal(err)
	}
	root, err := h.Lookup("/")
	if err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]*[3]float64{"lower": &lower, "upper": &upper} {
		a, err := root.Attr(name)
		if err != nil {
			t.Fatal(err)
		}
		v, err := a.Float64s()
		if err != nil {
			t.Fatal(err)
		}
		copy(to[:], v)
	}
	return lower, upper
}

func TestRealCheckpoints(t *testing.T) {
	for _, c := range []struct {
		dir         string
		rank, roots int
		periodic    bool
		max         int
	}{
		{dir: "CheckA-10", rank: 2, roots: 4, max: 2},
		{dir: "CheckE-05", rank: 2, roots: 2, periodic: true},
		{dir: "CheckP2-05", rank: 3, roots: 2, periodic: true, max: 1},
	} {
		t.Run(c.dir, func(t *testing.T) {
			blocks := readReal(t, c.dir)
			g := &amr.Geometry{Rank: c.rank, Roots: [3]int{1, 1, 1}, Block: [3]int{1, 1, 1}, MinLevel: blocks[0].level, MaxLevel: c.max}
			for i := range c.rank {
				g.Roots[i], g.Periodic[i] = c.roots, c.periodic
			}
			g.Lower, g.Upper = domain(t, c.dir)
			if err := g.Validate(); err != nil {
				t.Fatal(err)
			}
			tree := amr.NewTree(g)
			for _, b := range blocks {
				if err := tree.Add(b.index); err != nil {
					t.Fatal(err)
				}
			}
			whole(t, tree)
			order := amr.Morton{}.Order(tree)
			file := sfc.Owners(sfc.ByCount(len(order), 3))
			for i, b := range blocks {
				if got := b.index.Level(); got != b.level {
					t.Errorf("%s: level %d, want %d", b.name, got, b.level)
				}
				if got := tree.Name(b.index); got != b.name {
					t.Errorf("%d: name %s, want %s", b.index, got, b.name)
				}
				if got, rank, err := amr.ParseName(b.name, g.Roots, b.level); err != nil || got != b.index || rank != c.rank {
					t.Errorf("ParseName(%s) = %d, %d, %v, want %d", b.name, got, rank, err, b.index)
				}
				array := b.index.Array()
				lo, hi := b.index.Bounds(g)
				for k := range c.rank {
					if int64(array[k]) != b.array[k] {
						t.Errorf("%s: array %v, want %v", b.name, array, b.array)
					}
					if b.level >= 0 && (lo[k] != b.lower[k] || hi[k] != b.upper[k]) {
						t.Errorf("%s: axis %d from %g to %g, want %g to %g", b.name, k, lo[k], hi[k], b.lower[k], b.upper[k])
					}
				}
				lo, hi = b.index.StoredBounds(g)
				for k := range 3 {
					if !same(lo[k], b.lower[k]) || !same(hi[k], b.upper[k]) {
						t.Errorf("%s: stored axis %d from %g to %g, want %g to %g", b.name, k, lo[k], hi[k], b.lower[k], b.upper[k])
					}
				}
				if b.count != int64(len(blocks)) || order[b.order] != b.index {
					t.Errorf("%s: order %d of %d, found %s there", b.name, b.order, b.count, tree.Name(order[b.order]))
				}
				// The lists of the files, one after the other, are in order.
				if order[i] != b.index || file[i] != b.file {
					t.Errorf("%s: block %d of the lists in file %d, want %s in %d", b.name, i, b.file, tree.Name(order[i]), file[i])
				}
			}
		})
	}
}
