package amr_test

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"

	"blobio/internal/amr"
	"blobio/internal/base/testfiles"
)

// vector is one of the trees in cello_order_vectors.txt.
type vector struct {
	name            string
	rank, roots, lo int
	rows            []vectorRow
}

type vectorRow struct {
	morton, hilbert, level int
	leaf                   bool
	index                  amr.Index
	name                   string
}

func (v *vector) geometry() *amr.Geometry {
	g := &amr.Geometry{Rank: v.rank, MinLevel: v.lo, MaxLevel: amr.MaxDepth, Roots: [3]int{1, 1, 1}, Block: [3]int{1, 1, 1}, Upper: [3]float64{1, 1, 1}}
	for i := range v.rank {
		g.Roots[i] = v.roots
	}
	return g
}

func readVectors(t testing.TB) []*vector {
	f, err := os.Open(testfiles.Dir(t, "cello", "cello_order_vectors.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []*vector
	s := bufio.NewScanner(f)
	for s.Scan() {
		line := s.Text()
		if strings.HasPrefix(line, "# T") {
			v := &vector{}
			var n int
			if _, err := fmt.Sscanf(line, "# %s rank=%d root_blocks=%d min_level=%d count=%d", &v.name, &v.rank, &v.roots, &v.lo, &n); err != nil {
				t.Fatal(line, err)
			}
			all = append(all, v)
			continue
		}
		if strings.HasPrefix(line, "#") {
			continue
		}
		var r vectorRow
		var leaf int
		if _, err := fmt.Sscan(line, &r.morton, &r.hilbert, &r.level, &leaf, &r.index[0], &r.index[1], &r.index[2], &r.name); err != nil {
			t.Fatal(line, err)
		}
		r.leaf = leaf == 1
		v := all[len(all)-1]
		v.rows = append(v.rows, r)
	}
	if len(all) != 5 {
		t.Fatalf("%d trees of vectors, want 5", len(all))
	}
	return all
}

func TestVectors(t *testing.T) {
	for _, v := range readVectors(t) {
		g := v.geometry()
		tree := amr.NewTree(g)
		for _, r := range v.rows {
			if err := tree.Add(r.index); err != nil {
				t.Fatal(err)
			}
		}
		morton, hilbert := amr.Morton{}.Order(tree), amr.Hilbert{}.Order(tree)
		for _, r := range v.rows {
			if got := r.index.Level(); got != r.level {
				t.Errorf("%s %s: level %d, want %d", v.name, r.name, got, r.level)
			}
			if got := r.index.Name(v.rank, g.Roots); got != r.name {
				t.Errorf("%s: name %s, want %s", v.name, got, r.name)
			}
			if got, rank, err := amr.ParseName(r.name, g.Roots, r.level); err != nil || got != r.index || rank != v.rank {
				t.Errorf("%s: ParseName(%s) = %d, %d, %v, want %d, %d", v.name, r.name, got, rank, err, r.index, v.rank)
			}
			if err := r.index.Valid(v.rank); err != nil {
				t.Errorf("%s %s: %v", v.name, r.name, err)
			}
			if got := tree.Leaf(r.index); got != r.leaf {
				t.Errorf("%s %s: leaf %v, want %v", v.name, r.name, got, r.leaf)
			}
			if got := morton[r.morton]; got != r.index {
				t.Errorf("%s: Morton %d is %s, want %s", v.name, r.morton, tree.Name(got), r.name)
			}
			if got := hilbert[r.hilbert]; got != r.index {
				t.Errorf("%s: Hilbert %d is %s, want %s", v.name, r.hilbert, tree.Name(got), r.name)
			}
		}
	}
}
