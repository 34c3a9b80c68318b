package ffformat

import (
	"blobio/internal/base/fault"
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"
)

// claims returns the variables whose recorded sizes exceed the size of the file.
func claims(f *File) (bad []VarInfo) {
	size, reserved := int64(0), int64(0)
	for _, v := range f.Vars() {
		size, reserved = addSat(size, v.Size), addSat(reserved, v.Reserved)
		if v.Size < 0 || v.Reserved < 0 || size > f.Size || reserved > max(f.Size, f.FB.FileSize) {
			bad = append(bad, v)
		}
	}
	return bad
}

// TestBounds: opening a file whose recorded sizes exceed the file fails and names the field. Check and Repair still accept such a
// file.
func TestBounds(t *testing.T) {
	for _, n := range []struct {
		field  string
		change func(c *Container)
	}{
		{"variable 4: chunksize", func(c *Container) { c.ChunkSize = c.ContainerSize + 1 }},
		{"variable 4: chunksize", func(c *Container) { c.ChunkSize = -1 }},
		{"variable 4: chunksize", func(c *Container) { c.ChunkSize = math.MaxInt32 }},
		{"variable 4: containersize", func(c *Container) { c.ContainerSize = -1 }},
		{"variable 4: containersize", func(c *Container) { c.ContainerSize, c.ChunkSize = math.MaxInt32, math.MaxInt32 }},
	} {
		for _, k := range kinds {
			f, b := build(t, k.layout, k.hash, 512, seven)
			c := f.at(1, 0)
			n.change(c)
			reseal(t, f, b)
			_, err := NewReader(bytes.NewReader(b), int64(len(b)), "x", nil)
			var fe *FormatError
			if !errors.As(err, &fe) || !errors.Is(err, ErrCorrupt) || !strings.HasSuffix(fe.Field, n.field) || fe.File != "x" ||
				fe.Offset <= f.RecordOffset(1, 0) || fe.Offset >= f.RecordOffset(1, 1) || !strings.Contains(fe.Msg, "want 0 to") {
				t.Errorf("%s: %s: %v", k.name, n.field, err)
			}
			if r, err := NewReader(bytes.NewReader(b), int64(len(b)), "x", &Options{Lenient: true}); err != nil {
				t.Errorf("%s: lenient: %v", k.name, err)
			} else if _, err := r.VarSize(4); err == nil {
				t.Errorf("%s: lenient: variable 4 has a size", k.name)
			} else if n, err := r.VarSize(1); err != nil || n != 400 {
				t.Errorf("%s: lenient: variable 1: %d, %v", k.name, n, err)
			}
		}
	}
	// a truncated file that is shorter than the recorded size of a variable
	for _, l := range []Layout{LayoutA, LayoutB} {
		_, b := build(t, l, MD5, 0, [][]spec{{{1, 5000, 5000}}})
		r, err := NewReader(bytes.NewReader(b[:400]), 400, "x", &Options{Lenient: true})
		must(t, err)
		if n, err := r.VarSize(1); err == nil {
			t.Errorf("%v: %d bytes in a file of 400", l, n)
		}
	}
	// each size fits, but their sum does not
	f, b := build(t, LayoutF, MD5, 0, seven)
	for _, i := range []int{0, 1} {
		f.at(2, i).ContainerSize = f.FB.DataSize / 2
	}
	reseal(t, f, b)
	if _, err := NewReader(bytes.NewReader(b), int64(len(b)), "x", nil); !errors.Is(err, ErrCorrupt) {
		t.Errorf("the sum: %v", err)
	}
}

// TestFileBlockSizes: a size in the file block that contradicts the file is an error, even with a right checksum.
func TestFileBlockSizes(t *testing.T) {
	for _, k := range kinds {
		if !k.layout.atEnd() {
			continue
		}
		f, b := build(t, k.layout, k.hash, 512, seven)
		f.FB.MetaSize--
		reseal(t, f, b)
		_, err := decodeBytes(b, "x", nil)
		var fe *FormatError
		if !errors.As(err, &fe) || !errors.Is(err, ErrCorrupt) || fe.Field != "FB.metaSize" {
			t.Errorf("%s: %v", k.name, err)
		}
	}
}

// TestMetadataCap: the maximum size of metadata applies to all layouts.
func TestMetadataCap(t *testing.T) {
	for _, k := range kinds {
		f, b := build(t, k.layout, k.hash, 512, seven)
		capped := func(most int64) error {
			d := decoder{r: bytes.NewReader(b), size: int64(len(b)), name: "x", maxMeta: most}
			_, err := d.decode()
			return err
		}
		n := f.metaBytes()
		if err := capped(n); err != nil {
			t.Errorf("%s: as much as there is: %v", k.name, err)
		}
		less := n - 1 // where the reader reads records one by one, the limit applies to their sum
		if k.layout.atEnd() {
			less = k.layout.fbSize() + 8
		}
		if err := capped(less); !errors.Is(err, fault.ErrTooLarge) {
			t.Errorf("%s: %v", k.name, err)
		}
	}
}

// hiccup is a reader whose n-th read fails. All other reads succeed.
type hiccup struct {
	b []byte
	n *int
}

func (h hiccup) ReadAt(p []byte, off int64) (int, error) {
	if *h.n--; *h.n == 0 {
		return 0, errDisk
	}
	return bytes.NewReader(h.b).ReadAt(p, off)
}

// TestPassingReadError: a transient read error is returned unchanged and is not reported as damage of the file.
func TestPassingReadError(t *testing.T) {
	for _, k := range kinds {
		_, b := build(t, k.layout, k.hash, 512, seven)
		for n := 1; ; n++ {
			left := n
			f, err := Decode(hiccup{b, &left}, int64(len(b)), "x", &Options{Lenient: true})
			if left > 0 {
				break
			}
			if !errors.Is(err, errDisk) || f != nil {
				t.Errorf("%s: read %d: %v", k.name, n, err)
			}
		}
	}
}
