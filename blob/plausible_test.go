package blob

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"testing"

	"blobio/blob/internal/check"
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/blob/internal/read"
	"blobio/cdf5"
)

// readsAll reads a little of each record of each variable, until an error or until it has read most elements.
func readsAll(t testing.TB, files map[string][]byte, most int64) (elems int64, err error) {
	t.Helper()
	r, err := read.OpenWith(t.Context(), sampleBase, nil, dataset.Knobs{Fs: memOf(t, files)})
	if err != nil {
		return 0, err
	}
	defer r.Close()
	for v := range r.Data.Schema.Vars {
		sv := &r.Data.Schema.Vars[v]
		start, count := cutout{sv.Name, 0, dataset.VarID(v)}.box(r)
		if sv.Record && r.Data.Records == 0 {
			continue
		}
		for i := range count {
			count[i] = min(count[i], 100)
		}
		b := cdf5.NewSlice(sv.Type, int(dataset.Product(count)))
		if err := r.Read(t.Context(), sv.Name, start, count, b); err != nil {
			return elems, err
		}
		n := float64(r.Data.Schema.Elems(dataset.VarID(v)))
		if sv.Record {
			n *= float64(r.Data.Records)
		}
		if n > float64(most) {
			return 1 << 62, nil
		}
		elems += int64(n)
	}
	return elems, nil
}

// TestEndless checks that a small file of another program cannot declare an endless array, whatever lengths its header has. A
// file that Open accepts has no more elements than its bytes allow, and Check accepts it too.
func TestEndless(t *testing.T) {
	const most = 12 << 20
	type file struct {
		what string
		all  map[string][]byte
		name string
		base int
	}
	var list []file
	for _, s := range []*sample{newSample(t, dataset.VariableCentric, 1, false), newSample(t, dataset.ProcessCentric, 1, false), newSample(t, dataset.ProcessCentric, 2, false)} {
		base, _ := s.header(t, s.subfile(0))
		list = append(list, file{s.name, s.files, s.subfile(0), int(base)})
	}
	list = append(list, file{"canonical", map[string][]byte{sampleBase: lastUnwritten(t)}, sampleBase, 0})
	for _, f := range list {
		b := f.all[f.name]
		order := binary.ByteOrder(binary.BigEndian)
		if f.base > 0 {
			order = binary.LittleEndian
		}
		size := 3000
		for at := f.base + layout.NumrecsAt; at+8 <= min(f.base+size, len(b)); at += 4 * times(5, 1) {
			x := order.Uint64(b[at:])
			if x > 1<<20 {
				continue // no length
			}
			for _, bit := range []int{40, 51, 60} {
				bad := maps.Clone(f.all)
				c := slices.Clone(b)
				order.PutUint64(c[at:], x^1<<bit)
				bad[f.name] = c
				n, err := readsAll(t, bad, most)
				if n > most {
					t.Errorf("%s: bit %d of the number at %#x: endless", f.what, bit, at)
				}
				worst := dataset.Note
				for f := range check.CheckWith(t.Context(), sampleBase, &check.CheckOptions{Workers: 1}, dataset.Knobs{Fs: memOf(t, bad)}) {
					worst = max(worst, f.Severity)
				}
				if err != nil && worst < dataset.Error {
					t.Errorf("%s: bit %d of the number at %#x: reading says %v, Check nothing", f.what, bit, at, err)
				}
			}
		}
	}
}

// lastUnwritten makes a canonical file whose last variable was never written. It lacks fewer bytes than the limit.
func lastUnwritten(t testing.TB) []byte {
	t.Helper()
	h := &cdf5.Header{Version: cdf5.CDF5, Dims: []cdf5.Dim{{Name: "x", Len: 10}, {Name: "y", Len: 1000}},
		Vars: []cdf5.Var{{Name: "a", Type: cdf5.Int, Dims: []int{0}}, {Name: "b", Type: cdf5.Double, Dims: []int{1}}}}
	noError(t, h.Layout(nil))
	b := need(h.AppendTo(nil, binary.BigEndian, false))
	return append(b, make([]byte, 40)...)
}

// TestUnwrittenLimit checks how many elements of its last variable a small file may lack: a million, but not 2 x 10^15.
func TestUnwrittenLimit(t *testing.T) {
	whole := lastUnwritten(t)
	at := slices.Index(whole, 'y') + 4
	for _, c := range []struct {
		n  uint64
		ok bool
	}{{1000, true}, {1 << 20, true}, {2e15, false}} {
		b := slices.Clone(whole)
		binary.BigEndian.PutUint64(b[at:], c.n)
		files := map[string][]byte{sampleBase: b}
		_, err := readsAll(t, files, 1<<62)
		if c.ok && err != nil || !c.ok && !errors.Is(err, dataset.ErrTruncated) {
			t.Errorf("%d elements: %v", c.n, err)
		}
		worst := dataset.Note
		for f := range check.CheckWith(t.Context(), sampleBase, nil, dataset.Knobs{Fs: memOf(t, files)}) {
			worst = max(worst, f.Severity)
		}
		if want := map[bool]dataset.Severity{true: dataset.Warning, false: dataset.Error}[c.ok]; worst != want {
			t.Errorf("%d elements: Check says %v, want %v", c.n, worst, want)
		}
		r := need(read.OpenWith(t.Context(), sampleBase, &read.OpenOptions{AllowMissing: true}, dataset.Knobs{Fs: memOf(t, files)}))
		if err := r.Read(t.Context(), "b", []int64{0}, []int64{100}, make([]float64, 100)); err != nil {
			t.Errorf("%d elements, AllowMissing: %v", c.n, err)
		}
		r.Close()
	}
}
