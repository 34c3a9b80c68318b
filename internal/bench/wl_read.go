package bench

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"blobio/blob"
	"blobio/cdf5"
)

// stored is a dataset for reading: its name in the column Who, and its base name.
type stored struct{ who, name string }

// datasets writes the job once in each layout, with goroutines as ranks.
func (s *session) datasets(ctx context.Context, j Job) (t *task, made []stored, err error) {
	if t, err = j.load(); err != nil {
		return nil, nil, err
	}
	all, err := t.fillAll()
	if err != nil {
		return nil, nil, err
	}
	for _, l := range layouts {
		d := stored{l.String(), s.path(j.Case + "." + l.String())}
		if err := removeDataset(d.name); err != nil {
			return nil, nil, err
		}
		if _, err := t.once(ctx, all, d.name, t.options(l)); err != nil {
			return nil, nil, err
		}
		made = append(made, d)
	}
	return t, made, nil
}

// find returns the first record variable of a map.
func (t *task) find(m int) int {
	for v := range t.c.Vars {
		if cv := &t.c.Vars[v]; cv.Record && cv.Map == m {
			return v
		}
	}
	return -1
}

// reading is a way to read a dataset.
type reading struct {
	what         string
	v            int
	start, count []int64
	cold         bool // include opening the dataset and loading the map
}

func (s *session) read(ctx context.Context) error {
	j, data := s.fCase("h0", 64)
	t, made, err := s.datasets(ctx, j)
	if err != nil {
		return err
	}
	deep, flat := t.find(3), t.find(2)
	shape := t.c.Shape(deep)
	lev, col := shape[0]/2, shape[1]/2
	if err := s.readings(ctx, t, made, data, []reading{
		{what: "read a variable (lev x ncol)", v: deep},
		{what: "the same, cold", v: deep, cold: true},
		{what: "read one level", v: deep, start: []int64{0, lev, 0}, count: []int64{1, 1, shape[1]}},
		{what: "read one column", v: deep, start: []int64{0, 0, col}, count: []int64{1, shape[0], 1}},
		{what: "read a record (ncol)", v: flat},
	}); err != nil {
		return err
	}
	if err := s.sweep(); err != nil {
		return err
	}
	j, data = s.fCase("h1", 64)
	j.Records = 10
	if s.Quick {
		j.Records = 2
	}
	if t, made, err = s.datasets(ctx, j); err != nil {
		return err
	}
	deep, shape = t.find(3), t.c.Shape(t.find(3))
	return s.readings(ctx, t, made, data, []reading{
		{what: fmt.Sprintf("read %d records", j.Records), v: deep, start: []int64{0, 0, 0}, count: []int64{j.Records, shape[0], shape[1]}},
		{what: "read one record of them", v: deep, start: []int64{1, 0, 0}, count: []int64{1, shape[0], shape[1]}},
		{what: "read one column over time", v: deep, start: []int64{0, 0, col}, count: []int64{j.Records, shape[0], 1}},
		{what: "read one level over time", v: deep, start: []int64{0, lev, 0}, count: []int64{j.Records, 1, shape[1]}},
	})
}

// readAgain is the time for which one run repeats a warm read, because some reads are as short as waking a core.
const readAgain = 10 * time.Millisecond

func (s *session) readings(ctx context.Context, t *task, made []stored, data string, list []reading) error {
	readers := make([]*blob.Reader, len(made))
	for i, d := range made {
		r, err := blob.Open(ctx, d.name, nil)
		if err != nil {
			return err
		}
		defer r.Close()
		readers[i] = r
	}
	for _, q := range list {
		cv := &t.c.Vars[q.v]
		typ, _ := cv.FileType(t.Float)
		n := t.c.Elems(q.v)
		if q.count != nil {
			n = 1
			for _, k := range q.count {
				n *= k
			}
		}
		dst := cdf5.NewSlice(typ, int(n))
		var runners []runner
		for i, d := range made {
			row := &Row{Data: data, What: q.what, Who: d.who, Ranks: t.Ranks, Bytes: n * int64(typ.Size())}
			if !q.cold {
				row.Note = fmt.Sprintf("mean of the reads of %v", readAgain)
			}
			runners = append(runners, runner{row: row,
				run: func(ctx context.Context) (Took, error) {
					runtime.GC()
					r := readers[i]
					start := time.Now()
					if q.cold {
						var err error
						if r, err = blob.Open(ctx, d.name, nil); err != nil {
							return Took{}, err
						}
						defer r.Close()
					}
					for n := 1; ; n++ {
						err := r.Read(ctx, cv.Name, q.start, q.count, dst)
						if d := time.Since(start); q.cold || err != nil || d >= readAgain {
							return Took{Seconds: d.Seconds() / float64(n)}, err
						}
					}
				},
				bound: s.rawReads(d.name + ".0000")})
		}
		if err := s.race(ctx, true, runners...); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) convert(ctx context.Context) error {
	j, data := s.fCase("h0", 64)
	if err := s.room(5 << 30); err != nil && !s.Quick {
		return err
	}
	t, made, err := s.datasets(ctx, j)
	if err != nil {
		return err
	}
	variable, process := made[0].name, made[1].name
	canonical := s.path("canonical.nc")
	if _, err := (conversion{from: variable}).run(ctx, canonical); err != nil {
		return err
	}
	out := s.path("out")
	clear := func() error { return removeDataset(out) }
	direction := func(who, what string, k conversion) runner {
		n := writers()
		if k.cores > 0 {
			n = k.cores
		}
		return runner{row: &Row{Data: data, What: what, Who: who, Ranks: j.Ranks},
			clear: clear,
			run:   func(ctx context.Context) (Took, error) { return k.run(ctx, out) },
			bound: s.rawWritesInstead(clear, rawWriting{writers: n})}
	}
	vc, pc := blob.VariableCentric, blob.ProcessCentric
	list := []runner{
		direction(vc.String(), "convert to canonical", conversion{from: variable}),
		direction(pc.String(), "convert to canonical", conversion{from: process}),
		direction(vc.String(), "convert to process-centric", conversion{from: variable, blobs: true, layout: pc}),
		direction(pc.String(), "convert to variable-centric", conversion{from: process, blobs: true, layout: vc}),
		direction("canonical", "convert to variable-centric", conversion{from: canonical, t: t, blobs: true, layout: vc}),
		direction("canonical", "convert to process-centric", conversion{from: canonical, t: t, blobs: true, layout: pc}),
		direction(vc.String(), "convert to canonical, 1 core", conversion{from: variable, cores: 1}),
		direction(pc.String(), "convert to canonical, 1 core", conversion{from: process, cores: 1}),
	}
	return s.race(ctx, true, list...)
}

// conversion is one direction of conversion: to blobs of a layout, or to a canonical file.
type conversion struct {
	from   string
	t      *task // has the maps for a source without maps
	blobs  bool
	layout blob.Layout
	cores  int // 0: all
}

func (k conversion) run(ctx context.Context, to string) (took Took, err error) {
	o := &blob.ConvertOptions{Force: true, Durability: blob.DurableNone, Workers: k.cores, Blobs: k.blobs, Layout: k.layout}
	if k.t != nil {
		o.Maps, o.Ranks = k.t.maps, k.t.Ranks
		o.MapOf = func(v *blob.Variable) int { // two maps of F have the same shape
			if i := k.t.c.VarIndex(v.Name); i >= 0 {
				return k.t.c.Vars[i].Map
			}
			return 0
		}
	}
	if k.cores > 0 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(k.cores))
	}
	took, err = timed(func() error {
		r, err := blob.Open(ctx, k.from, nil)
		if err != nil {
			return err
		}
		defer r.Close()
		return blob.Convert(ctx, r, to, o)
	})
	if err == nil && k.blobs {
		took.Bytes, err = datasetBytes(ctx, to)
	} else if err == nil {
		took.Bytes, err = fileBytes(to)
	}
	return took, err
}

func (s *session) check(ctx context.Context) error {
	j, data := s.fCase("h0", 64)
	_, made, err := s.datasets(ctx, j)
	if err != nil {
		return err
	}
	var list []runner
	for _, d := range made {
		size, err := datasetBytes(ctx, d.name)
		if err != nil {
			return err
		}
		list = append(list, runner{row: &Row{Data: data, What: "check", Who: d.who, Ranks: j.Ranks, Bytes: size},
			run: func(ctx context.Context) (Took, error) {
				start := time.Now()
				for f := range blob.Check(ctx, d.name, nil) {
					if f.Severity > blob.Note {
						return Took{}, fmt.Errorf("a dataset that was just written: %v", f)
					}
				}
				return Took{Seconds: time.Since(start).Seconds()}, ctx.Err()
			},
			bound: s.rawReads(d.name + ".0000")})
	}
	return s.race(ctx, true, list...)
}
