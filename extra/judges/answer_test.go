package judges

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"blobio/blob"
	"blobio/cdf5"
)

// An answer is the content of a file, found by a script (testdata/answer.py).
type answer struct {
	Vars []struct {
		Name  string
		Type  string // as numpy has it, without byte order: f8, i4, S1
		Shape []int64
		Dims  []string
		Atts  []foundAtt
	}
	Atts []foundAtt
	Dims []foundDim

	raw map[string][]byte // little-endian values, by variable
}

// foundAtt is [name, type, values].
type foundAtt struct {
	name, typ string
	values    []string
}

func (a *foundAtt) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[]any{&a.name, &a.typ, &a.values})
}

// foundDim is [name, length, unlimited].
type foundDim struct {
	name      string
	length    int64
	unlimited bool
}

func (d *foundDim) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[]any{&d.name, &d.length, &d.unlimited})
}

// numpy are the names of the types.
var numpy = map[cdf5.Type]string{cdf5.Byte: "i1", cdf5.Char: "S1", cdf5.Short: "i2", cdf5.Int: "i4", cdf5.Float: "f4", cdf5.Double: "f8",
	cdf5.UByte: "u1", cdf5.UShort: "u2", cdf5.UInt: "u4", cdf5.Int64: "i8", cdf5.UInt64: "u8"}

// ask runs a script, which writes values to a file and the rest to its output.
func ask(t *testing.T, py, name string, args ...string) *answer {
	t.Helper()
	path := filepath.Join(t.TempDir(), "values.raw")
	out := script(t, py, name, append([]string{path}, args...)...)
	a := &answer{raw: map[string][]byte{}}
	if err := json.Unmarshal([]byte(out), a); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, tail(out))
	}
	b := contents(t, path)
	for _, v := range a.Vars {
		width, err := strconv.Atoi(v.Type[1:])
		n := int(product(v.Shape)) * width
		if err != nil || n > len(b) {
			t.Fatalf("%s: variable %s of type %s and shape %v has %d bytes left", name, v.Name, v.Type, v.Shape, len(b))
		}
		a.raw[v.Name], b = b[:n], b[n:]
	}
	if len(b) != 0 {
		t.Fatalf("%s: %d bytes that belong to no variable", name, len(b))
	}
	return a
}

// equals compares every variable of a dataset with a script's result.
func (a *answer) equals(t *testing.T, r *blob.Reader) {
	t.Helper()
	vars := r.Schema().Vars()
	if len(a.Vars) != len(vars) {
		t.Errorf("found %d variables, want %d", len(a.Vars), len(vars))
	}
	for _, f := range a.Vars {
		v, ok := r.Schema().VarID(f.Name)
		if !ok {
			t.Errorf("found variable %q, which we do not have", f.Name)
			continue
		}
		typ := vars[v].Type
		if f.Type != numpy[typ] || !slices.Equal(f.Shape, shape(r, v)) {
			t.Errorf("%s is %s %v, want %s %v", f.Name, f.Type, f.Shape, numpy[typ], shape(r, v))
			continue
		}
		same(t, f.Name, a.raw[f.Name], little(t, typ, read(t, r, f.Name, nil, nil)), typ.Size())
	}
}

// same reports the first element that differs.
func same(t *testing.T, name string, got, want []byte, width int) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d bytes, want %d", name, len(got), len(want))
		return
	}
	if bytes.Equal(got, want) {
		return
	}
	bad := 0
	first := -1
	for i := 0; i < len(want); i += width {
		if !bytes.Equal(got[i:i+width], want[i:i+width]) {
			if first < 0 {
				first = i
			}
			bad++
		}
	}
	t.Errorf("%s: %d of %d elements differ, the first is %d: % x, want % x", name, bad, len(want)/width, first/width,
		got[first:first+width], want[first:first+width])
}

// sameAtts compares attributes: names, order, types and exact values.
func sameAtts(t *testing.T, of string, got []foundAtt, want []cdf5.Att) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s has %d attributes, want %d", of, len(got), len(want))
		return
	}
	for i, w := range want {
		g := got[i]
		typ := numpy[w.Type]
		if w.Type == cdf5.Char {
			typ = "text"
		}
		if g.name != w.Name || g.typ != typ {
			t.Errorf("%s: attribute %d is %s of type %s, want %s of type %s", of, i, g.name, g.typ, w.Name, typ)
			continue
		}
		if text, ok := w.Value.(string); ok {
			if len(g.values) != 1 || g.values[0] != text {
				t.Errorf("%s:%s = %q, want %q", of, w.Name, g.values, text)
			}
			continue
		}
		if a, b := numbers(g.values, w), numbers(texts(w.Value), w); !slices.Equal(a, b) {
			t.Errorf("%s:%s = %v, want %v", of, w.Name, a, b)
		}
	}
}

// texts returns the numbers of an attribute as text that preserves their exact values.
func texts(v any) (out []string) {
	switch x := v.(type) {
	case []int8:
		return sprint(x)
	case []uint8:
		return sprint(x)
	case []int16:
		return sprint(x)
	case []uint16:
		return sprint(x)
	case []int32:
		return sprint(x)
	case []uint32:
		return sprint(x)
	case []int64:
		return sprint(x)
	case []uint64:
		return sprint(x)
	case []float32:
		return sprint(x)
	case []float64:
		return sprint(x)
	}
	return nil
}

func sprint[T blob.Number](v []T) (out []string) {
	for _, x := range v {
		out = append(out, fmt.Sprint(x))
	}
	return out
}

// numbers brings the texts of numbers of an attribute's type to one form.
func numbers(v []string, a cdf5.Att) (out []string) {
	bits := 64
	switch a.Type {
	case cdf5.Float:
		bits = 32
	case cdf5.Double:
	default:
		return v
	}
	for _, s := range v {
		x, err := strconv.ParseFloat(s, bits)
		if err != nil {
			s = err.Error()
		} else {
			s = strconv.FormatFloat(x, 'g', -1, bits)
		}
		out = append(out, s)
	}
	return out
}
