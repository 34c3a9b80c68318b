package redset

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"blobio/comm"
	"blobio/internal/base/vfs"

	"pgregory.net/rapid"
)

// sets formats places as "0 2|1 3", the members of each set in the order of the sets.
func sets(places []Place) string {
	v := make([]string, places[0].Sets)
	for _, p := range places {
		v[p.Set] = strings.Trim(fmt.Sprint(p.Ranks), "[]")
	}
	return strings.Join(v, "|")
}

func nodes(n, perNode int) []string {
	v := make([]string, n)
	for r := range v {
		v[r] = fmt.Sprint("node", r/perNode)
	}
	return v
}

func TestForm(t *testing.T) {
	for _, k := range []struct {
		name   string
		scheme Scheme
		groups []string
		size   int
		want   string
	}{
		{"single", Single, nodes(3, 1), 8, "0|1|2"},
		{"one per node", XOR, nodes(4, 1), 4, "0 1 2 3"},
		{"8 in sets of 4", XOR, nodes(8, 1), 4, "0 1 2 3|4 5 6 7"},
		{"2 per node", XOR, nodes(8, 2), 4, "0 2 4 6|1 3 5 7"},
		{"7 in sets of 3: 4 and 3", XOR, nodes(7, 1), 3, "0 1 2 3|4 5 6"},
		{"10 in sets of 4: 5 and 5", XOR, nodes(10, 1), 4, "0 1 2 3 4|5 6 7 8 9"},
		{"fewer than wanted", Partner, nodes(3, 1), 8, "0 1 2"},
		{"all on one node", XOR, nodes(3, 3), 8, "0|1|2"},
		{"unequal nodes", RS, []string{"a", "a", "b", "c", "a", "c"}, 8, "0 2 3|1 5|4"},
		{"no group fails alone", XOR, []string{"", "", "a", "a"}, 8, "0 1 2|3"},
		{"11 in sets of 3: 4 4 3", XOR, nodes(11, 1), 3, "0 1 2 3|4 5 6 7|8 9 10"},
	} {
		if got := sets(Form(k.scheme, k.groups, k.size)); got != k.want {
			t.Errorf("%s: %s, want %s", k.name, got, k.want)
		}
	}
}

// TestFormHolds checks for random groups that each rank is in exactly one set, and that no two members of a set
// share a group.
func TestFormHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(t, "ranks")
		groups := make([]string, n)
		for r := range groups {
			groups[r] = rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", "g", "h"}).Draw(t, "group")
		}
		size := rapid.IntRange(1, 9).Draw(t, "size")
		seen := map[int]bool{}
		firsts := make([]int, 0, n)
		for r, p := range Form(XOR, groups, size) {
			if p.Ranks[p.Rank] != r || p.Set >= p.Sets || !slices.IsSorted(p.Ranks) {
				t.Fatalf("rank %d: %+v", r, p)
			}
			if p.Rank == 0 {
				firsts = append(firsts, p.Set)
			}
			if seen[r] {
				t.Fatalf("rank %d twice", r)
			}
			seen[r] = true
			in := map[string]bool{}
			for _, m := range p.Ranks {
				if in[groups[m]] {
					t.Fatalf("set %v: two members in group %s", p.Ranks, groups[m])
				}
				in[groups[m]] = true
			}
			if len(p.Ranks) > 2*size {
				t.Fatalf("set of %d, wanted %d", len(p.Ranks), size)
			}
		}
		if !slices.IsSorted(firsts) {
			t.Fatalf("sets are not in the order of their first ranks: %v", firsts)
		}
	})
}

// hugeFS reports file sizes that are larger than a set may be.
type hugeFS struct{ vfs.FS }

func (h hugeFS) FileMeta(name string) (vfs.Meta, error) {
	m, err := vfs.MetaOf(h.FS, name)
	m.Size = maxBytes + 1
	return m, err
}

func (h hugeFS) SetFileMeta(name string, m vfs.Meta) error { return vfs.SetMeta(h.FS, name, m) }

// TestOneSetFails checks that an error in one set causes an error on the ranks of all sets.
func TestOneSetFails(t *testing.T) {
	cl := newCluster(t, Options{Scheme: XOR, SetSize: 2}, [][]int{{10}, {10}, {10}, {10}})
	err := cl.run("isolated", func(ctx context.Context, c comm.Comm) error {
		s, err := New(ctx, c, cl.o)
		must(t, err)
		fsys := cl.fs
		if c.Rank() == 0 {
			fsys = hugeFS{cl.fs}
		}
		err = s.Encode(ctx, fsys, cl.files[c.Rank()], fmt.Sprintf("n%d/rs.", c.Rank()))
		if err == nil || errors.Is(err, comm.ErrBroken) {
			t.Errorf("rank %d: %v", c.Rank(), err)
		}
		return c.Barrier(ctx)
	})
	if err != nil {
		t.Error(err)
	}
}

// TestDefect13EveryMatrix checks that Reed-Solomon can decode from every selection of remaining elements, in any
// order.
func TestDefect13EveryMatrix(t *testing.T) {
	for _, nk := range [][2]int{{3, 1}, {4, 2}, {5, 3}, {6, 3}, {7, 5}} {
		n, k := nk[0], nk[1]
		l := newLayout(RS, k, make([][]int64, n))
		full, err := rsMatrix(n, k)
		must(t, err)
		for c := range n {
			es := l.elems(c)
			d := l.dataPerStripe()
			val := make([]byte, n) // one byte of each element
			for x, e := range es {
				if !e.parity {
					val[x] = byte(37*x + 11*c + 1)
					continue
				}
				for y, f := range es[:d] {
					val[x] ^= gfMul(full[e.col][f.col], val[y])
				}
			}
			for mask := range 1 << n {
				if bits.OnesCount(uint(mask)) != d {
					continue
				}
				var in, out []elem
				var have [][]byte
				var want []byte
				for x, e := range es {
					if mask>>x&1 != 0 {
						in, have = append(in, e), append(have, []byte{val[x]})
					} else {
						out, want = append(out, e), append(want, val[x])
					}
				}
				slices.Reverse(in)
				slices.Reverse(have)
				coder, err := newRSCoder(l, c, in, out)
				must(t, err)
				got := make([][]byte, len(out))
				for i := range got {
					got[i] = make([]byte, 1)
				}
				must(t, coder.code(got, have))
				for i := range got {
					if got[i][0] != want[i] {
						t.Fatalf("n %d, k %d, stripe %d, mask %b: element %d is %d, want %d", n, k, c, mask, i, got[i][0], want[i])
					}
				}
			}
		}
	}
}

// gfMul multiplies in GF(2^8) with polynomial 0x11D, bit by bit.
func gfMul(a, b byte) byte {
	p, x := 0, int(a)
	for ; b > 0; b >>= 1 {
		if b&1 != 0 {
			p ^= x
		}
		if x <<= 1; x > 255 {
			x ^= 0x11D
		}
	}
	return byte(p)
}
