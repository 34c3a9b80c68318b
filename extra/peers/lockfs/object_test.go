package lockfs

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestLocks: whoever asks gets all it asks for, no two clients have what excludes each other, and only what stands in the way is revoked. A
// lock reaches from one obstacle to the next.
func TestLocks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := &object{}
		for range rapid.IntRange(1, 30).Draw(t, "calls") {
			client, write := rapid.IntRange(0, 3).Draw(t, "client"), rapid.Bool().Draw(t, "write")
			from := rapid.Int64Range(0, 40*pageSize).Draw(t, "from")
			to := from + rapid.Int64Range(1, 5*pageSize).Draw(t, "n")
			before := slices.Clone(o.locks)
			revoked, asked := o.take(client, from, to, write)
			a, b := from/pageSize*pageSize, (to+pageSize-1)/pageSize*pageSize
			covers := func(l lock) bool { return l.client == client && (l.write || !write) && l.from <= a && b <= l.to }
			if asked == slices.ContainsFunc(before, covers) {
				t.Fatalf("asked %v, with %+v", asked, before)
			}
			i := slices.IndexFunc(o.locks, covers)
			if i < 0 {
				t.Fatalf("client %d has no lock on [%d, %d): %+v", client, a, b, o.locks)
			}
			for _, l := range before {
				if in := slices.Contains(revoked, l); in != (asked && l.excludes(client, write) && l.from < b && a < l.to) {
					t.Fatalf("%+v revoked: %v, for client %d, write %v, [%d, %d)", l, in, client, write, a, b)
				}
			}
			edges := []int64{0, endOfObject}
			for k, l := range o.locks {
				for _, m := range o.locks[:k] {
					if l.excludes(m.client, m.write) && l.from < m.to && m.from < l.to {
						t.Fatalf("both granted: %+v %+v", l, m)
					}
				}
				if l.excludes(client, write) {
					edges = append(edges, l.from, l.to)
				}
			}
			if l := o.locks[i]; asked && (!slices.Contains(edges, l.from) || !slices.Contains(edges, l.to)) {
				t.Fatalf("%+v could be larger: %v", l, edges)
			}
		}
	})
}

// TestSpans against a set of bytes.
func TestSpans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s spans
		var set [64]bool
		for range rapid.IntRange(1, 20).Draw(t, "calls") {
			from := rapid.IntRange(0, 60).Draw(t, "from")
			to := rapid.IntRange(from+1, 64).Draw(t, "to")
			put := rapid.IntRange(0, 2).Draw(t, "what") > 0
			if put {
				s = s.add(int64(from), int64(to))
			} else {
				rest, out := s.cut(int64(from), int64(to))
				for i, had := range set {
					if in := out.has(i); in != (had && from <= i && i < to) {
						t.Fatalf("byte %d of [%d, %d) of %v: cut %v", i, from, to, s, out)
					}
				}
				s = rest
			}
			for i := from; i < to; i++ {
				set[i] = put
			}
			for i, want := range set {
				if s.has(i) != want {
					t.Fatalf("byte %d: %v, want %v", i, s, want)
				}
			}
			for k := 1; k < len(s); k++ {
				if s[k-1][1] >= s[k][0] && put {
					t.Fatalf("not joined: %v", s)
				}
			}
		}
	})
}

func (s spans) has(i int) bool {
	return slices.ContainsFunc(s, func(x [2]int64) bool { return x[0] <= int64(i) && int64(i) < x[1] })
}

// TestParts: each byte of a file is where stripes have it.
func TestParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := &File{layout: Layout{Size: rapid.Int64Range(1, 8).Draw(t, "size"), Count: rapid.IntRange(1, 5).Draw(t, "count")}}
		off, n := rapid.Int64Range(0, 50).Draw(t, "off"), rapid.Int64Range(1, 100).Draw(t, "n")
		want := map[int][]int64{}
		for b := off; b < off+n; b++ {
			unit := b / f.layout.Size
			o := int(unit) % f.layout.Count
			want[o] = append(want[o], unit/int64(f.layout.Count)*f.layout.Size+b%f.layout.Size)
		}
		parts := f.parts(off, n)
		if len(parts) != len(want) {
			t.Fatalf("%v, want %v", parts, want)
		}
		for _, p := range parts {
			if w := want[p.object]; p.from != w[0] || p.to != w[len(w)-1]+1 || p.to-p.from != int64(len(w)) {
				t.Fatalf("%v, want %v", p, w)
			}
		}
	})
}
