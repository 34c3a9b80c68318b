package kvtree_test

import (
	"bytes"
	"errors"
	"testing"

	"blobio/scr/kvtree"
)

// seeds returns records and bodies of many kinds.
func seeds(f *testing.F) [][]byte {
	var trees []*kvtree.Tree
	for _, build := range []func(*kvtree.Tree){
		func(t *kvtree.Tree) {},
		func(t *kvtree.Tree) { t.SetKV("A", "b") },
		nested,
		built["scalars"],
		func(t *kvtree.Tree) {
			for i := range 40 {
				t.SetKVInt("RANK", i)
			}
		},
	} {
		t := kvtree.New()
		build(t)
		trees = append(trees, t)
	}
	var out [][]byte
	for _, t := range trees {
		b, err := kvtree.Encode(t)
		if err != nil {
			f.Fatal(err)
		}
		noCRC := bytes.Clone(b)
		noCRC[19] = 0 // without a CRC, fuzzing reaches the body
		out = append(out, b, append(bytes.Clone(b), "payload"...), b[:len(b)/2], noCRC)
	}
	return out
}

// FuzzDecode checks that a decoded tree can be written and read back, and that all readers return the same tree.
func FuzzDecode(f *testing.F) {
	for _, b := range seeds(f) {
		f.Add(b)
	}
	o := &kvtree.Options{MaxBytes: 1 << 16, MaxElements: 1 << 12, MaxDepth: 1 << 10}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := kvtree.Decode(b, o)
		ra, errAt := kvtree.ReadRecord(bytes.NewReader(b), 0, int64(len(b)), o)
		if err != nil {
			var fe *kvtree.FormatError
			if !errors.As(err, &fe) || fe.Offset < 0 || fe.Offset > int64(len(b)) {
				t.Fatalf("error %v", err)
			}
			if errAt == nil || errAt.Error() != err.Error() {
				t.Fatalf("errors %v, %v", err, errAt)
			}
			return
		}
		if errAt != nil || !ra.Tree.Equal(r.Tree) || ra.Size != r.Size {
			t.Fatalf("readers differ: %v", errAt)
		}
		again, err := kvtree.Encode(r.Tree)
		if err != nil {
			t.Fatal(err)
		}
		if r.HasCRC && r.Flags == 1 && r.Duplicates == 0 && r.Extra == 0 && !bytes.Equal(again, b[:r.Size]) {
			t.Fatal("rewritten record differs")
		}
		second, _, err := decode(again, &kvtree.Options{Strict: true})
		if err != nil || !second.Equal(r.Tree) {
			t.Fatalf("second reading: %v", err)
		}
		c := r.Tree.Clone()
		c.SortAll()
		if !c.Equal(r.Tree) {
			t.Fatal("sorting lost something")
		}
	})
}

// FuzzUnpack reads bodies, which have no CRC, and compares the result with the result of a simple recursive reader like SCR's.
func FuzzUnpack(f *testing.F) {
	for _, b := range seeds(f) {
		if len(b) > 24 {
			f.Add(b[20 : len(b)-4])
		}
	}
	f.Add([]byte("\x00\x00\x00\x03K\x00\x00\x00\x00\x01a\x00\x00\x00\x00\x00L\x00\x00\x00\x00\x00K\x00\x00\x00\x00\x01b\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<14 {
			return
		}
		got, err := kvtree.Unpack(b, nil)
		raw, rest, ok := simple(b)
		if (err == nil) != (ok && len(rest) == 0) {
			t.Fatalf("error %v, the simple reader says %v with %d bytes left", err, ok, len(rest))
		}
		if err != nil {
			return
		}
		want := kvtree.New()
		want.Merge(raw)
		x, _ := kvtree.Pack(got)
		y, _ := kvtree.Pack(want)
		if !bytes.Equal(x, y) {
			t.Fatalf("%x, want %x", x, y)
		}
	})
}

// simple reads a tree as SCR does, beginning at the head of the list. Unlike SCR, it merges duplicate keys at once. The result is
// the same, because SCR's merge takes the later element first.
func simple(b []byte) (t *kvtree.Tree, rest []byte, ok bool) {
	if len(b) < 4 {
		return nil, nil, false
	}
	n := int64(b[0])<<24 | int64(b[1])<<16 | int64(b[2])<<8 | int64(b[3])
	b = b[4:]
	type element struct {
		key string
		sub *kvtree.Tree
	}
	var elements []element
	for range n {
		i := bytes.IndexByte(b, 0)
		if i < 0 {
			return nil, nil, false
		}
		sub, after, ok := simple(b[i+1:])
		if !ok {
			return nil, nil, false
		}
		elements = append(elements, element{string(b[:i]), sub})
		b = after
	}
	// In SCR the list would now begin with the last element, and merging would put each new key at the head. The result is a list
	// with each key at its first position, merged with later elements of the same key. Build this list.
	t = kvtree.New()
	var keys []string
	subs := map[string]*kvtree.Tree{}
	for i := len(elements) - 1; i >= 0; i-- {
		e := elements[i]
		if own, ok := subs[e.key]; ok {
			both := kvtree.New()
			both.Merge(own)
			both.Merge(e.sub)
			own.UnsetAll()
			own.Merge(both)
			continue
		}
		keys = append(keys, e.key)
		subs[e.key] = e.sub
	}
	for i := len(keys) - 1; i >= 0; i-- {
		t.Set(keys[i], subs[keys[i]])
	}
	return t, b, true
}
