package cdf5_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"blobio/cdf5"
	"blobio/internal/cdf5/cdftest"
)

// golden reads an annotated hex file.
func golden(t testing.TB, name string) []byte {
	t.Helper()
	text := need(os.ReadFile(filepath.Join("testdata", name+".hex")))
	var b []byte
	for line := range strings.Lines(string(text)) {
		data, _, _ := strings.Cut(line, "#")
		f := strings.Fields(data)
		if len(f) == 0 {
			continue
		}
		x, err := hex.DecodeString(strings.Join(f[1:], ""))
		if err != nil {
			t.Fatalf("%s: %s: %v", name, line, err)
		}
		b = append(b, x...)
	}
	return b
}

func goldenHeader(v cdf5.Version) *cdf5.Header {
	h := &cdf5.Header{Version: v, NumRecs: 2,
		Dims: []cdf5.Dim{{Name: "t"}, {Name: "cell", Len: 3}},
		Atts: []cdf5.Att{{Name: "title", Type: cdf5.Char, Value: "hi"}},
		Vars: []cdf5.Var{
			{Name: "mask", Type: cdf5.Byte, Dims: []int{1}},
			{Name: "p0", Type: cdf5.Double, Atts: []cdf5.Att{{Name: "pair", Type: cdf5.Short, Value: []int16{1, -2}}}},
			{Name: "u", Type: cdf5.Float, Dims: []int{0, 1}},
		}}
	if v == cdf5.CDF5 {
		h.Atts = append(h.Atts, cdf5.Att{Name: "n", Type: cdf5.Int64, Value: []int64{-2}})
	}
	return h
}

func TestGolden(t *testing.T) {
	for name, v := range map[string]cdf5.Version{"cdf1": cdf5.CDF1, "cdf2": cdf5.CDF2, "cdf5": cdf5.CDF5} {
		t.Run(name, func(t *testing.T) {
			want := golden(t, name)
			file := cdftest.Build(t, goldenHeader(v), false, []int8{1, 0, 1}, []int32{1000}, []float64{1, 2, 3, -1, -2, -3})
			if !bytes.Equal(file, want) {
				t.Errorf("written:\n%s\nwant:\n%s", hex.Dump(file), hex.Dump(want))
			}
			if h, _, err := decode(want, nil); err != nil || !same(h, goldenHeader(v)) {
				t.Errorf("header: %v, %v", h, err)
			}
			if u := cdftest.Values(t, want, 2); !reflect.DeepEqual(u, []float32{1, 2, 3, -1, -2, -3}) {
				t.Errorf("u = %v", u)
			}
		})
	}
}

func TestGoldenHeaderBlob(t *testing.T) {
	want := golden(t, "header_blob")
	h := goldenHeader(cdf5.CDF5)
	must(h.Layout(nil))
	got, err := h.AppendTo([]byte("x"), binary.LittleEndian, true)
	if err != nil || !bytes.Equal(got[1:], want) {
		t.Errorf("%v, encoded:\n%s\nwant:\n%s", err, hex.Dump(got), hex.Dump(want))
	}
	for _, order := range []binary.ByteOrder{cdf5.AutoOrder, binary.LittleEndian} {
		back, n, err := decode(want, &cdf5.DecodeOptions{Order: order, NoBegins: true})
		if err != nil || n != int64(len(want)) || !same(back, h) {
			t.Errorf("%v: %v, %d bytes, %v", order, err, n, back)
		}
	}
	if order, ok := cdf5.HeaderOrder(want); !ok || order != binary.LittleEndian {
		t.Errorf("HeaderOrder: %v, %v", order, ok)
	}
	if order, ok := cdf5.HeaderOrder(golden(t, "cdf1")); !ok || order != binary.BigEndian {
		t.Errorf("HeaderOrder of cdf1: %v, %v", order, ok)
	}
	if _, ok := cdf5.HeaderOrder([]byte("CDF")); ok {
		t.Error("HeaderOrder of three bytes")
	}
}
