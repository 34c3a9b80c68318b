package zarr

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"blobio/blob"
	"blobio/cdf5"
)

// getter returns a function that reads values with a dirty buffer.
func (s *Store) getter() get {
	return func(key string) ([]byte, error) {
		return s.GetIn(context.Background(), key, bytes.Repeat([]byte{0xa5}, 3*MinChunk))
	}
}

// TestStore checks that a plain reader of the specifications finds every element, in both versions, with any chunks and codecs.
func TestStore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawSource(t)
		o := &Options{ChunkBytes: rapid.Int64Range(MinChunk, 4*MinChunk).Draw(t, "chunk"), Version: rapid.SampledFrom([]Version{V2, V3}).Draw(t, "version")}
		read := readV2
		if o.Version == V3 {
			read = readV3
			o.Codecs = rapid.SampledFrom([]Codecs{{}, {CRC32C: true}, {Zstd: 1}, {Gzip: 2, CRC32C: true}, {Zstd: 19, CRC32C: true}}).Draw(t, "codecs")
		}
		from, end := int64(0), m.records
		if rapid.Bool().Draw(t, "some records") {
			from = rapid.Int64Range(0, m.records).Draw(t, "from")
			end = rapid.Int64Range(from, m.records).Draw(t, "end")
			o.Records = &blob.Range{First: from, End: end}
		}
		s, err := New(m, o)
		if err != nil {
			t.Fatal(err)
		}
		arrays, _, err := read(s.getter())
		if err != nil {
			t.Fatal(err)
		}
		if len(arrays) != len(m.schema.Vars()) {
			t.Fatalf("%d arrays, want %d", len(arrays), len(m.schema.Vars()))
		}
		total := int64(0)
		for i, v := range m.schema.Vars() {
			f, full := arrays[v.Name], m.full(blob.VarID(i))
			want := m.data[v.Name]
			if v.Record {
				full[0] = end - from
				rec := int64(len(want)) / max(m.records, 1)
				want = want[from*rec : end*rec]
			}
			if !slices.Equal(f.shape, full) || !bytes.Equal(f.raw, want) {
				t.Fatalf("%s: shape %v, want %v, or other values", v.Name, f.shape, full)
			}
			total += int64(len(want))
			checkFill(t, f, &v, o.Version)
		}
		if total != s.Bytes() {
			t.Fatalf("%d bytes, want %d", s.Bytes(), total)
		}
		n := 0
		for key := range s.Keys() {
			b, err := s.Get(context.Background(), key)
			size, ok := s.Size(key)
			if err != nil || !ok || size >= 0 && size != int64(len(b)) || size < 0 && o.Codecs.Zstd+o.Codecs.Gzip == 0 {
				t.Fatalf("%s: %d bytes of %d, %v, %v", key, len(b), size, ok, err)
			}
			n++
		}
		if n < len(arrays) {
			t.Fatalf("%d keys", n)
		}
	})
}

// checkFill checks that fill_value is the _FillValue of the variable or, without one, a value that does not mask data.
func checkFill(t *rapid.T, f *found, v *blob.Variable, version Version) {
	att := cdf5.FindAtt(v.Atts, fillName)
	want := make([]byte, v.Type.Size())
	cdf5.FillBytes(want, v.Type, little, att)
	got := f.fillBytes()
	switch {
	case version == V2 && att == nil:
		if got != nil {
			t.Fatalf("%s: fill_value %v, want null", v.Name, f.fill)
		}
	case !bytes.Equal(got, want) && f.fill != "NaN":
		t.Fatalf("%s: fill_value %v is % x, want % x", v.Name, f.fill, got, want)
	}
	_, told := f.atts[fillName]
	if told != (version == V3 && att != nil) {
		t.Fatalf("%s: attributes %v", v.Name, f.atts)
	}
}

// TestAttributes checks exact numbers, numbers that JSON lacks, text in odd encodings, and names reserved by Zarr.
func TestAttributes(t *testing.T) {
	s := blob.NewSchema()
	d := s.Dim("x", 2)
	s.Var("café", cdf5.Float, []blob.DimID{d}, blob.Att("long_name", "10\xb0 \"<&>\"\x00\x00"), blob.Att("emoji", "\U0001f30d"),
		blob.Att("f", float32(0.1)), blob.Att("huge", 1e20), blob.Att("list", []float64{1, math.NaN(), math.Inf(1), math.Inf(-1)}), blob.Att("none", []int32{}),
		blob.Att("big", uint64(math.MaxUint64)), blob.Att(dimsName, "mine"), blob.Att(fillName, "wrong type"))
	s.GlobalAtt("Conventions", "CF-1.7")
	m := &memory{schema: s, data: map[string][]byte{"café": make([]byte, 8)}}
	for version, read := range map[Version]func(get) (map[string]*found, map[string]any, error){V2: readV2, V3: readV3} {
		st, err := New(m, &Options{Version: version})
		if err != nil {
			t.Fatal(err)
		}
		arrays, global, err := read(st.getter())
		if err != nil {
			t.Fatal(err)
		}
		if global["Conventions"] != "CF-1.7" {
			t.Errorf("global attributes %v", global)
		}
		f := arrays["café"]
		if f == nil || !slices.Equal(f.dims, []string{"x"}) {
			t.Fatalf("arrays %v", arrays)
		}
		for name, want := range map[string]string{"long_name": "\"10\u00b0 \\\"<&>\\\"\"", "emoji": "\"\U0001f30d\"", "f": "0.10000000149011612", "huge": "1e+20",
			"list": `[1.0,"NaN","Infinity","-Infinity"]`, "none": "[]", "big": "18446744073709551615"} {
			if got := jsonOf(f.atts[name]); got != want {
				t.Errorf("%s = %s, want %s", name, got, want)
			}
		}
	}
}

// TestNames checks that a variable whose name would hide metadata is an error and is not left out.
func TestNames(t *testing.T) {
	for _, name := range []string{".", "..", ".zattrs", "zarr.json", "..."} {
		s := blob.NewSchema()
		s.Var(name, cdf5.Int, nil)
		if _, err := New(&memory{schema: s}, nil); !errors.Is(err, blob.ErrUnsupported) {
			t.Errorf("%q: %v", name, err)
		}
	}
	s := blob.NewSchema()
	s.Var("\xe9", cdf5.Int, nil)
	s.Var("é", cdf5.Int, nil)
	if _, err := New(&memory{schema: s}, nil); !errors.Is(err, blob.ErrUnsupported) {
		t.Errorf("two names that are one in UTF-8: %v", err)
	}
}

// TestErrors checks that a failed read is never reported as a missing key.
func TestErrors(t *testing.T) {
	s := blob.NewSchema()
	s.Var("v", cdf5.Int, []blob.DimID{s.Dim("x", 2)})
	m := &memory{schema: s, err: &fs.PathError{Op: "open", Path: "gone", Err: fs.ErrNotExist}}
	st, err := New(m, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := st.Get(context.Background(), "v/c.0"); !errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrNoKey) {
		t.Errorf("a read that failed: %v", err)
	}
	for _, key := range []string{"", "/", "v", "v/", "v/c", "v/c.1", "v/c.00", "v/c.-0", "v/c.+0", "v/c.0.0", "v/0", "c.0", "/v/c.0", "v//c.0", "w/c.0", "v/c/0", ".zgroup", "v/c.18446744073709551616"} {
		if _, err := st.Get(context.Background(), key); !errors.Is(err, ErrNoKey) {
			t.Errorf("%q: %v", key, err)
		}
		if _, ok := st.Size(key); ok {
			t.Errorf("%q has a size", key)
		}
	}
	for _, o := range []*Options{{Version: 9}, {ChunkBytes: 1}, {ChunkBytes: MaxChunk + 1}, {Records: &blob.Range{First: 1}}, {Records: &blob.Range{End: 1}},
		{Version: V2, Codecs: Codecs{Gzip: 1}}, {Codecs: Codecs{Gzip: 1, Zstd: 1}}, {Codecs: Codecs{Gzip: 10}}, {Codecs: Codecs{Zstd: -1}}, {Codecs: Codecs{Zstd: 23}}} {
		if _, err := New(m, o); !errors.Is(err, blob.ErrUsage) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// FuzzKey checks that any key has the value of one chunk or none, and that only listed spellings are keys.
func FuzzKey(f *testing.F) {
	s := blob.NewSchema()
	time, x := s.Dim("time", blob.Unlimited), s.Dim("x", 3000)
	s.Var("v", cdf5.Double, []blob.DimID{time, x})
	s.Var("s", cdf5.Int, nil)
	m := &memory{schema: s, records: 2, data: map[string][]byte{"v": make([]byte, 2*3000*8), "s": make([]byte, 4)}}
	var stores []*Store
	listed := []map[string]bool{{}, {}}
	for i, version := range []Version{V2, V3} {
		st, err := New(m, &Options{Version: version, ChunkBytes: MinChunk})
		if err != nil {
			f.Fatal(err)
		}
		for k := range st.Keys() {
			listed[i][k] = true
			f.Add(k)
		}
		stores = append(stores, st)
	}
	f.Add("v/c.0.99999999999999999999")
	f.Add("v/c..")
	f.Fuzz(func(t *testing.T, key string) {
		for i, st := range stores {
			b, err := st.Get(context.Background(), key)
			n, ok := st.Size(key)
			if ok != listed[i][key] || ok != (err == nil) || ok && n != int64(len(b)) || !ok && !errors.Is(err, ErrNoKey) {
				t.Errorf("%q: %d bytes of %d, %v, %v", key, len(b), n, ok, err)
			}
		}
	})
}
