package blob

import (
	"blobio/blob/internal/check"
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/read"
	"blobio/internal/base/crashtest"
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestFlips flips bits of all subfiles. No read, conversion or comparison may give wrong values without an error. Data that do
// not depend on the flipped bit must stay readable.
func TestFlips(t *testing.T) {
	for k, h := range crashtest.Some(t, 1, histories()) {
		if raceEnabled && !long && k%4 != 0 {
			continue
		}
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			files := h.write(t)
			want, errs := readout(t, files)
			noError(t, errors.Join(errs...))
			ways, slabs := labels(t, files)
			canonical := need(convertTo(t, files, false, read.OpenOptions{}))
			places := whereIs(t, files)
			for _, name := range slices.Sorted(maps.Keys(files)) {
				if !strings.HasPrefix(name, sampleBase+".0") && !strings.HasPrefix(name, sampleBase+"+") {
					continue
				}
				for _, at := range places.sample(name, len(files[name]), k) {
					what := fmt.Sprintf("byte %#x of %s", at, name)
					bad := maps.Clone(files)
					bad[name] = flipped(files[name], int64(at), uint(at%8))
					in, isData := places.at(name, int64(at))
					got, errs := readout(t, bad)
					if len(got) == 0 && isData {
						t.Fatalf("%s: a bit of %v, but nothing can be opened: %v", what, in, errs[0])
					}
					missed := 0
					for i := range got {
						mine := isData && in.name == slabs[i].name && in.rec == slabs[i].rec
						switch {
						case errs[i] == nil && !slices.Equal(got[i], want[i]):
							t.Errorf("%s (of %v): %s of %v: wrong values, no error", what, in, ways[i], slabs[i])
						case errs[i] != nil && isData && !mine:
							t.Errorf("%s (of %v): %s of %v: %v", what, in, ways[i], slabs[i], errs[i])
						case errs[i] != nil && isData && !errors.Is(errs[i], dataset.ErrChecksum):
							t.Errorf("%s (of %v): %s of %v: %v, want %v", what, in, ways[i], slabs[i], errs[i], dataset.ErrChecksum)
						case errs[i] == nil && mine && ways[i] == "whole" && !in.copy:
							missed++
						}
					}
					if missed > 0 {
						t.Errorf("%s (of %v): read as a whole without an error", what, in)
					}
					for _, blobs := range []bool{false, true} {
						out, err := convertTo(t, bad, blobs, read.OpenOptions{})
						if err == nil && !bytes.Equal(out, canonical) && !blobs {
							t.Errorf("%s (of %v): the conversion differs", what, in)
						}
						if err == nil && isData && !in.copy {
							t.Errorf("%s (of %v): converted (to blobs: %v) without an error", what, in, blobs)
						}
					}
					if d := diffOf(t, files, bad); len(d) > 0 && (d[0].Err == nil || len(d) > 1) {
						t.Errorf("%s (of %v): differences instead of an error: %v", what, in, d)
					}
				}
			}
		})
	}
}

func diffOf(t testing.TB, a, b map[string][]byte) []dataset.Finding {
	t.Helper()
	x := opened(t, memOf(t, a), sampleBase, nil)
	y, err := read.OpenWith(t.Context(), sampleBase, nil, dataset.Knobs{Fs: memOf(t, b)})
	if err != nil {
		return nil
	}
	defer y.Close()
	return slices.Collect(check.Diff(t.Context(), x, y, nil))
}

// whereabouts lists the data extents in the files of a dataset.
type whereabouts []struct {
	read.Extent
	copied bool
}

// holder is the variable and the record that a byte belongs to.
type holder struct {
	name string
	rec  int64
	copy bool // a copy of a variable without a decomposition that is never read
}

func whereIs(t testing.TB, files map[string][]byte) (w whereabouts) {
	t.Helper()
	r := opened(t, memOf(t, files), sampleBase, nil)
	for e, err := range r.Now().Data.Extents(t.Context()) {
		noError(t, err)
		if e.Map || e.Name == "header" {
			continue
		}
		v, _ := r.Data.Schema.VarID(e.Name)
		w = append(w, struct {
			read.Extent
			copied bool
		}{e, r.Data.Schema.Vars[v].Decomp == 0 && e.Subfile > 0})
	}
	return w
}

// sample chooses byte offsets of a file, inside and outside of data extents. k shifts the choice for each dataset.
func (w whereabouts) sample(name string, size, k int) (list []int) {
	step, some := 1201, 9
	if raceEnabled {
		step, some = 4*step, 4*some
	}
	if long {
		step, some = 149, 3
	}
	for at := k % step; at < size; at += step {
		list = append(list, at)
	}
	for i, e := range w {
		if e.File == name && e.Bytes > 0 && i%some == k%some {
			list = append(list, int(e.Offset+int64(k*7+i)%e.Bytes))
		}
	}
	return list
}

func (w whereabouts) at(file string, off int64) (holder, bool) {
	for _, e := range w {
		if e.File == file && off >= e.Offset && off < e.Offset+e.Bytes {
			return holder{e.Name, max(e.Record, 0), e.copied}, true
		}
	}
	return holder{}, false
}
