package bench

import (
	"context"
	"fmt"
	"math"
	"os"
	"time"

	"blobio/blob"
)

// Growth says how a cost grows with the number of ranks: as ranks to the power of Exponent, by least squares of
// the logarithms of all medians. Last is the exponent between the last two sizes, where what
// does not grow is least.
type Growth struct {
	What     string  `json:"what"` // "write, seconds"
	Who      string  `json:"who"`
	From     int     `json:"from"` // ranks
	To       int     `json:"to"`
	Exponent float64 `json:"exponent"`
	Last     float64 `json:"last"`
	First    float64 `json:"first_value"` // at the fewest and the most ranks
	End      float64 `json:"last_value"`
}

// Linear says whether the cost grows at most as fast as the number of ranks does, up to what a measurement of
// two sizes can tell.
func (g *Growth) Linear() bool { return g.Exponent <= 1.02 && g.Last <= 1.1 }

// newGrowth fits a power of x; nothing can be said of fewer than two points, or of values that are not positive.
func newGrowth(what, who string, x []int, y []float64) (g Growth, ok bool) {
	n := len(x)
	if n < 2 || len(y) != n {
		return g, false
	}
	var sx, sy, sxx, sxy float64
	for i := range x {
		if x[i] <= 0 || !(y[i] > 0) {
			return g, false
		}
		a, b := math.Log(float64(x[i])), math.Log(y[i])
		sx, sy, sxx, sxy = sx+a, sy+b, sxx+a*a, sxy+a*b
	}
	d := float64(n)*sxx - sx*sx
	if d <= 0 {
		return g, false
	}
	return Growth{What: what, Who: who, From: x[0], To: x[n-1], First: y[0], End: y[n-1],
		Exponent: (float64(n)*sxy - sx*sy) / d,
		Last:     math.Log(y[n-1]/y[n-2]) / math.Log(float64(x[n-1])/float64(x[n-2]))}, true
}

// curveSizes are numbers of ranks.
var curveSizes = []int{16, 512, 4096, 21600, 100000}

const (
	curveWrite = "write"
	curveOpen  = "open and list"
	curveMaps  = "open and read the maps"
	perFile    = 64 // ranks to a subfile
)

// curve writes the same few data by ever more ranks, so that what is seen is the cost of ranks.
func (s *session) curve(ctx context.Context) error {
	sizes, maps := curveSizes, MapSource{Ne: 44, Levels: 2} // 104,546 columns: one for each rank
	if s.Quick {
		sizes, maps = []int{4, 130}, MapSource{Ne: 2, Levels: 2}
	}
	for _, many := range []bool{false, true} {
		for _, ranks := range sizes {
			if err := s.curvePoint(ctx, ranks, many, maps); err != nil {
				return err
			}
		}
	}
	s.res.Growth = append(s.res.Growth, growths(s.res.Rows)...)
	for _, g := range s.res.Growth {
		s.Log(fmt.Sprintf("%s, %s: ranks to the power of %.2f, %.2f at the end", g.What, g.Who, g.Exponent, g.Last))
	}
	return nil
}

func (s *session) curvePoint(ctx context.Context, ranks int, many bool, maps MapSource) error {
	j := Job{Case: "F_h1", Ranks: ranks, Float: true, FileMem: true, Maps: maps, Subfiles: 1}
	files := "1 subfile"
	if many {
		j.Subfiles, files = (ranks+perFile-1)/perFile, fmt.Sprintf("%d ranks to a subfile", perFile)
	}
	var writes, opens []runner
	for _, l := range layouts {
		name := s.path(fmt.Sprintf("c.%v", l))
		who := l.String() + ", " + files
		row := &Row{Data: fmt.Sprintf("F h1 ne%d, 2 levels", maps.Ne), What: curveWrite, Who: who, Ranks: ranks, As: "goroutines"}
		writes = append(writes, runner{row: row, bound: s.rawWrites(writers(), false),
			clear: func() error { return removeDataset(name) },
			run: func(ctx context.Context) (Took, error) {
				t, err := s.worker(ctx, Work{Job: j, Layout: l.String(), Path: name}, false)
				if err != nil {
					return t, err
				}
				row.Metadata, err = metadataBytes(ctx, name, t)
				return t, err
			}})
		for _, what := range []string{curveOpen, curveMaps} {
			opens = append(opens, runner{row: &Row{Data: row.Data, What: what, Who: who, Ranks: ranks, As: "goroutines"},
				run: func(ctx context.Context) (Took, error) {
					cpu := cpuTime()
					d, err := openAll(ctx, name, what == curveMaps)
					return Took{Seconds: d.Seconds(), CPU: cpuTime() - cpu}, err
				}})
		}
	}
	if err := s.race(ctx, false, writes...); err != nil {
		return err
	}
	if err := s.race(ctx, true, opens...); err != nil {
		return err
	}
	return s.sweep()
}

// metadataBytes is what is in the files of a dataset beside what the ranks put: headers, maps, padding, manifest.
func metadataBytes(ctx context.Context, name string, t Took) (int64, error) {
	n, err := datasetBytes(ctx, name)
	if err != nil {
		return 0, err
	}
	info, err := os.Stat(name + ".manifest")
	if err != nil {
		return 0, err
	}
	return n + info.Size() - t.Data, nil
}

func openAll(ctx context.Context, name string, maps bool) (time.Duration, error) {
	start := time.Now()
	r, err := blob.Open(ctx, name, nil)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	n := len(r.Files())
	for _, v := range r.Schema().Vars() {
		n += len(v.Name)
	}
	if n == 0 {
		return 0, pkg.Errorf("%s is empty", name)
	}
	for d := range r.Schema().NumDecomps() {
		if maps {
			if _, err := r.Map(ctx, blob.DecompID(d+1)); err != nil {
				return 0, err
			}
		}
	}
	return time.Since(start), nil
}

// curveCosts are what is looked at, in the order of plots.
var curveCosts = []struct {
	name, what string // what of the rows
	value      func(r *Row) float64
}{
	{"metadata, bytes", curveWrite, func(r *Row) float64 { return float64(r.Metadata) }},
	{"write, seconds", curveWrite, func(r *Row) float64 { return r.Median() }},
	{"write, processor seconds", curveWrite, func(r *Row) float64 { return median(r.CPU) }},
	{"memory of the writer, bytes", curveWrite, func(r *Row) float64 { return float64(medianInt(r.Memory)) }},
	{"open and list, seconds", curveOpen, func(r *Row) float64 { return r.Median() }},
	{"open and read the maps, seconds", curveMaps, func(r *Row) float64 { return r.Median() }},
}

// series are the points of one cost, by number of ranks.
func (t table) series(what, who string, value func(*Row) float64) (x []int, y []float64) {
	for i := range t {
		if r := &t[i]; r.Workload == "curve" && r.What == what && r.Who == who && value(r) > 0 {
			x, y = append(x, r.Ranks), append(y, value(r))
		}
	}
	return x, y
}

// curveWho lists the layouts and numbers of subfiles, in order.
func (t table) curveWho() (out []string) {
	seen := map[string]bool{}
	for i := range t {
		if r := &t[i]; r.Workload == "curve" && !seen[r.Who] {
			seen[r.Who], out = true, append(out, r.Who)
		}
	}
	return out
}

func growths(t table) (out []Growth) {
	for _, c := range curveCosts {
		for _, who := range t.curveWho() {
			x, y := t.series(c.what, who, c.value)
			if g, ok := newGrowth(c.name, who, x, y); ok {
				out = append(out, g)
			}
		}
	}
	return out
}
