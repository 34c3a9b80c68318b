package versioned

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"blobio/cdf5"
	"blobio/comm"
	"blobio/internal/base/elem"
	"blobio/internal/base/vfs"
)

// netcdfStore makes an array with three ranks in a store in memory. The ranks call change and commit versions.
func netcdfStore(t *testing.T, o *Options, spec Spec, change func(ctx context.Context, a *Array) error) (vfs.FS, string) {
	t.Helper()
	mem := vfs.NewMem()
	must(t, mem.MkdirAll("store"))
	if o == nil {
		o = &Options{}
	}
	o.clock = func() time.Time { return time.Unix(1700000000, 500000000) }
	must(t, comm.Run(bg, 3, nil, func(ctx context.Context, c comm.Comm) error {
		a, err := Create(ctx, c, &Store{Dir: "store", FS: mem}, spec, o)
		if err == nil {
			err = change(ctx, a)
		}
		return errors.Join(err, a.Close(ctx))
	}))
	return mem, filepath.Join("store", spec.Name)
}

func openNetCDF(t *testing.T, fsys vfs.FS, dir string, key []byte) *File {
	t.Helper()
	v, err := OpenView(dir, fsys, key)
	must(t, err)
	t.Cleanup(func() { v.Close() })
	f, err := v.NetCDF(0)
	must(t, err)
	return f
}

// variable returns a record of a variable, decoded from the bytes of a file.
func variable(t *testing.T, file []byte, name string, rec int64) any {
	t.Helper()
	h, _, err := cdf5.DecodeHeader(bytes.NewReader(file), int64(len(file)), nil)
	must(t, err)
	v := h.VarIndex(name)
	if v < 0 {
		t.Fatalf("no variable %s", name)
	}
	off, n := h.Extent(v, rec)
	dst := cdf5.NewSlice(h.Vars[v].Type, int(h.Elems(v)))
	must(t, cdf5.FromFile(dst, file[off:off+n], true, h.Vars[v].Type))
	return dst
}

func all(t *testing.T, f *File) []byte {
	t.Helper()
	b, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size()))
	must(t, err)
	return b
}

// TestNetCDF: the netCDF form of an array has the elements and descriptions of all versions. Reads of any pieces give the same
// bytes.
func TestNetCDF(t *testing.T) {
	for name, o := range map[string]*Options{"plain": {}, "zstd": {Compress: true}, "encrypted": {Key: make([]byte, 16)}} {
		t.Run(name, func(t *testing.T) {
			labels := []string{"one", "", "the third"}
			mem, dir := netcdfStore(t, o, Spec{Name: "rho", Type: elem.Float32, Shape: []int64{40, 50}, Chunk: 512}, func(ctx context.Context, a *Array) error {
				for n, label := range labels {
					if a.c.Rank() == 0 {
						if err := Put(ctx, a, []int64{int64(10 * n), 0}, []int64{40, 50}, seq32(2000-500*n, float32(n+1))); err != nil {
							return err
						}
					}
					if _, err := a.Inc(ctx, 1, label); err != nil {
						return err
					}
				}
				return nil
			})
			f := openNetCDF(t, mem, dir, o.Key)
			file := all(t, f)
			v, err := OpenView(dir, mem, o.Key)
			must(t, err)
			defer v.Close()
			list := v.Versions()
			if len(list) != 4 || f.Header().NumRecs != 4 {
				t.Fatalf("%d versions, %d records, want 4", len(list), f.Header().NumRecs)
			}
			for i, x := range list {
				want := make([]float32, 2000)
				must(t, v.Get(bg, x.Number, []int64{0, 0}, []int64{40, 50}, bytesOf(want)))
				r := int64(i)
				if got := variable(t, file, "rho", r).([]float32); !slices.Equal(got, want) {
					t.Errorf("version %d: other elements", x.Number)
				}
				if got := variable(t, file, "version", r).([]int32); got[0] != int32(x.Number) {
					t.Errorf("record %d: version %d, want %d", i, got, x.Number)
				}
				if got := variable(t, file, "version_time", r).([]float64); got[0] != 1700000000.5 {
					t.Errorf("record %d: time %v", i, got)
				}
				if got := variable(t, file, "version_label", r).([]byte); string(bytes.TrimRight(got, "\x00")) != x.Label {
					t.Errorf("record %d: label %q, want %q", i, got, x.Label)
				}
			}
			r := rand.New(rand.NewPCG(1, 2))
			for range 200 {
				off := r.Int64N(f.Size())
				b := make([]byte, min(1+r.Int64N(3000), f.Size()-off))
				if n, err := f.ReadAt(b, off); err != nil || n != len(b) || !bytes.Equal(b, file[off:off+int64(n)]) {
					t.Fatalf("%d bytes from %d on: %d, %v", len(b), off, n, err)
				}
			}
		})
	}
}

func seq32(n int, f float32) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(i) * f
	}
	return out
}

// TestNetCDFGrows: versions of different lengths are padded, and the file has their lengths. If an array has the same name as a
// dimension would have, the array keeps its name.
func TestNetCDFGrows(t *testing.T) {
	lengths := []int64{100, 7, 130}
	mem, dir := netcdfStore(t, nil, Spec{Name: "version", Type: elem.Int16, Shape: []int64{100}, Chunk: 512}, func(ctx context.Context, a *Array) error {
		for _, n := range lengths {
			if _, err := a.Reserve(ctx, n); err != nil {
				return err
			}
			if a.c.Rank() == 1 {
				data := make([]int16, n)
				for i := range data {
					data[i] = int16(n)
				}
				if err := Put(ctx, a, []int64{0}, []int64{n}, data); err != nil {
					return err
				}
			}
			if _, err := a.Inc(ctx, 1, ""); err != nil {
				return err
			}
		}
		return nil
	})
	f := openNetCDF(t, mem, dir, nil)
	file := all(t, f)
	if i := f.Header().VarIndex("version_label"); i >= 0 {
		t.Error("there are no labels, but a variable of them")
	}
	for rec, n := range append([]int64{100}, lengths...) {
		got := variable(t, file, "version", int64(rec)).([]int16)
		if len(got) != 130 {
			t.Fatalf("%d elements, want 130", len(got))
		}
		for i, x := range got {
			want := int16(n)
			if rec == 0 {
				want = 0
			}
			if int64(i) >= n {
				want = cdf5.FillValue(cdf5.Short).(int16)
			}
			if x != want {
				t.Fatalf("record %d, element %d: %d, want %d", rec, i, x, want)
			}
		}
		if l := variable(t, file, "version_length", int64(rec)).([]int32); int64(l[0]) != n {
			t.Errorf("record %d: length %d, want %d", rec, l[0], n)
		}
		if l := variable(t, file, "version_", int64(rec)).([]int32); l[0] != int32(rec) {
			t.Errorf("record %d: version %d", rec, l[0])
		}
	}
	if d := f.Header().Dims[0]; d.Name != "version_" || d.Len != 0 {
		t.Errorf("records are of %+v", d)
	}
}

// TestNetCDFTypes: elements of all types are unchanged.
func TestNetCDFTypes(t *testing.T) {
	for ty := elem.Int8; ty <= elem.Float64; ty++ {
		raw := make([]byte, 64*ty.Size())
		r := rand.New(rand.NewPCG(uint64(ty), 3))
		for i := range raw {
			raw[i] = byte(r.IntN(256))
		}
		mem, dir := netcdfStore(t, nil, Spec{Name: "a", Type: ty, Shape: []int64{2, 4, 8}, Chunk: 512}, func(ctx context.Context, a *Array) error {
			if a.c.Rank() == 0 {
				if err := a.putBytes(ctx, []int64{0, 0, 0}, []int64{2, 4, 8}, raw); err != nil {
					return err
				}
			}
			_, err := a.Inc(ctx, 1, "")
			return err
		})
		file := all(t, openNetCDF(t, mem, dir, nil))
		got, _ := cdf5.Bytes(variable(t, file, "a", 1))
		if !bytes.Equal(got, raw) {
			t.Errorf("%v: other elements", ty)
		}
	}
}

// TestNetCDFDamage: a damaged chunk causes errors only at its own bytes, in the versions that have this content.
func TestNetCDFDamage(t *testing.T) {
	const n = 1024 // elements, 16 chunks
	mem, dir := netcdfStore(t, nil, Spec{Name: "a", Type: elem.Float64, Shape: []int64{n}, Chunk: 512}, func(ctx context.Context, a *Array) error {
		for v := range 3 {
			if a.c.Rank() == 0 { // version 2 changes only chunk 0
				hi := int64(n)
				if v == 1 {
					hi = 10
				}
				if err := Put(ctx, a, []int64{0}, []int64{hi}, seq(v*5000+1, int(hi), 1)); err != nil {
					return err
				}
			}
			if _, err := a.Inc(ctx, 1, ""); err != nil {
				return err
			}
		}
		return nil
	})
	want := all(t, openNetCDF(t, mem, dir, nil))
	const chunk = 7 // a chunk of version 1 that version 2 shares
	data := binary.NativeEndian.AppendUint64(nil, math.Float64bits(chunk*64+1))
	list, err := mem.ReadDir(dir)
	must(t, err)
	flipped := 0
	for _, e := range list {
		name := filepath.Join(dir, e.Name())
		b, err := vfs.ReadFile(mem, name, 1<<20)
		must(t, err)
		if at := bytes.Index(b, data); at >= 0 && isData(e.Name()) {
			f, err := mem.OpenRW(name)
			must(t, err)
			if _, err := f.WriteAt([]byte{b[at] ^ 1}, int64(at)); err != nil {
				t.Fatal(err)
			}
			f.Close()
			flipped++
		}
	}
	if flipped != 1 {
		t.Fatalf("%d files have the chunk, want 1", flipped)
	}
	f := openNetCDF(t, mem, dir, nil)
	h := f.Header()
	v := h.VarIndex("a")
	bad := func(off int64) bool {
		for rec := int64(1); rec <= 2; rec++ {
			if begin, _ := h.Extent(v, rec); off >= begin+chunk*512 && off < begin+chunk*512+512 {
				return true
			}
		}
		return false
	}
	for off := range f.Size() {
		var b [1]byte
		_, err := f.ReadAt(b[:], off)
		switch {
		case bad(off) && !errors.Is(err, ErrChecksum):
			t.Fatalf("byte %d is of the damaged chunk: %v", off, err)
		case !bad(off) && (err != nil || b[0] != want[off]):
			t.Fatalf("byte %d is not damaged: %d, want %d, %v", off, b[0], want[off], err)
		}
	}
	begin, _ := h.Extent(v, 1)
	if k, err := f.ReadAt(make([]byte, 16*512), begin); k != chunk*512 || !errors.Is(err, ErrChecksum) {
		t.Errorf("%d bytes are right, %v, want %d", k, err, chunk*512)
	}
}

// TestNetCDFNone: arrays of a hierarchy, and encrypted arrays without the key, have no netCDF form.
func TestNetCDFNone(t *testing.T) {
	for name, o := range map[string]*Options{"amr.level0": nil, "amr.global": nil, "secret": {Key: make([]byte, 16)}} {
		mem, dir := netcdfStore(t, o, Spec{Name: name, Type: elem.Uint8, Shape: []int64{100}, Chunk: 512}, func(context.Context, *Array) error { return nil })
		v, err := OpenView(dir, mem, nil)
		must(t, err)
		defer v.Close()
		want := ErrNoForm
		if o != nil {
			want = ErrKey
		}
		if _, err := v.NetCDF(0); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
}
