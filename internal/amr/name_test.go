package amr_test

import (
	"errors"
	"strings"
	"testing"

	"blobio/internal/amr"
	"blobio/internal/base/fault"

	"pgregory.net/rapid"
)

func TestNames(t *testing.T) {
	for _, c := range []struct {
		x     amr.Index
		rank  int
		roots [3]int
		want  string
	}{
		{amr.Index{}, 1, [3]int{1, 1, 1}, "B"},
		{amr.Index{}, 2, [3]int{1, 1, 1}, "B_"},
		{amr.Index{}, 3, [3]int{1, 1, 1}, "B__"},
		{amr.At(1, [3]int{1, 0, 0}), 1, [3]int{1, 1, 1}, "B:1"},
		{amr.At(1, [3]int{1, 0, 0}), 2, [3]int{1, 1, 1}, "B:1_:0"},
		{amr.At(1, [3]int{0, 0, 0}), 3, [3]int{1, 1, 1}, "B:0_:0_:0"},
		{amr.At(0, [3]int{2, 0, 0}), 1, [3]int{3, 1, 1}, "B10"},
		{amr.Root([3]int{0, 0, 0}, -1), 1, [3]int{3, 1, 1}, "B"},
		{amr.Root([3]int{1, 0, 0}, -1), 1, [3]int{3, 1, 1}, "B"},
		// With 4 x 2 root blocks, the number on y is halved to 0 at level -2.
		{amr.Root([3]int{0, 0, 0}, -1), 2, [3]int{4, 2, 1}, "B0_"},
		{amr.Root([3]int{0, 0, 0}, -2), 2, [3]int{4, 2, 1}, "B_0"},
	} {
		if got := c.x.Name(c.rank, c.roots); got != c.want {
			t.Errorf("%d of %v: %s, want %s", c.x, c.roots, got, c.want)
		}
	}
}

// TestNameTraps: several blocks share one name.
func TestNameTraps(t *testing.T) {
	// The meaning of "B__" depends on the level and the roots.
	for _, c := range []struct {
		roots, level int
		want         amr.Index
	}{
		{1, 0, amr.Index{}},
		{2, -1, amr.Root([3]int{}, -1)},
		{16, -4, amr.Root([3]int{}, -4)},
	} {
		x, rank, err := amr.ParseName("B__", [3]int{c.roots, c.roots, c.roots}, c.level)
		if err != nil || x != c.want || rank != 3 {
			t.Errorf("B__ of %d root blocks at level %d: %d, %d, %v", c.roots, c.level, x, rank, err)
		}
	}
	if _, _, err := amr.ParseName("B__", [3]int{4, 4, 4}, 0); !errors.Is(err, fault.ErrCorrupt) {
		t.Errorf("B__ of 4 root blocks at level 0: %v", err)
	}
	// With three root blocks, both blocks of level -1 have the same name.
	if _, _, err := amr.ParseName("B", [3]int{3, 1, 1}, -1); !errors.Is(err, amr.ErrAmbiguous) {
		t.Errorf("B of 3 root blocks at level -1: %v", err)
	}
	// With six root blocks, level -1 has three blocks with two digits.
	if x, _, err := amr.ParseName("B10", [3]int{6, 1, 1}, -1); err != nil || x != amr.Root([3]int{2, 0, 0}, -1) {
		t.Errorf("B10 of 6 root blocks at level -1: %d, %v", x, err)
	}
}

func TestParseNameBad(t *testing.T) {
	for _, c := range []struct {
		name  string
		roots int
		level int
	}{
		{"", 4, 0}, {"b00", 4, 0}, {"B", 4, 0}, {"B0", 4, 0}, {"B000", 4, 0}, {"B02", 4, 0}, {"B11", 3, 0},
		{"B00_00_00_00", 4, 0}, {"B00:", 4, 0}, {"B00:0", 4, 0}, {"B00", 4, 1}, {"B00:0", 4, 2}, {"B00:00", 4, 1},
		{"B00:x", 4, 1}, {"B00:0:0", 4, 1}, {"B00_", 4, 0}, {"B00", 4, 21}, {"B00", 4, -11}, {"B00", 0, 0}, {"B00", 2000, 0},
		{"B" + strings.Repeat("0", 200), 4, 0}, {"B00\x00", 4, 0},
	} {
		_, _, err := amr.ParseName(c.name, [3]int{c.roots, c.roots, c.roots}, c.level)
		var f *fault.FormatError
		if !errors.Is(err, fault.ErrCorrupt) || !errors.As(err, &f) {
			t.Errorf("%q: error %v", c.name, err)
		}
	}
}

func TestNameRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, x := drawIndex(t)
		name := x.Name(g.Rank, g.Roots)
		if len(name) > amr.MaxName {
			t.Fatalf("%d characters", len(name))
		}
		y, rank, err := amr.ParseName(name, g.Roots, x.Level())
		if errors.Is(err, amr.ErrAmbiguous) {
			// ErrAmbiguous is right only if the number of root blocks is not a power of two and
			// another block has the name.
			pow := true
			for _, r := range g.Roots {
				pow = pow && r&(r-1) == 0
			}
			if pow || x.Level() >= 0 {
				t.Fatalf("%s of %v at level %d: %v", name, g.Roots, x.Level(), err)
			}
			return
		}
		if err != nil || y != x || rank != g.Rank {
			t.Fatalf("%d of %v: name %s reads as %d, %d, %v", x, g.Roots, name, y, rank, err)
		}
	})
}

func FuzzParseName(f *testing.F) {
	for _, s := range []string{"B__", "B01:10_10:01_11:11", "B:1_:0", "B", "B:", "C", "B1_2"} {
		f.Add(s, 4, 4, 4, 2)
		f.Add(s, 1, 1, 1, 0)
		f.Add(s, 3, 2, 1, -1)
	}
	f.Fuzz(func(t *testing.T, name string, a, b, c, level int) {
		roots := [3]int{a, b, c}
		x, rank, err := amr.ParseName(name, roots, level)
		if err != nil {
			return
		}
		if err := x.Valid(rank); err != nil {
			t.Fatalf("%q reads as %d: %v", name, x, err)
		}
		if got := x.Name(rank, roots); got != name || x.Level() != level {
			t.Fatalf("%q reads as %d of level %d, which is called %q", name, x, x.Level(), got)
		}
	})
}
