package dap

import (
	"context"
	"encoding/binary"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"blobio/cdf5"
)

// memory is a dataset with values in memory, big-endian, by variable.
type memory struct {
	hdr  *cdf5.Header
	data map[string][]byte
	read int // bytes read so far
}

// shape returns the shape of a variable, including the record dimension.
func (m *memory) shape(v int) []int64 {
	var s []int64
	for _, id := range m.hdr.Vars[v].Dims {
		n := m.hdr.Dims[id].Len
		if n == 0 {
			n = m.hdr.NumRecs
		}
		s = append(s, n)
	}
	return s
}

func (m *memory) ReadAt(_ context.Context, name string, start, count []int64, dst []byte) error {
	id := m.hdr.VarIndex(name)
	if id < 0 {
		return fmt.Errorf("no variable %q", name)
	}
	shape, size := m.shape(id), int64(m.hdr.Vars[id].Type.Size())
	if len(start) != len(shape) || len(count) != len(shape) {
		return fmt.Errorf("%s: %d starts and %d counts, want %d", name, len(start), len(count), len(shape))
	}
	m.read += len(dst)
	want := size
	for i, n := range shape {
		if start[i] < 0 || count[i] < 1 || start[i]+count[i] > n {
			return fmt.Errorf("%s: %v %v of %v", name, start, count, shape)
		}
		want *= count[i]
	}
	if int64(len(dst)) != want {
		return fmt.Errorf("%s: into %d bytes, want %d", name, len(dst), want)
	}
	var at []slice
	for i := range shape {
		at = append(at, slice{start[i], 1, count[i]})
	}
	copy(dst, choose(m.data[name], shape, at, size))
	return nil
}

// choose returns the elements of an array that slices select, found one by one.
func choose(data []byte, shape []int64, at []slice, size int64) (out []byte) {
	if len(shape) == 0 {
		return data[:size]
	}
	row := size
	for _, n := range shape[1:] {
		row *= n
	}
	for i := range at[0].count {
		k := at[0].start + i*at[0].stride
		out = append(out, choose(data[k*row:(k+1)*row], shape[1:], at[1:], size)...)
	}
	return out
}

// fill sets the values of every variable: texts with trailing NULs, and numbers small enough for a double.
func (m *memory) fill() {
	m.data = map[string][]byte{}
	for i := range m.hdr.Vars {
		v, n := &m.hdr.Vars[i], int64(1)
		for _, k := range m.shape(i) {
			n *= k
		}
		b := make([]byte, n*int64(v.Type.Size()))
		for k := range n {
			x := uint64(k*37 + int64(i)*11 + 1)
			switch v.Type.Size() {
			case 1:
				if b[k] = byte(x); v.Type == cdf5.Char && x%3 == 0 {
					b[k] = 0
				}
			case 2:
				binary.BigEndian.PutUint16(b[2*k:], uint16(x*257))
			case 4:
				binary.BigEndian.PutUint32(b[4*k:], uint32(x*16843009))
			default:
				binary.BigEndian.PutUint64(b[8*k:], x*12345)
			}
		}
		m.data[v.Name] = b
	}
}

// declared is a variable parsed from a DDS.
type declared struct {
	typ, name string // for a member: Grid.name
	dims      []int64
}

var (
	declaration = regexp.MustCompile(`^\s*(\w+) ([^\s\[;]+)((?:\[[^\]]*\])*);$`)
	bracket     = regexp.MustCompile(`\[(\S+) = (\d+)\]`)
	ending      = regexp.MustCompile(`^\s*} (\S+);$`)
)

// parseDDS parses a DDS like a client.
func parseDDS(t interface{ Fatalf(string, ...any) }, dds string) (out []declared) {
	depth, first := 0, 0
	for line := range strings.Lines(dds) {
		line = strings.TrimRight(line, "\n")
		switch trimmed := strings.TrimSpace(line); {
		case strings.HasSuffix(trimmed, "{"):
			depth++
			first = len(out)
		case trimmed == "Array:" || trimmed == "Maps:":
		case strings.HasPrefix(trimmed, "}"):
			m := ending.FindStringSubmatch(line)
			if m == nil {
				t.Fatalf("DDS: %q", line)
			}
			if depth--; depth == 1 {
				for i := range out[first:] {
					out[first+i].name = m[1] + "." + out[first+i].name
				}
			}
		default:
			m := declaration.FindStringSubmatch(line)
			if m == nil {
				t.Fatalf("DDS: %q", line)
			}
			d := declared{typ: m[1], name: m[2]}
			for _, b := range bracket.FindAllStringSubmatch(m[3], -1) {
				n, _ := strconv.ParseInt(b[2], 10, 64)
				d.dims = append(d.dims, n)
			}
			out = append(out, d)
		}
	}
	if depth != 0 {
		t.Fatalf("DDS: depth %d at the end\n%s", depth, dds)
	}
	return out
}

// small makes a dataset with a variable of each kind of declaration.
func small() *memory {
	m := &memory{hdr: &cdf5.Header{Version: cdf5.CDF5, NumRecs: 3,
		Dims: []cdf5.Dim{{Name: "time"}, {Name: "lev", Len: 4}, {Name: "ncol", Len: 5}, {Name: "chars", Len: 8}},
		Atts: []cdf5.Att{{Name: "title", Type: cdf5.Char, Value: "a \"b\" \\ c\nd"}, {Name: "version", Type: cdf5.Int, Value: []int32{1, -2}}},
		Vars: []cdf5.Var{
			{Name: "time", Type: cdf5.Double, Dims: []int{0}, Atts: []cdf5.Att{{Name: "units", Type: cdf5.Char, Value: "days"}}},
			{Name: "lev", Type: cdf5.Float, Dims: []int{1}},
			{Name: "T", Type: cdf5.Float, Dims: []int{0, 1}, Atts: []cdf5.Att{{Name: "_FillValue", Type: cdf5.Float, Value: []float32{1e20}}}},
			{Name: "area", Type: cdf5.Double, Dims: []int{2}},
			{Name: "date", Type: cdf5.Char, Dims: []int{0, 3}},
			{Name: "P0", Type: cdf5.Double},
			{Name: "flag", Type: cdf5.Byte, Dims: []int{2}},
			{Name: "count", Type: cdf5.Int64, Dims: []int{2}},
			{Name: "a b", Type: cdf5.UShort, Dims: []int{2}},
		}}}
	m.fill()
	return m
}

func (m *memory) dataset(c Client) *Dataset { return New("small.nc", m.hdr, c, m.ReadAt) }

func request(t *testing.T, d *Dataset, constraint string) *Request {
	t.Helper()
	q, err := d.Request(constraint)
	if err != nil {
		t.Fatal(err)
	}
	return q
}
