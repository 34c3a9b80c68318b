package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/e3smcases"
	"blobio/internal/base/reference"
	"blobio/internal/blob/dyn"
	"blobio/internal/comm/verdict"
)

// ReplayOptions describe what Replay writes. The zero value of a field means its default.
type ReplayOptions struct {
	Case      string        // "F", "G" or "I" (all histories), or one history: "F_h0", "F_h1", "G", "I_h0", "I_h1"
	Maps      []*decomp.Map // D1, D2, ... for all ranks; they determine the number of ranks
	Layouts   []blob.Layout // default: both
	Records   int64         // records of each history except F_h0 and I_h1, which have one; default 1
	Flush     int           // number of records between flushes, default 1; -1: one flush at the end
	Async     bool          // flush in the background while the next data are made
	Float     bool          // store record variables as float, like -j of E3SM-IO
	Pattern   e3smcases.Pattern
	Nodes     comm.Options // the ranks of each node
	Comm      comm.Comm    // ranks of the replay, which must all call Replay; default: ranks within this process
	Subfiles  int
	Dir, Base string // place of the datasets; Base defaults to the letter of the case
	Verify    bool   // read back and compare every element
	Convert   bool   // also convert to ordinary netCDF
	Force     bool
	Options   blob.Options     // options of the writers; Replay sets Layout, Subfiles, Records, Retain, Repeats and Force
	Retain    *blob.Retain     // default LendUntilFlush, because the data of a put are never overwritten
	Open      blob.OpenOptions // options of the readers
	OpenEnded bool             // process-centric: Create does not get the number of records, so the writer keeps all puts until Close

	// Buffer is the maximum size of the data that all ranks hold before a flush, in bytes; default 1 GiB. A larger record is
	// flushed in parts. With Async, half of Buffer is for the data that are being written.
	Buffer int64

	Progress func(stage string, done, total int64) // in bytes
}

// Result describes one dataset of a replay.
type Result struct {
	Case      string  `json:"case"`
	Layout    string  `json:"layout"`
	Path      string  `json:"path"` // base name of the dataset
	Ranks     int     `json:"ranks"`
	Subfiles  int     `json:"subfiles"`
	Vars      int     `json:"variables"`
	Records   int64   `json:"records"`
	Bytes     int64   `json:"bytes"`         // size of all subfiles
	Write     float64 `json:"write_seconds"` // seconds from create to close, without making the data
	Verified  int64   `json:"verified_elements"`
	Uncovered int64   `json:"uncovered_elements"` // verified elements that no rank owns; all are fill values
	Read      float64 `json:"read_seconds"`       // seconds of reading alone
	Canonical string  `json:"canonical,omitempty"`
	CanBytes  int64   `json:"canonical_bytes,omitempty"`
	Convert   float64 `json:"convert_seconds,omitempty"`
}

// histories lists the cases that a name stands for.
func histories(name string) ([]string, error) {
	var out []string
	for _, n := range e3smcases.Names() {
		if n == name || strings.HasPrefix(n, name+"_") {
			out = append(out, n)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("unknown case %q, want F, G, I or one of %s", name, strings.Join(e3smcases.Names(), ", "))
	}
	return out, nil
}

// recordsOf returns the number of records of a history if r records are requested. F_h0 and I_h1 always have one record.
func recordsOf(name string, r int64) int64 {
	if name == "F_h0" || name == "I_h1" {
		return 1
	}
	return max(r, 1)
}

// fileName inserts the history into the name: F.nc becomes F_h0.nc.
func fileName(dir, base, name string, l blob.Layout) string {
	ext := ".nc"
	if l == blob.ProcessCentric {
		ext = ".h5"
	}
	if _, h, ok := strings.Cut(name, "_"); ok {
		base += "_" + h
	}
	return filepath.Join(dir, base+ext)
}

// Replay writes every history of the case in every requested layout, and processes each as the options specify. After an error it
// returns the earlier results.
func Replay(ctx context.Context, o ReplayOptions) ([]Result, error) {
	names, err := histories(o.Case)
	if err != nil {
		return nil, err
	}
	if len(o.Maps) == 0 {
		return nil, fmt.Errorf("the replay of %s has no maps", o.Case)
	}
	if len(o.Layouts) == 0 {
		o.Layouts = []blob.Layout{blob.VariableCentric, blob.ProcessCentric}
	}
	if o.Base == "" {
		o.Base, _, _ = strings.Cut(o.Case, "_")
	}
	if o.Flush == 0 {
		o.Flush = 1
	}
	if o.Buffer == 0 {
		o.Buffer = 1 << 30
	}
	if o.Async {
		o.Buffer = max(o.Buffer/2, 1)
	}
	if o.Progress == nil {
		o.Progress = func(string, int64, int64) {}
	}
	var out []Result
	for _, name := range names {
		p, err := newReplay(&o, name)
		if err != nil {
			return out, err
		}
		for _, l := range o.Layouts {
			res, err := p.run(ctx, l)
			if err != nil {
				return out, fmt.Errorf("%s, %v: %w", name, l, err)
			}
			out = append(out, *res)
		}
	}
	return out, nil
}

// replay is one history.
type replay struct {
	o       *ReplayOptions
	name    string
	c       *e3smcases.Case
	schema  *blob.Schema
	values  *e3smcases.Values
	records int64
	total   int64 // data of all ranks and records in memory, in bytes
}

func newReplay(o *ReplayOptions, name string) (*replay, error) {
	p := &replay{o: o, name: name, records: recordsOf(name, o.Records)}
	c, err := e3smcases.Load(name)
	if err != nil {
		return nil, err
	}
	if p.c, err = c.WithMapDims(o.Maps); err != nil {
		return nil, err
	}
	if p.schema, err = p.c.Schema(o.Float); err != nil {
		return nil, err
	}
	if p.values, err = e3smcases.NewValues(p.c, o.Pattern, o.Float); err != nil {
		return nil, err
	}
	for v := range p.c.Vars {
		n := p.elems(v) * int64(p.c.Vars[v].Type.Size())
		if p.c.Vars[v].Record {
			n *= p.records
		}
		p.total += n
	}
	return p, nil
}

// elems returns the number of elements of one record that all ranks put.
func (p *replay) elems(v int) int64 {
	if m := p.c.Vars[v].Map; m != 0 {
		return p.o.Maps[m-1].Total()
	}
	return p.c.Elems(v)
}

func (p *replay) run(ctx context.Context, l blob.Layout) (*Result, error) {
	res := &Result{Case: p.name, Layout: l.String(), Path: fileName(p.o.Dir, p.o.Base, p.name, l),
		Ranks: p.o.Maps[0].Ranks(), Vars: len(p.c.Vars), Records: p.records}
	opt := p.o.Options
	opt.Layout, opt.Subfiles, opt.Force = l, p.o.Subfiles, p.o.Force
	opt.Repeats = true // as E3SM-IO
	opt.Retain = blob.LendUntilFlush
	if p.o.Retain != nil {
		opt.Retain = *p.o.Retain
	}
	opt.Records = 0
	if l == blob.ProcessCentric && !p.o.OpenEnded {
		opt.Records = p.records
	}
	took, err := p.write(ctx, res, &opt)
	if err != nil {
		return nil, err
	}
	res.Write = took.Seconds()
	r, err := blob.Open(ctx, res.Path, &p.o.Open)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for _, set := range r.Manifest().Sets {
		res.Subfiles += len(set.Subfiles)
		for _, f := range set.Subfiles {
			res.Bytes += f.Size
		}
	}
	if p.o.Verify {
		if err := p.verify(ctx, r, res); err != nil {
			return nil, err
		}
	}
	if p.o.Convert {
		ext := filepath.Ext(res.Path)
		res.Canonical = strings.TrimSuffix(res.Path, ext) + "." + l.String() + ".canonical.nc"
		t := time.Now()
		if err := r.Collective(p.comm()).Convert(ctx, res.Canonical, &blob.ConvertOptions{Force: p.o.Force, Durability: opt.Durability, Workers: opt.Workers,
			Progress: func(done, total int64) { p.o.Progress("convert", done, total) }}); err != nil {
			return nil, err
		}
		res.Convert = time.Since(t).Seconds()
		if p.comm().Rank() != 0 {
			return res, nil
		}
		info, err := os.Stat(res.Canonical)
		if err != nil {
			return nil, err
		}
		res.CanBytes = info.Size()
	}
	return res, nil
}

// comm returns the Comm of the processes that call Replay.
func (p *replay) comm() comm.Comm {
	if p.o.Comm == nil {
		return comm.Self()
	}
	return p.o.Comm
}

// write writes the dataset and returns the time.
func (p *replay) write(ctx context.Context, res *Result, opt *blob.Options) (time.Duration, error) {
	if p.o.Comm != nil {
		return p.rank(ctx, p.o.Comm, res, opt)
	}
	nodes := p.o.Nodes
	took := make(chan time.Duration, 1)
	err := comm.Run(ctx, res.Ranks, &nodes, func(ctx context.Context, c comm.Comm) error {
		t, err := p.rank(ctx, c, res, opt)
		if c.Rank() == 0 {
			took <- t
		}
		return err
	})
	if err != nil {
		return 0, verdict.FirstCause(err)
	}
	return <-took, nil
}

// rank does one rank's part of the writing. took is the time spent in calls of blob from Create to Close. All ranks wait for each
// other before the clock restarts, so that making the data is excluded.
func (p *replay) rank(ctx context.Context, c comm.Comm, res *Result, opt *blob.Options) (took time.Duration, err error) {
	rank := c.Rank()
	parts := make([]blob.Part, len(p.o.Maps))
	for d, m := range p.o.Maps {
		parts[d] = blob.Part{Decomp: blob.DecompID(d + 1), Runs: m.AppendReqs(nil, rank)}
	}
	create := ctx
	if p.o.Pattern == e3smcases.Reference {
		create = reference.Context(ctx)
	}
	r := &rankReplay{p: p, c: c}
	if err := r.timed(ctx, func() (err error) {
		r.w, err = blob.Create(create, c, res.Path, p.schema, parts, opt)
		return err
	}); err != nil {
		return r.took, err
	}
	if err = r.write(ctx); err == nil {
		err = r.timed(ctx, func() error { return r.w.Close(ctx) })
	}
	if err != nil {
		r.w.Abort()
	}
	return r.took, err
}

// rankReplay is the part of one rank in a replay.
type rankReplay struct {
	p             *replay
	c             comm.Comm
	w             *blob.Writer
	took          time.Duration // time in calls of the library
	puts          []replayPut   // for the next flush
	held, written int64         // bytes of all ranks: held in puts; flushed
}

type replayPut struct {
	v    int
	rec  int64
	data any
}

// timed adds the duration of f to took. All ranks start f together.
func (r *rankReplay) timed(ctx context.Context, f func() error) error {
	if err := r.c.Barrier(ctx); err != nil {
		return err
	}
	t := time.Now()
	err := f()
	r.took += time.Since(t)
	return err
}

// write puts all variables and flushes. Fixed variables come before record variables.
func (r *rankReplay) write(ctx context.Context) error {
	for v := range r.p.c.Vars {
		if !r.p.c.Vars[v].Record {
			if err := r.put(ctx, v, 0); err != nil {
				return err
			}
		}
	}
	for rec := range r.p.records {
		for v := range r.p.c.Vars {
			if r.p.c.Vars[v].Record {
				if err := r.put(ctx, v, rec); err != nil {
					return err
				}
			}
		}
		if r.p.o.Flush > 0 && (rec+1)%int64(r.p.o.Flush) == 0 {
			if err := r.flush(ctx); err != nil {
				return err
			}
		}
	}
	return r.flush(ctx)
}

// put makes the data of one record of a variable and keeps them for the next flush.
func (r *rankReplay) put(ctx context.Context, v int, rec int64) error {
	cv, rank := &r.p.c.Vars[v], r.c.Rank()
	mem := cv.Type // data in memory are double even if the file has float
	n := r.p.c.Elems(v)
	runs := e3smcases.Range(0, n)
	if cv.Map != 0 {
		m := r.p.o.Maps[cv.Map-1]
		n, runs = m.Count(rank), m.Reqs(rank)
	}
	all := r.p.elems(v) * int64(mem.Size())
	if r.held > 0 && r.held+all > r.p.o.Buffer {
		if err := r.flush(ctx); err != nil {
			return err
		}
	}
	data := cdf5.NewSlice(mem, int(n))
	if err := r.p.values.Fill(data, v, rec, runs, rank); err != nil {
		return err
	}
	r.held += all
	r.puts = append(r.puts, replayPut{v, rec, data})
	return nil
}

// flush writes the kept puts.
func (r *rankReplay) flush(ctx context.Context) error {
	err := r.timed(ctx, func() error {
		for _, q := range r.puts {
			if err := dyn.Put(r.w, blob.VarID(q.v), q.rec, q.data); err != nil {
				return err
			}
		}
		if r.p.o.Async {
			return r.w.FlushAsync(ctx)
		}
		return r.w.Flush(ctx)
	})
	r.written += r.held
	r.held, r.puts = 0, r.puts[:0]
	if r.c.Rank() == 0 {
		r.p.o.Progress("write", r.written, r.p.total)
	}
	return err
}
