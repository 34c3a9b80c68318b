package blob

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"blobio/blob/internal/convert"
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/read"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/base/vfs"
)

// drawSubset draws a Subset. It also returns the selected indices of each dimension as a list.
func drawSubset(t *rapid.T, r *read.Reader) (read.Subset, map[string][]int64) {
	sub, lists := read.Subset{}, map[string][]int64{}
	for _, d := range r.Data.Schema.Dims {
		n := d.Len
		if n == dataset.Unlimited {
			n = r.Data.Records
		}
		if n == 0 || !rapid.Bool().Draw(t, "taken of "+d.Name) {
			continue
		}
		seen := map[int64]bool{}
		for range rapid.IntRange(1, 3).Draw(t, "spans") {
			s := read.Span{First: rapid.Int64Range(0, n-1).Draw(t, "first"), Stride: rapid.Int64Range(1, n).Draw(t, "stride")}
			for at := s.First; at < n && !seen[at] && s.Count < 7; at += s.Stride {
				seen[at] = true
				s.Count++
				lists[d.Name] = append(lists[d.Name], at)
			}
			if s.Count > 0 {
				sub[d.Name] = append(sub[d.Name], s)
			}
		}
	}
	return sub, lists
}

// pick returns the elements of a variable whose indices are in the lists.
func pick(r *read.Reader, v dataset.VarID, all []byte, lists map[string][]int64) (out []byte) {
	sv := &r.Data.Schema.Vars[v]
	flat := []int64{0}
	for _, d := range sv.Dims {
		n := r.Data.Schema.Dims[d].Len
		if n == dataset.Unlimited {
			n = r.Data.Records
		}
		l, ok := lists[r.Data.Schema.Dims[d].Name]
		if !ok {
			for i := range n {
				l = append(l, i)
			}
		}
		var next []int64
		for _, base := range flat {
			for _, i := range l {
				next = append(next, base*n+i)
			}
		}
		flat = next
	}
	size := int64(sv.Type.Size())
	for _, i := range flat {
		out = append(out, all[i*size:(i+1)*size]...)
	}
	return out
}

// TestSubset checks that a part of a dataset has exactly the selected elements: in the converted file, in the canonical file,
// in a View, and in blobs for other ranks.
func TestSubset(t *testing.T) {
	checks(t, 1000)
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		m := drawModel(t, 0)
		fsys := vfs.NewMem()
		t.Logf("%d ranks, %d records, vars %+v, %s", m.ranks, m.records, m.s.Vars, drawWrite(t, m, fsys, "d.nc"))
		memory := rapid.SampledFrom([]int64{1 << 20, 1 << 28}).Draw(t, "memory")
		r := need(read.OpenWith(ctx, "d.nc", &read.OpenOptions{Workers: rapid.IntRange(1, 3).Draw(t, "readers"), Memory: memory}, dataset.Knobs{Fs: fsys}))
		defer r.Close()
		sub, lists := drawSubset(t, r)
		t.Logf("takes %v", sub)
		file := need(convertBytes(ctx, r, &convert.ConvertOptions{Subset: sub}))
		c := need(r.Canonical(&read.CanonicalOptions{Subset: sub}))
		b := make([]byte, c.Size())
		if _, err := c.ReadAt(b, 0); err != nil || !bytes.Equal(b, file) {
			t.Fatalf("canonical file: %v, %s", err, firstDiff(b, file))
		}
		out := vfs.NewMem()
		must(vfs.WriteFile(out, "part.nc", file))
		k := need(read.OpenWith(ctx, "part.nc", nil, dataset.Knobs{Fs: out}))
		defer k.Close()
		w := need(r.View(nil, sub))
		for v := range r.Data.Schema.Vars {
			sv := &r.Data.Schema.Vars[v]
			shape := r.Data.Schema.Shape(dataset.VarID(v))
			if sv.Record {
				shape = append([]int64{r.Data.Records}, shape...)
			}
			all := make([]byte, dataset.Product(shape)*int64(sv.Type.Size()))
			must(r.ReadBytes(ctx, sv.Name, nil, nil, all, true))
			want := pick(r, dataset.VarID(v), all, lists)
			for _, x := range []interface {
				ReadBytes(ctx context.Context, name string, start, count []int64, dst []byte, big bool) error
			}{k, w} {
				got := make([]byte, len(want))
				if err := x.ReadBytes(ctx, sv.Name, nil, nil, got, true); err != nil || !bytes.Equal(got, want) {
					t.Fatalf("%T, %q: %v, %s", x, sv.Name, err, firstDiff(got, want))
				}
			}
			drawViewRuns(t, w, k, sv.Name)
		}
		if m.ranks < 2 || len(r.Data.Schema.Vars) == 0 {
			return
		}
		o := &convert.ConvertOptions{Subset: sub, Blobs: true, Layout: dataset.ProcessCentric, Ranks: 2, Durability: dataset.DurableNone, Memory: 8 << 20}
		must(convert.ConvertWith(ctx, comm.Self(), r, "again.h5", o, dataset.Knobs{Fs: out}))
		if again, err := canonicalOf(out, "again.h5"); err != nil || !bytes.Equal(again, file) {
			t.Fatalf("as blobs: %v, %s", err, firstDiff(again, file))
		}
	})
}

// drawViewRuns reads random runs of a record from a View and from the converted file, and compares them.
func drawViewRuns(t *rapid.T, w *read.View, k *read.Reader, name string) {
	v, _ := w.Schema.VarID(name)
	n, rec := w.Schema.Elems(v), int64(0)
	if w.Schema.Vars[v].Record {
		if w.Records == 0 {
			return
		}
		rec = rapid.Int64Range(0, w.Records-1).Draw(t, "record")
	}
	var runs []decomp.Req
	total := int64(0)
	for range rapid.IntRange(0, 3).Draw(t, "runs") {
		off := rapid.Int64Range(0, n).Draw(t, "off")
		q := decomp.Req{Offset: off, Length: rapid.Int64Range(0, n-off).Draw(t, "length")}
		runs, total = append(runs, q), total+q.Length
	}
	x, _ := read.NewSlice(w.Schema.Vars[v].Type, total)
	y, _ := read.NewSlice(w.Schema.Vars[v].Type, total)
	must(w.ReadRuns(context.Background(), name, rec, runs, x))
	must(k.ReadRuns(context.Background(), name, rec, runs, y))
	xb, _ := cdf5.Bytes(x)
	if yb, _ := cdf5.Bytes(y); !bytes.Equal(xb, yb) {
		t.Fatalf("%q, record %d, runs %v: %v, want %v", name, rec, runs, x, y)
	}
}

// TestSubsetRefuses checks that invalid Subsets are errors.
func TestSubsetRefuses(t *testing.T) {
	h := histories()[0]
	r := opened(t, memOf(t, h.write(t)), sampleBase, nil)
	d := r.Data.Schema.Dims[len(r.Data.Schema.Dims)-1]
	for name, sub := range map[string]read.Subset{"no such": {"nothing": {{First: 0, Count: 1, Stride: 1}}}, "empty": {d.Name: {}}, "beyond": {d.Name: {{First: 0, Count: 1 << 40, Stride: 1}}},
		"negative": {d.Name: {{First: -1, Count: 1, Stride: 1}}}, "twice": {d.Name: {{First: 0, Count: d.Len, Stride: 1}, {First: 0, Count: 1, Stride: 1}}}, "no stride": {d.Name: {{First: 0, Count: 1, Stride: 0}}}} {
		if _, err := r.View(nil, sub); !errors.Is(err, dataset.ErrUsage) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := r.Canonical(&read.CanonicalOptions{Subset: sub}); !errors.Is(err, dataset.ErrUsage) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for i, d := range r.Data.Schema.Dims {
		if d.Len == dataset.Unlimited && r.Data.Records > 1 {
			if _, err := convertBytes(t.Context(), r, &convert.ConvertOptions{Records: &read.Range{First: 1, End: r.Data.Records}, Subset: read.Subset{d.Name: {{First: 0, Count: 1, Stride: 1}}}}); !errors.Is(err, dataset.ErrUsage) {
				t.Errorf("records twice: %v", err)
			}
		} else if d.Len == dataset.Unlimited {
			t.Errorf("dimension %d has %d records", i, r.Data.Records)
		}
	}
}
