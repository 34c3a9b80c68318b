package h5

import (
	"bytes"
	"fmt"
	"testing"
)

// stampedFile returns a file with n groups made from one template: attributes that need continuations, datasets of varying
// length, and an ordinary dataset.
func stampedFile(t testing.TB, n int) []byte {
	t.Helper()
	tpl, err := NewTemplate(func(g *Builder) {
		g.Attr("index", Int32, []int64{3}, []int32{0, 0, 0})
		g.Attr("big", Int32, []int64{1000}, make([]int32, 1000))
		g.Attr("time", Float64, []int64{1}, []float64{0})
		g.Attr("odd", Int8, []int64{5}, []int8{1, 2, 3, 4, 5})
		for k := range 11 {
			g.Dataset(fmt.Sprintf("field_%d", k), Float32, []int64{2, 3}, nil)
		}
		g.Dataset("particle_x", Float64, []int64{1}, nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	b := NewBuilder()
	b.Attr("rank", Int32, []int64{1}, []int32{3})
	b.Dataset("other", Int8, []int64{0}, nil)
	const per = 11 * 24
	total := int64(0)
	for i := range n {
		b.Stamp(fmt.Sprintf("B%03d", i), tpl)
		total += per + 8*int64(i%3)
	}
	b.Reserve(total, 64)
	l, err := b.Layout()
	if err != nil {
		t.Fatal(err)
	}
	file := make([]byte, l.Size)
	for _, p := range l.Pieces {
		copy(file[p.Off:], p.Data)
	}
	defer func() {
		for i, s := range b.Stamps() {
			m := file[s.Offset():]
			if !tpl.Match(m, s.Offset()) {
				t.Fatalf("stamp %d does not match its template", i)
			}
			if d, off := tpl.Dataset(m, 11); d[0] != int64(i%3) || (off < 0) != (i%3 == 0) {
				t.Fatalf("dataset of stamp %d: %v at %d", i, d[0], off)
			}
			// A change outside the values is detected.
			value := func(p int) bool {
				for _, a := range tpl.attrs {
					if p >= a.off && p < a.off+a.len {
						return true
					}
				}
				for _, d := range tpl.datasets {
					if p >= d.layout && p < d.layout+8 {
						return true // another offset is valid
					}
				}
				return false
			}
			if i == 1 {
				for p := range int(tpl.Len()) {
					m[p] ^= 0x10
					if tpl.Match(m, s.Offset()) && !value(p) {
						t.Fatalf("a change of byte %d is not seen", p)
					}
					m[p] ^= 0x10
				}
			}
		}
	}()
	at := l.Reserved
	for i, s := range b.Stamps() {
		m := file[s.Offset():][:tpl.Len()]
		s.Encode(m)
		le.PutUint32(tpl.Attr(m, 0)[4:], uint32(i))
		le.PutUint32(tpl.Attr(m, 1)[3996:], uint32(i))
		for k := range 11 {
			tpl.SetDataset(m, k, nil, at)
			le.PutUint32(file[at:], 0x3f800000)
			at += 24
		}
		tpl.SetDataset(m, 11, []int64{int64(i % 3)}, at)
		at += 8 * int64(i%3)
	}
	if at != l.Size && n > 0 {
		t.Fatalf("data end at %d, the file at %d", at, l.Size)
	}
	return file
}

// TestTemplate: a reader finds the same content in stamped groups as in groups that a Builder made.
func TestTemplate(t *testing.T) {
	for _, n := range []int{0, 1, 8, 9, 300} {
		f := openBytes(t, stampedFile(t, n))
		objects := 0
		for o, err := range walk(f) {
			if err != nil {
				t.Fatal(err)
			}
			objects++
			_ = o
		}
		if want := 2 + n*13; objects != want {
			t.Fatalf("%d objects, want %d", objects, want)
		}
		for i := range n {
			g := members(t, f, fmt.Sprintf("B%03d", i))
			var names []string
			for a, err := range g.Attrs() {
				if err != nil {
					t.Fatal(err)
				}
				names = append(names, a.Name)
				v, err := a.Value()
				if err != nil {
					t.Fatal(err)
				}
				switch x := v.(type) {
				case []int32:
					if x[len(x)-1] != int32(i) && x[1] != int32(i) {
						t.Fatalf("%s of %d: %v", a.Name, i, x)
					}
				case []int8:
					if !bytes.Equal([]byte{1, 2, 3, 4, 5}, []byte{byte(x[0]), byte(x[1]), byte(x[2]), byte(x[3]), byte(x[4])}) {
						t.Fatal(x)
					}
				}
			}
			if fmt.Sprint(names) != "[index big time odd]" {
				t.Fatal(names)
			}
			d, err := g.Dataset("field_10")
			if err != nil {
				t.Fatal(err)
			}
			v := make([]float32, 6)
			if err := d.Read(nil, nil, v); err != nil || v[0] != 1 || v[1] != 0 {
				t.Fatal(v, err)
			}
			p, err := g.Dataset("particle_x")
			if err != nil {
				t.Fatal(err)
			}
			if p.Elems() != int64(i%3) {
				t.Fatalf("%d particles in %d", p.Elems(), i)
			}
			if _, ok := p.Offset(); ok != (i%3 > 0) {
				t.Fatal("offset of empty data")
			}
		}
	}
}

func TestTemplateUsage(t *testing.T) {
	if _, err := NewTemplate(func(g *Builder) { g.Attr("", Int8, nil, 1) }); err == nil {
		t.Error("a template with a bad attribute")
	}
	tpl, err := NewTemplate(func(*Builder) {})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewTemplate(func(b *Builder) { b.Stamp("x", tpl) }); err == nil {
		t.Error("a template with a group")
	}
	for name, f := range map[string]func(b *Builder){
		"twice":   func(b *Builder) { b.Stamp("x", tpl); b.Stamp("x", tpl) },
		"name":    func(b *Builder) { b.Stamp("a/b", tpl) },
		"reserve": func(b *Builder) { b.Reserve(1, 1); b.Reserve(1, 1) },
	} {
		b := NewBuilder()
		f(b)
		if _, err := b.Layout(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
