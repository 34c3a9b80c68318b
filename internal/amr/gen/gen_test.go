package gen_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math"
	"testing"

	"blobio/internal/amr"
	"blobio/internal/amr/gen"
)

// TestSame: the bytes of the first case are the same on every host and in every version.
func TestSame(t *testing.T) {
	cases, err := gen.Cases(7)
	if err != nil {
		t.Fatal(err)
	}
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		t.Skip("SKIPPED: the sums are of little-endian data")
	}
	for _, c := range cases {
		h := crc32.NewIEEE()
		for _, b := range c.Set.All() {
			for _, w := range b.Index {
				_ = binary.Write(h, binary.LittleEndian, w)
			}
			_ = binary.Write(h, binary.LittleEndian, b.Cost)
			for _, f := range b.Fields {
				h.Write(f.Data)
			}
			for _, p := range b.Particles {
				for _, d := range p.Data {
					h.Write(d)
				}
			}
		}
		want := sums[c.Name]
		if got := h.Sum32(); got != want {
			t.Errorf("%q: %#08x, want %#08x", c.Name, got, want)
		}
	}
}

var sums = map[string]uint32{
	"1d":           0xfd8b4a43,
	"2d-shock":     0x11771494,
	"2d-one-root":  0x3409682f,
	"2d-oblong":    0x4eab42a5,
	"3d":           0x7d01f070,
	"3d-bricks":    0xa4cf95d1,
	"3d-unigrid":   0x65b12cce,
	"3d-one-block": 0x95d6b097,
}

// TestGhosts: ghosts equal the neighbour's cells, and shared faces are equal.
func TestGhosts(t *testing.T) {
	g := gen.Geometry(2, 2, 4, 2, 0)
	tree, err := gen.Uniform(&g, 0)
	if err != nil {
		t.Fatal(err)
	}
	fields := []amr.FieldSpec{{Name: "cell", Type: amr.Float64}, {Name: "face", Type: amr.Float64, Centered: [3]bool{true, false, false}}}
	s := gen.NewSet(tree, 5, fields, nil)
	plain := [2]*amr.Block{s.Block(amr.At(0, [3]int{0, 0, 0})), s.Block(amr.At(0, [3]int{1, 0, 0}))}
	s.Ghosts = true
	left := s.Block(amr.At(0, [3]int{0, 0, 0}))
	at := func(f amr.Field, nx, x, y int) float64 {
		return math.Float64frombits(binary.NativeEndian.Uint64(f.Data[8*(y*nx+x):]))
	}
	for y := range 4 {
		for x := range 4 {
			if a, b := at(left.Fields[0], 8, x+2, y+2), at(plain[0].Fields[0], 4, x, y); a != b {
				t.Fatalf("cell %d, %d: %v with ghosts, %v without", x, y, a, b)
			}
		}
		for x := range 2 {
			if a, b := at(left.Fields[0], 8, x+6, y+2), at(plain[1].Fields[0], 4, x, y); a != b {
				t.Fatalf("ghost %d, %d: %v, neighbour has %v", x, y, a, b)
			}
		}
		if a, b := at(plain[0].Fields[1], 5, 4, y), at(plain[1].Fields[1], 5, 0, y); a != b {
			t.Fatalf("face %d: %v on the left, %v on the right", y, a, b)
		}
	}
}

// TestUnique: all elements of a field in all blocks have different values.
func TestUnique(t *testing.T) {
	g := gen.Geometry(3, 2, 6, 0, 2)
	g.Block = [3]int{4, 6, 2}
	tree, err := gen.Random(&g, 2, 100)
	if err != nil {
		t.Fatal(err)
	}
	s := gen.NewSet(tree, 5, gen.Fields(2, amr.Float64), nil)
	seen := map[uint64]bool{}
	for _, b := range s.All() {
		for _, f := range b.Fields {
			for i := 0; i < len(f.Data); i += 8 {
				v := binary.NativeEndian.Uint64(f.Data[i:])
				if x := math.Float64frombits(v); seen[v] || x < 1 || x >= 2 {
					t.Fatalf("value %v twice, or not in [1, 2)", x)
				}
				seen[v] = true
			}
		}
	}
}

func TestTrees(t *testing.T) {
	g := gen.Geometry(2, 4, 8, 3, 4)
	same, err := gen.Random(&g, 9, 500)
	if err != nil {
		t.Fatal(err)
	}
	again, err := gen.Random(&g, 9, 500)
	if err != nil {
		t.Fatal(err)
	}
	other, err := gen.Random(&g, 10, 500)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := flat(same), flat(again); !bytes.Equal(a, b) {
		t.Error("the same seed gave two trees")
	}
	if a, b := flat(same), flat(other); bytes.Equal(a, b) {
		t.Error("two seeds gave one tree")
	}
	if same.Len() < 500 || same.Len() > 600 {
		t.Errorf("%d blocks, want 500 or some more", same.Len())
	}
	// A shock moves.
	last := -1
	for i := range 5 {
		tree, err := gen.Shock(&g, float64(i)/4)
		if err != nil {
			t.Fatal(err)
		}
		if _, hi := tree.Levels(); hi != 4 {
			t.Errorf("shock at %d/4: finest level %d", i, hi)
		}
		finest := -1
		for x := range tree.Leaves() {
			if c := x.Coord(); x.Level() == 4 && c[0] == c[1] {
				finest = max(finest, c[0])
			}
		}
		if finest < last {
			t.Errorf("shock at %d/4 is at %d, was at %d", i, finest, last)
		}
		last = finest
	}
	u, err := gen.Uniform(&g, 2)
	if err != nil || u.LevelLen(2) != 16*16 || u.Len() != 1+4+16+64+256 {
		t.Errorf("uniform: %v, %d blocks", err, u.Len())
	}
	// Ask for the maximum number of blocks that the levels allow.
	small := gen.Geometry(1, 1, 4, 0, 2)
	if all, err := gen.Random(&small, 1, 1000); err != nil || all.Len() != 7 {
		t.Errorf("1000 of 7 blocks: %v, %d", err, all.Len())
	}
}

func flat(t *amr.Tree) []byte {
	var b []byte
	for _, x := range t.Sorted() {
		for _, w := range x {
			b = binary.LittleEndian.AppendUint32(b, uint32(w))
		}
	}
	return b
}
