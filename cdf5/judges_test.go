package cdf5_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"blobio/cdf5"
	"blobio/internal/base/testfiles"
	"blobio/internal/cdf5/cdftest"
)

// lone returns a header with one record variable, whose records have no pad.
func lone(v cdf5.Version, t cdf5.Type, n int64) *cdf5.Header {
	return &cdf5.Header{Version: v,
		Dims: []cdf5.Dim{{Name: "x", Len: n}, {Name: "t"}},
		Vars: []cdf5.Var{{Name: "fix", Type: cdf5.Byte, Dims: []int{0}}, {Name: "rec", Type: t, Dims: []int{1, 0}}}}
}

func writeFile(t *testing.T, h *cdf5.Header, fill bool, values []any) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "out.nc")
	must(os.WriteFile(path, cdftest.Build(t, h, fill, values...), 0o666))
	return path
}

func TestJudgesAcceptWritten(t *testing.T) {
	for _, v := range []cdf5.Version{cdf5.CDF1, cdf5.CDF2, cdf5.CDF5} {
		cases := map[string]*cdf5.Header{"all": sample(v, 0)}
		for _, typ := range typesOf(v) {
			cases["lone_"+typ.String()] = lone(v, typ, 3)
		}
		for name, h := range cases {
			for _, fill := range []bool{false, true} {
				t.Run(fmt.Sprintf("%v/%s/fill=%v", v, name, fill), func(t *testing.T) {
					const records = 3
					h.NumRecs = records
					path := writeFile(t, h, fill, patterns(h))
					if out := testfiles.Run(t, "ncvalidator", path); !strings.Contains(out, "is a valid") {
						t.Errorf("ncvalidator: %s", out)
					}
					checkCDL(t, "ncdump", testfiles.Run(t, "ncdump", path), h, records)
					if fill && v == cdf5.CDF5 && (name == "all" || name == "lone_short") { // only a few cases, because the start of MPI takes a second
						checkCDL(t, "ncmpidump", testfiles.Run(t, "ncmpidump", path), h, records)
					}
				})
			}
		}
	}
}

var cdlSpace = regexp.MustCompile(`\s+`)

// checkCDL checks that a CDL text has every variable's values.
func checkCDL(t *testing.T, tool, cdl string, h *cdf5.Header, records int) {
	t.Helper()
	_, data, _ := strings.Cut(cdl, "data:")
	for v := range h.Vars {
		name := h.Vars[v].Name
		m := regexp.MustCompile(`(?s)\n\s*` + name + ` =(.*?);`).FindStringSubmatch(data)
		if m == nil {
			t.Errorf("%s shows no %s", tool, name)
			continue
		}
		got := strings.Split(cdlSpace.ReplaceAllString(m[1], ""), ",")
		n := int(h.Elems(v))
		if h.IsRecord(v) {
			n *= records
		}
		want := pattern(h.Vars[v].Type, v, n)
		if h.Vars[v].Type == cdf5.Char {
			if g, w := strings.ReplaceAll(strings.Join(got, ""), `"`, ""), string(want.([]byte)); g != w {
				t.Errorf("%s: %s = %s, want %s", tool, name, g, w)
			}
			continue
		}
		if len(got) != n {
			t.Errorf("%s: %s has %d values, want %d", tool, name, len(got), n)
			continue
		}
		for i, g := range got {
			w := fmt.Sprint(reflect.ValueOf(want).Index(i).Interface())
			if g == "_" {
				g = fmt.Sprint(cdf5.FillValue(h.Vars[v].Type))
			}
			g = strings.TrimRight(g, "fbsdUL")
			g = strings.TrimSuffix(g, ".")
			if g != w {
				t.Errorf("%s: %s[%d] = %s, want %s", tool, name, i, g, w)
				break
			}
		}
	}
}

// TestJudgesFill writes a file with fill values and compares it with the file that ncgen makes.
func TestJudgesFill(t *testing.T) {
	for kind, v := range map[string]cdf5.Version{"classic": cdf5.CDF1, "nc6": cdf5.CDF2, "cdf5": cdf5.CDF5} {
		t.Run(kind, func(t *testing.T) {
			h := sample(v, 2)
			// CDL and ncgen lose attributes without values and the type int64 (ncgen makes it int).
			h.Atts = slices.DeleteFunc(h.Atts, func(a cdf5.Att) bool { return a.Len() == 0 || a.Type == cdf5.Int64 })
			h.Vars = slices.DeleteFunc(h.Vars, func(x cdf5.Var) bool { return x.Type == cdf5.Int64 })
			values := patterns(h)
			for v := range h.Vars {
				if name := h.Vars[v].Name; strings.HasPrefix(name, "f_") || strings.HasPrefix(name, "s_") || name == "own_fill" {
					values[v] = nil
				}
			}
			path := writeFile(t, h, true, values)
			cdl := filepath.Join(t.TempDir(), "out.cdl")
			must(os.WriteFile(cdl, []byte(testfiles.Run(t, "ncdump", "-p", "9,17", path)), 0o666))
			theirs := filepath.Join(t.TempDir(), "theirs.nc")
			testfiles.Run(t, "ncgen", "-k", kind, "-o", theirs, cdl)
			a := need(os.ReadFile(path))
			b := need(os.ReadFile(theirs))
			h1, n, err := decode(b, nil)
			must(err)
			if !same(h, h1) {
				t.Errorf("headers differ: %v, %v", h, h1)
			}
			if !bytes.Equal(a[n:], b[n:]) {
				i := int(n)
				for i < min(len(a), len(b)) && a[i] == b[i] {
					i++
				}
				t.Errorf("data of %d and %d bytes differ at %#x", len(a), len(b), i)
			}
		})
	}
}

const judgeCDL = `netcdf made {
dimensions:
	t = UNLIMITED ; y = 2 ; x = 3 ;
variables:
	short lone(t, x) ;
	byte b(y, x) ;
	char name(y, x) ;
	int scalar ;
	float f(x, y) ; f:_FillValue = -5.f ;
	double d(y) ; d:pair = 1., 2. ; d:text = "words" ;
// global attributes:
	:history = "made from CDL" ;
	:ints = 1, 2, 3 ;
data:
	lone = 1, 2, 3, -4, -5, -6, 7, 8, 9 ;
	b = 1, -2, 3, -4, 5, -6 ;
	name = "abc", "de" ;
	scalar = 42 ;
	f = 1.5, _, 2.5, -3, 4, 1e10 ;
	d = -1e300, 1e-300 ;
}
`

// TestJudgesMade reads files made by ncgen.
func TestJudgesMade(t *testing.T) {
	for kind, v := range map[string]cdf5.Version{"classic": cdf5.CDF1, "nc6": cdf5.CDF2, "cdf5": cdf5.CDF5} {
		t.Run(kind, func(t *testing.T) {
			dir := t.TempDir()
			cdl, nc := filepath.Join(dir, "made.cdl"), filepath.Join(dir, "made.nc")
			must(os.WriteFile(cdl, []byte(judgeCDL), 0o666))
			testfiles.Run(t, "ncgen", "-k", kind, "-o", nc, cdl)
			b := need(os.ReadFile(nc))
			h, _, err := decode(b, nil)
			must(err)
			if h.Version != v || h.RecSize() != 6 || h.Records(int64(len(b))) != 3 || h.FileSize(3) != int64(len(b)) {
				t.Errorf("%v, record size %d, %d records, %d bytes for %d", h.Version, h.RecSize(), h.Records(int64(len(b))), h.FileSize(3), len(b))
			}
			for name, want := range map[string]any{
				"lone": []int16{1, 2, 3, -4, -5, -6, 7, 8, 9}, "b": []int8{1, -2, 3, -4, 5, -6}, "name": []byte("abcde\x00"),
				"scalar": []int32{42}, "f": []float32{1.5, -5, 2.5, -3, 4, 1e10}, "d": []float64{-1e300, 1e-300},
			} {
				if got := cdftest.Values(t, b, h.VarIndex(name)); !reflect.DeepEqual(got, want) {
					t.Errorf("%s = %v, want %v", name, got, want)
				}
			}
			enc := encode(t, h)
			if !bytes.Equal(enc, b[:len(enc)]) {
				t.Error("the header encodes to other bytes")
			}
			if err := h.Layout(nil); err != nil || !bytes.Equal(encode(t, h), enc) {
				t.Errorf("Layout computes other vsizes or begins: %v", err)
			}
		})
	}
}
