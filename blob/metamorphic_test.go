package blob

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"blobio/blob/internal/check"
	"blobio/blob/internal/convert"
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/read"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
)

// sameContent compares what the manifests of a compressed and a plain dataset say about the content.
func sameContent(a, b vfs.FS, base string) error {
	x, y := manifestOf(a, base), manifestOf(b, base)
	if x.Codec != dataset.ManifestCodec || y.Codec != "" {
		return fmt.Errorf("codecs %q and %q", x.Codec, y.Codec)
	}
	for i := range x.Sets {
		for k := range x.Sets[i].Subfiles {
			if p, q := &x.Sets[i].Subfiles[k], &y.Sets[i].Subfiles[k]; !slices.Equal(p.Extents, q.Extents) {
				return fmt.Errorf("set %d, subfile %d: checksums of the content differ", i, k)
			}
		}
	}
	return nil
}

// sameFiles compares the names and bytes of all files of two datasets, except the identity in the manifest.
func sameFiles(a, b vfs.FS, base string) error {
	if p, q := names(a, "."), names(b, "."); !slices.Equal(p, q) {
		return fmt.Errorf("files %v and %v", p, q)
	}
	x, y := manifestOf(a, base), manifestOf(b, base)
	if y.ID, y.Writer = x.ID, x.Writer; !reflect.DeepEqual(x, y) {
		return fmt.Errorf("manifests differ:\n%+v\n%+v", x, y)
	}
	for _, s := range x.Sets {
		for k := range s.Subfiles {
			name := subfile.Name(s.Base, k)
			p := need(vfs.ReadFile(a, name, 1<<30))
			q := need(vfs.ReadFile(b, name, 1<<30))
			if !bytes.Equal(p, q) {
				return fmt.Errorf("%s is not that of ranks with a common heap: %s", name, firstDiff(p, q))
			}
		}
	}
	return nil
}

// checks sets the number of cases that rapid draws: all in the long run, otherwise a fraction.
func checks(t *testing.T, all int) {
	n := times(all/80, all)
	if testing.Short() {
		n = all / 100
	}
	if raceEnabled {
		n = max(n/10, 3)
	}
	old := flag.Lookup("rapid.checks").Value.String()
	must(flag.Set("rapid.checks", strconv.Itoa(n)))
	t.Cleanup(func() { must(flag.Set("rapid.checks", old)) })
}

// TestMetamorphic checks that every way of writing, reading and converting a dataset leads to the same bytes of the canonical
// file.
func TestMetamorphic(t *testing.T) {
	checks(t, 1500)
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		m := drawModel(t, 0)
		fsys := vfs.NewMem()
		t.Logf("%d ranks, %d records, vars %+v, %s", m.ranks, m.records, m.s.Vars, drawWrite(t, m, fsys, "d.nc"))
		want := m.canonical(false)
		onlyNotes(t, "check", fsys, "d.nc")
		r := need(read.OpenWith(ctx, "d.nc", &read.OpenOptions{Workers: rapid.IntRange(1, 3).Draw(t, "readers"), Memory: 1 << 20, MaxOpen: rapid.IntRange(0, 2).Draw(t, "open")}, dataset.Knobs{Fs: fsys}))
		defer r.Close()
		if r.Now().Data.Records != m.records {
			t.Fatalf("%d records, want %d", r.Now().Data.Records, m.records)
		}
		if rapid.Bool().Draw(t, "first") { // now the reader has not loaded any maps
			drawReads(t, m, r)
		}
		for _, zero := range []bool{false, true} {
			got := need(convertBytes(ctx, r, &convert.ConvertOptions{ZeroFill: zero, Workers: 1 + m.ranks%3}))
			if want := m.canonical(zero); !bytes.Equal(got, want) {
				t.Fatalf("canonical file, zero fill %v: %s", zero, firstDiff(got, want))
			}
		}
		drawReads(t, m, r)
		checkBlobs(t, m, r)
		drawPart(t, m, r)
		drawChain(t, fsys, r, want)
	})
}

// native converts dst to big-endian file bytes.
func native(ty cdf5.Type, dst any) []byte {
	n, _, _ := cdf5.SliceLen(dst)
	b := make([]byte, n*ty.Size())
	must(cdf5.ToFile(b, true, ty, dst))
	return b
}

// drawReads reads random hyperslabs, and runs of a random decomposition.
func drawReads(t *rapid.T, m *model, r *read.Reader) {
	ctx := context.Background()
	for v := range m.s.Vars {
		sv := &m.s.Vars[v]
		size := int64(sv.Type.Size())
		shape := m.s.Shape(dataset.VarID(v))
		full := shape
		if sv.Record {
			full = append([]int64{m.records}, shape...)
		}
		start, count := make([]int64, len(full)), make([]int64, len(full))
		for i, n := range full {
			start[i] = rapid.Int64Range(0, n).Draw(t, "start")
			count[i] = rapid.Int64Range(0, n-start[i]).Draw(t, "count")
		}
		dst := cdf5.NewSlice(sv.Type, int(dataset.Product(count)))
		if err := r.Read(ctx, sv.Name, start, count, dst); err != nil {
			t.Fatalf("read %s %v %v: %v", sv.Name, start, count, err)
		}
		var want []byte
		recs := []int64{0}
		s, c := start, count
		if sv.Record {
			recs, s, c = nil, start[1:], count[1:]
			for k := range count[0] {
				recs = append(recs, start[0]+k)
			}
		}
		for _, rec := range recs {
			whole := m.bytes(dataset.VarID(v), rec, false)
			for at := range m.s.Elems(dataset.VarID(v)) { // collects the elements inside the hyperslab
				inside, rest := true, at
				for i := len(shape) - 1; i >= 0; i-- {
					x := rest % shape[i]
					rest /= shape[i]
					inside = inside && x >= s[i] && x < s[i]+c[i]
				}
				if inside {
					want = append(want, whole[at*size:(at+1)*size]...)
				}
			}
		}
		if got := native(sv.Type, dst); !bytes.Equal(got, want) {
			t.Fatalf("read %s %v %v: %s", sv.Name, start, count, firstDiff(got, want))
		}
		if sv.Record && m.records == 0 {
			continue
		}
		rec := int64(0)
		if sv.Record {
			rec = rapid.Int64Range(0, m.records-1).Draw(t, "rec")
		}
		whole := m.bytes(dataset.VarID(v), rec, false)
		var runs []decomp.Req
		want = nil
		for range rapid.IntRange(0, 6).Draw(t, "runs") {
			off := rapid.Int64Range(0, m.s.Elems(dataset.VarID(v))).Draw(t, "off")
			n := rapid.Int64Range(0, m.s.Elems(dataset.VarID(v))-off).Draw(t, "n")
			runs = append(runs, decomp.Req{Offset: off, Length: n})
			want = append(want, whole[off*size:(off+n)*size]...)
		}
		dst = cdf5.NewSlice(sv.Type, len(want)/int(size))
		if err := r.ReadRuns(ctx, sv.Name, rec, runs, dst); err != nil {
			t.Fatalf("read runs %v of %s: %v", runs, sv.Name, err)
		}
		if got := native(sv.Type, dst); !bytes.Equal(got, want) {
			t.Fatalf("read runs %v of %s record %d: %s", runs, sv.Name, rec, firstDiff(got, want))
		}
	}
}

// checkBlobs compares every blob with the model's elements of its runs.
func checkBlobs(t *rapid.T, m *model, r *read.Reader) {
	for v := range m.s.Vars {
		sv := &m.s.Vars[v]
		recs := int64(1)
		if sv.Record {
			recs = m.records
		}
		if sv.Decomp == 0 {
			continue
		}
		size := int64(sv.Type.Size())
		for rec := range recs {
			whole := m.bytes(dataset.VarID(v), rec, false)
			n := 0
			for b, err := range r.Now().Elems.Blobs(context.Background(), sv.Name, rec) {
				noError(t, err)
				n++
				var want []byte
				for _, q := range b.Runs {
					want = append(want, whole[q.Offset*size:(q.Offset+q.Length)*size]...)
				}
				if got := native(sv.Type, b.Data); !bytes.Equal(got, want) {
					t.Fatalf("blob %d of %s record %d: %s", b.Rank, sv.Name, rec, firstDiff(got, want))
				}
			}
			if n != m.ranks {
				t.Fatalf("%d blobs of %s, want %d", n, sv.Name, m.ranks)
			}
		}
	}
}

// drawPart converts random variables and records.
func drawPart(t *rapid.T, m *model, r *read.Reader) {
	first := rapid.Int64Range(0, m.records).Draw(t, "firstRecord")
	end := rapid.Int64Range(first, m.records).Draw(t, "endRecord")
	o := &convert.ConvertOptions{Records: &read.Range{First: first, End: end}}
	part := *m
	part.s = dataset.NewSchema()
	part.s.Dims, part.s.Atts, part.s.Decomps = m.s.Dims, m.s.Atts, m.s.Decomps
	var src []dataset.VarID
	for v := range m.s.Vars {
		if v == 0 || rapid.Bool().Draw(t, "var") {
			o.Vars = append(o.Vars, m.s.Vars[v].Name)
			part.s.Vars = append(part.s.Vars, m.s.Vars[v])
			src = append(src, dataset.VarID(v))
		}
	}
	got := need(convertBytes(context.Background(), r, o))
	// canonicalOf makes the header for the part; the data come from the whole model.
	part.records = end - first
	want := part.canonicalOf(func(v dataset.VarID, rec int64) []byte {
		if m.s.Vars[src[v]].Record {
			rec += first
		}
		return m.bytes(src[v], rec, false)
	})
	if !bytes.Equal(got, want) {
		t.Fatalf("variables %v, records %d to %d: %s", o.Vars, first, end, firstDiff(got, want))
	}
}

// drawChain converts a dataset several times in a row. The canonical file of the last output must be the same.
func drawChain(t *rapid.T, fsys vfs.FS, r *read.Reader, want []byte) {
	ctx := context.Background()
	for k := range rapid.IntRange(1, 3).Draw(t, "chain") {
		o := &convert.ConvertOptions{Memory: 8 << 20, Workers: 1 + k%2}
		var kn dataset.Knobs
		if rapid.IntRange(0, 3).Draw(t, "blobs") > 0 {
			o.Blobs = true
			o.Layout = dataset.Layout(rapid.IntRange(0, 1).Draw(t, "layout"))
			if o.Layout == dataset.ProcessCentric && rapid.Bool().Draw(t, "compressed") {
				drawCompress(t, &o.Compress, &kn.Chunk)
			}
			_, ranks := r.Now().Data.Subfiles()
			if r.Now().Data.Layout == dataset.Canonical || rapid.Bool().Draw(t, "newRanks") {
				o.Ranks = rapid.IntRange(1, 20).Draw(t, "ranks")
				ranks = o.Ranks
			}
			if len(r.Now().Data.Schema.Decomps) == 0 && o.Ranks == 0 {
				o.Ranks = ranks
			}
			o.Subfiles = rapid.IntRange(1, min(ranks, 5)).Draw(t, "subfiles")
			o.Grouping = rapid.SampledFrom([]subfile.Grouping{subfile.Blocks, subfile.RoundRobin}).Draw(t, "grouping")
		}
		out := fmt.Sprintf("chain%d.nc", k)
		if err := convert.ConvertWith(ctx, comm.Self(), r, out, o, kn); err != nil {
			t.Fatalf("convert %d (%+v): %v", k, *o, err)
		}
		onlyNotes(t, fmt.Sprintf("check of convert %d (%+v)", k, *o), fsys, out)
		r2, err := read.OpenWith(ctx, out, nil, dataset.Knobs{Fs: fsys})
		if err != nil {
			t.Fatalf("open of convert %d (%+v): %v", k, *o, err)
		}
		defer r2.Close()
		for f := range check.Diff(ctx, r, r2, nil) {
			t.Fatalf("convert %d (%+v): %v", k, *o, f)
		}
		got := need(convertBytes(ctx, r2, &convert.ConvertOptions{}))
		if !bytes.Equal(got, want) {
			t.Fatalf("convert %d (%+v): %s", k, *o, firstDiff(got, want))
		}
		r = r2
	}
}
