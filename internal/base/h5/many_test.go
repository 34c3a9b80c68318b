package h5

import (
	"blobio/internal/base/crashtest"
	"fmt"
	"testing"
	"time"
)

// manyFile returns a file with n groups in the root, each with an attribute.
func manyFile(t testing.TB, n int) []byte {
	tpl, err := NewTemplate(func(b *Builder) { b.Attr("i", Int32, nil, 0) })
	if err != nil {
		t.Fatal(err)
	}
	b := NewBuilder()
	for i := range n {
		b.Stamp(fmt.Sprintf("B%05d_x", i), tpl)
	}
	file := build(t, b, nil)
	for i, s := range b.Stamps() {
		le.PutUint32(tpl.Attr(file[s.Offset():], 0), uint32(i))
	}
	return file
}

// TestManyMembers tests trees of zero to three levels above the symbol nodes, near full nodes.
func TestManyMembers(t *testing.T) {
	for _, n := range []int{0, 1, 7, 8, 9, 255, 256, 257, 511, 8191, 8192, 8193, crashtest.Times(20000, 100000)} {
		begin := time.Now()
		file := manyFile(t, n)
		f := openBytes(t, file)
		root, err := f.Root()
		if err != nil {
			t.Fatal(err)
		}
		i := 0
		for l, err := range root.Members() {
			if err != nil {
				t.Fatal(err)
			}
			if want := fmt.Sprintf("B%05d_x", i); l.Name != want {
				t.Fatalf("member %d of %d is %s, want %s", i, n, l.Name, want)
			}
			i++
		}
		if i != n {
			t.Fatalf("%d members, want %d", i, n)
		}
		for i := 0; i < n; i += 1 + n/1000 {
			o, err := root.Lookup(fmt.Sprintf("B%05d_x", i))
			if err != nil {
				t.Fatal(err)
			}
			a, err := o.Attr("i")
			if err != nil {
				t.Fatal(err)
			}
			if v, err := a.Int64s(); err != nil || v[0] != int64(i) {
				t.Fatal(v, err)
			}
		}
		for _, name := range []string{"A", "B00000_", "C"} {
			if _, err := root.Lookup(name); err == nil {
				t.Fatalf("%q was found", name)
			}
		}
		if n > 10000 {
			t.Logf("%d members, %d bytes: %v", n, len(file), time.Since(begin))
		}
	}
}
