package redset

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// sets prints places as "0 2|1 3": the members of each set, sets in order.
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

// TestFormHolds: whatever the groups, each rank is in one set, no two members share a group.
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
