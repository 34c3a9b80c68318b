package tree

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"testing"

	"blobio/cdf5"
	"blobio/internal/base/fault"
)

// longHeader writes a file with only a header of many variables or attributes, and returns the header's length.
func longHeader(t *testing.T, name string, vars, atts int) int64 {
	t.Helper()
	h := &cdf5.Header{Version: cdf5.CDF1}
	for i := range vars {
		h.Vars = append(h.Vars, cdf5.Var{Name: fmt.Sprintf("%x", i), Type: cdf5.Byte})
	}
	for i := range atts {
		h.Atts = append(h.Atts, cdf5.Att{Name: fmt.Sprintf("%x", i), Type: cdf5.Byte, Value: []int8{1}})
	}
	ok(t, h.Layout(nil))
	b, err := h.AppendTo(nil, binary.BigEndian, false)
	ok(t, err)
	ok(t, os.WriteFile(name, b, 0o666))
	ok(t, os.Truncate(name, h.FileSize(0)))
	return int64(len(b))
}

// live returns the number of heap bytes in use.
func live() int64 {
	runtime.GC()
	runtime.GC() // the second collection clears pools
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64())
}

// TestLongHeaders checks that the memory of headers is counted before they are read. A header that is too long is an error. A
// header that is too long beside other open headers is an error until these are released.
func TestLongHeaders(t *testing.T) {
	dir := t.TempDir()
	const memory = 64 << 20
	const most = memory / 4 / headerTimes
	long := longHeader(t, filepath.Join(dir, "vars.nc"), 10000, 0)
	if long <= shortHeader || long >= most {
		t.Fatalf("a header of %d bytes, want %d to %d", long, shortHeader, most)
	}
	longHeader(t, filepath.Join(dir, "too.nc"), 0, 2*most/20)
	for i := range 3 {
		longHeader(t, filepath.Join(dir, fmt.Sprintf("atts%d.nc", i)), 0, 25000)
	}
	longHeader(t, filepath.Join(dir, "short.nc"), 100, 100)
	tr, err := Open(dir, &Options{Memory: memory})
	ok(t, err)
	defer func() { ok(t, tr.Close()) }()
	h := &tr.readers.headers
	used := func() int64 {
		tr.mu.Lock()
		defer tr.mu.Unlock()
		return h.used
	}

	if _, err := tr.Dataset(t.Context(), "too.nc"); !errors.Is(err, fault.ErrTooLarge) || errors.Is(err, ErrTooMany) {
		t.Errorf("a header beyond all bounds: %v", err)
	}
	short, err := tr.Dataset(t.Context(), "short.nc")
	ok(t, err)
	if used() != 0 {
		t.Errorf("a short header counts as %d bytes", used())
	}
	short.Release()

	before := live()
	d, err := tr.Dataset(t.Context(), "vars.nc")
	ok(t, err)
	took := live() - before
	t.Logf("a header of %d bytes takes %d, and counts as %d", long, took, used())
	if used() < took/2 || took > long*headerTimes {
		t.Errorf("a header of %d bytes takes %d, and counts as %d", long, took, used())
	}
	left := tr.readers.memory.left
	again, err := tr.Dataset(t.Context(), "vars.nc") // the same one
	ok(t, err)
	if tr.readers.memory.left != left {
		t.Error("it is counted twice")
	}
	again.Release()

	var held []*Dataset
	for i := range 3 {
		one, err := tr.Dataset(t.Context(), fmt.Sprintf("atts%d.nc", i))
		if err == nil {
			held = append(held, one)
		} else if !errors.Is(err, ErrTooMany) {
			t.Errorf("a header that is too long beside others: %v", err)
		}
	}
	if len(held) > 2 || used() > h.all {
		t.Errorf("%d of 3 more were opened; headers take %d of %d", len(held), used(), h.all)
	}
	together := used()
	d.Release()
	for _, one := range held {
		one.Release()
	}
	last, err := tr.Dataset(t.Context(), "atts2.nc") // readers that are not held are closed to make room
	ok(t, err)
	if used() >= together {
		t.Errorf("headers take %d bytes, want those of one", used())
	}
	last.Release()
	ok(t, closeAll(tr.readers.idle(0)))
	if used() != 0 || tr.readers.memory.left != memory {
		t.Errorf("%d bytes of headers and %d of %d are left", used(), tr.readers.memory.left, memory)
	}
}
