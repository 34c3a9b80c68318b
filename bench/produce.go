package bench

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"time"
	"unsafe"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/e3smcases"
	"blobio/subfile"
)

// produce does one phase of Production in this process.
func (k *Work) produce(ctx context.Context) (t Took, err error) {
	if k.Profile != "" {
		f, err := os.Create(k.Profile)
		if err != nil {
			return t, err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return t, err
		}
		defer pprof.StopCPUProfile()
	}
	if k.Memory > 0 {
		// What is resident and not Go's: the program, and what its allocator has not given back yet.
		old := debug.SetMemoryLimit(k.Memory - k.Memory/8)
		defer debug.SetMemoryLimit(old)
	}
	cpu := cpuTime()
	switch k.Phase {
	case "write":
		t, err = k.produceData(ctx)
	case "open", "list":
		clocked(ctx, func() { t, err = k.openList() })
	case "check":
		clocked(ctx, func() { t, err = k.checkAll(ctx) })
	case "level":
		clocked(ctx, func() { t, err = k.levels(ctx) })
	case "convert":
		clocked(ctx, func() { t, err = k.convertSome(ctx) })
		if err == nil {
			err = sameLevels(ctx, k.To)
		}
	default:
		err = fmt.Errorf("bench: no phase %q", k.Phase)
	}
	if t.CPU == 0 {
		t.CPU = cpuTime() - cpu
	}
	t.Memory = peakMemory()
	return t, err
}

// clockLabel marks in profiles what is on the clock.
const clockLabel = "clock"

func clocked(ctx context.Context, f func()) {
	pprof.Do(ctx, pprof.Labels(clockLabel, "on"), func(context.Context) { f() })
}

func (k *Work) tell(done, total int64) {
	if k.At != nil {
		k.At(done, total)
	}
}

// portion is what is put between two flushes: all variables of some ranks, or some variables
// of all ranks. at[r-ranks[0]] is where the data of rank r begin in the arena.
type portion struct {
	ranks, vars [2]int
	at          []int64
}

// portions divides the work so that the data of one are at most limit bytes, but at least one
// subfile or one variable. A file is written from the front to the end in both ways, and is the same as with one flush.
func (t *task) portions(l blob.Layout, first []bool, limit int64) []portion {
	nv := len(t.c.Vars)
	if l == blob.VariableCentric && t.Subfiles == 1 {
		var out []portion
		from, held := 0, int64(0)
		add := func(to int) {
			p := portion{ranks: [2]int{0, t.Ranks}, vars: [2]int{from, to}}
			p.place(t)
			out = append(out, p)
		}
		for v := range nv {
			n := int64(0)
			if m := t.c.Vars[v].Map; m != 0 {
				_, mem := t.types(&t.c.Vars[v])
				n = t.maps[m-1].Total() * int64(mem.Size())
			}
			if v > from && held+n > limit {
				add(v)
				from, held = v, 0
			}
			held += n
		}
		add(nv)
		return out
	}
	var out []portion
	from, cut := 0, 0
	held, since := int64(0), int64(0) // since the last place where it may be cut
	for r := range t.Ranks {
		if r > from && (first[r] || t.Subfiles == 1) {
			cut, since = r, 0
		}
		n := t.rankBytes(r, 0, nv)
		if cut > from && held+n > limit {
			p := portion{ranks: [2]int{from, cut}, vars: [2]int{0, nv}}
			p.place(t)
			out = append(out, p)
			from, held = cut, since
		}
		held, since = held+n, since+n
	}
	p := portion{ranks: [2]int{from, t.Ranks}, vars: [2]int{0, nv}}
	p.place(t)
	return append(out, p)
}

// place gives the ranks their parts of the arena; the last entry is its size.
func (p *portion) place(t *task) {
	p.at = make([]int64, p.ranks[1]-p.ranks[0]+1)
	for i := range len(p.at) - 1 {
		p.at[i+1] = p.at[i] + t.rankBytes(p.ranks[0]+i, p.vars[0], p.vars[1])
	}
}

// rankBytes is what a rank holds of decomposed variables, each at a multiple of 8.
func (t *task) rankBytes(r, from, to int) (n int64) {
	for v := from; v < to; v++ {
		if m := t.c.Vars[v].Map; m != 0 {
			_, mem := t.types(&t.c.Vars[v])
			n += (t.maps[m-1].Count(r)*int64(mem.Size()) + 7) &^ 7
		}
	}
	return n
}

// walk calls f for each variable that a rank puts in a portion, with memory for it.
func (t *task) walk(p *portion, arena []byte, rank int, first bool, f func(v int, data any) error) error {
	if rank < p.ranks[0] || rank >= p.ranks[1] {
		return nil
	}
	at := p.at[rank-p.ranks[0]]
	for v := p.vars[0]; v < p.vars[1]; v++ {
		cv := &t.c.Vars[v]
		_, mem := t.types(cv)
		if cv.Map == 0 {
			if first {
				if err := f(v, nil); err != nil {
					return err
				}
			}
			continue
		}
		n := t.maps[cv.Map-1].Count(rank) * int64(mem.Size())
		if err := f(v, view(arena[at:at+n], mem)); err != nil {
			return err
		}
		at += (n + 7) &^ 7
	}
	return nil
}

// view is memory as a slice of a type.
func view(b []byte, t cdf5.Type) any {
	if len(b) == 0 {
		return cdf5.NewSlice(t, 0)
	}
	p := unsafe.Pointer(unsafe.SliceData(b))
	switch t {
	case cdf5.Float:
		return unsafe.Slice((*float32)(p), len(b)/4)
	case cdf5.Double:
		return unsafe.Slice((*float64)(p), len(b)/8)
	case cdf5.Int:
		return unsafe.Slice((*int32)(p), len(b)/4)
	case cdf5.Int64:
		return unsafe.Slice((*int64)(p), len(b)/8)
	}
	return b
}

// produceData writes the dataset. On the clock are the calls into blob, from Create to Close; all
// ranks wait for each other before it runs again, so that making the data is not.
func (k *Work) produceData(ctx context.Context) (took Took, err error) {
	l, err := blob.ParseLayout(k.Layout)
	if err != nil {
		return took, err
	}
	start := time.Now()
	t, err := k.Job.load()
	if err != nil {
		return took, err
	}
	mapTime := time.Since(start).Seconds()
	opt := &blob.Options{Layout: l, Grouping: subfile.Blocks, Subfiles: t.Subfiles, Force: true}
	if l == blob.ProcessCentric {
		opt.Records = t.Records
	}
	if !t.Sync {
		opt.Durability = blob.DurableNone
	}
	first := make([]bool, t.Ranks) // of a subfile
	for r := range first {
		first[r] = r == 0 || opt.Grouping.Of(r, t.Ranks, t.Subfiles) != opt.Grouping.Of(r-1, t.Ranks, t.Subfiles)
	}
	list := t.portions(l, first, k.Buffer)
	size, total := int64(0), int64(0)
	for i := range list {
		n := list[i].at[len(list[i].at)-1]
		size, total = max(size, n), total+n
	}
	words := make([]uint64, size/8+1)
	arena := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), size)
	clock := map[string]float64{}
	cpu := cpuTime()
	err = comm.Run(ctx, t.Ranks, nil, func(ctx context.Context, c comm.Comm) (err error) {
		rank := c.Rank()
		timed := func(what string, f func() error) error {
			if err := c.Barrier(ctx); err != nil {
				return err
			}
			start := time.Now()
			var err error
			if what == "data" {
				err = f()
			} else {
				clocked(ctx, func() { err = f() })
			}
			if rank == 0 {
				clock[what] += time.Since(start).Seconds()
			}
			return err
		}
		var w *blob.Writer
		parts := t.parts(c)
		if err := timed("create", func() (err error) { w, err = blob.Create(ctx, c, k.Path, t.s, parts, opt); return err }); err != nil {
			return err
		}
		parts = nil // most of the memory of a map is here
		defer func() {
			if err != nil {
				w.Abort()
			}
		}()
		written := int64(0)
		for i := range list {
			p := &list[i]
			small := map[int]any{}
			if err := timed("data", func() error {
				err := t.walk(p, arena, rank, first[rank], func(v int, data any) error {
					cv := &t.c.Vars[v]
					if cv.Map == 0 {
						_, mem := t.types(cv)
						small[v] = cdf5.NewSlice(mem, int(t.c.Elems(v)))
						return t.values.Fill(small[v], v, 0, t.c.Whole(v), rank)
					}
					return t.values.Fill(data, v, 0, t.maps[cv.Map-1].Reqs(rank), rank)
				})
				if err == nil {
					err = c.Barrier(ctx)
				}
				return err
			}); err != nil {
				return err
			}
			if err := timed("flush", func() error {
				if err := t.walk(p, arena, rank, first[rank], func(v int, data any) error {
					if data == nil {
						data = small[v]
					}
					return putAny(w, blob.VarID(v), 0, data)
				}); err != nil {
					return err
				}
				return w.Flush(ctx)
			}); err != nil {
				return err
			}
			if written += p.at[len(p.at)-1]; rank == 0 {
				k.tell(written, total)
			}
		}
		return timed("close", func() error { return w.Close(ctx) })
	})
	runtime.KeepAlive(words)
	if err != nil {
		return took, firstCause(err)
	}
	maps := int64(0)
	for _, m := range t.maps {
		maps += m.MemSize()
	}
	took = Took{Seconds: clock["create"] + clock["flush"] + clock["close"], CPU: cpuTime() - cpu, Data: size, Phases: clock,
		Note: fmt.Sprintf("flushes: %d; not on the clock: maps %s (%d MiB in memory), data %s", len(list), Seconds(mapTime), maps>>20, Seconds(clock["data"]))}
	delete(clock, "data")
	took.Bytes, err = datasetBytes(ctx, k.Path)
	return took, err
}

// openList opens the dataset, and goes through all that a listing shows.
func (k *Work) openList() (t Took, err error) {
	start := time.Now()
	r, err := blob.Open(context.Background(), k.Path, nil)
	if err != nil {
		return t, err
	}
	defer r.Close()
	if k.Phase == "list" {
		n := 0
		for _, f := range r.Files() {
			n += len(f.Name)
		}
		for _, v := range r.Schema().Vars() {
			n += len(v.Name) + len(v.Atts)
		}
		if n == 0 {
			return t, fmt.Errorf("bench: %s is empty", k.Path)
		}
	}
	t.Seconds = time.Since(start).Seconds()
	return t, nil
}

func (k *Work) checkAll(ctx context.Context) (t Took, err error) {
	start := time.Now()
	for f := range blob.Check(ctx, k.Path, &blob.CheckOptions{Progress: k.tell}) {
		if f.Severity > blob.Note {
			return t, fmt.Errorf("bench: a dataset that was just written: %v", f)
		}
	}
	t.Seconds = time.Since(start).Seconds()
	if t.Bytes, err = datasetBytes(ctx, k.Path); err == nil {
		err = ctx.Err()
	}
	return t, err
}

// levels reads one level of T, for which its map is read too, and then another one. The values are compared with
// what was put. Bytes are those of the level and of the map, Data those of the level.
func (k *Work) levels(ctx context.Context) (t Took, err error) {
	start := time.Now()
	r, err := blob.Open(ctx, k.Path, nil)
	if err != nil {
		return t, err
	}
	defer r.Close()
	v, ok := r.Schema().VarID("T")
	if !ok {
		return t, fmt.Errorf("bench: %s has no T", k.Path)
	}
	shape := r.Schema().Shape(v)
	dst := make([]float32, shape[1])
	want := make([]float32, shape[1])
	level := func(n int64) (float64, error) {
		if err := r.Read(ctx, "T", []int64{0, n, 0}, []int64{1, 1, shape[1]}, dst); err != nil {
			return 0, err
		}
		s := time.Since(start).Seconds()
		if err := e3smcases.FillUnique(want, cdf5.Float, "T", 0, e3smcases.Range(n*shape[1], shape[1])); err != nil {
			return 0, err
		}
		if !slices.Equal(dst, want) {
			return 0, fmt.Errorf("bench: level %d of T in %s is not what was written", n, k.Path)
		}
		return s, nil
	}
	if t.Seconds, err = level(shape[0] / 2); err != nil {
		return t, err
	}
	start = time.Now()
	next, err := level(0)
	if err != nil {
		return t, err
	}
	t.Phases = map[string]float64{"next": next}
	m, err := r.Map(ctx, r.Schema().Vars()[v].Decomp)
	if err != nil {
		return t, err
	}
	for rank := range m.Ranks() {
		t.Bytes += 8 * m.NumReqs(rank)
	}
	t.Data = 4 * shape[1]
	t.Bytes += t.Data
	return t, nil
}

// convertSome converts variables to a canonical file: T, and others of its map and of D2 in turn.
func (k *Work) convertSome(ctx context.Context) (t Took, err error) {
	start := time.Now()
	r, err := blob.Open(ctx, k.Path, nil)
	if err != nil {
		return t, err
	}
	defer r.Close()
	names := []string{"T"}
	deep, flat := []string{}, []string{}
	for _, v := range r.Schema().Vars() {
		switch {
		case v.Name == "T" || !v.Record:
		case v.Decomp == 3:
			deep = append(deep, v.Name)
		case v.Decomp == 2:
			flat = append(flat, v.Name)
		}
	}
	for len(names) < k.Convert && len(deep)+len(flat) > 0 {
		from := &flat
		if len(names)%2 == 0 && len(deep) > 0 || len(flat) == 0 {
			from = &deep
		}
		names, *from = append(names, (*from)[0]), (*from)[1:]
	}
	o := &blob.ConvertOptions{Vars: names, Force: true, Progress: k.tell}
	if !k.Job.Sync {
		o.Durability = blob.DurableNone
	}
	if err := blob.Convert(ctx, r, k.To, o); err != nil {
		return t, err
	}
	t.Seconds = time.Since(start).Seconds()
	t.Bytes, err = fileBytes(k.To)
	return t, err
}

// sameLevels compares what is in an ordinary file with what was put: all variables of the maps that are floats.
func sameLevels(ctx context.Context, name string) error {
	r, err := blob.Open(ctx, name, nil)
	if err != nil {
		return err
	}
	defer r.Close()
	if _, ok := r.Schema().VarID("T"); !ok {
		return fmt.Errorf("bench: %s has no T", name)
	}
	for id, v := range r.Schema().Vars() {
		if v.Type != cdf5.Float || !v.Record {
			continue
		}
		if err := sameLevelsOf(ctx, r, name, v.Name, r.Schema().Shape(blob.VarID(id))); err != nil {
			return err
		}
	}
	return nil
}

// sameLevelsOf compares one variable (lev x ncol, or ncol) of one record, level by level.
func sameLevelsOf(ctx context.Context, r *blob.Reader, file, name string, shape []int64) error {
	n := shape[len(shape)-1]
	start, count := make([]int64, 1+len(shape)), append([]int64{1}, shape...)
	levels := int64(1)
	if len(shape) > 1 {
		levels, count[1] = shape[0], 1
	}
	got, want := make([]float32, n), make([]float32, n)
	for k := range levels {
		if len(shape) > 1 {
			start[1] = k
		}
		if err := r.Read(ctx, name, start, count, got); err != nil {
			return err
		}
		if err := e3smcases.FillUnique(want, cdf5.Float, name, 0, e3smcases.Range(k*n, n)); err != nil {
			return err
		}
		if !slices.Equal(got, want) {
			return fmt.Errorf("bench: level %d of %s in %s is not what was written", k, name, file)
		}
	}
	return nil
}
