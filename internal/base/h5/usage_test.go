package h5

import (
	"blobio/internal/base/fault"
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
)

// TestBuilderErrors tests one invalid use at a time.
func TestBuilderErrors(t *testing.T) {
	long := strings.Repeat("n", maxName)
	for name, x := range map[string]struct {
		class error
		build func(b *Builder)
	}{
		"empty name":      {fault.ErrUsage, func(b *Builder) { b.Dataset("", Int8, nil, nil) }},
		"slash":           {fault.ErrUsage, func(b *Builder) { b.Dataset("a/b", Int8, nil, nil) }},
		"dot":             {fault.ErrUsage, func(b *Builder) { b.Dataset(".", Int8, nil, nil) }},
		"zero byte":       {fault.ErrUsage, func(b *Builder) { b.Dataset("a\x00", Int8, nil, nil) }},
		"long name":       {fault.ErrUsage, func(b *Builder) { b.Dataset(long, Int8, nil, nil) }},
		"same name":       {fault.ErrExist, func(b *Builder) { b.Dataset("a", Int8, nil, nil); b.Dataset("a", Int8, nil, nil) }},
		"same attribute":  {fault.ErrExist, func(b *Builder) { b.Attr("a", Int8, nil, 1); b.Attr("a", Int8, nil, 1) }},
		"rank":            {fault.ErrUsage, func(b *Builder) { b.Dataset("a", Int8, make([]int64, 33), nil) }},
		"negative":        {fault.ErrUsage, func(b *Builder) { b.Dataset("a", Int8, []int64{-1}, nil) }},
		"too many":        {fault.ErrUsage, func(b *Builder) { b.Dataset("a", Int64, []int64{1 << 40, 1 << 40}, nil) }},
		"type":            {fault.ErrUnsupported, func(b *Builder) { b.Dataset("a", Int16|typeBig, nil, nil) }},
		"no type":         {fault.ErrUnsupported, func(b *Builder) { b.Dataset("a", 0, nil, nil) }},
		"alignment":       {fault.ErrUsage, func(b *Builder) { b.Dataset("a", Int8, nil, &DatasetOptions{Align: -4}) }},
		"attribute range": {fault.ErrRange, func(b *Builder) { b.Attr("a", Int8, []int64{2}, []int32{1, 128}) }},
		"attribute sign":  {fault.ErrRange, func(b *Builder) { b.Attr("a", Uint64, nil, -1) }},
		"float into int":  {fault.ErrRange, func(b *Builder) { b.Attr("a", Int32, nil, 1.0) }},
		"attribute count": {fault.ErrUsage, func(b *Builder) { b.Attr("a", Int8, []int64{3}, []int8{1}) }},
		"attribute value": {fault.ErrUsage, func(b *Builder) { b.Attr("a", Int8, nil, "x") }},
		"string value":    {fault.ErrUsage, func(b *Builder) { b.Attr("a", FixedString(3), nil, 4) }},
		"string too long": {fault.ErrRange, func(b *Builder) { b.Attr("a", FixedString(3), nil, "abc") }},
		"attribute size":  {fault.ErrUsage, func(b *Builder) { b.Attr("a", Int8, []int64{65530}, make([]int8, 65530)) }},
		"attribute name":  {fault.ErrUsage, func(b *Builder) { b.Attr("", Int8, nil, 1) }},
		"past the end": {fault.ErrTooLarge, func(b *Builder) {
			for _, n := range []string{"a", "b", "c"} {
				b.Dataset(n, Int8, []int64{1 << 61}, nil)
			}
		}},
		"called twice": {fault.ErrUsage, func(b *Builder) { b.Layout() }},
		"many attributes": {fault.ErrUsage, func(b *Builder) {
			for i := range maxAttrs + 1 {
				b.Attr(strings.Repeat("x", i%7)+string(rune(i+1)), Int8, nil, 1)
			}
		}},
	} {
		b := NewBuilder()
		x.build(b)
		if _, err := b.Layout(); !errors.Is(err, x.class) {
			t.Errorf("%s: %v, want %v", name, err, x.class)
		}
	}
}

// TestUserBlock: the HDF5 data may begin at offset 512, 1024, ... of the file, and data offsets are still offsets in the file.
func TestUserBlock(t *testing.T) {
	file := blobFile(t)
	for _, n := range []int{512, 1024, 4096} {
		f := openBytes(t, append(make([]byte, n), file...))
		d, err := f.Dataset("data_blob")
		if err != nil {
			t.Fatal(err)
		}
		if off, _ := d.Offset(); off != int64(n)+3048 || f.Size() != int64(n+len(file)) {
			t.Errorf("data at %d, size %d", off, f.Size())
		}
		got := make([]byte, 10)
		if k, err := d.ReadAt(got, 4995); k != 5 || err != io.EOF || !bytes.Equal(got[:5], file[len(file)-5:]) {
			t.Errorf("read %d, %v", k, err)
		}
	}
	if IsHDF5(bytes.NewReader(append(make([]byte, 600), file...)), int64(len(file)+600)) {
		t.Error("signature found at 600")
	}
}

// TestNoKind: an object without messages of a kind is damaged.
func TestNoKind(t *testing.T) {
	file := build(t, NewBuilder(), nil)
	file[0x70] = 0 // type of the only message of the root group
	if _, err := openBytes(t, file).Root(); !errors.Is(err, fault.ErrCorrupt) {
		t.Error(err)
	}
}

// TestReadErrors tests invalid uses of a reader.
func TestReadErrors(t *testing.T) {
	b := NewBuilder()
	d := b.Dataset("d", Int32, []int64{4}, nil)
	raw, err := encodeValue(nil, Int32, 4, []int32{1, -2, 300, 70000})
	if err != nil {
		t.Fatal(err)
	}
	f := openBytes(t, build(t, b, map[*DatasetBuilder][]byte{d: raw}))
	ds, err := f.Dataset("d")
	if err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]struct {
		err, class error
	}{
		"rank":        {ds.Read([]int64{0, 0}, nil, make([]int32, 4)), fault.ErrUsage},
		"outside":     {ds.Read([]int64{2}, []int64{3}, make([]int32, 3)), fault.ErrUsage},
		"negative":    {ds.Read([]int64{-1}, []int64{1}, make([]int32, 1)), fault.ErrUsage},
		"length":      {ds.Read(nil, nil, make([]int32, 3)), fault.ErrUsage},
		"destination": {ds.Read(nil, nil, make([]string, 4)), fault.ErrUsage},
		"narrow":      {ds.Read(nil, nil, make([]int16, 4)), fault.ErrRange},
		"sign":        {ds.Read(nil, nil, make([]uint64, 4)), fault.ErrRange},
		"raw length":  {ds.ReadRaw(nil, nil, make([]byte, 15)), fault.ErrUsage},
		"missing":     {second(f.Lookup("x")), fault.ErrMissing},
		"not a group": {second(f.Lookup("d/x")), fault.ErrUsage},
		"no dataset":  {second(f.Dataset("/")), fault.ErrUsage},
	} {
		if !errors.Is(x.err, x.class) {
			t.Errorf("%s: %v, want %v", name, x.err, x.class)
		}
	}
	got := make([]float64, 2)
	if err := ds.Read([]int64{2}, nil, got); err != nil || !slices.Equal(got, []float64{300, 70000}) {
		t.Error(got, err)
	}
}

func second[T any](_ T, err error) error { return err }

// TestPieces: the pieces of a box cover it in order.
func TestPieces(t *testing.T) {
	for _, limit := range []int64{1, 2, 3, 7, 24, 100} {
		var next int64
		err := pieces([]int64{1, 0, 5}, []int64{3, 2, 4}, limit, func(s, c []int64, n int64) error {
			at := ((s[0]-1)*2+s[1])*4 + s[2] - 5
			if k, _ := elems(c); at != next || n > limit || k != n {
				t.Fatalf("limit %d: %v+%v, %d elements at %d, want at %d", limit, s, c, n, at, next)
			}
			next += n
			return nil
		})
		if err != nil || next != 24 {
			t.Errorf("limit %d: %d elements, %v", limit, next, err)
		}
	}
}

func TestLookup3(t *testing.T) {
	// Published values of the hash, and of the superblock in a libhdf5 file.
	for s, want := range map[string]uint32{"": 0xdeadbeef, "Four score and seven years ago": 0x17770551} {
		if got := lookup3([]byte(s)); got != want {
			t.Errorf("%q: %#08x, want %#08x", s, got, want)
		}
	}
}

// TestConcurrent uses one File in many readers, for the race detector.
func TestConcurrent(t *testing.T) {
	f := openPath(t, "testdata/small.h5")
	want := make([]int32, 60)
	for i := range want {
		want[i] = int32(i)
	}
	shared := map[string]*Dataset{}
	names := []string{"plain", "single", "fixed", "gz", "grow", "grow2"}
	for _, name := range names {
		d, err := f.Dataset(name)
		if err != nil {
			t.Fatal(err)
		}
		shared[name] = d
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for k := range 20 {
				name := names[(i+k)%len(names)]
				got := make([]int32, 60)
				if err := shared[name].Read(nil, nil, got); err != nil || !slices.Equal(got, want) {
					t.Errorf("%s: %v, %v", name, got, err)
				}
				if _, err := f.Lookup("dense"); err != nil {
					t.Error(err)
				}
				o, err := f.Lookup("attrs")
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := o.Attr("huge"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}
