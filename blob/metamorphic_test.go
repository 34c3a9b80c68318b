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

	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/vfs"
	"blobio/subfile"
)

// drawModel draws a dataset: types, dimensions, maps with holes and idle
// ranks, what is never put. The number of ranks is drawn if it is 0.
func drawModel(t *rapid.T, ranks int) *model {
	m := &model{s: NewSchema(), seed: rapid.Int64Range(1, 1000).Draw(t, "seed"), ranks: ranks, absent: map[rankRec]bool{}}
	s := m.s
	if ranks == 0 {
		m.ranks = rapid.OneOf(rapid.IntRange(1, 6), rapid.IntRange(1, 64)).Draw(t, "ranks")
	}
	types := []cdf5.Type{cdf5.Byte, cdf5.Char, cdf5.Short, cdf5.Int, cdf5.Float, cdf5.Double, cdf5.UByte, cdf5.UShort, cdf5.UInt, cdf5.Int64, cdf5.UInt64}
	time := s.Dim("time", Unlimited)
	var dims []DimID
	for i := range rapid.IntRange(1, 3).Draw(t, "ndims") {
		dims = append(dims, s.Dim(fmt.Sprintf("dim%d", i), rapid.Int64Range(1, 9).Draw(t, "len")))
	}
	someDims := func(least int) []DimID {
		return rapid.SliceOfN(rapid.SampledFrom(dims), least, 3).Draw(t, "dims")
	}
	if rapid.Bool().Draw(t, "globalAtts") {
		s.GlobalAtt("title", rapid.StringMatching("[a-z ]{0,9}").Draw(t, "title"))
		s.GlobalAtt("numbers", []int16{1, 2, 3})
	}
	for range rapid.IntRange(0, 3).Draw(t, "maps") {
		d := s.Decomp(someDims(1)...)
		m.maps = append(m.maps, drawMap(t, s.DecompDims(d), m.ranks))
	}
	variable := func(i int, record bool, ty cdf5.Type) {
		var vd []DimID
		var opts []VarOption
		if record {
			vd = append(vd, time)
		}
		if len(m.maps) > 0 && rapid.IntRange(0, 3).Draw(t, "decomposed") > 0 {
			d := DecompID(rapid.IntRange(1, len(m.maps)).Draw(t, "map"))
			vd = append(vd, s.decomps[d-1]...)
			opts = append(opts, Decomposed(d))
		} else {
			vd = append(vd, someDims(0)...)
		}
		if rapid.Bool().Draw(t, "units") {
			opts = append(opts, Att("units", "m s-1"))
		}
		if ty == cdf5.Float && rapid.Bool().Draw(t, "fill") {
			opts = append(opts, Att("_FillValue", float32(-1e30)))
		}
		s.Var(fmt.Sprintf("var%d", i), ty, vd, opts...)
	}
	nrec := 0
	if rapid.IntRange(0, 4).Draw(t, "lone") == 0 { // the format's special case: one record variable, without padding
		variable(0, true, rapid.SampledFrom([]cdf5.Type{cdf5.Short, cdf5.Char, cdf5.Byte, cdf5.UShort}).Draw(t, "type"))
		variable(1, false, cdf5.Short)
		nrec = 1
	} else {
		for i := range rapid.IntRange(1, 6).Draw(t, "vars") {
			rec := rapid.IntRange(0, 2).Draw(t, "record") > 0
			variable(i, rec, rapid.SampledFrom(types).Draw(t, "type"))
			if rec {
				nrec++
			}
		}
	}
	must(s.Err())
	if nrec > 0 {
		m.records = rapid.Int64Range(0, 5).Draw(t, "records")
	}
	for v := range s.vars { // some is never put: by nobody, or not by some
		switch rapid.IntRange(0, 5).Draw(t, "put") {
		case 0:
			for rec := range max(m.records, 1) {
				m.absent[rankRec{VarID(v), rec, -1}] = true
			}
		case 1:
			m.absent[rankRec{VarID(v), rapid.Int64Range(0, 4).Draw(t, "absentRecord"), -1}] = true
		case 2:
			if s.vars[v].Decomp != 0 {
				m.absent[rankRec{VarID(v), 0, rapid.IntRange(0, m.ranks-1).Draw(t, "absentRank")}] = true
			}
		}
	}
	return m
}

// drawMap deals elements to ranks: some to nobody, some ranks get nothing,
// requests in any order.
func drawMap(t *rapid.T, dims []int64, ranks int) *decomp.Map {
	n, last := product(dims), dims[len(dims)-1]
	style := rapid.SampledFrom([]string{"random", "runs", "block", "nothing", "one"}).Draw(t, "style")
	owners := rapid.IntRange(1, ranks).Draw(t, "owners")
	rnd := rapid.Uint64().Draw(t, "deal")
	reqs := make([][]decomp.Req, ranks)
	for at := int64(0); at < n; at++ {
		h := mix(rnd ^ uint64(at))
		r := int(h>>8) % owners
		switch style {
		case "runs":
			r = int(mix(rnd^uint64(at/3))>>8) % owners
		case "block":
			r = int(at * int64(owners) / n)
		case "nothing":
			continue
		case "one":
			r = owners - 1
		}
		if r = max(r, 0); style != "block" && h%7 == 0 {
			continue
		}
		if k := len(reqs[r]) - 1; k >= 0 && at%last != 0 && reqs[r][k].Offset+reqs[r][k].Length == at && h%5 != 0 {
			reqs[r][k].Length++
			continue
		}
		reqs[r] = append(reqs[r], decomp.Req{Offset: at, Length: 1})
	}
	b := decomp.NewBuilder(dims, ranks)
	for r := range reqs {
		if rapid.IntRange(0, 3).Draw(t, "unsorted") == 0 {
			slices.SortFunc(reqs[r], func(a, b decomp.Req) int { return int(mix(uint64(a.Offset))%1000) - int(mix(uint64(b.Offset))%1000) })
		}
		must(b.Set(r, reqs[r]))
	}
	m, err := b.Map()
	must(err)
	return m
}

// step of a session: a put of a variable's record by all ranks that have it, or a flush.
type step struct {
	flush bool
	async bool // it is a FlushAsync
	wait  bool // a Wait instead
	wrong bool // with values that a later put replaces
	v     VarID
	rec   int64
	pick  uint64
}

// drawFlush is a flush of either kind, or a wait.
func drawFlush(t *rapid.T) step {
	k := rapid.IntRange(0, 4).Draw(t, "kindOfFlush")
	return step{flush: true, async: k < 2, wait: k == 2}
}

// drawSteps plans a session that puts records [from, to) in any order.
func drawSteps(t *rapid.T, m *model, from, to int64, fixed bool) (steps []step) {
	var puts []step
	for v := range m.s.vars {
		lo, hi := from, to
		if !m.s.vars[v].Record {
			if !fixed {
				continue
			}
			lo, hi = 0, 1
		}
		for rec := lo; rec < hi; rec++ {
			puts = append(puts, step{v: VarID(v), rec: rec, pick: rapid.Uint64Range(0, 100).Draw(t, "pick")})
		}
	}
	puts = rapid.Permutation(puts).Draw(t, "order")
	flushes := rapid.IntRange(0, 3).Draw(t, "flushes")
	for _, p := range puts {
		if rapid.IntRange(0, 8).Draw(t, "twice") == 0 {
			w := p
			w.wrong = true
			steps = append(steps, w)
			if rapid.Bool().Draw(t, "flushBetween") {
				steps = append(steps, drawFlush(t))
			}
		}
		steps = append(steps, p)
		if flushes > 0 && rapid.IntRange(0, 3).Draw(t, "flush") < flushes {
			steps = append(steps, drawFlush(t))
		}
	}
	return steps
}

// session carries out the steps of one rank.
func (m *model) session(ctx context.Context, w *Writer, rank int, steps []step, retain Retain) error {
	wrong := *m
	wrong.seed += 500
	var spoil, away []func() // away: lent to the flush that is under way
	lent := func(f func()) { spoil = append(spoil, f) }
	for _, s := range steps {
		if s.flush {
			flush := w.Flush
			if s.wait {
				flush = w.Wait
			} else if s.async {
				flush = w.FlushAsync
			}
			if err := flush(ctx); err != nil {
				return err
			}
		} else if !m.isAbsent(s.v, s.rec, rank) {
			src := m
			if s.wrong {
				src = &wrong
			}
			if err := src.put(w, s.v, s.rec, rank, s.pick, lent); err != nil {
				return err
			}
		}
		if s.flush && retain == LendUntilFlush { // the caller may use its memory again
			for _, f := range away {
				f()
			}
			if away = nil; s.async {
				away, spoil = spoil, nil
			}
		}
		if retain == CopyOnPut || retain == LendUntilFlush && s.flush && !s.wait {
			for _, f := range spoil {
				f()
			}
			spoil = spoil[:0]
		}
	}
	return w.Close(ctx)
}

// writePlan is how a dataset is written, in one or several sessions.
type writePlan struct {
	m       *model
	o       settings // but for the file system
	co      comm.Options
	isolate bool // the options are for ranks without a common heap
	cuts    []int64
	fixed   []bool // the number of records is said beforehand, by session
	steps   [][]step
}

// drawPlan draws one. apart: the ranks have no common heap.
func drawPlan(t *rapid.T, m *model, apart bool) *writePlan {
	p := &writePlan{m: m, isolate: apart}
	p.o = settings{knobs: knobs{syncMin: rapid.SampledFrom([]int64{0, 1, 1000}).Draw(t, "syncMin")}, Options: Options{
		Layout:     Layout(rapid.IntRange(0, 1).Draw(t, "layout")),
		Grouping:   rapid.SampledFrom([]subfile.Grouping{subfile.ByNode, subfile.Blocks, subfile.RoundRobin}).Draw(t, "grouping"),
		Retain:     Retain(rapid.IntRange(0, 2).Draw(t, "retain")),
		CommitMode: CommitMode(rapid.IntRange(0, 2).Draw(t, "commit")),
		Buffer:     64 << 10,
		Workers:    rapid.IntRange(1, 3).Draw(t, "workers"),
		MaxOpen:    rapid.SampledFrom([]int{0, 1, 2}).Draw(t, "maxOpen"),
		Memory:     rapid.SampledFrom([]int64{0, 1 << 20}).Draw(t, "memory"),
	}}
	o := &p.o
	if o.Grouping != subfile.ByNode || rapid.Bool().Draw(t, "n") {
		o.Subfiles = rapid.IntRange(1, min(m.ranks, 9)).Draw(t, "subfiles")
	}
	if o.Layout == ProcessCentric && rapid.Bool().Draw(t, "compressed") {
		drawCompress(t, &o.Compress, &o.chunk)
	}
	p.co = comm.Options{RanksPerNode: rapid.IntRange(0, 9).Draw(t, "ranksPerNode")}
	if !apart {
		p.co.Placement = comm.Placement(rapid.IntRange(0, 1).Draw(t, "placement"))
		p.isolate = rapid.Bool().Draw(t, "isolate")
	}
	if p.isolate {
		o.Aggregators = rapid.SampledFrom([]int{0, 1, 2, 5}).Draw(t, "aggregators")
		o.ownMin = rapid.SampledFrom([]int64{0, 1, 40, 400}).Draw(t, "ownMin")
		o.messages = rapid.Bool().Draw(t, "messages")
		if rapid.Bool().Draw(t, "striped") {
			o.Stripe = Stripe{Size: rapid.SampledFrom([]int64{4096, 8200, 1 << 16, 1 << 17}).Draw(t, "unit"), Count: rapid.IntRange(0, 5).Draw(t, "servers")}
		}
		if rapid.Bool().Draw(t, "fewPerNode") {
			p.co.RanksPerNode = rapid.IntRange(1, 3).Draw(t, "perNode")
		}
	}
	p.cuts = []int64{m.records}
	if m.records > 1 {
		for range rapid.IntRange(0, 2).Draw(t, "appends") {
			p.cuts = append(p.cuts, rapid.Int64Range(0, m.records).Draw(t, "cut"))
		}
		slices.Sort(p.cuts)
		p.cuts = slices.Compact(p.cuts)
	}
	from := int64(0)
	for k, to := range p.cuts {
		if to > from { // a session has as many records as are put, so the last must be
			for v := range m.s.vars {
				if m.s.vars[v].Record {
					delete(m.absent, rankRec{VarID(v), to - 1, -1})
					for r := range m.ranks {
						delete(m.absent, rankRec{VarID(v), to - 1, r})
					}
					break
				}
			}
		}
		p.steps = append(p.steps, drawSteps(t, m, from, to, k == 0))
		p.fixed = append(p.fixed, o.Layout == ProcessCentric && rapid.Bool().Draw(t, "fixRecords"))
		from = to
	}
	return p
}

// plain are the options for ranks that share all.
func (p *writePlan) plain() settings {
	o := p.o
	o.Aggregators, o.ownMin, o.messages, o.Stripe = 0, 0, false, Stripe{}
	o.Workers = 5 - o.Workers
	return o
}

// session is the work of one rank in session k.
func (p *writePlan) session(ctx context.Context, c comm.Comm, k int, base string, o settings) error {
	from := int64(0)
	if k > 0 {
		from = p.cuts[k-1]
	}
	if o.Records = 0; p.fixed[k] {
		o.Records = p.cuts[k] - from
	}
	var w *Writer
	var err error
	if k == 0 {
		w, err = createWith(ctx, c, base, p.m.s, p.m.parts(c.Rank()), &o)
	} else if w, err = appendWith(ctx, c, base, p.m.parts(c.Rank()), &o); err == nil && w.Records() != from {
		err = fmt.Errorf("%d records before the append, want %d", w.Records(), from)
	}
	if err != nil {
		return err
	}
	return p.m.session(ctx, w, c.Rank(), p.steps[k], o.Retain)
}

// write carries out all sessions by ranks of this process.
func (p *writePlan) write(base string, o settings, isolate bool) error {
	for k, to := range p.cuts {
		err := comm.Run(context.Background(), p.m.ranks, &p.co, func(ctx context.Context, c comm.Comm) error {
			if isolate {
				c = comm.Isolate(c)
			}
			return p.session(ctx, c, k, base, o)
		})
		if err != nil {
			return fmt.Errorf("session %d, records to %d: %w", k, to, err)
		}
	}
	return nil
}

// drawWrite writes the dataset in one or several sessions, and says how.
func drawWrite(t *rapid.T, m *model, fsys vfs.FS, base string) string {
	p := drawPlan(t, m, false)
	p.o.fs = fsys
	if err := p.write(base, p.o, p.isolate); err != nil {
		t.Fatal(err)
	}
	if p.isolate {
		twin := p.plain() // the same by ranks that share all
		twin.fs = vfs.NewMem()
		if err := p.write(base, twin, false); err != nil {
			t.Fatal(err)
		}
		if err := sameFiles(fsys, twin.fs, base); err != nil {
			t.Fatal(err)
		}
	}
	if p.o.Compress.on() { // and without compression
		twin := p.plain()
		twin.fs, twin.Compress = vfs.NewMem(), Compress{}
		if err := p.write(base, twin, false); err != nil {
			t.Fatal(err)
		}
		if err := sameContent(fsys, twin.fs, base); err != nil {
			t.Fatal(err)
		}
	}
	return fmt.Sprintf("%+v", p.o)
}

// drawCompress draws a compression, mostly in small chunks.
func drawCompress(t *rapid.T, c *Compress, chunk *int64) {
	c.Method = Method(rapid.IntRange(1, 3).Draw(t, "method"))
	c.Level = rapid.IntRange(0, 4).Draw(t, "level")
	*chunk = rapid.SampledFrom([]int64{8, 24, 256, 0}).Draw(t, "chunk")
}

// sameContent compares what manifests of a compressed dataset and of a plain one say of the content.
func sameContent(a, b vfs.FS, base string) error {
	x, y := manifestOf(a, base), manifestOf(b, base)
	if x.Codec != manifestCodec || y.Codec != "" {
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

func manifestOf(fsys vfs.FS, base string) *subfile.Manifest {
	raw, err := vfs.ReadFile(fsys, subfile.ManifestName(base), 1<<30)
	must(err)
	m, err := subfile.Decode(raw, base)
	must(err)
	return m
}

// sameFiles compares the names and bytes of all files of two datasets; of the manifests what they say but for the identity.
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
			p, err := vfs.ReadFile(a, name, 1<<30)
			must(err)
			q, err := vfs.ReadFile(b, name, 1<<30)
			must(err)
			if !bytes.Equal(p, q) {
				return fmt.Errorf("%s is not that of ranks with a common heap: %s", name, firstDiff(p, q))
			}
		}
	}
	return nil
}

func checks(t *testing.T, quick int) {
	n := times(quick, 10*quick)
	if testing.Short() {
		n = quick / 10
	}
	if raceEnabled {
		n = max(n/10, 3)
	}
	old := flag.Lookup("rapid.checks").Value.String()
	must(flag.Set("rapid.checks", strconv.Itoa(n)))
	t.Cleanup(func() { must(flag.Set("rapid.checks", old)) })
}

// TestMetamorphic: however a dataset is written, read and converted, it is the
// same canonical file, byte for byte.
func TestMetamorphic(t *testing.T) {
	checks(t, 150)
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		m := drawModel(t, 0)
		fsys := vfs.NewMem()
		t.Logf("%d ranks, %d records, vars %+v, %s", m.ranks, m.records, m.s.vars, drawWrite(t, m, fsys, "d.nc"))
		want := m.canonical(false)
		for f := range checkWith(ctx, "d.nc", nil, knobs{fs: fsys}) {
			if f.Severity != Note {
				t.Fatalf("check: %v", f)
			}
		}
		r, err := openWith(ctx, "d.nc", &OpenOptions{Workers: rapid.IntRange(1, 3).Draw(t, "readers"), Memory: 1 << 20, MaxOpen: rapid.IntRange(0, 2).Draw(t, "open")}, knobs{fs: fsys})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if r.Records() != m.records {
			t.Fatalf("%d records, want %d", r.Records(), m.records)
		}
		if rapid.Bool().Draw(t, "first") { // before anything else is loaded
			drawReads(t, m, r)
		}
		for _, zero := range []bool{false, true} {
			got, err := convertBytes(ctx, r, &ConvertOptions{ZeroFill: zero, Workers: 1 + m.ranks%3})
			if err != nil {
				t.Fatal(err)
			}
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

// native reads what dst holds as big-endian file bytes.
func native(ty cdf5.Type, dst any) []byte {
	n, _, _ := cdf5.SliceLen(dst)
	b := make([]byte, n*ty.Size())
	must(cdf5.ToFile(b, true, ty, dst))
	return b
}

// drawReads reads hyperslabs, and runs of another decomposition.
func drawReads(t *rapid.T, m *model, r *Reader) {
	ctx := context.Background()
	for v := range m.s.vars {
		sv := &m.s.vars[v]
		size := int64(sv.Type.Size())
		shape := m.s.Shape(VarID(v))
		full := shape
		if sv.Record {
			full = append([]int64{m.records}, shape...)
		}
		start, count := make([]int64, len(full)), make([]int64, len(full))
		for i, n := range full {
			start[i] = rapid.Int64Range(0, n).Draw(t, "start")
			count[i] = rapid.Int64Range(0, n-start[i]).Draw(t, "count")
		}
		dst := cdf5.NewSlice(sv.Type, int(product(count)))
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
			whole := m.bytes(VarID(v), rec, false)
			for at := range m.s.Elems(VarID(v)) { // every element, whether it is inside
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
		whole := m.bytes(VarID(v), rec, false)
		var runs []decomp.Req
		want = nil
		for range rapid.IntRange(0, 6).Draw(t, "runs") {
			off := rapid.Int64Range(0, m.s.Elems(VarID(v))).Draw(t, "off")
			n := rapid.Int64Range(0, m.s.Elems(VarID(v))-off).Draw(t, "n")
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

// checkBlobs holds every raw blob against the elements that its runs name.
func checkBlobs(t *rapid.T, m *model, r *Reader) {
	for v := range m.s.vars {
		sv := &m.s.vars[v]
		recs := int64(1)
		if sv.Record {
			recs = m.records
		}
		if sv.Decomp == 0 {
			continue
		}
		size := int64(sv.Type.Size())
		for rec := range recs {
			whole := m.bytes(VarID(v), rec, false)
			n := 0
			for b, err := range r.Blobs(context.Background(), sv.Name, rec) {
				if err != nil {
					t.Fatal(err)
				}
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

// drawPart converts some variables and records.
func drawPart(t *rapid.T, m *model, r *Reader) {
	first := rapid.Int64Range(0, m.records).Draw(t, "firstRecord")
	end := rapid.Int64Range(first, m.records).Draw(t, "endRecord")
	o := &ConvertOptions{Records: &Range{first, end}}
	part := *m
	part.s = NewSchema()
	part.s.dims, part.s.atts, part.s.decomps = m.s.dims, m.s.atts, m.s.decomps
	var src []VarID
	for v := range m.s.vars {
		if v == 0 || rapid.Bool().Draw(t, "var") {
			o.Vars = append(o.Vars, m.s.vars[v].Name)
			part.s.vars = append(part.s.vars, m.s.vars[v])
			src = append(src, VarID(v))
		}
	}
	got, err := convertBytes(context.Background(), r, o)
	if err != nil {
		t.Fatal(err)
	}
	// The header as canonical makes it, the data from the whole model.
	part.records = end - first
	want := part.canonicalOf(func(v VarID, rec int64) []byte {
		if m.s.vars[src[v]].Record {
			rec += first
		}
		return m.bytes(src[v], rec, false)
	})
	if !bytes.Equal(got, want) {
		t.Fatalf("variables %v, records %d to %d: %s", o.Vars, first, end, firstDiff(got, want))
	}
}

// drawChain converts on and on; the canonical file at the end must be the same.
func drawChain(t *rapid.T, fsys vfs.FS, r *Reader, want []byte) {
	ctx := context.Background()
	for k := range rapid.IntRange(1, 3).Draw(t, "chain") {
		o := &ConvertOptions{Memory: 8 << 20, Workers: 1 + k%2}
		var kn knobs
		if rapid.IntRange(0, 3).Draw(t, "blobs") > 0 {
			o.Blobs = true
			o.Layout = Layout(rapid.IntRange(0, 1).Draw(t, "layout"))
			if o.Layout == ProcessCentric && rapid.Bool().Draw(t, "compressed") {
				drawCompress(t, &o.Compress, &kn.chunk)
			}
			_, ranks := r.Subfiles()
			if r.Layout() == Canonical || rapid.Bool().Draw(t, "newRanks") {
				o.Ranks = rapid.IntRange(1, 20).Draw(t, "ranks")
				ranks = o.Ranks
			}
			if len(r.Schema().decomps) == 0 && o.Ranks == 0 {
				o.Ranks = ranks
			}
			o.Subfiles = rapid.IntRange(1, min(ranks, 5)).Draw(t, "subfiles")
			o.Grouping = rapid.SampledFrom([]subfile.Grouping{subfile.Blocks, subfile.RoundRobin}).Draw(t, "grouping")
		}
		out := fmt.Sprintf("chain%d.nc", k)
		if err := convertWith(ctx, comm.Self(), r, out, o, kn); err != nil {
			t.Fatalf("convert %d (%+v): %v", k, *o, err)
		}
		for f := range checkWith(ctx, out, nil, knobs{fs: fsys}) {
			if f.Severity != Note {
				t.Fatalf("check of convert %d (%+v): %v", k, *o, f)
			}
		}
		r2, err := openWith(ctx, out, nil, knobs{fs: fsys})
		if err != nil {
			t.Fatalf("open of convert %d (%+v): %v", k, *o, err)
		}
		defer r2.Close()
		for f := range Diff(ctx, r, r2, nil) {
			t.Fatalf("convert %d (%+v): %v", k, *o, f)
		}
		got, err := convertBytes(ctx, r2, &ConvertOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("convert %d (%+v): %s", k, *o, firstDiff(got, want))
		}
		r = r2
	}
}
