package cello

import (
	"bytes"
	"errors"
	"reflect"
	"testing"
)

func FuzzAdapt(f *testing.F) {
	a := adaptBuffer{Rank: 3, Valid: true, Neighbours: make([]levelInfo, 5)}
	b, err := a.bytes()
	must(err)
	f.Add(b)
	f.Add(make([]byte, 4000))
	f.Add([]byte{27})
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := decodeAdapt(b)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		out, err := a.bytes()
		if err != nil {
			t.Fatal(err)
		}
		c, err := decodeAdapt(out)
		if err != nil || !reflect.DeepEqual(a, c) {
			t.Fatalf("%+v, %+v, %v", a, c, err)
		}
		if !bytes.Equal(out[:adaptSelf], b[:adaptSelf]) {
			t.Fatal("the front differs")
		}
	})
}

func FuzzManifest(f *testing.F) {
	m := manifest{ID: "x", Datasets: []string{"field_a"}, Files: []manifestFile{{Name: "a", Size: 10, Blocks: 1, Groups: []uint32{1}, Data: []uint32{7}}}}
	b, err := m.encode()
	must(err)
	f.Add(b)
	f.Add([]byte("{}\n{}\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, err := decodeManifest(b, "x"); err == nil {
			if _, err := m.encode(); err != nil {
				t.Fatal(err)
			}
		}
	})
}
