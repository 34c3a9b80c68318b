package kvtree_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"blobio/internal/base/fault"
	"blobio/scr/kvtree"
)

// model is a simple tree that inserts elements at the head of a list, as SCR does.
type model []modelElem

type modelElem struct {
	key string
	sub *model
}

func (m *model) extract(key string) *model {
	for i, e := range *m {
		if e.key == key {
			*m = slices.Delete(*m, i, i+1)
			return e.sub
		}
	}
	return nil
}

func (m *model) set(key string, sub *model) {
	m.extract(key)
	*m = slices.Insert(*m, 0, modelElem{key, sub})
}

func (m *model) same(t *kvtree.Tree) bool {
	if len(*m) != t.Len() {
		return false
	}
	i := 0
	for key, sub := range t.All() {
		if e := (*m)[i]; e.key != key || !e.sub.same(sub) || t.Get(key) != sub {
			return false
		}
		i++
	}
	return true
}

// TestAgainstModel applies random operations to a node. The node has enough elements for an index and for slots of removed
// elements.
func TestAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tree kvtree.Tree
		var m model
		key := rapid.Custom(func(t *rapid.T) string { return strconv.Itoa(rapid.IntRange(0, 60).Draw(t, "key")) })
		t.Repeat(map[string]func(*rapid.T){
			"set": func(t *rapid.T) { k := key.Draw(t, "k"); tree.Set(k, kvtree.New()); m.set(k, &model{}) },
			"set many": func(t *rapid.T) {
				for i := range 40 {
					tree.Set(strconv.Itoa(i), nil)
					m.set(strconv.Itoa(i), &model{})
				}
			},
			"unset": func(t *rapid.T) { k := key.Draw(t, "k"); tree.Unset(k); m.extract(k) },
			"unset during a walk": func(t *rapid.T) {
				parity := rapid.IntRange(0, 1).Draw(t, "parity")
				for k := range tree.All() {
					if n, _ := strconv.Atoi(k); n%2 == parity {
						tree.Unset(k)
						m.extract(k)
					}
				}
			},
			"sort": func(t *rapid.T) {
				tree.Sort(false)
				slices.SortFunc(m, func(a, b modelElem) int { return strings.Compare(a.key, b.key) })
			},
			"sort int": func(t *rapid.T) {
				tree.SortInt(true)
				slices.SortFunc(m, func(a, b modelElem) int {
					x, _ := strconv.Atoi(a.key)
					y, _ := strconv.Atoi(b.key)
					return y - x
				})
			},
			"": func(t *rapid.T) {
				if !m.same(&tree) || !m.same(tree.Clone()) {
					t.Fatalf("%v, want %v", tree.Keys(), m)
				}
				if k := key.Draw(t, "k"); tree.Has(k) != (m.extractCopy(k) != nil) {
					t.Fatalf("Has(%s) is %v", k, tree.Has(k))
				}
			},
		})
	})
}

func (m model) extractCopy(key string) *model {
	c := slices.Clone(m)
	return c.extract(key)
}

// anyTree draws trees with only a few different keys, so that two trees have common keys.
func anyTree() *rapid.Generator[*kvtree.Tree] {
	return rapid.Custom(func(t *rapid.T) *kvtree.Tree {
		tree := kvtree.New()
		for range rapid.IntRange(0, 60).Draw(t, "n") {
			path := rapid.SliceOfN(rapid.SampledFrom([]string{"", "a", "b", "RANK", "0", "1", "ä", "\xe4", "x\ny", "c", "d", "e"}), 1, 5).Draw(t, "path")
			tree.Touch(path...)
		}
		return tree
	})
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree := anyTree().Draw(t, "tree")
		b, err := kvtree.Encode(tree)
		if err != nil {
			t.Fatal(err)
		}
		payload := rapid.SliceOfN(rapid.Byte(), 0, 30).Draw(t, "payload")
		file := append(slices.Clone(b), payload...)
		got, n, err := decode(file, &kvtree.Options{Strict: true})
		if err != nil || n != len(b) || !got.Equal(tree) {
			t.Fatalf("%d of %d bytes, %v", n, len(b), err)
		}
		again, err := kvtree.Encode(got)
		if err != nil || !bytes.Equal(again, b) {
			t.Fatalf("rewritten record differs (%v)", err)
		}
		rec, err := kvtree.ReadRecord(bytes.NewReader(append([]byte("12345"), file...)), 5, int64(5+len(file)), nil)
		if err != nil || rec.Size != int64(len(b)) || !rec.Tree.Equal(tree) {
			t.Fatalf("at an offset: %v", err)
		}
		cut := rapid.IntRange(0, len(b)-1).Draw(t, "cut")
		if _, _, err := decode(b[:cut], nil); !errors.Is(err, kvtree.ErrTruncated) {
			t.Fatalf("cut to %d bytes: %v", cut, err)
		}
		bit := rapid.IntRange(0, 8*len(b)-1).Draw(t, "bit")
		bad := slices.Clone(b)
		bad[bit/8] ^= 1 << (bit % 8)
		var fe *kvtree.FormatError
		if _, _, err := decode(bad, nil); bit != 8*19 && !errors.As(err, &fe) { // bit 8*19 is the flag for a CRC; without it the CRC is not checked
			t.Fatalf("bit %d changed: %v", bit, err)
		}
	})
}

func TestMergeLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := anyTree().Draw(t, "a"), anyTree().Draw(t, "b"), anyTree().Draw(t, "c")
		merged := func(ts ...*kvtree.Tree) *kvtree.Tree {
			m := kvtree.New()
			for _, t := range ts {
				m.Merge(t)
			}
			return m
		}
		if !merged(a).Equal(a) || !merged(a, a).Equal(a) || !merged(a, b).Equal(merged(b, a)) ||
			!merged(merged(a, b), c).Equal(merged(a, merged(b, c))) {
			t.Fatal("merge is not a union")
		}
		before := b.Clone()
		merged(a, b).Touch("a", "b", "c", "new")
		if !b.Equal(before) {
			t.Fatal("merged tree shares with its source")
		}
		// Merging into an empty tree reverses the order. A second merge restores it.
		x, _ := kvtree.Pack(merged(merged(a)))
		if y, _ := kvtree.Pack(a); !bytes.Equal(x, y) {
			t.Fatal("order is not that of insertions at the head")
		}
		s, u := a.Clone(), merged(a)
		s.SortAll()
		u.SortAll()
		x, _ = kvtree.Pack(s)
		if y, _ := kvtree.Pack(u); !bytes.Equal(x, y) {
			t.Fatal("equal trees, sorted, are different bytes")
		}
	})
}

func TestKeyValues(t *testing.T) {
	var tree kvtree.Tree
	tree.SetKVInt("RANK", 0).SetKVInt("CKPT", 10).SetKVInt("FILE", 3)
	tree.SetKV("RANK", "1")
	if tree.SetKV("RANK", "0") != tree.GetKVInt("RANK", 0) || tree.GetKVInt("RANK", 0).GetKV("CKPT", "10") == nil {
		t.Error("SetKV made a new tree")
	}
	if sub, err := tree.Getf("%s %d %s %d", "RANK", 0, "CKPT", 10); err != nil || sub != tree.At("RANK", "0", "CKPT", "10") || sub.Len() != 1 {
		t.Errorf("Getf: %v", err)
	}
	tree.UnsetKV("RANK", "7")
	tree.UnsetKV("RANK", "0")
	if tree.Get("RANK").Len() != 1 {
		t.Error("UnsetKV")
	}
	tree.UnsetKVInt("RANK", 1)
	if tree.Len() != 0 {
		t.Error("UnsetKV left the key without values")
	}
	sub, err := tree.Setf(kvtree.New(), "%s %lu %lld %#x %llu %#lx %f %s", "a", uint64(1), int64(-2), uint32(0x28eeb9e), 5, 0, 1.5, "")
	if err != nil || sub == nil || sub != tree.At("a", "1", "-2", "0x28eeb9e", "5", "0", "1.500000", "") {
		t.Errorf("Setf: %v", err)
	}
	for _, bad := range []struct {
		format string
		arg    any
	}{{"", 1}, {"%s %s", "a"}, {"%p", &tree}, {"%x", 1}, {"%d", "1"}, {"%s", 1}, {"%lu", -1}, {"%f", 1}, {"%s", nil}} {
		if _, err := tree.Setf(nil, bad.format, bad.arg); !errors.Is(err, fault.ErrUsage) {
			t.Errorf("Setf %q of %v: %v", bad.format, bad.arg, err)
		}
	}
	var none *kvtree.Tree
	none.Set("a", nil)
	none.Value("a").SetInt(1)
	none.SetKV("a", "b")
	none.UnsetKV("a", "b")
	none.Merge(&tree)
	none.UnsetAll()
	none.Sort(false)
	if none.Len() != 0 || none.Get("a") != nil || none.At("a", "b") != nil || none.Extract("a") != nil || !none.Equal(kvtree.New()) {
		t.Error("a nil tree is not empty")
	}
	if b, err := kvtree.Pack(none); err != nil || !bytes.Equal(b, []byte{0, 0, 0, 0}) {
		t.Errorf("nil packs to %x, %v", b, err)
	}
	tree.UnsetAll()
	if tree.Len() != 0 {
		t.Error("UnsetAll")
	}
}

func TestTypedValues(t *testing.T) {
	one := func(text string) *kvtree.Tree {
		t := kvtree.New()
		t.Value("k").SetStr(text)
		return t
	}
	type get func(*kvtree.Tree) (any, error)
	gets := map[string]get{
		"int":    func(t *kvtree.Tree) (any, error) { return t.Value("k").Int() },
		"int64":  func(t *kvtree.Tree) (any, error) { return t.Value("k").Int64() },
		"bytes":  func(t *kvtree.Tree) (any, error) { return t.Value("k").Uint64() },
		"crc":    func(t *kvtree.Tree) (any, error) { return t.Value("k").CRC32() },
		"double": func(t *kvtree.Tree) (any, error) { return t.Value("k").Double() },
		"str":    func(t *kvtree.Tree) (any, error) { return t.Value("k").Str() },
	}
	for _, tc := range []struct {
		get, text string
		want      any // expected value or error class
	}{
		{"int", "21", 21}, {"int", "-7", -7}, {"int", " +7", 7}, {"int", "010", 10}, {"int", "0x10", kvtree.ErrCorrupt},
		{"int", "", kvtree.ErrCorrupt}, {"int", "12abc", kvtree.ErrCorrupt}, {"int", "99999999999999999999", kvtree.ErrRange},
		{"int64", "0x10", int64(16)}, {"int64", "010", int64(8)}, {"int64", "-0X1f", int64(-31)}, {"int64", "0", int64(0)},
		{"int64", "-9223372036854775808", int64(math.MinInt64)}, {"int64", "9223372036854775808", kvtree.ErrRange},
		{"int64", "--1", kvtree.ErrCorrupt}, {"int64", "08", kvtree.ErrCorrupt}, {"int64", "1_0", kvtree.ErrCorrupt}, {"int64", "0x-1", kvtree.ErrCorrupt},
		{"bytes", "18446744073709551615", uint64(math.MaxUint64)}, {"bytes", "18446744073709551616", kvtree.ErrRange}, {"bytes", "-1", kvtree.ErrRange},
		{"bytes", "-", kvtree.ErrCorrupt},
		{"crc", "0x28eeb9e", uint32(0x28eeb9e)}, {"crc", "0", uint32(0)}, {"crc", "4294967295", uint32(math.MaxUint32)}, {"crc", "0x100000000", kvtree.ErrRange},
		{"double", "52428800.000000", 52428800.0}, {"double", "-inf", math.Inf(-1)}, {"double", " 1e3", 1000.0}, {"double", "x", kvtree.ErrCorrupt},
		{"str", "", ""}, {"str", "a b", "a b"},
	} {
		got, err := gets[tc.get](one(tc.text))
		if class, ok := tc.want.(error); ok {
			if !errors.Is(err, class) || !strings.Contains(err.Error(), `"k"`) {
				t.Errorf("%s of %q: %v, %v, want %v", tc.get, tc.text, got, err, class)
			}
		} else if err != nil || got != tc.want {
			t.Errorf("%s of %q: %v, %v, want %v", tc.get, tc.text, got, err, tc.want)
		}
	}
	if v, err := one("-nan").Value("k").Double(); err != nil || !math.IsNaN(v) {
		t.Errorf("-nan: %v, %v", v, err)
	}
	two := kvtree.New()
	two.SetKV("k", "20")
	two.SetKV("k", "21")
	empty := kvtree.New()
	empty.Set("k", nil)
	for name, f := range gets {
		if _, err := f(kvtree.New()); !errors.Is(err, kvtree.ErrMissing) {
			t.Errorf("%s of no key: %v", name, err)
		}
		if _, err := f(empty); !errors.Is(err, kvtree.ErrMissing) {
			t.Errorf("%s of no value: %v", name, err)
		}
		got, err := f(two)
		if name == "int" {
			if err != nil || got != 21 {
				t.Errorf("int of two values: %v, %v, want the first", got, err)
			}
		} else if !errors.Is(err, kvtree.ErrCorrupt) {
			t.Errorf("%s of two values: %v", name, err)
		}
	}
	two.Value("k").SetInt(22)
	if v, err := two.Value("k").Str(); err != nil || v != "22" {
		t.Errorf("SetInt left other values: %q, %v", v, err)
	}
	for v, want := range map[float64]string{math.Inf(1): "inf", math.NaN(): "nan", 1e20: "100000000000000000000.000000", -0.0000004: "-0.000000"} {
		two.Value("k").SetDouble(v)
		if s, _ := two.Value("k").Str(); s != want {
			t.Errorf("double %v is %q, want %q", v, s, want)
		}
	}
}

func TestInts(t *testing.T) {
	var tree kvtree.Tree
	for _, k := range []string{"10", "9", "-1"} {
		tree.Set(k, nil)
	}
	if got, err := tree.Ints(); err != nil || !slices.Equal(got, []int{-1, 9, 10}) {
		t.Errorf("%v, %v", got, err)
	}
	tree.SortInt(false)
	if got := tree.Keys(); !slices.Equal(got, []string{"-1", "9", "10"}) {
		t.Errorf("sorted %v", got)
	}
	tree.Sort(true)
	if got := tree.Keys(); !slices.Equal(got, []string{"9", "10", "-1"}) {
		t.Errorf("sorted %v", got)
	}
	tree.Set("x", nil)
	if _, err := tree.Ints(); !errors.Is(err, kvtree.ErrCorrupt) {
		t.Errorf("a key that is no number: %v", err)
	}
}

func TestDefect12WhatCannotBeWritten(t *testing.T) {
	var nul kvtree.Tree
	nul.Touch("a", "b\x00c")
	if _, err := kvtree.Encode(&nul); !errors.Is(err, fault.ErrUsage) {
		t.Errorf("a NUL in a key: %v", err)
	}
	var cycle kvtree.Tree
	cycle.Set("a", &cycle)
	if _, err := kvtree.Pack(&cycle); !errors.Is(err, kvtree.ErrTooLarge) {
		t.Errorf("a cycle: %v", err)
	}
	for _, o := range []kvtree.Options{{MaxBytes: 23}, {MaxBytes: 1 << 32}, {MaxElements: -1}, {MaxDepth: 1<<20 + 1}} {
		if _, err := kvtree.Unpack([]byte{0, 0, 0, 0}, &o); !errors.Is(err, fault.ErrUsage) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func TestLimits(t *testing.T) {
	var deep, wide kvtree.Tree
	deep.Touch(strings.Split(strings.Repeat("k", 10), "")...)
	for i := range 10 {
		wide.Set(fmt.Sprint(i), nil)
	}
	for _, tc := range []struct {
		tree *kvtree.Tree
		o    kvtree.Options
		ok   bool
	}{
		{&deep, kvtree.Options{MaxDepth: 10}, true}, {&deep, kvtree.Options{MaxDepth: 9}, false},
		{&wide, kvtree.Options{MaxElements: 10}, true}, {&wide, kvtree.Options{MaxElements: 9}, false},
		{&wide, kvtree.Options{MaxBytes: 88}, true}, {&wide, kvtree.Options{MaxBytes: 87}, false},
	} {
		b, err := kvtree.Encode(tc.tree)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err = decode(b, &tc.o); (err == nil) != tc.ok || err != nil && !errors.Is(err, kvtree.ErrTooLarge) {
			t.Errorf("%+v, record of %d bytes: %v", tc.o, len(b), err)
		}
	}
}

// TestDuplicates compares with the method of SCR, which puts each element read at the head of the list and then merges the list
// into an empty tree.
func TestDuplicates(t *testing.T) {
	const dup = "\x00\x00\x00\x03" +
		"K\x00\x00\x00\x00\x02a\x00\x00\x00\x00\x01p\x00\x00\x00\x00\x00b\x00\x00\x00\x00\x00" +
		"L\x00\x00\x00\x00\x00" +
		"K\x00\x00\x00\x00\x02c\x00\x00\x00\x00\x00a\x00\x00\x00\x00\x01q\x00\x00\x00\x00\x00"
	tree, err := kvtree.Unpack([]byte(dup), nil)
	if err != nil {
		t.Fatal(err)
	}
	const want = "  L\n  K\n    b\n    c\n    a\n      p\n      q\n"
	if got := print(t, tree, false); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	var many bytes.Buffer // the same wide node three times
	many.Write([]byte{0, 0, 0, 3})
	for range 3 {
		many.WriteString("K\x00\x00\x00\x00\x64")
		for i := range 100 {
			fmt.Fprintf(&many, "%d\x00\x00\x00\x00\x00", i)
		}
	}
	if tree, err = kvtree.Unpack(many.Bytes(), nil); err != nil || tree.Get("K").Len() != 100 {
		t.Errorf("%v, %v", tree.Keys(), err)
	}
	_, err = kvtree.Unpack(many.Bytes(), &kvtree.Options{MaxElements: 303})
	if err != nil {
		t.Errorf("within the limit: %v", err)
	}
}

// TestDefect3HugeCountsDeepDown reads a chain of nodes. The count of each node is as large as the rest of the input could hold.
// Memory must not be allocated according to each count.
func TestDefect3HugeCountsDeepDown(t *testing.T) {
	const levels = 20000
	left := levels * 5
	var b []byte
	for range levels {
		n := uint32((left - 4) / 5)
		b = append(b, byte(n>>24), byte(n>>16), byte(n>>8), byte(n), 0)
		left -= 5
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := kvtree.Unpack(b, nil); !errors.Is(err, kvtree.ErrCorrupt) {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	allocated := int64(after.TotalAlloc - before.TotalAlloc)
	if allocated > 100*int64(len(b)) {
		t.Errorf("%d bytes allocated for %d", allocated, len(b))
	}
}

func TestConcurrentReads(t *testing.T) {
	var tree kvtree.Tree
	for i := range 100 {
		tree.SetKVInt("RANK", i).Value("FILES").SetInt(i)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 100 {
				if n, err := tree.GetKVInt("RANK", i).Value("FILES").Int(); err != nil || n != i {
					t.Errorf("rank %d: %d, %v", i, n, err)
				}
			}
			if _, err := kvtree.Encode(&tree); err != nil || !tree.Clone().Equal(&tree) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// decode returns the tree and the length of its record.
func decode(b []byte, o *kvtree.Options) (*kvtree.Tree, int, error) {
	r, err := kvtree.Decode(b, o)
	if err != nil {
		return nil, 0, err
	}
	return r.Tree, int(r.Size), nil
}
