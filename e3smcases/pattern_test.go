package e3smcases

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"blobio/cdf5"
	"blobio/decomp"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/elem"
)

// smallCase returns case name with small generated maps.
func smallCase(t testing.TB, name string) (*Case, []*decomp.Map) {
	t.Helper()
	var maps []*decomp.Map
	var err error
	switch name[0] {
	case 'F':
		maps, err = F{Ne: 3, Levels: 4, Ranks: 5}.Maps()
	case 'G':
		maps, err = G{Cells: 90, Levels: 6, Ranks: 5}.Maps()
	case 'I':
		maps, err = I{Lat: 12, Lon: 18, Ranks: 5}.Maps()
	}
	if err != nil {
		t.Fatal(err)
	}
	c, err := Load(name)
	if err == nil {
		c, err = c.WithMapDims(maps)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c, maps
}

// memory returns a slice of n elements that can hold type t.
func memory(t cdf5.Type, n int64) any {
	switch t {
	case cdf5.Char:
		return make([]byte, n)
	case cdf5.Int:
		return make([]int32, n)
	case cdf5.Float:
		return make([]float32, n)
	}
	return make([]float64, n)
}

// Every variable of every case is filled rank by rank, in runs and element by element, with equal results. This covers text, ints
// and both real types.
func TestFill(t *testing.T) {
	for k, name := range Names() {
		c, maps := smallCase(t, name)
		for i, p := range []Pattern{Reference, Unique, Smooth} {
			for _, float := range []bool{false, true} {
				if !crashtest.Long() && float != ((i+k)%2 == 0) {
					continue
				}
				x, err := NewValues(c, p, float)
				if err != nil {
					t.Fatal(err)
				}
				for v := range c.Vars {
					typ, _ := c.Vars[v].FileType(float)
					n, runs, rank := c.Elems(v), c.Whole(v), 3
					if k := c.Vars[v].Map; k > 0 {
						n, runs = maps[k-1].Count(rank), maps[k-1].Reqs(rank)
					}
					got, want := memory(typ, n), memory(typ, n)
					if err := x.Fill(got, v, 1, runs, rank); err != nil {
						t.Fatalf("%s %v: %v", name, p, err)
					}
					at := 0
					for q := range runs {
						for off := q.Offset; off < q.End(); off++ {
							if err := x.FillRange(elem.Sub(want, at, at+1), v, 1, off, rank); err != nil {
								t.Fatalf("%s %v: %v", name, p, err)
							}
							at++
						}
					}
					if !reflect.DeepEqual(got, want) {
						t.Fatalf("%s %v %s: %v, want %v", name, p, c.Vars[v].Name, got, want)
					}
				}
			}
		}
	}
}

// Doubles in memory for a float variable have the same values as floats.
func TestMemoryTypeDoesNotMatter(t *testing.T) {
	c, maps := smallCase(t, "F_h0")
	v := c.VarIndex("CLOUD")
	for _, p := range []Pattern{Reference, Unique, Smooth} {
		x, err := NewValues(c, p, true)
		if err != nil {
			t.Fatal(err)
		}
		n := maps[2].Count(1)
		a, b := make([]float32, n), make([]float64, n)
		if err := x.Fill(a, v, 0, maps[2].Reqs(1), 1); err != nil {
			t.Fatal(err)
		}
		if err := x.Fill(b, v, 0, maps[2].Reqs(1), 1); err != nil {
			t.Fatal(err)
		}
		for i := range a {
			if float64(a[i]) != b[i] {
				t.Fatalf("%v: element %d is %v as float, %v as double", p, i, a[i], b[i])
			}
		}
	}
}

func TestUniqueIsUnique(t *testing.T) {
	seen := map[float64]bool{}
	b := make([]float64, 1000)
	for _, name := range []string{"T", "U", "TS", "ST"} {
		for rec := range int64(5) {
			if err := fillUnique(b, cdf5.Double, name, rec, Range(1<<33, 1000)); err != nil {
				t.Fatal(err)
			}
			for _, x := range b {
				if seen[x] {
					t.Fatalf("%v of %s record %d was there before", x, name, rec)
				}
				seen[x] = true
			}
		}
	}
	// these values must never change, because they verify datasets of old versions
	if err := fillUnique(b[:3], cdf5.Double, "T", 2, Range(7, 3)); err != nil {
		t.Fatal(err)
	}
	if want := []float64{3769733978148318, 3087881058777347, 7896212003172069}; !slices.Equal(b[:3], want) {
		t.Errorf("unique values of T record 2 are %.0f, want %.0f", b[:3], want)
	}
}

func TestUniqueRanges(t *testing.T) {
	check := func(ok bool, what string, x any) {
		if !ok {
			t.Errorf("%s: %v", what, x)
		}
	}
	const n = 20000
	text, i32, f32, f64 := make([]byte, n), make([]int32, n), make([]float32, n), make([]float64, n)
	for _, e := range []error{
		fillUnique(text, cdf5.Char, "c", 0, Range(0, n)), fillUnique(i32, cdf5.Int, "i", 0, Range(0, n)),
		fillUnique(f32, cdf5.Float, "f", 0, Range(0, n)), fillUnique(f64, cdf5.Double, "d", 0, Range(0, n)),
	} {
		if e != nil {
			t.Fatal(e)
		}
	}
	var letters [256]int
	for i := range n {
		letters[text[i]]++
		check(i32[i] >= 0, "int", i32[i])
		check(f32[i] >= 0 && f32[i] < 1<<24 && f32[i] == float32(math.Trunc(float64(f32[i]))), "float", f32[i])
		check(f64[i] >= 0 && f64[i] < 1<<53 && f64[i] == math.Trunc(f64[i]), "double", f64[i])
	}
	for c, k := range letters {
		check((k > 0) == (c >= 1 && c <= 127), "text byte", c)
	}
}

// The test covers all types of CDF-5 and all memory types that can hold them.
func TestUniqueTypes(t *testing.T) {
	mem := map[cdf5.Type][]any{
		cdf5.Byte: {make([]int8, 9), make([]int16, 9), make([]int32, 9), make([]int64, 9)}, cdf5.Char: {make([]byte, 9)},
		cdf5.Short: {make([]int16, 9), make([]int32, 9), make([]int64, 9)}, cdf5.Int: {make([]int32, 9), make([]int64, 9)},
		cdf5.Float: {make([]float32, 9), make([]float64, 9)}, cdf5.Double: {make([]float64, 9)},
		cdf5.UByte:  {make([]byte, 9), make([]uint16, 9), make([]uint32, 9), make([]uint64, 9), make([]int16, 9)},
		cdf5.UShort: {make([]uint16, 9), make([]uint32, 9), make([]int32, 9)}, cdf5.UInt: {make([]uint32, 9), make([]uint64, 9), make([]int64, 9)},
		cdf5.Int64: {make([]int64, 9)}, cdf5.UInt64: {make([]uint64, 9)},
	}
	for typ, list := range mem {
		for _, m := range list {
			if err := fillUnique(m, typ, "x", 0, Range(3, 9)); err != nil {
				t.Errorf("%v in %T: %v", typ, m, err)
			}
			if err := cdf5.CheckRange(typ, m); err != nil {
				t.Errorf("%v in %T: %v", typ, m, err)
			}
		}
	}
	for typ, m := range map[cdf5.Type]any{cdf5.Double: make([]float32, 1), cdf5.Int: make([]float64, 1), cdf5.Char: make([]int8, 1), 0: make([]byte, 1), 99: make([]int64, 1)} {
		if err := fillUnique(m, typ, "x", 0, Range(0, 1)); err == nil {
			t.Errorf("%v in %T was taken", typ, m)
		}
	}
	for _, n := range []int64{0, 8, 10} {
		if err := fillUnique(make([]int32, 9), cdf5.Int, "x", 0, Range(0, n)); err == nil {
			t.Errorf("%d elements were put into 9", n)
		}
	}
}

// A range has the same values if it is filled in pieces.
func TestFillByPieces(t *testing.T) {
	c, maps := smallCase(t, "G")
	x, err := NewValues(c, Smooth, false)
	if err != nil {
		t.Fatal(err)
	}
	u, _ := NewValues(c, Unique, false)
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.IntRange(0, len(c.Vars)-1).Draw(t, "variable")
		k := c.Vars[v].Map
		if k == 0 || c.Vars[v].Type != cdf5.Double {
			return
		}
		rank := rapid.IntRange(0, 4).Draw(t, "rank")
		for _, x := range []*Values{x, u} {
			whole := make([]float64, c.Elems(v))
			if err := x.FillRange(whole, v, 2, 0, rank); err != nil {
				t.Fatal(err)
			}
			part := make([]float64, maps[k-1].Count(rank))
			if err := x.Fill(part, v, 2, maps[k-1].Reqs(rank), rank); err != nil {
				t.Fatal(err)
			}
			pos := 0
			for q := range maps[k-1].Reqs(rank) {
				for i := range q.Length {
					if part[pos] != whole[q.Offset+i] {
						t.Fatalf("element %d is %v in the blob, %v in the array", q.Offset+i, part[pos], whole[q.Offset+i])
					}
					pos++
				}
			}
		}
	})
}

func TestSmoothIsPlausible(t *testing.T) {
	type limits struct{ lo, hi float64 }
	for name, vars := range map[string]map[string]limits{
		"F_h0": {"T": {180, 320}, "U10": {-20, 60}, "PRECC": {0, 1e-6}, "CLOUD": {0, 1}, "PSL": {90000, 105000}, "lat": {-90, 90}, "lon": {0, 360}, "Q": {0, 2}},
		"I_h0": {"TSA": {180, 320}, "RAIN": {0, 1e-6}, "landmask": {1, 1}},
		"G":    {"ssh": {-1000, 1000}, "cellMask": {0, 1}},
	} {
		c, _ := smallCase(t, name)
		x, err := NewValues(c, Smooth, false)
		if err != nil {
			t.Fatal(err)
		}
		for n, l := range vars {
			v := c.VarIndex(n)
			if v < 0 {
				t.Errorf("%s has no %s", name, n)
				continue
			}
			lo, hi := math.Inf(1), math.Inf(-1)
			add := func(x float64) { lo, hi = min(lo, x), max(hi, x) }
			b := memory(c.Vars[v].Type, c.Elems(v))
			if err := x.FillRange(b, v, 0, 0, 0); err != nil {
				t.Fatal(err)
			}
			switch b := b.(type) {
			case []float64:
				for _, x := range b {
					add(x)
				}
			case []int32:
				for _, x := range b {
					add(float64(x))
				}
			}
			if lo < l.lo || hi > l.hi || lo == hi && l.lo != l.hi {
				t.Errorf("%s %s is %g to %g, want within %g to %g", name, n, lo, hi, l.lo, l.hi)
			}
		}
	}
	// rain must have dry places, and the ocean a floor
	c, _ := smallCase(t, "F_h0")
	x, _ := NewValues(c, Smooth, false)
	v := c.VarIndex("PRECC")
	b := make([]float64, c.Elems(v))
	if err := x.FillRange(b, v, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(b, 0) {
		t.Error("it rains everywhere")
	}
	c, _ = smallCase(t, "G")
	x, _ = NewValues(c, Smooth, false)
	v = c.VarIndex("temperature")
	b = make([]float64, c.Elems(v))
	if err := x.FillRange(b, v, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(b, oceanFill) || b[0] == oceanFill {
		t.Error("the ocean has no floor, or no water")
	}
}

func TestPatternNames(t *testing.T) {
	for _, p := range []Pattern{Reference, Unique, Smooth} {
		if q, err := ParsePattern(p.String()); q != p || err != nil {
			t.Errorf("%v is read as %v, %v", p, q, err)
		}
	}
	if _, err := ParsePattern("rough"); err == nil {
		t.Error("rough is a pattern")
	}
	c, _ := Load("G")
	if _, err := NewValues(c, 9, false); err == nil {
		t.Error("pattern 9 was taken")
	}
	x, _ := NewValues(c, Reference, false)
	if err := x.Fill([]float64{1}, -1, 0, Range(0, 1), 0); err == nil {
		t.Error("variable -1 was filled")
	}
	for _, p := range []Pattern{Reference, Unique, Smooth} {
		x, _ := NewValues(c, p, false)
		if err := x.FillRange(make([]float32, 1), c.VarIndex("temperature"), 0, 0, 0); err == nil {
			t.Errorf("%v: floats were taken for doubles", p)
		}
		if err := x.Fill(make([]float64, 1), c.VarIndex("temperature"), 0, Range(0, 2), 0); err == nil {
			t.Errorf("%v: two elements were put into one", p)
		}
	}
}

func TestReferenceValues(t *testing.T) {
	c, _ := Load("G")
	x, _ := NewValues(c, Reference, false)
	text := make([]byte, 64)
	if err := x.FillRange(text, c.VarIndex("xtime"), 0, 0, 200); err != nil {
		t.Fatal(err)
	}
	if text[63] != 41 { // 'a' + 200 - 256
		t.Errorf("text of rank 200 is %d, want 41", text[63])
	}
	b := make([]float64, 2)
	if err := x.FillRange(b, c.VarIndex("ssh"), 5, 3, 200); err != nil || b[0] != 200 || b[1] != 200 {
		t.Error(b, err)
	}
}

func BenchmarkFill(b *testing.B) {
	maps, err := F{Ne: 30, Levels: 72, Ranks: 64}.Maps()
	if err != nil {
		b.Fatal(err)
	}
	c, _ := Load("F_h0")
	if c, err = c.WithMapDims(maps); err != nil {
		b.Fatal(err)
	}
	for _, p := range []Pattern{Reference, Unique, Smooth} {
		x, err := NewValues(c, p, true)
		if err != nil {
			b.Fatal(err)
		}
		v := c.VarIndex("T")
		for _, dst := range []any{make([]float64, maps[2].Count(0)), make([]float32, maps[2].Count(0))} {
			name, size := "float64", int64(8)
			if _, ok := dst.([]float32); ok {
				name, size = "float32", 4
			}
			b.Run(p.String()+"/"+name, func(b *testing.B) {
				b.SetBytes(maps[2].Count(0) * size)
				for b.Loop() {
					if err := x.Fill(dst, v, 0, maps[2].Reqs(0), 0); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
