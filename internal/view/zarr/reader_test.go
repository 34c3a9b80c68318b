package zarr

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"blobio/internal/base/codec"
)

// get returns the value of a key, or ErrNoKey.
type get func(key string) ([]byte, error)

// found is an array as read by a plain reader of the specifications.
type found struct {
	shape, chunks []int64
	dtype         string
	fill          any
	dims          []string
	atts          map[string]any
	codecs        []codecJSON
	raw           []byte
}

type codecJSON struct {
	Name          string
	Configuration map[string]any
}

type metaV2 struct {
	Format     int     `json:"zarr_format"`
	Shape      []int64 `json:"shape"`
	Chunks     []int64 `json:"chunks"`
	Dtype      string  `json:"dtype"`
	Compressor any     `json:"compressor"`
	Fill       any     `json:"fill_value"`
	Order      string  `json:"order"`
	Filters    any     `json:"filters"`
}

type metaV3 struct {
	Format int     `json:"zarr_format"`
	Node   string  `json:"node_type"`
	Shape  []int64 `json:"shape"`
	Dtype  string  `json:"data_type"`
	Grid   struct {
		Name          string
		Configuration struct {
			Shape []int64 `json:"chunk_shape"`
		}
	} `json:"chunk_grid"`
	Keys struct {
		Name          string
		Configuration struct{ Separator string }
	} `json:"chunk_key_encoding"`
	Fill   any            `json:"fill_value"`
	Codecs []codecJSON    `json:"codecs"`
	Atts   map[string]any `json:"attributes"`
	Dims   []string       `json:"dimension_names"`
}

// strict decodes ASCII JSON without unknown members.
func strict(b []byte, v any) error {
	for _, c := range b {
		if c > 0x7e || c < ' ' && c != '\n' {
			return fmt.Errorf("byte %#x in metadata", c)
		}
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	d.UseNumber()
	return d.Decode(v)
}

// readV2 reads all arrays listed in .zmetadata.
func readV2(g get) (map[string]*found, map[string]any, error) {
	b, err := g(".zmetadata")
	if err != nil {
		return nil, nil, err
	}
	var all struct {
		Format   int                        `json:"zarr_consolidated_format"`
		Metadata map[string]json.RawMessage `json:"metadata"`
	}
	if err := strict(b, &all); err != nil || all.Format != 1 {
		return nil, nil, fmt.Errorf(".zmetadata: %v", err)
	}
	out := map[string]*found{}
	for key, m := range all.Metadata {
		alone, err := g(key)
		if err != nil || compact(alone) != compact(m) {
			return nil, nil, fmt.Errorf("%s is not what .zmetadata says: %v", key, err)
		}
		name, ok := strings.CutSuffix(key, "/.zarray")
		if !ok {
			continue
		}
		var z metaV2
		f := &found{}
		if err := strict(m, &z); err != nil || z.Format != 2 || z.Compressor != nil || z.Filters != nil || z.Order != "C" {
			return nil, nil, fmt.Errorf("%s: %v %v", key, z, err)
		}
		if err := strict(all.Metadata[name+"/.zattrs"], &f.atts); err != nil {
			return nil, nil, err
		}
		for _, d := range f.atts["_ARRAY_DIMENSIONS"].([]any) {
			f.dims = append(f.dims, d.(string))
		}
		delete(f.atts, "_ARRAY_DIMENSIONS")
		f.shape, f.chunks, f.dtype, f.fill = z.Shape, z.Chunks, z.Dtype, z.Fill
		if err := f.assemble(g, name+"/", "0"); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
		out[name] = f
	}
	var atts map[string]any
	return out, atts, strict(all.Metadata[".zattrs"], &atts)
}

// readV3 reads all arrays listed in zarr.json.
func readV3(g get) (map[string]*found, map[string]any, error) {
	b, err := g("zarr.json")
	if err != nil {
		return nil, nil, err
	}
	var all struct {
		Format int            `json:"zarr_format"`
		Node   string         `json:"node_type"`
		Atts   map[string]any `json:"attributes"`
		All    struct {
			Kind     string
			Must     bool `json:"must_understand"`
			Metadata map[string]json.RawMessage
		} `json:"consolidated_metadata"`
	}
	if err := strict(b, &all); err != nil || all.Format != 3 || all.Node != "group" || all.All.Kind != "inline" || all.All.Must {
		return nil, nil, fmt.Errorf("zarr.json: %v", err)
	}
	out := map[string]*found{}
	for name, m := range all.All.Metadata {
		alone, err := g(name + "/zarr.json")
		if err != nil || compact(alone) != compact(m) {
			return nil, nil, fmt.Errorf("%s is not what the group says: %v", name, err)
		}
		var z metaV3
		if err := strict(m, &z); err != nil || z.Format != 3 || z.Node != "array" || z.Grid.Name != "regular" || z.Keys.Name != "default" {
			return nil, nil, fmt.Errorf("%s: %v %v", name, z, err)
		}
		f := &found{shape: z.Shape, chunks: z.Grid.Configuration.Shape, dtype: z.Dtype, fill: z.Fill, dims: z.Dims, atts: z.Atts, codecs: z.Codecs}
		if z.Keys.Configuration.Separator != "." {
			return nil, nil, fmt.Errorf("%s: separator %q", name, z.Keys.Configuration.Separator)
		}
		prefix := name + "/c."
		if len(f.shape) == 0 {
			prefix = name + "/"
		}
		if err := f.assemble(g, prefix, "c"); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
		out[name] = f
	}
	return out, all.Atts, nil
}

func compact(b []byte) string {
	var out bytes.Buffer
	if json.Compact(&out, b) != nil {
		return "broken: " + string(b)
	}
	return out.String()
}

func (f *found) width() int64 {
	t := strings.TrimLeft(f.dtype, "<|")
	if t != f.dtype {
		n, _ := strconv.Atoi(t[1:])
		return int64(n)
	}
	bits, _ := strconv.Atoi(strings.TrimLeft(t, "uintfloa"))
	return int64(bits / 8)
}

// fillBytes returns the bytes of fill_value, nil if it is null.
func (f *found) fillBytes() []byte {
	var b []byte
	switch x := f.fill.(type) {
	case nil:
		return nil
	case string:
		if raw, err := base64.StdEncoding.DecodeString(x); err == nil && f.dtype == "|S1" {
			return raw
		}
		v, err := strconv.ParseFloat(x, 64)
		if err != nil || x != "NaN" && x != "Infinity" && x != "-Infinity" {
			return []byte("no number")
		}
		b = floatBytes(v, f.width())
	case json.Number:
		if strings.Contains(f.dtype, "f") {
			v, _ := x.Float64()
			b = floatBytes(v, f.width())
		} else if n, err := strconv.ParseInt(x.String(), 10, 64); err == nil {
			b = binary.LittleEndian.AppendUint64(nil, uint64(n))
		} else {
			n, _ := strconv.ParseUint(x.String(), 10, 64)
			b = binary.LittleEndian.AppendUint64(nil, n)
		}
	}
	return b[:f.width()]
}

func floatBytes(x float64, width int64) []byte {
	if width == 4 {
		return binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(x)))
	}
	return binary.LittleEndian.AppendUint64(nil, math.Float64bits(x))
}

// assemble reads all chunks, which must exist, and puts their elements into place.
func (f *found) assemble(g get, prefix, scalar string) error {
	total, width := int64(1), f.width()
	for _, n := range f.shape {
		total *= n
	}
	f.raw = make([]byte, total*width)
	inChunk := width
	for _, n := range f.chunks {
		if n < 1 {
			return fmt.Errorf("chunks %v", f.chunks)
		}
		inChunk *= n
	}
	if len(f.chunks) != len(f.shape) || len(f.dims) != len(f.shape) {
		return fmt.Errorf("shape %v, chunks %v, dimensions %v", f.shape, f.chunks, f.dims)
	}
	read := map[string][]byte{}
	for at := range total {
		key, in, rest := make([]string, len(f.shape)), int64(0), at
		place := make([]int64, len(f.shape))
		for i, n := range slices.Backward(f.shape) {
			place[i], rest = rest%n, rest/n
		}
		for i, p := range place {
			key[i] = fmt.Sprint(p / f.chunks[i])
			in = in*f.chunks[i] + p%f.chunks[i]
		}
		k := prefix + strings.Join(key, ".")
		if len(key) == 0 {
			k = prefix + scalar
		}
		if read[k] == nil {
			b, err := g(k)
			if err == nil {
				b, err = decode(b, f.codecs, int(inChunk))
			}
			if err != nil {
				return fmt.Errorf("%s: %w", k, err)
			}
			if int64(len(b)) != inChunk {
				return fmt.Errorf("%s has %d bytes, want %d", k, len(b), inChunk)
			}
			read[k] = b
		}
		copy(f.raw[at*width:(at+1)*width], read[k][in*width:])
	}
	return nil
}

func decode(b []byte, list []codecJSON, size int) (_ []byte, err error) {
	for _, c := range slices.Backward(list) {
		switch c.Name {
		case "bytes":
		case "crc32c":
			n := len(b) - 4
			if n < 0 || crc32.Checksum(b[:n], crc32.MakeTable(crc32.Castagnoli)) != binary.LittleEndian.Uint32(b[n:]) {
				return nil, fmt.Errorf("wrong crc32c")
			}
			b = b[:n]
		case "zstd":
			out := make([]byte, size)
			if err := codec.NewZstd(codec.Options{MaxContent: size}).Decode(out, b); err != nil {
				return nil, err
			}
			b = out
		case "gzip":
			r, err := gzip.NewReader(bytes.NewReader(b))
			if err != nil {
				return nil, err
			}
			if b, err = io.ReadAll(r); err != nil {
				return nil, err
			}
		default:
			return nil, fmt.Errorf("codec %q", c.Name)
		}
	}
	return b, nil
}

func jsonOf(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v)
	return strings.TrimSpace(b.String())
}

var little = binary.LittleEndian
