package judges

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"blobio/blob"
	"blobio/cdf5"
)

// cdfFiles are all files of a dataset that are CDF files.
func (d *dataset) cdfFiles() []string { return append(d.files(d.variable), d.canonical) }

// TestNcdumpHeader: the declarations of dimensions and variables in order, and
// which attributes there are.
func TestNcdumpHeader(t *testing.T) {
	need(t, "ncdump")
	each(t, func(t *testing.T, d *dataset) {
		for _, path := range d.cdfFiles() {
			got, want := declarations(run(t, "ncdump", "-h", path)), wanted(header(t, path))
			for i := range max(len(got), len(want)) {
				if i >= len(got) || i >= len(want) || got[i] != want[i] {
					t.Errorf("%s: ncdump says %q, want %q", filepath.Base(path), got[min(i, len(got)):min(i+1, len(got))], want[min(i, len(want)):min(i+1, len(want))])
					break
				}
			}
		}
	})
}

var (
	dimLine = regexp.MustCompile(`^\t(\S+) = (\d+|UNLIMITED) ;(?: // \((\d+) currently\))?$`)
	varLine = regexp.MustCompile(`^\t(\w+ \S+?)(\(.*\))? ;$`)
	attLine = regexp.MustCompile(`^\t\t(\S*:\S+) = `)
)

// declarations returns the declarations in CDL, without the values of attributes.
func declarations(cdl string) (out []string) {
	for _, line := range strings.Split(cdl, "\n") {
		if m := attLine.FindStringSubmatch(line); m != nil {
			out = append(out, m[1])
		} else if m := dimLine.FindStringSubmatch(line); m != nil {
			out = append(out, strings.TrimSpace(m[1]+" = "+m[2]+" "+m[3]))
		} else if m := varLine.FindStringSubmatch(line); m != nil {
			out = append(out, m[1]+m[2])
		}
	}
	return out
}

// wanted returns the expected declarations.
func wanted(h *cdf5.Header) (out []string) {
	for _, d := range h.Dims {
		if d.Len == 0 {
			out = append(out, fmt.Sprintf("%s = UNLIMITED %d", d.Name, h.NumRecs))
		} else {
			out = append(out, fmt.Sprintf("%s = %d", d.Name, d.Len))
		}
	}
	for i := range h.Vars {
		v := &h.Vars[i]
		var names []string
		for _, d := range v.Dims {
			names = append(names, h.Dims[d].Name)
		}
		s := v.Type.String() + " " + v.Name
		if len(names) > 0 {
			s += "(" + strings.Join(names, ", ") + ")"
		}
		out = append(out, s)
		for _, a := range v.Atts {
			out = append(out, v.Name+":"+a.Name)
		}
	}
	for _, a := range h.Atts {
		out = append(out, ":"+a.Name)
	}
	return out
}

// TestNcdumpValues: values as text, with enough digits to distinguish them.
func TestNcdumpValues(t *testing.T) {
	need(t, "ncdump")
	each(t, func(t *testing.T, d *dataset) {
		r := open(t, d.canonical)
		seen := map[string]bool{} // one variable of each type, shape and decomposition
		for _, v := range r.Schema().Vars() {
			key := fmt.Sprint(v.Type, dims(r, &v))
			if seen[key] {
				continue
			}
			seen[key] = true
			id, _ := r.Schema().VarID(v.Name)
			if product(shape(r, id)) > 1<<17 {
				continue
			}
			want := read(t, r, v.Name, nil, nil)
			out := run(t, "ncdump", "-p", "9,17", "-v", v.Name, d.canonical)
			_, out, _ = strings.Cut(out, "\ndata:\n")
			_, out, ok := strings.Cut(out, "\n "+v.Name+" =")
			if !ok {
				t.Errorf("%s: ncdump prints no values", v.Name)
				continue
			}
			if v.Type == cdf5.Char {
				ncdumpText(t, &v, out, want.([]byte))
				continue
			}
			out, _, _ = strings.Cut(out, ";")
			got := strings.FieldsFunc(out, func(c rune) bool { return c == ',' || c == ' ' || c == '\n' })
			ncdumpNumbers(t, r, &v, got, floats(t, want))
		}
	})
}

var quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

func ncdumpText(t *testing.T, v *blob.Variable, out string, want []byte) {
	t.Helper()
	var got string
	for _, q := range quoted.FindAllString(out, -1) {
		s, err := strconv.Unquote(q)
		if err != nil {
			t.Errorf("%s: %v", v.Name, err)
		}
		got += s
	}
	if got != string(want) {
		t.Errorf("%s: ncdump says %q, want %q", v.Name, got, want)
	}
}

func ncdumpNumbers(t *testing.T, r *blob.Reader, v *blob.Variable, got []string, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: ncdump prints %d values, want %d", v.Name, len(got), len(want))
		return
	}
	bits := 64
	fill := floats(t, first(cdf5.FillValue(v.Type)))[0]
	if v.Type == cdf5.Float {
		bits = 32
	}
	if a := cdf5.FindAtt(v.Atts, "_FillValue"); a != nil {
		fill = floats(t, a.Value)[0]
	}
	for i, s := range got {
		x := fill
		if s != "_" {
			var err error
			if x, err = strconv.ParseFloat(s, bits); err != nil {
				t.Errorf("%s: element %d: %v", v.Name, i, err)
				return
			}
		}
		if x != want[i] {
			t.Errorf("%s: ncdump says that element %d is %s, want %v", v.Name, i, s, want[i])
			return
		}
	}
}

// first is a slice that holds one value.
func first(v any) any {
	switch x := v.(type) {
	case int32:
		return []int32{x}
	case int64:
		return []int64{x}
	case float32:
		return []float32{x}
	case float64:
		return []float64{x}
	}
	return v
}

func TestNcvalidator(t *testing.T) {
	need(t, "ncvalidator")
	each(t, func(t *testing.T, d *dataset) {
		for _, path := range d.cdfFiles() {
			if out := run(t, "ncvalidator", path); !strings.Contains(out, "is a valid NetCDF classic CDF-5 file") {
				t.Errorf("%s", out)
			}
		}
	})
}

// TestNcmpidump: PnetCDF reads the same header as netCDF. The two print it
// with differences in white space.
func TestNcmpidump(t *testing.T) {
	need(t, "ncmpidump", "ncdump")
	plain := func(s string) []string {
		s = strings.Replace(s, "// file format: CDF-5 (big variables)\n", "", 1)
		return strings.Fields(s)
	}
	some(t, func(t *testing.T, d *dataset) {
		for _, path := range []string{d.files(d.variable)[d.subfiles-1], d.canonical} {
			a, b := run(t, "ncmpidump", "-h", path), run(t, "ncdump", "-h", path)
			if !strings.Contains(a, "CDF-5") || !slices.Equal(plain(a), plain(b)) {
				t.Errorf("%s: ncmpidump does not say what ncdump says", filepath.Base(path))
			}
		}
	})
}

// TestNcmpidiff: PnetCDF finds no difference to a copy that netCDF made, and one to a file with another byte.
func TestNcmpidiff(t *testing.T) {
	need(t, "ncmpidiff", "nccopy")
	some(t, func(t *testing.T, d *dataset) {
		copied := filepath.Join(t.TempDir(), "copied.nc")
		run(t, "nccopy", "-k", "cdf5", d.canonical, copied)
		if out := run(t, "ncmpidiff", d.canonical, copied); !strings.Contains(out, "All variables of two files are the same") {
			t.Errorf("%s", out)
		}
	})
	d := one(t, configs[0], "F_h1")
	b := contents(t, d.canonical)
	b[len(b)-5] ^= 1
	changed := filepath.Join(t.TempDir(), "changed.nc")
	if err := os.WriteFile(changed, b, 0o666); err != nil {
		t.Fatal(err)
	}
	if out, err := command("ncmpidiff", d.canonical, changed).CombinedOutput(); err == nil {
		t.Errorf("ncmpidiff does not see a changed byte: %s", out)
	}
}

// TestNccopyCompresses: to compressed netCDF-4 and back nothing is lost.
func TestNccopyCompresses(t *testing.T) {
	need(t, "nccopy", "ncdump")
	some(t, func(t *testing.T, d *dataset) {
		paths := []string{d.canonical}
		if d.subfiles == 1 {
			paths = append(paths, d.files(d.variable)...)
		}
		for _, path := range paths {
			packed, back := filepath.Join(t.TempDir(), "packed.nc4"), filepath.Join(t.TempDir(), "back.nc")
			run(t, "nccopy", "-k", "nc4", "-d1", "-s", path, packed)
			if kind := strings.TrimSpace(run(t, "ncdump", "-k", packed)); kind != "netCDF-4" {
				t.Errorf("nccopy made %s", kind)
			}
			run(t, "nccopy", "-k", "cdf5", packed, back)
			for f := range blob.Diff(t.Context(), open(t, path), open(t, back), nil) {
				t.Errorf("%s: %v", filepath.Base(path), f)
			}
			// Both pack tightly, so not only the values are equal.
			if !bytes.Equal(contents(t, path), contents(t, back)) {
				t.Errorf("%s: the bytes of the copy differ", filepath.Base(path))
			}
		}
	})
}
