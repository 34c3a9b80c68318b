package sfc_test

import (
	"cmp"
	"encoding/binary"
	"hash/crc32"
	"math"
	"math/big"
	"slices"
	"testing"

	"blobio/internal/amr/sfc"

	"pgregory.net/rapid"
)

func points(rank, bits int) [][3]uint32 {
	n := [3]uint32{1, 1, 1}
	for i := range rank {
		n[i] = 1 << bits
	}
	var out [][3]uint32
	for z := range n[2] {
		for y := range n[1] {
			for x := range n[0] {
				out = append(out, [3]uint32{x, y, z})
			}
		}
	}
	return out
}

// TestHilbertUnitSteps: on a uniform grid the Hilbert curve visits each point once and moves by one step along one axis.
func TestHilbertUnitSteps(t *testing.T) {
	for rank := 1; rank <= 3; rank++ {
		for bits := 1; bits <= 5; bits++ {
			all := points(rank, bits)
			at := make([]*[3]uint32, len(all))
			for _, p := range all {
				k := sfc.Hilbert(rank, bits, p)
				if k.Hi != 0 || k.Lo >= uint64(len(all)) {
					t.Fatalf("rank %d, bits %d: key %v of %v", rank, bits, k, p)
				}
				if at[k.Lo] != nil {
					t.Fatalf("rank %d, bits %d: %v and %v have key %d", rank, bits, p, *at[k.Lo], k.Lo)
				}
				at[k.Lo] = &p
			}
			if *at[0] != [3]uint32{} {
				t.Errorf("rank %d, bits %d: begins at %v", rank, bits, *at[0])
			}
			for i := 1; i < len(at); i++ {
				d := 0
				for j := range 3 {
					d += int(math.Abs(float64(at[i][j]) - float64(at[i-1][j])))
				}
				if d != 1 {
					t.Fatalf("rank %d, bits %d: from %v to %v", rank, bits, *at[i-1], *at[i])
				}
			}
		}
	}
}

func TestMortonSmall(t *testing.T) {
	for _, c := range []struct {
		bits int
		p    [3]uint32
		want sfc.Key
	}{
		{2, [3]uint32{1, 0, 0}, sfc.Key{Lo: 1}},
		{2, [3]uint32{0, 0, 2}, sfc.Key{Lo: 0b100000}},
		{30, [3]uint32{1 << 29, 1 << 29, 1 << 29}, sfc.Key{Hi: 7 << 23}},
		{32, [3]uint32{1<<32 - 1, 1<<32 - 1, 1<<32 - 1}, sfc.Key{Hi: 1<<32 - 1, Lo: 1<<64 - 1}},
		{22, [3]uint32{1 << 21, 0, 0}, sfc.Key{Lo: 1 << 63}},
		{22, [3]uint32{0, 1 << 21, 0}, sfc.Key{Hi: 1}},
	} {
		if got := sfc.Morton(c.bits, c.p); got != c.want {
			t.Errorf("Morton(%d, %v) = %v, want %v", c.bits, c.p, got, c.want)
		}
	}
}

// interleaved computes Morton bit by bit.
func interleaved(bits int, p [3]uint32) *big.Int {
	k := new(big.Int)
	for b := range bits {
		for i := range p {
			k.SetBit(k, b*3+i, uint(p[i]>>b&1))
		}
	}
	return k
}

func number(k sfc.Key) *big.Int {
	n := new(big.Int).SetUint64(uint64(k.Hi))
	return n.Or(n.Lsh(n, 64), new(big.Int).SetUint64(k.Lo))
}

func TestCurves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rank := rapid.IntRange(1, 3).Draw(t, "rank")
		bits := rapid.IntRange(1, sfc.MaxBits).Draw(t, "bits")
		var p [3]uint32
		for i := range rank {
			p[i] = rapid.Uint32().Draw(t, "p") >> (32 - bits)
		}
		if k := sfc.Morton(bits, p); number(k).Cmp(interleaved(bits, p)) != 0 {
			t.Fatalf("Morton: %v", k)
		}
		// The key of a cube is a prefix of the keys of exactly the points that the cube contains.
		depth := rapid.IntRange(0, bits).Draw(t, "depth")
		rest := uint(rank * (bits - depth))
		k, low := number(sfc.Hilbert(rank, bits, p)), number(sfc.HilbertPrefix(rank, bits, depth, p))
		if k.Rsh(k, rest).Lsh(k, rest); k.Cmp(low) != 0 {
			t.Fatalf("prefix of depth %d of %v is %v", depth, p, low)
		}
	})
}

// TestHilbertLeadingZeros: in two and three dimensions, two more bits of leading zeros do not change the curve.
func TestHilbertLeadingZeros(t *testing.T) {
	for rank := 1; rank <= 3; rank++ {
		for _, p := range points(rank, 3) {
			if a, b := sfc.Hilbert(rank, 3, p), sfc.Hilbert(rank, 5, p); a != b {
				t.Fatalf("rank %d: %v is at %v of 3 bits and %v of 5", rank, p, a, b)
			}
		}
		if rank > 1 && sfc.Hilbert(rank, 3, [3]uint32{1}) == sfc.Hilbert(rank, 4, [3]uint32{1}) {
			t.Errorf("rank %d: one bit more does not turn the curve", rank)
		}
	}
}

func TestByCountTable(t *testing.T) {
	for _, c := range []struct {
		n, parts int
		want     []int
	}{
		{10, 4, []int{0, 3, 5, 8, 10}},
		{7, 3, []int{0, 3, 5, 7}},
		{5, 7, []int{0, 1, 2, 3, 3, 4, 5, 5}},
		{0, 3, []int{0, 0, 0, 0}},
		{3, 0, []int{0, 3}},
	} {
		if got := sfc.ByCount(c.n, c.parts); !slices.Equal(got, c.want) {
			t.Errorf("ByCount(%d, %d) = %v, want %v", c.n, c.parts, got, c.want)
		}
	}
}

func TestByCount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 3000).Draw(t, "n")
		parts := rapid.IntRange(1, 400).Draw(t, "parts")
		starts := sfc.ByCount(n, parts)
		lo, hi := n, 0
		for p := range parts {
			size := starts[p+1] - starts[p]
			lo, hi = min(lo, size), max(hi, size)
		}
		if hi-lo > 1 {
			t.Fatalf("sizes from %d to %d", lo, hi)
		}
		for i, p := range sfc.Owners(starts) {
			if want := i * parts / n; p != want {
				t.Fatalf("unit %d of %d is in part %d, want %d", i, n, p, want)
			}
		}
	})
	starts := sfc.ByCount(2_000_000_000, 1000)
	if starts[999] != 1_998_000_000 {
		t.Errorf("part 999 starts at %d", starts[999])
	}
}

func TestByWeight(t *testing.T) {
	weight := rapid.OneOf(rapid.Float64Range(0, 10), rapid.Just(0.0), rapid.Just(math.NaN()), rapid.Just(-1.0), rapid.Just(math.Inf(1)), rapid.Float64Range(0, 1e6))
	rapid.Check(t, func(t *rapid.T) {
		w := rapid.SliceOfN(weight, 0, 200).Draw(t, "w")
		parts := rapid.IntRange(1, 40).Draw(t, "parts")
		starts := sfc.ByWeight(w, parts)
		if len(starts) != parts+1 || starts[0] != 0 || starts[parts] != len(w) || !slices.IsSorted(starts) {
			t.Fatalf("starts %v", starts)
		}
		q := sfc.Measure(w, sfc.Owners(starts), parts)
		unit := 0.0
		for _, x := range w {
			if x > 0 && !math.IsInf(x, 1) {
				unit = max(unit, x)
			}
		}
		if q.Max > (q.Mean+unit)*(1+1e-9) {
			t.Fatalf("max %g, mean %g, heaviest unit %g", q.Max, q.Mean, unit)
		}
	})
	if got := sfc.ByWeight([]float64{math.MaxFloat64, math.MaxFloat64, math.MaxFloat64, math.MaxFloat64}, 2); !slices.Equal(got, []int{0, 2, 4}) {
		t.Errorf("huge weights: %v", got)
	}
	if got := sfc.ByWeight([]float64{8, 1, 1, 1, 1, 4}, 2); !slices.Equal(got, []int{0, 1, 6}) {
		t.Errorf("bytes: %v", got)
	}
	if got, want := sfc.ByWeight(make([]float64, 10), 4), sfc.ByCount(10, 4); !slices.Equal(got, want) {
		t.Errorf("no weights: %v, want %v", got, want)
	}
}

func TestQuality(t *testing.T) {
	q := sfc.Measure([]float64{1, 2, 3}, []int{0, 0, 1}, 2)
	if q != (sfc.Quality{Max: 3, Mean: 3, Eff: 1}) {
		t.Errorf("%+v", q)
	}
	q = sfc.Measure(nil, []int{0, 0, 0, 1}, 2)
	if q.Max != 3 || q.Mean != 2 || q.Eff != 2.0/3 {
		t.Errorf("%+v", q)
	}
}

// TestHilbertKeys checks that the curve does not change between versions of this package. The sums are CRC-32 of the
// positions of all points, 16 per axis.
func TestHilbertKeys(t *testing.T) {
	for rank, want := range []uint32{1: 0x973df723, 2: 0x7c15764a, 3: 0xc5ef81f0} {
		if rank == 0 {
			continue
		}
		var b []byte
		for _, p := range points(rank, 4) {
			b = binary.LittleEndian.AppendUint64(b, sfc.Hilbert(rank, 4, p).Lo)
		}
		if sum := crc32.ChecksumIEEE(b); sum != want {
			t.Errorf("rank %d: %#x, want %#x", rank, sum, want)
		}
	}
}

// TestWeightsOutOfRange: negative, infinite and NaN weights count as 0.
func TestWeightsOutOfRange(t *testing.T) {
	want := sfc.ByWeight([]float64{3, 0, 1, 1, 1}, 3)
	for _, x := range []float64{math.Inf(1), math.Inf(-1), math.NaN(), -1} {
		if got := sfc.ByWeight([]float64{3, x, 1, 1, 1}, 3); !slices.Equal(got, want) {
			t.Errorf("%v: %v, want %v", x, got, want)
		}
	}
}

// TestKeyOrder: a key is a 96-bit number.
func TestKeyOrder(t *testing.T) {
	keys := []sfc.Key{{}, {Lo: 1}, {Lo: math.MaxUint64}, {Hi: 1}, {Hi: 1, Lo: 5}, {Hi: 2}, {Hi: 2, Lo: 1}}
	for i, k := range keys {
		for j, l := range keys {
			if k.Compare(l) != cmp.Compare(i, j) {
				t.Errorf("%v and %v: %d", k, l, k.Compare(l))
			}
		}
	}
}

// TestBitsOutOfRange: high bits of a point beyond the given number of bits are ignored, and so is the excess of depth over
// this number.
func TestBitsOutOfRange(t *testing.T) {
	for rank := 1; rank <= 3; rank++ {
		p, q := [3]uint32{5, 2, 7}, [3]uint32{5, 2, 7}
		for i := range q {
			if i >= rank {
				p[i], q[i] = 0, 0
			} else {
				q[i] |= 1 << 3
			}
		}
		if a, b := sfc.Morton(3, p), sfc.Morton(3, q); a != b {
			t.Errorf("rank %d: Morton %v and %v", rank, a, b)
		}
		if a, b := sfc.Hilbert(rank, 3, p), sfc.HilbertPrefix(rank, 3, 9, p); a != b {
			t.Errorf("rank %d: Hilbert %v and %v", rank, a, b)
		}
	}
}
