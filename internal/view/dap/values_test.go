package dap

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"blobio/cdf5"
	"blobio/internal/base/fault"
)

// draw makes a random dataset with dimensions, coordinates and variables of all types.
func draw(t *rapid.T) *memory {
	h := &cdf5.Header{Version: cdf5.CDF5, NumRecs: rapid.Int64Range(0, 3).Draw(t, "records")}
	for i := range rapid.IntRange(1, 4).Draw(t, "dims") {
		n := rapid.Int64Range(1, 6).Draw(t, "length")
		if i == 0 && rapid.Bool().Draw(t, "unlimited") {
			n = 0
		}
		h.Dims = append(h.Dims, cdf5.Dim{Name: fmt.Sprintf("d%d", i), Len: n})
		if rapid.Bool().Draw(t, "coordinate") {
			typ := rapid.SampledFrom([]cdf5.Type{cdf5.Double, cdf5.Int, cdf5.Short}).Draw(t, "type")
			h.Vars = append(h.Vars, cdf5.Var{Name: fmt.Sprintf("d%d", i), Type: typ, Dims: []int{i}})
		}
	}
	for i := range rapid.IntRange(1, 5).Draw(t, "vars") {
		v := cdf5.Var{Name: fmt.Sprintf("v%d", i), Type: cdf5.Type(rapid.Uint32Range(1, 11).Draw(t, "type"))}
		for range rapid.IntRange(0, 3).Draw(t, "rank") {
			d := rapid.IntRange(0, len(h.Dims)-1).Draw(t, "dim")
			if h.Dims[d].Len == 0 && len(v.Dims) > 0 {
				continue
			}
			v.Dims = append(v.Dims, d)
		}
		h.Vars = append(h.Vars, v)
	}
	m := &memory{hdr: h}
	m.fill()
	return m
}

// TestValues checks that any constraint on any dataset gives the selected elements, for any piece size, with the predicted number
// of bytes. It parses the answer by its own declarations.
func TestValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := draw(t)
		d := m.dataset(AnyClient)
		d.window, d.gap = rapid.Int64Range(8, 200).Draw(t, "window"), rapid.Int64Range(0, 100).Draw(t, "gap")
		var words []string
		want := map[string][]slice{} // by variable
		for range rapid.IntRange(0, 3).Draw(t, "projections") {
			v := rapid.SampledFrom(d.vars).Draw(t, "variable")
			if want[v.Name] != nil {
				continue
			}
			word, at := v.name, []slice{}
			sliced := len(v.dims) > 0 && rapid.Bool().Draw(t, "sliced")
			for _, x := range v.dims {
				s := slice{0, 1, x.n}
				if sliced && x.n == 0 {
					sliced, word = false, v.name
				}
				if sliced {
					s.start = rapid.Int64Range(0, x.n-1).Draw(t, "start")
					s.stride = rapid.Int64Range(1, 3).Draw(t, "stride")
					stop := rapid.Int64Range(s.start, x.n-1).Draw(t, "stop")
					s.count = (stop-s.start)/s.stride + 1
					word += fmt.Sprintf("[%d:%d:%d]", s.start, s.stride, s.start+(s.count-1)*s.stride)
				}
				at = append(at, s)
			}
			if !sliced {
				for i, x := range v.dims {
					at[i] = slice{0, 1, x.n}
				}
			}
			want[v.Name] = at
			words = append(words, word)
		}
		q, err := d.Request(strings.Join(words, ","))
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := q.WriteDODS(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
		if n, ok, err := q.Size(); err != nil || ok && n != int64(b.Len()) {
			t.Fatalf("%d bytes, %d foretold (%v)", b.Len(), n, err)
		}
		head, body, ok := bytes.Cut(b.Bytes(), []byte(dataMark))
		if !ok {
			t.Fatalf("no mark in %q", b.Bytes())
		}
		for _, x := range parseDDS(t, string(head)+"\n") {
			group, name, member := strings.Cut(x.name, ".")
			if !member {
				name = group
			}
			at := want[group]
			if id := m.hdr.VarIndex(group); at != nil && name != group { // a coordinate of a Grid
				for i, c := range m.hdr.Vars[id].Dims {
					if m.hdr.Dims[c].Name == name {
						at = want[group][i : i+1]
					}
				}
			} else if at == nil { // the constraint was empty
				for range x.dims {
					at = append(at, slice{0, 1, x.dims[len(at)]})
				}
			}
			body = m.expect(t, x, name, at, body, d.window)
		}
		if len(body) != 0 {
			t.Fatalf("%d bytes are left", len(body))
		}
		var text bytes.Buffer
		if err := q.WriteASCII(t.Context(), &text); err != nil && !errors.Is(err, fault.ErrTooLarge) {
			t.Fatal(err)
		}
	})
}

// expect compares the values of one declaration with the dataset, and returns the rest of the bytes.
func (m *memory) expect(t *rapid.T, x declared, name string, at []slice, body []byte, window int64) []byte {
	be, id := binary.BigEndian, m.hdr.VarIndex(name)
	v := &m.hdr.Vars[id]
	next := func(n int) []byte {
		if n > len(body) {
			t.Fatalf("%s: %d bytes are left, want %d", x.name, len(body), n)
		}
		b := body[:n]
		body = body[n:]
		return b
	}
	n := 1
	for i, k := range x.dims {
		if at[i].count != k {
			t.Fatalf("%s: dimension %d has %d elements, want %d", x.name, i, k, at[i].count)
		}
		n *= int(k)
	}
	shape, size := m.shape(id), v.Type.Size()
	if x.typ == "String" && len(shape) > 0 {
		size = int(shape[len(shape)-1])
		shape = shape[:len(shape)-1]
	}
	src := choose(m.data[name], shape, at, int64(size))
	if x.dims != nil {
		for range map[bool]int{true: 1, false: 2}[x.typ == "String"] {
			if k := be.Uint32(next(4)); int(k) != n {
				t.Fatalf("%s: %d elements are told, want %d", x.name, k, n)
			}
		}
	}
	if x.typ == "Byte" {
		width := n
		if x.dims == nil {
			width = 4
			src = append([]byte{0, 0, 0}, src...)
		}
		if got := next(width); !bytes.Equal(got, src) {
			t.Fatalf("%s: % x, want % x", x.name, got, src)
		}
		next(-width & 3)
		return body
	}
	for range n {
		var got, want any
		switch x.typ {
		case "String":
			k := int(be.Uint32(next(4)))
			got, want = string(next(k)), string(src[:size])
			if int64(size) <= window {
				want = strings.TrimRight(want.(string), "\x00")
			}
			next(-k & 3)
		case "Float32":
			got, want = be.Uint32(next(4)), be.Uint32(src)
		case "Int16", "Int32":
			got, want = float64(int32(be.Uint32(next(4)))), number(v.Type, src)
		case "Float64":
			if bits := be.Uint64(next(8)); v.Type == cdf5.Double {
				got, want = bits, be.Uint64(src)
			} else {
				got, want = math.Float64frombits(bits), number(v.Type, src)
			}
		}
		if got != want || got == nil {
			t.Fatalf("%s: %v, want %v", x.name, got, want)
		}
		src = src[size:]
	}
	return body
}

func number(t cdf5.Type, b []byte) float64 {
	dst := make([]float64, 1)
	if err := cdf5.FromFile(dst, b[:t.Size()], true, t); err != nil {
		return math.NaN()
	}
	return dst[0]
}

// TestInexact checks that an integer which no double can hold is an error with its position, unless it is the fill value.
func TestInexact(t *testing.T) {
	m := small()
	b := m.data["count"]
	fill, _ := cdf5.FillValue(cdf5.Int64).(int64)
	binary.BigEndian.PutUint64(b[8:], uint64(fill))
	var out bytes.Buffer
	if err := request(t, m.dataset(AnyClient), "count").WriteDODS(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	if x := math.Float64frombits(binary.BigEndian.Uint64(out.Bytes()[out.Len()-32:])); x != float64(fill) {
		t.Errorf("the fill value is %v", x)
	}
	binary.BigEndian.PutUint64(b[24:], 1<<53+1)
	err := request(t, m.dataset(AnyClient), "count[1:4]").WriteDODS(t.Context(), &out)
	if err == nil || !strings.Contains(err.Error(), "requested element 2 is 9007199254740993") {
		t.Errorf("%v", err)
	}
	if err := request(t, m.dataset(AnyClient), "count[0:2]").WriteDODS(t.Context(), &out); err != nil {
		t.Errorf("elements beside it: %v", err)
	}
	out.Reset()
	if err := request(t, m.dataset(AnyClient), "count[3:4]").WriteASCII(t.Context(), &out); err != nil || !strings.Contains(out.String(), "count[2]\n9007199254740993, ") {
		t.Errorf("as text: %v\n%s", err, out.String())
	}
}

// TestEscapedTexts checks that backslashes are doubled for the netCDF library only.
func TestEscapedTexts(t *testing.T) {
	m := small()
	copy(m.data["date"], "a\\b\x00\x00\x00\x00\x00")
	for c, want := range map[Client]string{AnyClient: "\x00\x00\x00\x03a\\b\x00", NetCDFClient: "\x00\x00\x00\x04a\\\\b"} {
		var out bytes.Buffer
		if err := request(t, m.dataset(c), "date[0]").WriteDODS(t.Context(), &out); err != nil {
			t.Fatal(err)
		}
		if got := out.String()[out.Len()-8:]; got != want {
			t.Errorf("client %d gets %q, want %q", c, got, want)
		}
	}
}

// TestWindow checks that large requests use few reads of bounded size, and that strided requests read little extra.
func TestWindow(t *testing.T) {
	const rows, width = 1000, 3000
	h := &cdf5.Header{Version: cdf5.CDF5, Dims: []cdf5.Dim{{Name: "y", Len: rows}, {Name: "x", Len: width}}, Vars: []cdf5.Var{{Name: "v", Type: cdf5.Double, Dims: []int{0, 1}}}}
	m := &memory{hdr: h}
	m.fill()
	for constraint, most := range map[string]int{"v": rows * width * 8, "v[0:999][7]": rows * width * 8, "v[0:9:999][0:2999]": rows * width * 8 / 8,
		"v[5][0:100:2999]": width * 8, "v[3:5][10:20]": 3 * 11 * 8 * 400} {
		d, largest := m.dataset(AnyClient), 0
		m.read = 0
		q := request(t, d, constraint)
		for _, x := range q.items {
			var buf []byte
			if err := d.each(t.Context(), &x.parts[0], &buf, func([]byte) error { return nil }); err != nil {
				t.Fatal(err)
			}
			largest = max(largest, cap(buf))
		}
		if m.read > most || largest > defaultWindow || int64(largest) > q.Memory() {
			t.Errorf("%s: %d bytes are read, want at most %d; pieces of %d, foretold %d", constraint, m.read, most, largest, q.Memory())
		}
	}
}

func TestTooManyElements(t *testing.T) {
	h := &cdf5.Header{Version: cdf5.CDF5, Dims: []cdf5.Dim{{Name: "y", Len: 1 << 20}, {Name: "x", Len: 1 << 20}}, Vars: []cdf5.Var{{Name: "v", Type: cdf5.Double, Dims: []int{0, 1}}}}
	d := (&memory{hdr: h}).dataset(AnyClient)
	if err := request(t, d, "v").WriteDODS(t.Context(), nil); !errors.Is(err, fault.ErrTooLarge) || Code(err) != CodeMalformed {
		t.Errorf("%v", err)
	}
	if _, _, err := request(t, d, "v[0:2046][0:1048575]").Size(); err != nil {
		t.Errorf("a part of it: %v", err)
	}
}
