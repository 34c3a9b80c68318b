package h5

import (
	"blobio/internal/base/crashtest"
	"blobio/internal/base/fault"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// inventory reads every object, link, attribute and numeric dataset of at most 1 MiB in a file. Unless all is set, it omits
// contents without a checksum. It returns the first error.
func inventory(b []byte, lax, all bool) (string, error) {
	var out strings.Builder
	f, err := newFile(bytes.NewReader(b), int64(len(b)), "fault.h5", lax)
	if err != nil {
		return "", err
	}
	var first error
	note := func(err error) {
		if first == nil && err != nil {
			first = err
		}
	}
	objects := 0
	for o, err := range walk(f) {
		if err != nil {
			note(err)
			continue
		}
		if objects++; objects > 2000 {
			break
		}
		fmt.Fprintln(&out, o.Path(), o.Kind())
		n := 0
		for a, err := range o.Attrs() {
			if err != nil {
				note(err)
				break
			}
			v, err := a.Value()
			note(err)
			if raw, _ := a.Raw(); len(raw) > 4096 && !all {
				v = nil // huge heap objects have no checksum
			}
			fmt.Fprintln(&out, "@", a.Name, a.Type, a.Dims, v)
			if n++; n > 500 {
				break
			}
		}
		switch o.Kind() {
		case KindGroup:
			g, err := o.Group()
			note(err)
			if err != nil {
				continue
			}
			for l, err := range g.Members() {
				note(err)
				if err != nil {
					break
				}
				fmt.Fprintln(&out, "-", l.Name, l.Kind, l.File, l.Target)
				if _, err := g.Link(l.Name); err != nil {
					note(err)
				}
				if n++; n > 500 {
					break
				}
			}
		case KindDataset:
			d, err := o.Dataset()
			note(err)
			if err != nil {
				continue
			}
			off, ok := d.Offset()
			fmt.Fprintln(&out, d.Type(), d.Dims(), d.MaxDims(), d.Storage(), d.ChunkDims(), off, ok)
			if d.Bytes() > 1<<20 {
				continue
			}
			raw := make([]byte, d.Bytes())
			note(d.ReadRaw(nil, nil, raw))
			if all || d.Storage() == Chunked {
				fmt.Fprintf(&out, "%x\n", sha256.Sum256(raw))
			}
		}
	}
	return out.String(), first
}

// typed fails the test unless err is nil or has a file, offset and class.
func typed(t *testing.T, err error, what string) {
	t.Helper()
	if err == nil {
		return
	}
	var fe *fault.FormatError
	if errors.As(err, &fe) {
		if fe.Offset < 0 || fe.Field == "" || fe.Err == nil {
			t.Errorf("%s: %#v", what, fe)
		}
		return
	}
	for _, class := range []error{fault.ErrMissing, fault.ErrUnsupported, fault.ErrUsage} {
		if errors.Is(err, class) {
			return // the flipped bit changed a name or a type
		}
	}
	t.Errorf("%s: untyped error %v", what, err)
}

func corpus(t testing.TB) map[string][]byte {
	t.Helper()
	small, err := os.ReadFile("testdata/small.h5")
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{"small": small, "tree": treeFile(t), "blob": blobFile(t)}
}

func TestTruncated(t *testing.T) {
	for name, file := range corpus(t) {
		for n := 0; n < len(file); n += 1 + len(file)/400 {
			cut := file[:n]
			_, err := inventory(cut, false, true)
			if want := map[bool]error{true: fault.ErrNotFormat, false: fault.ErrTruncated}[n < 8]; !errors.Is(err, want) {
				t.Fatalf("%s cut to %d: %v, want %v", name, n, err, want)
			}
			typed(t, err, fmt.Sprintf("%s cut to %d", name, n))
			_, err = inventory(cut, true, true)
			typed(t, err, fmt.Sprintf("%s cut to %d, allowed", name, n))
		}
	}
}

// TestFlipped: if all metadata have checksums, a flipped bit is an error or changes nothing. In other files, reading must
// not panic.
func TestFlipped(t *testing.T) {
	for name, file := range corpus(t) {
		for _, sums := range []bool{true, false} {
			rng := rand.New(rand.NewPCG(5, 6))
			want, err := inventory(file, !sums, false)
			if err != nil {
				t.Fatal(err)
			}
			errs := 0
			bad := bytes.Clone(file)
			flips := crashtest.Times(80, 250)
			if name == "small" { // check everything: an undetected flip shows in the result
				flips = 400
			}
			for range flips {
				i := rng.IntN(len(file))
				if name == "tree" {
					i = rng.IntN(12000)
				}
				was := bad[i]
				bad[i] ^= byte(1 + rng.IntN(255))
				got, err := inventory(bad, !sums, false)
				typed(t, err, fmt.Sprintf("%s with byte %d %#x instead of %#x", name, i, bad[i], was))
				if err != nil {
					errs++
				} else if name == "small" && sums && got != want {
					t.Errorf("%s with byte %d flipped reads otherwise, without an error", name, i)
				}
				bad[i] = was
			}
			if errs == 0 {
				t.Errorf("%s: no flip was noticed", name)
			}
		}
	}
}

// TestFaults tests single faults at known offsets.
func TestFaults(t *testing.T) {
	file := blobFile(t)
	le64 := func(v int64) []byte { return le.AppendUint64(nil, uint64(v)) }
	// Addresses of the parts, as assigned by Layout.
	const (
		header = superblock0Len
		heap   = header + headerPrefixLen + messagePrefix + 16
		data   = heap + localHeapLen
		tree   = data + 8 + 16 + 16
		snod   = tree + groupNodeLen
	)
	for _, x := range []struct {
		name  string
		at    int64
		put   []byte
		class error
		off   int64
	}{
		{"signature", 0, []byte{0}, fault.ErrNotFormat, 0},
		{"superblock version", 8, []byte{9}, fault.ErrUnsupported, 8},
		{"size of offsets", 13, []byte{7}, fault.ErrUnsupported, 13},
		{"end of file", 40, le64(1 << 40), fault.ErrTruncated, int64(len(file))},
		{"driver", 48, le64(4096), fault.ErrUnsupported, 48},
		{"root address", 64, le64(1 << 30), fault.ErrTruncated, 1 << 30},
		{"header version", header, []byte{3}, fault.ErrUnsupported, header},
		{"header size", header + 8, []byte{255, 255, 255, 3}, fault.ErrTruncated, header + 16},
		{"message size", header + 18, []byte{255, 0}, fault.ErrCorrupt, header + 24},
		{"tree address", header + 24, le64(undef), fault.ErrCorrupt, header + 24},
		{"heap signature", heap, []byte{'h'}, fault.ErrCorrupt, heap},
		{"heap version", heap + 4, []byte{5}, fault.ErrUnsupported, heap + 4},
		{"heap size", heap + 8, le64(1 << 50), fault.ErrTruncated, heap + 8},
		{"tree signature", tree, []byte{'t'}, fault.ErrCorrupt, tree},
		{"tree type", tree + 4, []byte{1}, fault.ErrCorrupt, tree + 4},
		{"tree level", tree + 5, []byte{2}, fault.ErrCorrupt, snod},
		{"tree child", tree + 32, le64(tree), fault.ErrCorrupt, tree},
		{"symbol node version", snod + 4, []byte{2}, fault.ErrUnsupported, snod + 4},
		{"symbols", snod + 6, []byte{255, 255}, fault.ErrTruncated, snod + 8},
		{"name offset", snod + 8, le64(1 << 20), fault.ErrCorrupt, snod + 8},
		{"member address", snod + 16, le64(undef), fault.ErrCorrupt, snod + 16},
	} {
		bad := bytes.Clone(file)
		copy(bad[x.at:], x.put)
		_, err := inventory(bad, false, true)
		var fe *fault.FormatError
		if !errors.As(err, &fe) || !errors.Is(err, x.class) || fe.Offset != x.off {
			t.Errorf("%s: %v, want %v at %#x", x.name, err, x.class, x.off)
		}
	}
}

// TestCycles: cyclic continuations and trees end.
func TestCycles(t *testing.T) {
	b := NewBuilder()
	for i := range 200 {
		b.Attr(fmt.Sprintf("a%03d", i), Int64, []int64{20}, make([]int64, 20))
	}
	file := build(t, b, nil)
	// The last message of the first block is the continuation.
	first := int64(headerPrefixLen) + int64(le.Uint32(file[superblock0Len+8:])) + superblock0Len
	if typ := le.Uint16(file[first-24:]); typ != msgContinuation {
		t.Fatalf("message %#x before %#x, want a continuation", typ, first)
	}
	le.PutUint64(file[first-16:], superblock0Len+headerPrefixLen) // to the first block
	le.PutUint64(file[first-8:], uint64(first-superblock0Len-headerPrefixLen))
	_, err := inventory(file, false, true)
	if !errors.Is(err, fault.ErrCorrupt) || !strings.Contains(err.Error(), "two continuations") {
		t.Errorf("continuation to itself: %v", err)
	}

	file = manyFile(t, 600) // a tree of two levels
	root := le.Uint64(file[80:])
	child := le.Uint64(file[root+32:])
	le.PutUint64(file[root+48:], child) // the same child twice
	_, err = inventory(file, false, true)
	if !errors.Is(err, fault.ErrCorrupt) || !strings.Contains(err.Error(), "two pointers") {
		t.Errorf("child twice: %v", err)
	}
}

// FuzzFile should run with -fuzzminimizetime=10x: the inputs are long, and the fuzzing engine would spend its time on
// shortening them.
func FuzzFile(f *testing.F) {
	b := NewBuilder()
	group(f, b, "g", func(b *Builder) { b.Attr("a", Float32, []int64{2}, []float32{1, 2}) })
	b.Dataset("d", Int16, []int64{3, 4}, nil)
	f.Add(build(f, b, nil), true)
	o := NewOrdered()
	d := o.Dataset("d", Int16, []int64{3}, &OrderedOptions{Grow: true, Chunk: []int64{2}, Filters: Pipeline{Zstd: 1}})
	d.RefAttr("refs", []*OrderedDataset{d})
	d.Attr("long", FixedString(70000), nil, make([]byte, 70000))
	f.Add(written(f, o, []*OrderedDataset{d}, func(*OrderedDataset, int) ([]byte, uint32) { return []byte{1, 2, 3, 4}, 1 }), true)
	for _, file := range corpus(f) {
		f.Add(file, false)
		f.Add(file, true)
	}
	f.Fuzz(func(t *testing.T, file []byte, lax bool) {
		_, err := inventory(file, lax, true)
		typed(t, err, "fuzz")
	})
}
