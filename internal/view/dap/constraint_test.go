package dap

import (
	"bytes"
	"errors"
	"net/url"
	"strings"
	"testing"

	"blobio/cdf5"
	"blobio/internal/base/fault"
)

func TestMalformed(t *testing.T) {
	d := small().dataset(AnyClient)
	for constraint, want := range map[string]string{
		"nothing":                        "no such variable",
		"T.nothing":                      "no such variable",
		"T.area":                         "no such variable", // not one of the Grid's maps
		"area.area":                      "no such variable", // not a Grid
		"T[0]":                           "1 slices, want 2",
		"T[0][0][0]":                     "3 slices, want 2",
		"T[3][0]":                        "index 3, want less than 3",
		"T[0:1:3][0]":                    "index 3, want less than 3",
		"T[2:1][0]":                      "a stop >= the start",
		"T[0:0:1][0]":                    "a stride >= 1",
		"T[-1][0]":                       "want integers >= 0",
		"T[+1][0]":                       "want integers >= 0",
		"T[ 1][0]":                       "want integers >= 0",
		"T[][0]":                         "want integers >= 0",
		"T[0:1:2:3][0]":                  "want [start:stride:stop]",
		"T[0][99999999999999999999]":     "want integers >= 0",
		"T[0:4611686018427387903:2][0]x": "want [start:stride:stop]",
		"T[0":                            "want [start:stride:stop]",
		"T[0][1]]":                       "want [start:stride:stop]",
		"T[0].T[1]":                      "want [start:stride:stop]",
		"[0]":                            "want a name",
		"]":                              "want a name",
		",":                              "want a name",
		"T,":                             "want a name",
		"P0[0]":                          "1 slices, want 0",
		"area[0],area[1]":                "two parts of area",
		"T,T.T":                          "in two forms",
		"geogrid(T,1,2)":                 "functions are not supported",
		"T&T>3":                          "selections",
		"date[0][0]":                     "2 slices, want 1",
		"T%zz":                           "invalid URL escape",
		"T%2CT%5B0%5D":                   "1 slices, want 2",
	} {
		_, err := d.Request(constraint)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", constraint, err, want)
			continue
		}
		if Code(err) != CodeMalformed && Code(err) != CodeNoVariable || !errors.Is(err, fault.ErrUsage) && !errors.Is(err, fault.ErrUnsupported) {
			t.Errorf("%s: code %d of %v", constraint, Code(err), err)
		}
	}
	for _, constraint := range []string{"", "&", "T,T", "area[4:1:4],area[4]", "a b", "a%20b", "T.T,T.time[1]", "P0,P0,P0"} {
		if _, err := d.Request(constraint); err != nil {
			t.Errorf("%q: %v", constraint, err)
		}
	}
}

// TestEncodedNames checks that names are found if a client encodes (%XX) only names, as declarations do, if it encodes the
// names again for the URL, and if it encodes every separator.
func TestEncodedNames(t *testing.T) {
	h := &cdf5.Header{Version: cdf5.CDF5, Dims: []cdf5.Dim{{Name: "n", Len: 4}}}
	for _, name := range []string{"x,y[0]", "a&b", "50%", "c.d", "plain"} {
		h.Vars = append(h.Vars, cdf5.Var{Name: name, Type: cdf5.Int, Dims: []int{0}})
	}
	d := (&memory{hdr: h}).dataset(AnyClient)
	for i, v := range d.vars {
		for _, q := range []string{v.name + "[1:2]", url.QueryEscape(v.name) + "[1:2]", url.QueryEscape(v.name + "[1:2]"), "plain[1:2]," + v.name + "[1:2]"} {
			r, err := d.Request(q)
			if err != nil {
				t.Errorf("%s: %v", q, err)
				continue
			}
			if x := r.items[0]; x.of.id != i || x.parts[0].at[0] != (slice{1, 1, 2}) {
				t.Errorf("%s is %s %v", q, x.of.Name, x.parts[0].at)
			}
		}
	}
}

func TestErrorObject(t *testing.T) {
	got := string(AppendError(nil, 1005, "a \"b\"\n\\"))
	want := "Error {\n    code = 1005;\n    message = \"a \\\"b\\\"\\\\n\\\\\";\n};\n"
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// FuzzRequest checks that any text gives an error or an answer of the predicted length with valid declarations.
func FuzzRequest(f *testing.F) {
	for _, s := range []string{"", "T[0][1:2:3],area", "T.T[2:2][0:3],T.lev", "a%20b[1]", "date", "&x>1", "T[0:9223372036854775807:1][0]", "f(1)", "%zz", "[", "T[1][0],T[0][0]"} {
		f.Add(s)
	}
	m := small()
	f.Fuzz(func(t *testing.T, constraint string) {
		d := m.dataset(Client(len(constraint) % 2))
		q, err := d.Request(constraint)
		if err != nil {
			if code := Code(err); code != CodeMalformed && code != CodeNoVariable {
				t.Errorf("code %d of %v", code, err)
			}
			return
		}
		parseDDS(t, string(q.AppendDDS(nil)))
		var b bytes.Buffer
		if err := q.WriteDODS(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
		if n, ok, err := q.Size(); err != nil || ok && n != int64(b.Len()) {
			t.Errorf("%d bytes, %d foretold (%v)", b.Len(), n, err)
		}
		if err := q.WriteASCII(t.Context(), &b); err != nil {
			t.Error(err)
		}
	})
}
