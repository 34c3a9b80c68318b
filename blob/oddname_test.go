package blob

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/blob/internal/check"
	"blobio/blob/internal/convert"
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/read"
	"blobio/cdf5"
	"blobio/internal/base/vfs"
)

// TestOddName checks a variable name that is not UTF-8. Check must give a warning, and Convert must keep the name.
func TestOddName(t *testing.T) {
	ctx := context.Background()
	out := canonicalToy(t, 1)
	b := need(os.ReadFile(out))
	b = bytes.Replace(b, []byte("FLUX"), []byte("FL\xb5X"), 1) // Latin-1, which older libraries wrote
	noError(t, os.WriteFile(out, b, 0o666))
	said := 0
	for f := range check.Check(ctx, out, nil) {
		if f.Severity == dataset.Warning && strings.Contains(f.Msg, "not UTF-8") {
			said++
		} else if f.Severity >= dataset.Error {
			t.Error(f)
		}
	}
	if said != 1 {
		t.Errorf("%d warnings about the name, want 1", said)
	}
	x := opened(t, vfs.OS, out, nil)
	if err := x.Read(ctx, "FL\xb5X", nil, nil, make([]float64, toyCol)); err != nil {
		t.Error(err)
	}
	copied := filepath.Join(t.TempDir(), "d.nc")
	if err := convert.Convert(ctx, x, copied, nil); err != nil { // the output has the same name, so both files can be read
		t.Fatal(err)
	}
	y := opened(t, vfs.OS, copied, nil)
	if _, ok := y.Now().Data.Schema.VarID("FL\xb5X"); !ok {
		t.Error("the copy has another name")
	}
}

// TestNamesTwice checks an ordinary file with equal names, or a name with a slash. Check gives a warning, because ncdump can
// read the file. A lookup by name finds the first variable, and the others get new names. In a subfile such names are damage.
func TestNamesTwice(t *testing.T) {
	ctx := context.Background()
	text := func(name, v string) cdf5.Att { return cdf5.Att{Name: name, Type: cdf5.Char, Value: v} }
	h := &cdf5.Header{Version: cdf5.CDF5, Dims: []cdf5.Dim{{Name: "xA", Len: 2}, {Name: "xB", Len: 2}},
		Atts: []cdf5.Att{text("gA", "one"), text("gB", "two"), text("g+p", "x")},
		Vars: []cdf5.Var{{Name: "vA", Type: cdf5.Int, Dims: []int{0}, Atts: []cdf5.Att{text("uA", "m"), text("uB", "s")}},
			{Name: "vB", Type: cdf5.Int, Dims: []int{1}}, {Name: "vA_2", Type: cdf5.Int, Dims: []int{1}}, {Name: "v+w", Type: cdf5.Int, Dims: []int{1}}}}
	noError(t, h.Layout(&cdf5.LayoutOptions{OddNames: true}))
	b := need(h.AppendTo(nil, binary.BigEndian, false))
	b = append(b, make([]byte, h.FileSize(0)-int64(len(b)))...)
	for i := range h.Vars {
		for k := range 2 {
			binary.BigEndian.PutUint32(b[h.Vars[i].Begin+int64(4*k):], uint32(10*i+k))
		}
	}
	for was, is := range map[string]string{"xB": "xA", "gB": "gA", "vB": "vA", "uB": "uA", "g+p": "g/p", "v+w": "v/w"} {
		b = bytes.ReplaceAll(b, []byte(was), []byte(is))
	}
	path := filepath.Join(t.TempDir(), "odd.nc")
	noError(t, os.WriteFile(path, b, 0o666))
	warned := 0
	for f := range check.Check(ctx, path, nil) {
		if f.Severity == dataset.Warning {
			warned++
		} else if f.Severity > dataset.Warning {
			t.Error(f)
		}
	}
	if warned != 6 {
		t.Errorf("%d warnings, want 6", warned)
	}
	copied := filepath.Join(t.TempDir(), "copy.nc")
	for _, name := range []string{path, copied} {
		r := need(read.Open(ctx, name, nil))
		for v, want := range map[string]int32{"vA": 0, "vA_3": 10, "vA_2": 20, "v/w": 30} {
			got := make([]int32, 2)
			if err := r.Read(ctx, v, nil, nil, got); err != nil || got[0] != want || got[1] != want+1 {
				t.Errorf("%s: %s: %v, %v, want %d, %d", name, v, got, err, want, want+1)
			}
		}
		s := r.Now().Data.Schema
		if d := s.Dims; d[0].Name != "xA" || d[1].Name != "xA_2" {
			t.Errorf("dimensions %v", d)
		}
		for i, want := range []string{"gA", "gA_2", "g/p"} {
			if a := s.Attributes()[i]; a.Name != want {
				t.Errorf("attribute %d is %v, want %s", i, a, want)
			}
		}
		if a := s.Vars[0].Atts; a[0].Name != "uA" || a[1].Name != "uA_2" || a[1].Value != "s" {
			t.Errorf("attributes %v", a)
		}
		if name == path {
			noError(t, convert.Convert(ctx, r, copied, nil))
		}
		noError(t, r.Close())
	}
}

// TestSubfileNamesTwice checks that equal names in a subfile are damage.
func TestSubfileNamesTwice(t *testing.T) {
	m, mem := tinyModel(1, 2), vfs.NewMem()
	m.writeTo(t, mem, &dataset.Settings{Knobs: dataset.Knobs{Fs: mem}})
	must(mem.Remove("d.nc.manifest"))
	b := need(slurp(mem, "d.nc.0000"))
	i, k := bytes.Index(b, []byte("D1.offsets")), bytes.Index(b, []byte("D1.lengths"))
	copy(b[k:], b[i:i+10])
	must(rewrite(mem, "d.nc.0000", b))
	if bad := checkErrors(mem, "d.nc"); len(bad) == 0 || !errors.Is(bad[0].Err, dataset.ErrCorrupt) || !strings.Contains(bad[0].String(), "occurs twice") {
		t.Errorf("%v, want names that are there twice", bad)
	}
}
