package bench

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"text/tabwriter"
	"time"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/e3smcases"
)

// RatesOptions of Rates. The zero value of a field means its default.
type RatesOptions struct {
	Dir   string // where the files go; required
	Ne    int    // resolution of the F case, default 30 (48,602 columns)
	Ranks int    // in-process ranks, default 64
	Runs  int    // of each row, default 5
	Log   func(string)
}

// Rate is one row: what a job took, and what the same bytes take without it.
type Rate struct {
	Job     string    `json:"job"`
	Bytes   int64     `json:"bytes"`   // written or read
	Seconds []float64 `json:"seconds"` // of each run
	Raw     []float64 `json:"raw_seconds"`
	RawWhat string    `json:"raw"`
}

// Ratio is the median time of the ceiling over the median time of the job: 1 is the ceiling.
func (r *Rate) Ratio() float64 { return median(r.Raw) / median(r.Seconds) }

func median(v []float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(v))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// Rates measures write, read and conversion of the F case (h0, record
// variables as float, one record, data in memory already of the file's types) with
// in-process ranks, each beside the raw ceiling of the same number of bytes,
// measured in turn with it. Nothing is synced: the figures are of the memory
// and the page cache.
func Rates(ctx context.Context, o RatesOptions) ([]Rate, error) {
	if o.Ne == 0 {
		o.Ne = 30
	}
	if o.Ranks == 0 {
		o.Ranks = 64
	}
	if o.Runs == 0 {
		o.Runs = 5
	}
	if o.Log == nil {
		o.Log = func(string) {}
	}
	maps, err := e3smcases.GenF(o.Ne, 72, o.Ranks)
	if err != nil {
		return nil, err
	}
	c, err := e3smcases.Load("F_h0")
	if err != nil {
		return nil, err
	}
	if c, err = c.WithMapDims(maps); err != nil {
		return nil, err
	}
	s, err := c.Schema(true)
	if err != nil {
		return nil, err
	}
	b := &rates{o: o, c: c, s: s, maps: maps}
	o.Log("making the data")
	if err := b.fill(); err != nil {
		return nil, err
	}
	var out []Rate
	for _, l := range []blob.Layout{blob.VariableCentric, blob.ProcessCentric} {
		rows, err := b.layout(ctx, l)
		if err != nil {
			return nil, err
		}
		out = append(out, rows...)
	}
	return out, nil
}

type rates struct {
	o    RatesOptions
	c    *e3smcases.Case
	s    *blob.Schema
	maps []*decomp.Map
	data [][]any // by rank and variable
}

func (b *rates) fill() error {
	values, err := e3smcases.NewValues(b.c, e3smcases.Unique, true, nil)
	if err != nil {
		return err
	}
	b.data = make([][]any, b.o.Ranks)
	for r := range b.data {
		b.data[r] = make([]any, len(b.c.Vars))
		for v := range b.c.Vars {
			cv := &b.c.Vars[v]
			t, _ := cv.FileType(true)
			n, runs := b.c.Elems(v), e3smcases.Range(0, b.c.Elems(v))
			if cv.Map != 0 {
				n, runs = b.maps[cv.Map-1].Count(r), b.maps[cv.Map-1].Reqs(r)
			} else if r != 0 {
				n = 0 // rank 0 alone writes it
			}
			d := cdf5.NewSlice(t, int(n))
			if n > 0 {
				if err := values.Fill(d, v, 0, runs, r); err != nil {
					return err
				}
			}
			b.data[r][v] = d
		}
	}
	return nil
}

func (b *rates) write(ctx context.Context, l blob.Layout, name string) error {
	o := &blob.Options{Layout: l, Force: true, Durability: blob.DurableNone, Retain: blob.LendUntilClose}
	return comm.Run(ctx, b.o.Ranks, nil, func(ctx context.Context, c comm.Comm) error {
		parts := make([]blob.Part, len(b.maps))
		for d, m := range b.maps {
			parts[d] = blob.Part{Decomp: blob.DecompID(d + 1), Runs: m.AppendReqs(nil, c.Rank())}
		}
		w, err := blob.Create(ctx, c, name, b.s, parts, o)
		if err != nil {
			return err
		}
		for v := range b.c.Vars {
			if b.c.Vars[v].Map == 0 && c.Rank() != 0 {
				continue
			}
			if err := putAny(w, blob.VarID(v), 0, b.data[c.Rank()][v]); err != nil {
				return err
			}
		}
		return w.Close(ctx)
	})
}

func (b *rates) layout(ctx context.Context, l blob.Layout) ([]Rate, error) {
	name := filepath.Join(b.o.Dir, "F_h0."+l.String())
	out := filepath.Join(b.o.Dir, "F_h0.canonical.nc")
	wr := Rate{Job: l.String() + " write", RawWhat: "write"}
	rd := Rate{Job: l.String() + " read of T", RawWhat: "read"}
	cv := Rate{Job: l.String() + " to canonical", RawWhat: "write"}
	writers := runtime.GOMAXPROCS(0)
	seconds := func(f func() error) (float64, error) {
		runtime.GC()
		t := time.Now()
		err := f()
		return time.Since(t).Seconds(), err
	}
	for run := range b.o.Runs {
		b.o.Log(fmt.Sprintf("%v, run %d of %d", l, run+1, b.o.Runs))
		t, err := seconds(func() error { return b.write(ctx, l, name) })
		if err != nil {
			return nil, err
		}
		wr.Seconds = append(wr.Seconds, t)
		info, err := os.Stat(name + ".0000")
		if err != nil {
			return nil, err
		}
		wr.Bytes = info.Size()
		d, err := WriteCeiling(b.o.Dir, wr.Bytes, writers)
		if err != nil {
			return nil, err
		}
		wr.Raw = append(wr.Raw, d.Seconds())

		r, err := blob.Open(ctx, name, nil)
		if err != nil {
			return nil, err
		}
		v, _ := r.Schema().VarID("T")
		dst := make([]float32, r.Schema().Elems(v))
		if err := r.Read(ctx, "T", nil, nil, dst); err != nil { // loads the map
			return nil, err
		}
		if t, err = seconds(func() error { return r.Read(ctx, "T", nil, nil, dst) }); err != nil {
			return nil, err
		}
		rd.Bytes = int64(len(dst)) * 4
		rd.Seconds = append(rd.Seconds, t)
		if d, err = ReadCeiling(name+".0000", writers); err != nil {
			return nil, err
		}
		rd.Raw = append(rd.Raw, d.Seconds()*float64(rd.Bytes)/float64(wr.Bytes))

		if t, err = seconds(func() error {
			return blob.Convert(ctx, r, out, &blob.ConvertOptions{Force: true, Durability: blob.DurableNone})
		}); err != nil {
			return nil, err
		}
		r.Close()
		cv.Seconds = append(cv.Seconds, t)
		if info, err = os.Stat(out); err != nil {
			return nil, err
		}
		cv.Bytes = info.Size()
		os.Remove(out)
		if d, err = WriteCeiling(b.o.Dir, cv.Bytes, writers); err != nil {
			return nil, err
		}
		cv.Raw = append(cv.Raw, d.Seconds())
	}
	for _, ext := range []string{".0000", ".manifest"} {
		os.Remove(name + ext)
	}
	return []Rate{wr, rd, cv}, nil
}

// PrintRates writes the rows as a Markdown table.
func PrintRates(w io.Writer, rows []Rate) error {
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	fmt.Fprintln(t, "| job\t| MiB\t| MiB/s median (min to max)\t| raw ceiling, MiB/s\t| ratio\t|")
	fmt.Fprintln(t, "|---\t|---\t|---\t|---\t|---\t|")
	for _, r := range rows {
		mib := float64(r.Bytes) / (1 << 20)
		fmt.Fprintf(t, "| %s\t| %.0f\t| %.0f (%.0f to %.0f)\t| %s %.0f\t| %.2f\t|\n", r.Job, mib,
			mib/median(r.Seconds), mib/slices.Max(r.Seconds), mib/slices.Min(r.Seconds), r.RawWhat, mib/median(r.Raw), r.Ratio())
	}
	return t.Flush()
}
