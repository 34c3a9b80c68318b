package blocks

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"blobio/amr"
	"blobio/amr/cello"
	"blobio/blob"
	"blobio/internal/amr/gen"
	"blobio/internal/testfiles"
)

// convertedBytes are those of the file that Convert writes.
func convertedBytes(t testing.TB, src Source) []byte {
	t.Helper()
	name := filepath.Join(t.TempDir(), "mesh.nc")
	if err := Convert(t.Context(), src, name, &Options{Durability: blob.DurableNone, Workers: 3}); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func newFile(t testing.TB, src Source, memory int64) *File {
	t.Helper()
	f, err := NewFile(t.Context(), "mesh", src, memory)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// sameFile holds a file against the bytes that Convert wrote: as a whole, the checksums first, and anywhere by several readers at once.
func sameFile(t *testing.T, src Source) {
	t.Helper()
	want := convertedBytes(t, src)
	f := newFile(t, src, 0)
	if f.Size() != int64(len(want)) {
		t.Fatalf("%d bytes, Convert wrote %d", f.Size(), len(want))
	}
	got, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size()))
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("%v: other bytes from %d on", err, firstDifference(got, want))
	}
	f = newFile(t, src, 1<<10)
	last := f.Header().Vars[len(f.Header().Vars)-1]
	b := make([]byte, f.Size()-last.Begin)
	if _, err := f.ReadAt(b, last.Begin); err != nil || last.Name != crcName || !bytes.Equal(b, want[last.Begin:]) {
		t.Errorf("%s: other bytes, %v", last.Name, err)
	}
	var wg sync.WaitGroup
	for seed := range uint64(4) {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, 7))
			for range 100 {
				off := r.Int64N(f.Size())
				n := min(1+r.Int64N(20000), f.Size()-off)
				b := make([]byte, n)
				if k, err := f.ReadAt(b, off); err != nil || int64(k) != n || !bytes.Equal(b, want[off:off+n]) {
					t.Errorf("%d bytes from %d on: %d, %v, other bytes from %d on", n, off, k, err, off+int64(firstDifference(b, want[off:])))
					return
				}
			}
		})
	}
	wg.Wait()
}

func firstDifference(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// TestFile: a file that is computed has the bytes that Convert writes, whatever the blocks hold.
func TestFile(t *testing.T) {
	for rank := 1; rank <= 3; rank++ {
		m, list := toy(uint64(rank), rank)
		sameFile(t, &Memory{M: m, List: list})
	}
	cases, err := gen.Cases(3)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		src := &Memory{M: c.Set.Meta}
		for _, b := range c.Set.All(nil) {
			src.List = append(src.List, b)
		}
		t.Run(c.Name, func(t *testing.T) { sameFile(t, src) })
	}
}

// TestFileOfCello is the same for the checkpoints of Enzo-E.
func TestFileOfCello(t *testing.T) {
	for _, name := range []string{"CheckA-10", "CheckE-05", "CheckP2-05"} {
		t.Run(name, func(t *testing.T) { sameFile(t, FromCello(openCello(t, testfiles.Dir(t, "cello", name)))) })
	}
}

// counted counts what is read of a checkpoint.
type counted struct {
	*celloSource
	whole, fields atomic.Int64
}

func (c *counted) Range(ctx context.Context, lo, hi int) ([]*amr.Block, error) {
	c.whole.Add(int64(hi - lo))
	return c.celloSource.Range(ctx, lo, hi)
}

func (c *counted) field(ctx context.Context, i int, f *amr.FieldSpec) ([]byte, error) {
	c.fields.Add(1)
	return c.celloSource.field(ctx, i, f)
}

// TestFileReadsOnce: who reads the file from its begin to its end has each field of each block read once, the checksums included, in pieces of any
// size; who reads checksums alone has blocks read, once.
func TestFileReadsOnce(t *testing.T) {
	for _, step := range []int64{1000, 128 << 10, 1 << 20} {
		src := &counted{celloSource: &celloSource{openCello(t, testfiles.Dir(t, "cello", "CheckA-10"))}}
		f := newFile(t, src, 1<<20)
		b := make([]byte, step)
		for off := int64(0); off < f.Size(); off += step {
			if _, err := f.ReadAt(b[:min(step, f.Size()-off)], off); err != nil {
				t.Fatal(err)
			}
		}
		if n := int64(src.Len() * len(src.Meta().Fields)); src.fields.Load() != n || src.whole.Load() != 0 {
			t.Errorf("pieces of %d bytes: %d fields of blocks and %d whole blocks were read, want %d and none", step, src.fields.Load(), src.whole.Load(), n)
		}
	}
	src := &counted{celloSource: &celloSource{openCello(t, testfiles.Dir(t, "cello", "CheckA-10"))}}
	f := newFile(t, src, 0)
	last := f.Header().Vars[len(f.Header().Vars)-1]
	for range 2 {
		if _, err := f.ReadAt(make([]byte, f.Size()-last.Begin), last.Begin); err != nil {
			t.Fatal(err)
		}
	}
	if n := int64(src.Len()); src.fields.Load() != 0 || src.whole.Load() != n {
		t.Errorf("checksums: %d fields of blocks and %d whole blocks were read, want none and %d", src.fields.Load(), src.whole.Load(), n)
	}
}

// TestFileOfPart: that of a selection.
func TestFileOfPart(t *testing.T) {
	m, list := toy(5, 2)
	src := &Memory{M: m, List: list}
	leaves, err := Select(t.Context(), src, Selection{Keep: func(_ amr.Index, leaf bool) bool { return leaf }, Fields: []string{"fint8", "velocity_face"}, Bare: true})
	if err != nil {
		t.Fatal(err)
	}
	sameFile(t, leaves)
}

// TestFileDamage: one byte of a field that is damaged is an error at the field's bytes of that block and at its checksum, and nowhere
// else.
func TestFileDamage(t *testing.T) {
	m, list := toy(2, 2)
	m.Attrs = nil // of which Cello has no place for all
	for _, b := range list {
		b.Attrs, b.Adapt = nil, nil
		for i := range b.Fields {
			b.Fields[i].Ghosts = false
			b.Fields[i].Data = b.Fields[i].Data[:m.FieldBytes(b.Fields[i].Spec, false)]
		}
	}
	dir := filepath.Join(t.TempDir(), "Check")
	if err := ToCello(t.Context(), &Memory{M: m, List: list}, dir, &CelloOptions{Cello: cello.Options{Files: 2, Durability: cello.DurableNone}}); err != nil {
		t.Fatal(err)
	}
	want := convertedBytes(t, FromCello(openCello(t, dir)))
	const victim = 3
	data := openCello(t, dir)
	whole, err := data.Block(t.Context(), victim)
	if err != nil {
		t.Fatal(err)
	}
	flipIn(t, dir, whole.Fields[1].Data)
	f := newFile(t, FromCello(openCello(t, dir)), 0)
	h := f.Header()
	v := h.VarIndex("field_" + m.Fields[1].Name)
	row := h.Bytes(v) / int64(len(list))
	crc := &h.Vars[len(h.Vars)-1]
	bad := func(off, n int64) bool {
		a, b := h.Vars[v].Begin+victim*row, crc.Begin+4*victim
		return off < a+row && off+n > a || off < b+4 && off+n > b
	}
	const step = 100
	for off := int64(0); off < f.Size(); off += step {
		n := min(step, f.Size()-off)
		b := make([]byte, n)
		k, err := f.ReadAt(b, off)
		switch {
		case bad(off, n) && !errors.Is(err, cello.ErrChecksum):
			t.Fatalf("%d bytes at %d are damaged: %v", n, off, err)
		case !bad(off, n) && err != nil:
			t.Fatalf("%d bytes at %d are not damaged: %v", n, off, err)
		case !bytes.Equal(b[:k], want[off:off+int64(k)]):
			t.Fatalf("%d bytes at %d are others", k, off)
		}
	}
	at := h.Vars[v].Begin + victim*row
	b := make([]byte, 4*row)
	if n, err := f.ReadAt(b, at-2*row); int64(n) != 2*row || !errors.Is(err, cello.ErrChecksum) {
		t.Errorf("from two blocks before it on %d bytes are right, %v, want %d", n, err, 2*row)
	}
}

// flipIn changes a bit in the middle of what follows in one of the files of a checkpoint.
func flipIn(t *testing.T, dir string, data []byte) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.h5"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if at := bytes.Index(b, data); at >= 0 {
			b[at+len(data)/2] ^= 1
			if err := os.WriteFile(name, b, 0o666); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatal("no file has these bytes")
}
