package blob

import (
	"context"
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/resume"
	"blobio/blob/internal/write"
	"blobio/comm"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
)

// step is one step of a session: all ranks put a record of a variable, or flush.
type step struct {
	flush bool
	async bool // FlushAsync instead of Flush
	wait  bool // Wait instead of Flush
	wrong bool // puts wrong values, which a later put replaces
	v     dataset.VarID
	rec   int64
	pick  uint64
}

// drawFlush draws a Flush, a FlushAsync or a Wait.
func drawFlush(t *rapid.T) step {
	k := rapid.IntRange(0, 4).Draw(t, "kindOfFlush")
	return step{flush: true, async: k < 2, wait: k == 2}
}

// drawSteps draws a session that puts records [from, to) in random order.
func drawSteps(t *rapid.T, m *model, from, to int64, fixed bool) (steps []step) {
	var puts []step
	for v := range m.s.Vars {
		lo, hi := from, to
		if !m.s.Vars[v].Record {
			if !fixed {
				continue
			}
			lo, hi = 0, 1
		}
		for rec := lo; rec < hi; rec++ {
			puts = append(puts, step{v: dataset.VarID(v), rec: rec, pick: rapid.Uint64Range(0, 100).Draw(t, "pick")})
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

// session runs the steps of one rank.
func (m *model) session(ctx context.Context, w *write.Writer, rank int, steps []step, retain dataset.Retain) error {
	wrong := *m
	wrong.seed += 500
	var spoil, away []func() // away overwrites slices that the flush in progress may still read
	lent := func(f func()) { spoil = append(spoil, f) }
	for _, s := range steps {
		if s.flush {
			flush := w.Flush
			if s.wait {
				flush = w.Wait
			} else if s.async {
				flush = w.FlushAsync
			}
			must(flush(ctx))
		} else if !m.isAbsent(s.v, s.rec, rank) {
			src := m
			if s.wrong {
				src = &wrong
			}
			must(src.put(w, s.v, s.rec, rank, s.pick, lent))
		}
		if s.flush && retain == dataset.LendUntilFlush { // from here on the caller may reuse the slices
			for _, f := range away {
				f()
			}
			if away = nil; s.async {
				away, spoil = spoil, nil
			}
		}
		if retain == dataset.CopyOnPut || retain == dataset.LendUntilFlush && s.flush && !s.wait {
			for _, f := range spoil {
				f()
			}
			spoil = spoil[:0]
		}
	}
	return w.Close(ctx)
}

// writePlan is a random way to write a dataset in one or several sessions.
type writePlan struct {
	m       *model
	o       dataset.Settings // Fs is set later
	co      comm.Options
	isolate bool // the ranks have separate heaps
	cuts    []int64
	fixed   []bool // for each session: the number of records is given in advance
	steps   [][]step
}

// most returns an upper bound of the memory for copies of all puts, in bytes, if each value is put twice in the widest type.
func (m *model) most() (n int64) {
	for v := range m.s.Vars {
		elems := m.s.Elems(dataset.VarID(v)) * int64(m.ranks) // every rank puts all elements
		if d := m.s.Vars[v].Decomp; d != 0 {
			elems = 0
			for rank := range m.ranks {
				for q := range m.maps[d-1].Reqs(rank) {
					elems += q.Length
				}
			}
		}
		if m.s.Vars[v].Record {
			elems *= m.records
		}
		n += 2 * 8 * elems
	}
	return n
}

// drawPlan draws a plan. If apart is set, the ranks have separate heaps.
func drawPlan(t *rapid.T, m *model, apart bool) *writePlan {
	p := &writePlan{m: m, isolate: apart}
	p.o = dataset.Settings{Knobs: dataset.Knobs{SyncMin: rapid.SampledFrom([]int64{0, 1, 1000}).Draw(t, "syncMin")}, Options: dataset.Options{
		Layout:   dataset.Layout(rapid.IntRange(0, 1).Draw(t, "layout")),
		Grouping: rapid.SampledFrom([]subfile.Grouping{subfile.ByNode, subfile.Blocks, subfile.RoundRobin}).Draw(t, "grouping"),
		Retain:   dataset.Retain(rapid.IntRange(0, 2).Draw(t, "retain")),
		Renames:  rapid.IntRange(-1, 1).Draw(t, "commit"),
		Buffer:   64 << 10,
		Workers:  rapid.IntRange(1, 3).Draw(t, "workers"),
		MaxOpen:  rapid.SampledFrom([]int{0, 1, 2}).Draw(t, "maxOpen"),
	}}
	o := &p.o
	if small := int64(1 << 20); m.most() <= small && rapid.Bool().Draw(t, "memory") {
		o.Memory = small
	}
	if o.Grouping != subfile.ByNode || rapid.Bool().Draw(t, "n") {
		o.Subfiles = rapid.IntRange(1, min(m.ranks, 9)).Draw(t, "subfiles")
	}
	if o.Layout == dataset.ProcessCentric && rapid.Bool().Draw(t, "compressed") {
		drawCompress(t, &o.Compress, &o.Chunk)
	}
	p.co = comm.Options{RanksPerNode: rapid.IntRange(0, 9).Draw(t, "ranksPerNode")}
	if !apart {
		p.co.RoundRobin = rapid.Bool().Draw(t, "placement")
		p.isolate = rapid.Bool().Draw(t, "isolate")
	}
	if p.isolate {
		if m.ranks > 4 {
			o.Compress.Level = min(o.Compress.Level, 3) // at level 4 an encoder takes 37 MB, and each rank has an encoder for each worker
		}
		o.Aggregators = rapid.SampledFrom([]int{0, 1, 2, 5}).Draw(t, "aggregators")
		o.OwnMin = rapid.SampledFrom([]int64{0, 1, 40, 400}).Draw(t, "ownMin")
		o.Messages = rapid.Bool().Draw(t, "messages")
		if rapid.Bool().Draw(t, "striped") {
			o.Stripe = dataset.Stripe{Size: rapid.SampledFrom([]int64{4096, 8200, 1 << 16, 1 << 17}).Draw(t, "unit"), Count: rapid.IntRange(0, 5).Draw(t, "servers")}
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
		if to > from { // the session's last record must be put, because it determines the number of records
			for v := range m.s.Vars {
				if m.s.Vars[v].Record {
					delete(m.absent, rankRec{dataset.VarID(v), to - 1, -1})
					for r := range m.ranks {
						delete(m.absent, rankRec{dataset.VarID(v), to - 1, r})
					}
					break
				}
			}
		}
		p.steps = append(p.steps, drawSteps(t, m, from, to, k == 0))
		p.fixed = append(p.fixed, o.Layout == dataset.ProcessCentric && rapid.Bool().Draw(t, "fixRecords"))
		from = to
	}
	return p
}

// plain returns equivalent options for ranks that share a heap.
func (p *writePlan) plain() dataset.Settings {
	o := p.o
	o.Aggregators, o.OwnMin, o.Messages, o.Stripe = 0, 0, false, dataset.Stripe{}
	o.Workers = 5 - o.Workers
	return o
}

// session runs session k of the plan on one rank.
func (p *writePlan) session(ctx context.Context, c comm.Comm, k int, base string, o dataset.Settings) error {
	from := int64(0)
	if k > 0 {
		from = p.cuts[k-1]
	}
	if o.Records = 0; p.fixed[k] {
		o.Records = p.cuts[k] - from
	}
	var w *write.Writer
	var err error
	if k == 0 {
		w, err = write.CreateWith(ctx, c, base, p.m.s, p.m.parts(c.Rank()), &o)
	} else if w, err = resume.AppendWith(ctx, c, base, p.m.parts(c.Rank()), &o); err == nil && w.Puts.Records() != from {
		err = fmt.Errorf("%d records before the append, want %d", w.Puts.Records(), from)
	}
	must(err)
	return p.m.session(ctx, w, c.Rank(), p.steps[k], o.Retain)
}

// write runs all sessions of the plan on ranks of this process.
func (p *writePlan) write(base string, o dataset.Settings, isolate bool) error {
	for k, to := range p.cuts {
		err := comm.Run(context.Background(), p.m.ranks, &p.co, func(ctx context.Context, c comm.Comm) error {
			c = isolateIf(c, isolate)
			return p.session(ctx, c, k, base, o)
		})
		if err != nil {
			return fmt.Errorf("session %d, records to %d: %w", k, to, err)
		}
	}
	return nil
}

// drawWrite draws a plan, writes the dataset, and returns a description of the options.
func drawWrite(t *rapid.T, m *model, fsys vfs.FS, base string) string {
	p := drawPlan(t, m, false)
	p.o.Fs = fsys
	noError(t, p.write(base, p.o, p.isolate))
	if p.isolate {
		twin := p.plain() // ranks that share a heap must write the same files
		twin.Fs = vfs.NewMem()
		noError(t, p.write(base, twin, false))
		noError(t, sameFiles(fsys, twin.Fs, base))
	}
	if p.o.Compress.On() { // compression must not change the content
		twin := p.plain()
		twin.Fs, twin.Compress = vfs.NewMem(), dataset.Compress{}
		noError(t, p.write(base, twin, false))
		noError(t, sameContent(fsys, twin.Fs, base))
	}
	return fmt.Sprintf("%+v", p.o)
}

// drawCompress draws a compression, in most cases with small chunks.
func drawCompress(t *rapid.T, c *dataset.Compress, chunk *int64) {
	c.Method = dataset.Method(rapid.IntRange(1, 3).Draw(t, "method"))
	c.Level = rapid.IntRange(0, 4).Draw(t, "level")
	*chunk = rapid.SampledFrom([]int64{8, 24, 256, 0}).Draw(t, "chunk")
}
