package blob

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"sync"

	"blobio/comm"
	"blobio/internal/codec"
	"blobio/internal/vfs"
)

// packer compresses what an engine writes. Chunks lie in data_zblob as they were flushed, each flush by
// sub rank, variable and record; so the bytes do not depend on who shares a heap with whom, nor on the workers.
type packer struct {
	how     Compress
	chunk   int64
	sub     comm.Comm  // of a team: all ranks of the subfile
	x       *packIndex // of the local ranks; nil until they have places
	end     int64      // bytes of data_zblob so far
	choices []choice   // by list of the maps, then by variable
}

// choice is how chunks are compressed.
type choice struct {
	form  uint8 // formNone: not chosen yet
	level int
}

func newPacker(o *Options, s *Schema) *packer {
	if !o.Compress.on() {
		return nil
	}
	p := &packer{how: o.Compress, chunk: o.chunk, choices: make([]choice, 2*len(s.decomps)+len(s.vars))}
	for k := range p.choices {
		switch o.Compress.Method {
		case Zstd:
			p.choices[k] = choice{formZstd, max(o.Compress.Level, codec.MinLevel)}
		case ShuffleZstd:
			p.choices[k] = choice{formPlane, max(o.Compress.Level, codec.MinLevel)}
		}
	}
	return p
}

// packUnit is the index of choices for a put.
func (e *engine) packUnit(v int32) int {
	if v < 0 {
		return int(-1-v)/mapVars*2 + int(-1-v)%mapVars - mapOffsets
	}
	return 2*e.place.nd() + int(v)
}

// packPiece returns the first entry of a put of local rank i, its bytes and the size of an element.
func (e *engine) packPiece(i int, p *pend) (first, n, size int64) {
	if p.v < 0 {
		return e.pack.x.list(int(-1-p.v)/mapVars, int(-1-p.v)%mapVars-mapOffsets, i)
	}
	return e.pack.x.piece(int(p.v), p.rec-e.recBase(), i)
}

// packQueue lists what is written, in order. Of the maps only the lists are pieces: the rest is in the index.
func (e *engine) packQueue(lists [][]pend) (*queue, error) {
	if e.pack.x == nil {
		x, err := newPackIndex(e.place, e.table, e.pack.chunk)
		if err != nil {
			return nil, fmt.Errorf("blob: %s: %w", e.name, err)
		}
		x.ents = make([]packEntry, x.total)
		e.pack.x = x
	}
	maps := slices.DeleteFunc(e.mapPends(), func(p pend) bool { return int(-1-p.v)%mapVars < mapOffsets })
	q := &queue{e: e, lists: lists, maps: maps}
	q.orderByRank()
	return q, nil
}

// writePacked is write for compressed files.
func (e *engine) writePacked(ctx context.Context, lists [][]pend) (int64, error) {
	if len(e.table.id) != e.place.shape.nblobs {
		return 0, fmt.Errorf("blob: %s: compression by ranks of which some share a heap: %w", e.name, ErrUnsupported)
	}
	q, err := e.packQueue(lists)
	if err != nil {
		return 0, err
	}
	sizes, err := e.sample(q, e.table, e.opt.Workers)
	if err != nil {
		return 0, err
	}
	e.pack.choose(sizes)
	j := newPackJob(q)
	if err := j.run(ctx, j.place); err != nil {
		return 0, err
	}
	n := j.end - e.pack.end
	e.pack.end = j.end
	e.mapsOut = true
	return n, nil
}

// writePackedTeam is exchangeTeam for compressed files: each rank compresses what it has, tells the others how
// much it is, and writes it, or leaves that to l. What does not fit Options.Memory is compressed twice rather than kept.
func (e *engine) writePackedTeam(ctx context.Context, list []pend, l *later, err error) error {
	p := e.pack
	var q *queue
	var sizes []int64
	if err == nil {
		e.note([][]pend{list})
		if q, err = e.packQueue([][]pend{list}); err == nil {
			sizes, err = e.sample(q, e.team.all, e.opt.Workers)
		}
	}
	if slices.ContainsFunc(p.choices, func(c choice) bool { return c.form == formNone }) { // the same on all ranks
		if sizes == nil {
			sizes = make([]int64, candidates*len(p.choices))
		}
		all, broken := p.sub.AllreduceInt64(ctx, sizes, comm.Sum)
		if broken != nil {
			return broken
		}
		p.choose(all)
	}
	var j *packJob
	if err == nil {
		j = newPackJob(q)
		j.held = make([][]byte, len(j.batches))
		if err = j.run(ctx, j.hold); err != nil {
			j.release()
		}
	}
	mine := int64(0)
	if err == nil {
		for _, n := range j.sizes {
			mine += n
		}
	}
	below, broken := p.sub.ExscanInt64(ctx, []int64{mine}, comm.Sum)
	var total []int64
	if broken == nil {
		total, broken = p.sub.AllreduceInt64(ctx, []int64{mine}, comm.Sum)
	}
	if broken != nil {
		if j != nil {
			j.release()
		}
		return broken
	}
	e.mapsOut = true
	at := p.end + below[0]
	p.end += total[0]
	if err != nil || mine == 0 {
		return err
	}
	for k, n := range j.sizes {
		j.at[k] = at
		at += n
	}
	e.wrote.Store(true)
	write := func(ctx context.Context) (int64, error) {
		defer j.release()
		return mine, j.run(ctx, j.put)
	}
	if l != nil {
		l.own <- write
		return nil
	}
	_, err = write(ctx)
	return err
}

// The choice is made by compressing samples with each candidate.
const (
	candidates  = 5        // bytes of the sample, then compressed as candidateList has it
	sampleBytes = 64 << 10 // of one rank
	sampleRanks = 4        // that give one, of a variable
)

var candidateList = [candidates]choice{1: {formZstd, 1}, 2: {formZstd, 2}, 3: {formPlane, 1}, 4: {formPlane, 2}}

// candidate is what candidate k is with these options.
func (p *packer) candidate(k int) choice {
	c := candidateList[k]
	if p.how.Level != 0 {
		c.level = p.how.Level
	}
	return c
}

// samplers lists, for what is not chosen yet, the sub ranks that give a sample: a few, others for each unit,
// which have at least as many elements as the mean. t are all ranks of the subfile.
func (e *engine) samplers(t *ranks) [][]int {
	nd, n := e.place.nd(), len(t.id)
	sums := make([]int64, 2*nd) // of requests, then of elements
	for j := range n {
		for d := range nd {
			sums[d] += t.nreqs[j*nd+d]
			sums[nd+d] += t.count[j*nd+d]
		}
	}
	out := make([][]int, len(e.pack.choices))
	for u := range out {
		if e.pack.choices[u].form != formNone {
			continue
		}
		d, col := u/2, t.nreqs
		mean := int64(0)
		if u >= 2*nd {
			if d, col = int(e.schema.vars[u-2*nd].Decomp)-1, t.count; d < 0 {
				out[u] = []int{0}
				continue
			}
			mean = sums[nd+d] / int64(n)
		} else {
			mean = sums[d] / int64(n)
		}
		most := min(sampleRanks, n)
		for k := range most {
			j := (u + k*n/most) % n
			for range n {
				if m := col[j*nd+d]; m > 0 && m >= mean {
					out[u] = append(out[u], t.id[j])
					break
				}
				j = (j + 1) % n
			}
		}
	}
	return out
}

// sample measures what is not chosen yet: for each unit the bytes of the samples of this queue, and their
// sizes with each candidate. t are all ranks of the subfile.
func (e *engine) sample(q *queue, t *ranks, workers int) ([]int64, error) {
	p := e.pack
	sizes := make([]int64, candidates*len(p.choices))
	if !slices.ContainsFunc(p.choices, func(c choice) bool { return c.form == formNone }) {
		return sizes, nil
	}
	type probe struct {
		unit int
		r    ref
	}
	var probes []probe
	who := e.samplers(t)
	given := map[[2]int]bool{} // by unit and local rank
	for _, r := range q.refs {
		pd := q.pend(r)
		unit := e.packUnit(pd.v)
		if key := [2]int{unit, int(r.i)}; (pd.v < 0 || len(pd.raw) > 0) && slices.Contains(who[unit], e.table.id[r.i]) && !given[key] {
			given[key] = true
			probes = append(probes, probe{unit, r})
		}
	}
	errs := make([]error, len(probes))
	var mu sync.Mutex
	inParallel(workers, len(probes), func(k int) {
		pr := probes[k]
		pd := q.pend(pr.r)
		_, n, size := e.packPiece(int(pr.r.i), pd)
		// Two windows of a long piece: the beginning and the middle.
		half := min(n, sampleBytes/2)
		b := make([]byte, min(n, sampleBytes))
		if errs[k] = e.fill(b[:half], int(pr.r.i), pd, 0, half); errs[k] == nil && int64(len(b)) > half {
			from := max(half, n/2&^7)
			from = min(from, n-(int64(len(b))-half))
			errs[k] = e.fill(b[half:], int(pr.r.i), pd, from, from+int64(len(b))-half)
		}
		if errs[k] != nil {
			return
		}
		var out, planes []byte
		var got [candidates]int64
		got[0] = int64(len(b))
		for c := 1; c < candidates; c++ {
			how, src := p.candidate(c), b
			if p.how.Level != 0 && c%2 == 0 || how.form == formPlane && size == 1 {
				got[c] = got[c-1] // the same again
				continue
			}
			if how.form == formPlane {
				if planes == nil {
					planes = make([]byte, len(b))
					codec.Shuffle(planes, b, int(size))
				}
				src = planes
			}
			if out, errs[k] = e.proc.zstd.Encode(out[:0], src, how.level); errs[k] != nil {
				return
			}
			got[c] = min(int64(len(out)), got[0])
		}
		mu.Lock()
		defer mu.Unlock()
		for c, n := range got {
			sizes[candidates*pr.unit+c] += n
		}
	})
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return sizes, nil
}

// choose decides for what was sampled: the smallest, but one that takes more time must save 3 % more, and
// compression 2 % at all.
func (p *packer) choose(sizes []int64) {
	for u := range p.choices {
		s := sizes[candidates*u : candidates*(u+1)]
		if p.choices[u].form != formNone || s[0] == 0 {
			continue
		}
		best, least := choice{form: formRaw}, s[0]-s[0]/50
		for _, k := range [...]int{1, 3, 2, 4} {
			if s[k] < least {
				best, least = p.candidate(k), s[k]-s[k]*3/100
			}
		}
		p.choices[u] = best
	}
}

// choiceOf is the choice for a unit, or what holds as long as there is none.
func (p *packer) choiceOf(unit int) choice {
	if c := p.choices[unit]; c.form != formNone {
		return c
	}
	return choice{formPlane, max(p.how.Level, codec.MinLevel)}
}

// packJob is the compression of one flush, in batches of chunks.
type packJob struct {
	q       *queue
	batches []packBatch
	sizes   []int64  // by batch: compressed
	at      []int64  // by batch: where it goes in data_zblob
	held    [][]byte // by batch: compressed bytes; nil: to be made again
	kept    int64    // bytes of held

	mu   sync.Mutex
	cond sync.Cond
	next int   // the batch whose place is the next to be known
	end  int64 // of what has a place
	fail bool
}

// packBatch begins at a chunk of a piece and ends where the next one begins.
type packBatch struct {
	ref   int
	chunk int64
}

func newPackJob(q *queue) *packJob {
	e := q.e
	j := &packJob{q: q, end: e.pack.end}
	j.cond.L = &j.mu
	limit := max(int64(e.opt.Buffer)-e.pack.chunk, 0)
	sum := int64(0)
	for k, r := range q.refs {
		_, n, _ := e.packPiece(int(r.i), q.pend(r))
		for c := int64(0); n > 0; c++ {
			m := min(n, e.pack.chunk)
			if len(j.batches) == 0 || sum+m > limit {
				j.batches = append(j.batches, packBatch{k, c})
				sum = 0
			}
			sum += m
			n -= m
		}
	}
	j.sizes, j.at = make([]int64, len(j.batches)), make([]int64, len(j.batches))
	return j
}

// run makes all batches and gives each to done, from several goroutines.
func (j *packJob) run(ctx context.Context, done func(f vfs.File, k int, b []byte) error) error {
	if len(j.batches) == 0 {
		return nil
	}
	e := j.q.e
	f, giveBack, err := e.file()
	if err != nil {
		return err
	}
	defer giveBack()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := func(err error) {
		cancel(err)
		j.mu.Lock()
		j.fail = true
		j.cond.Broadcast()
		j.mu.Unlock()
	}
	next := 0
	var mu sync.Mutex
	take := func() (int, bool) {
		mu.Lock()
		defer mu.Unlock()
		if next == len(j.batches) || ctx.Err() != nil {
			return 0, false
		}
		next++
		return next - 1, true
	}
	var wg sync.WaitGroup
	for range min(e.opt.Workers, len(j.batches)) {
		wg.Go(func() {
			buf := e.proc.buffer(int64(e.opt.Buffer))
			defer func() { e.proc.giveBack(buf) }()
			w := &packWorker{e: e}
			for k, ok := take(); ok; k, ok = take() {
				if err := j.one(w, f, k, buf, done); err != nil {
					stop(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// one makes batch k, if it is not held, and gives it to done.
func (j *packJob) one(w *packWorker, f vfs.File, k int, buf []byte, done func(f vfs.File, k int, b []byte) error) error {
	if j.held != nil && j.held[k] != nil {
		return done(f, k, j.held[k])
	}
	b, err := w.batch(buf[:0], j, k)
	if err != nil {
		return err
	}
	n := int64(len(b))
	if j.sizes[k] != 0 && j.sizes[k] != n {
		return fmt.Errorf("blob: %s: data that are lent were changed while they were written: %w", w.e.name, ErrUsage)
	}
	j.sizes[k] = n
	return done(f, k, b)
}

// place waits until all batches before have their places, takes the next one and writes the bytes there.
func (j *packJob) place(f vfs.File, k int, b []byte) error {
	j.mu.Lock()
	for j.next != k && !j.fail {
		j.cond.Wait()
	}
	if j.fail {
		j.mu.Unlock()
		return context.Canceled // the cause is another's
	}
	j.at[k] = j.end
	j.end += int64(len(b))
	j.next++
	j.cond.Broadcast()
	j.mu.Unlock()
	return j.put(f, k, b)
}

// hold keeps the bytes as long as the memory lets it.
func (j *packJob) hold(_ vfs.File, k int, b []byte) error {
	if j.q.e.proc.reserve(int64(len(b))) != nil {
		return nil
	}
	j.held[k] = append(make([]byte, 0, len(b)), b...)
	j.mu.Lock()
	j.kept += int64(len(b))
	j.mu.Unlock()
	return nil
}

func (j *packJob) release() {
	j.q.e.proc.release(j.kept)
	j.kept, j.held = 0, nil
}

// put writes a batch at its place, and notes the places of its chunks.
func (j *packJob) put(f vfs.File, k int, b []byte) error {
	e := j.q.e
	at := j.at[k]
	j.chunks(k, func(_ ref, _ *pend, entry, _, _ int64, _ int) error {
		x := &e.pack.x.ents[entry]
		x.off = at
		at += int64(x.stored)
		return nil
	})
	_, err := f.WriteAt(b, e.place.dataOff+j.at[k])
	return err
}

// chunks calls f for each chunk of a batch: its entry, and its place in the content of the piece.
func (j *packJob) chunks(k int, f func(r ref, p *pend, entry, from, to int64, size int) error) error {
	e := j.q.e
	last := packBatch{ref: len(j.q.refs)}
	if k+1 < len(j.batches) {
		last = j.batches[k+1]
	}
	c := j.batches[k].chunk
	for i := j.batches[k].ref; i < len(j.q.refs); i, c = i+1, 0 {
		r := j.q.refs[i]
		p := j.q.pend(r)
		first, n, size := e.packPiece(int(r.i), p)
		for ; c*e.pack.chunk < n; c++ {
			if i > last.ref || i == last.ref && c >= last.chunk {
				return nil
			}
			from := c * e.pack.chunk
			if err := f(r, p, first+c, from, min(from+e.pack.chunk, n), int(size)); err != nil {
				return err
			}
		}
		if i >= last.ref {
			return nil
		}
	}
	return nil
}

// packWorker compresses with buffers of its own.
type packWorker struct {
	e             *engine
	content, flat []byte
}

// batch appends the compressed chunks of batch k, and notes all of them but where they go.
func (w *packWorker) batch(out []byte, j *packJob, k int) ([]byte, error) {
	e := w.e
	err := j.chunks(k, func(r ref, p *pend, entry, from, to int64, size int) error {
		src, err := w.take(int(r.i), p, from, to)
		if err != nil {
			return err
		}
		how := e.pack.choiceOf(e.packUnit(p.v))
		if size == 1 && how.form == formPlane {
			how.form = formZstd
		}
		x := packEntry{content: crc32.ChecksumIEEE(src)}
		begin := len(out)
		if out, x.form, err = w.encode(out, src, how, size); err != nil {
			return err
		}
		x.stored, x.sum = uint32(len(out)-begin), crc32.ChecksumIEEE(out[begin:])
		e.pack.x.ents[entry] = x
		return nil
	})
	return out, err
}

// take returns content of a piece: the caller's memory where it is as in the file.
func (w *packWorker) take(i int, p *pend, from, to int64) ([]byte, error) {
	e := w.e
	if p.v >= 0 && p.raw != nil {
		if t := e.schema.vars[p.v].Type; sameType(p.mem, t) && (e.place.big == hostBig || t.Size() == 1) {
			return p.raw[from:to], nil
		}
	}
	if w.content == nil {
		w.content = make([]byte, e.pack.chunk)
	}
	b := w.content[:to-from]
	return b, e.fill(b, i, p, from, to)
}

// encode appends a chunk, as it is if compression does not make it smaller.
func (w *packWorker) encode(out, src []byte, how choice, size int) ([]byte, uint8, error) {
	if how.form == formRaw {
		return append(out, src...), formRaw, nil
	}
	in := src
	if how.form == formPlane {
		if w.flat == nil {
			w.flat = make([]byte, w.e.pack.chunk)
		}
		in = w.flat[:len(src)]
		codec.Shuffle(in, src, size)
	}
	begin := len(out)
	z, err := w.e.proc.zstd.Encode(out, in, how.level)
	if err != nil {
		return out, 0, err
	}
	if len(z)-begin >= len(src) {
		return append(z[:begin], src...), formRaw, nil
	}
	return z, how.form, nil
}

// sealPacked completes a compressed subfile: metadata, header and index. x is of all its blobs.
func (e *engine) sealPacked(f vfs.File, x *packIndex, records int64) error {
	idx := x.encode()
	pk := e.place.packed
	pk.stored, pk.idxLen, pk.x = e.pack.end, int64(len(idx)), x
	meta, err := e.place.container(e.place.dataLen)
	if err != nil {
		return err
	}
	if err := e.writeContainer(f, meta, records); err != nil {
		return err
	}
	_, err = f.WriteAt(idx, pk.idxOff)
	return err
}

// packRows is what a rank tells the first one of its subfile of its chunks.
func (e *engine) packRows() []byte {
	x := e.pack.x
	if x == nil {
		return nil
	}
	b := make([]byte, 0, 8+int64(len(x.ents))*indexEntryLen)
	b = binary.LittleEndian.AppendUint64(b, uint64(e.table.id[0]))
	for k := range x.ents {
		b = x.ents[k].append(b)
	}
	return b
}

// gatherPacked makes the index of all blobs on the first rank of a team.
func (e *engine) gatherPacked(rows [][]byte) (*packIndex, error) {
	x, err := newPackIndex(e.place, e.team.all, e.pack.chunk)
	if err != nil {
		return nil, err
	}
	x.ents = make([]packEntry, x.total)
	for _, b := range rows {
		if len(b) == 0 {
			continue
		}
		if len(b) < 8 {
			return nil, errSealed
		}
		i := binary.LittleEndian.Uint64(b)
		if b = b[8:]; i >= uint64(len(x.t.id)) {
			return nil, errSealed
		}
		short := false
		x.each(int(i), func(first, n int64) {
			for k := first; n > 0; k, n = k+1, n-min(n, x.chunk) {
				if len(b) < indexEntryLen {
					short = true
					return
				}
				x.ents[k], _ = parseEntry(b)
				b = b[indexEntryLen:]
			}
		})
		if short || len(b) > 0 {
			return nil, errSealed
		}
	}
	return x, nil
}

// sealTeam completes the subfile on the first rank of a team, when all have told of their chunks.
func (e *engine) sealTeam(rows [][]byte, records int64, sync bool) error {
	x, err := e.gatherPacked(rows)
	if err != nil {
		return fmt.Errorf("blob: %s: %w", e.name, err)
	}
	f, done, err := e.file()
	if err != nil {
		return err
	}
	if err = e.sealPacked(f, x, records); err == nil && sync {
		err = f.Sync()
	}
	done()
	if cerr := e.proc.pool.CloseFile(e.name); err == nil {
		err = cerr
	}
	return err
}
