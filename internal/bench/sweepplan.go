package bench

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"blobio/cdf5"
	"blobio/decomp"
	"blobio/e3smcases"
)

// EvenSize is the size of the case even for the minimum number of ranks of a sweep.
type EvenSize struct {
	Vars     int   `json:"variables"` // number of record variables of type double
	Elements int64 `json:"elements"`  // elements of a variable per rank and record
	Pieces   int   `json:"pieces"`    // pieces per rank, assigned to the ranks in turn
}

// SweepPlan describes a sweep: every possible combination of axis values, each run one or more times. A continued sweep must have
// the same plan.
type SweepPlan struct {
	Axes    map[string][]string  `json:"axes"` // values by name of the axis; a missing axis has its default value
	Weak    bool                 `json:"weak"` // weak scaling: data grow with the ranks; otherwise all points have the size for the minimum number of ranks
	Records int64                `json:"records"`
	Even    EvenSize             `json:"even"`
	Sizes   MapSource            `json:"sizes"` // sizes of generated maps, for the minimum number of ranks
	Maps    map[string]MapSource `json:"maps"`  // map files for F, G and I
	Float   bool                 `json:"float"`
	Repeats int                  `json:"repeats"`
	Verify  bool                 `json:"verify"`  // compare the data read
	Targets int                  `json:"targets"` // number of storage targets; 0: ask the file system
	Stripe  bool                 `json:"stripe"`  // set Lustre's striping of the directory from stripe-size and stripe-count
	Drop    string               `json:"drop"`    // command that empties caches before a cold read, on one rank of each node
	Dir     string               `json:"dir"`     // directory of the datasets
	Space   int64                `json:"space"`   // maximum size of a dataset in bytes; 0: the free space
	Memory  int64                `json:"memory"`  // maximum size of the data in one process, in bytes
}

// mostRuns is the maximum number of runs of a sweep.
const mostRuns = 1_000_000

// fill sets defaults of missing axes and checks all values.
func (p *SweepPlan) fill() error {
	switch {
	case p.Records < 1 || p.Repeats < 1:
		return fmt.Errorf("%d records and %d repeats, want both positive", p.Records, p.Repeats)
	case p.Even.Vars < 1 || p.Even.Elements < 1 || p.Even.Pieces < 1 || p.Even.Vars > 1<<16:
		return fmt.Errorf("%d variables of %d elements in %d pieces, want positive numbers, and at most 65536 variables", p.Even.Vars, p.Even.Elements, p.Even.Pieces)
	case p.Memory < 1 || p.Space < 0 || p.Targets < 0:
		return fmt.Errorf("memory %d, space %d and targets %d, want memory > 0, and 0 or more of the others", p.Memory, p.Space, p.Targets)
	}
	all := map[string][]string{}
	runs := p.Repeats
	for _, a := range SweepAxes() {
		values := p.Axes[a.Name]
		if len(values) == 0 {
			values = []string{a.Def}
		}
		for i, v := range values {
			if err := a.check(v); err != nil {
				return err
			}
			if slices.Contains(values[:i], v) {
				return fmt.Errorf("axis %s has %s twice", a.Name, v)
			}
		}
		all[a.Name] = values
		if runs *= len(values); runs > mostRuns {
			return fmt.Errorf("the sweep has more than %d runs", mostRuns)
		}
	}
	for name := range p.Axes {
		if all[name] == nil {
			return fmt.Errorf("unknown axis %q", name)
		}
	}
	p.Axes = all
	return nil
}

// SweepSkip is a reason for skipping points, and their number.
type SweepSkip struct {
	Why    string `json:"why"`
	Points int    `json:"points"`
}

// Points lists the points. left lists the reasons for points that are skipped because their values cannot be combined.
func (p *SweepPlan) Points(targets int) (points []SweepPoint, left []SweepSkip) {
	axes := SweepAxes()
	at := SweepPoint{}
	var walk func(i int)
	walk = func(i int) {
		if i == len(axes) {
			if err := at.possible(targets); err != nil {
				k := slices.IndexFunc(left, func(s SweepSkip) bool { return s.Why == err.Error() })
				if k < 0 {
					k, left = len(left), append(left, SweepSkip{Why: err.Error()})
				}
				left[k].Points++
				return
			}
			points = append(points, maps.Clone(at))
			return
		}
		for _, v := range p.Axes[axes[i].Name] {
			at[axes[i].Name] = v
			walk(i + 1)
		}
	}
	walk(0)
	return points, left
}

// Varied returns the axes with more than one value, in the order of SweepAxes.
func (p *SweepPlan) Varied() (names []string) {
	for _, a := range SweepAxes() {
		if len(p.Axes[a.Name]) > 1 {
			names = append(names, a.Name)
		}
	}
	return names
}

// Shown returns the axes that distinguish points in a table.
func (p *SweepPlan) Shown() []string {
	if names := p.Varied(); len(names) > 0 {
		return names
	}
	return []string{"case", "ranks"}
}

// differs returns the first difference between two plans, "" if there is none.
func (p *SweepPlan) differs(o *SweepPlan) string {
	for _, a := range SweepAxes() {
		if x, y := p.Axes[a.Name], o.Axes[a.Name]; !slices.Equal(x, y) {
			return fmt.Sprintf("%s is %s, not %s", a.Name, strings.Join(x, ","), strings.Join(y, ","))
		}
	}
	x, y := reflect.ValueOf(*p), reflect.ValueOf(*o)
	for i := range x.NumField() {
		a, b := x.Field(i), y.Field(i)
		if empty := a.Kind() == reflect.Map && a.Len()+b.Len() == 0; !empty && !reflect.DeepEqual(a.Interface(), b.Interface()) {
			name, _, _ := strings.Cut(x.Type().Field(i).Tag.Get("json"), ",")
			return fmt.Sprintf("%s is %v, not %v", name, a, b)
		}
	}
	return ""
}

// leastRanks returns the minimum number of ranks, for which the sizes are given.
func (p *SweepPlan) leastRanks() int {
	least := math.MaxInt
	for _, s := range p.Axes["ranks"] {
		n, _ := strconv.Atoi(s)
		least = min(least, n)
	}
	return least
}

// growth returns the size of the data for a number of ranks, divided by the given size.
func (p *SweepPlan) growth(ranks int) float64 {
	if !p.Weak {
		return 1
	}
	return float64(ranks) / float64(p.leastRanks())
}

// task makes the maps and values of a point's case with the point's data size, for a given number of ranks.
func (p *SweepPlan) task(pt SweepPoint, ranks int) (*task, error) {
	grow := p.growth(pt.int("ranks"))
	flush := int64(pt.int("flush"))
	if flush == 0 {
		flush = -1
	}
	j := Job{Case: pt["case"], Ranks: ranks, Records: p.Records, Flush: flush, Float: p.Float}
	if j.Case == evenCase {
		return p.evenTask(j, int64(math.Round(grow*float64(p.leastRanks()))), pt.int("ranks"))
	}
	if !e3smHasRecords(j.Case) {
		j.Records = 1
	}
	letter, _, _ := strings.Cut(j.Case, "_")
	src, fromFile := p.Maps[letter]
	if fromFile {
		if src.Factor = int64(math.Round(grow)); src.Factor < 2 {
			src.Factor = 0
		}
	} else {
		src = p.Sizes
		scale := func(v *int, def int, by float64) {
			if *v == 0 {
				*v = def
			}
			*v = max(int(math.Round(float64(*v)*by)), 1)
		}
		side := math.Sqrt(grow)
		scale(&src.Ne, 4, side)
		scale(&src.Cells, 285, grow)
		scale(&src.Lat, 96, side)
		scale(&src.Lon, 144, side)
	}
	j.Maps = src
	return j.load()
}

// e3smHasRecords reports whether a history can have more than one record.
func e3smHasRecords(name string) bool { return name != "F_h0" && name != "I_h1" }

// evenTask makes the case even. The array has the elements of as many ranks as owners, and the pieces of as many ranks as dealt.
// The pieces are assigned to j.Ranks ranks in turn.
func (p *SweepPlan) evenTask(j Job, owners int64, dealt int) (*task, error) {
	t := &task{Job: j}
	total := owners * p.Even.Elements
	if total/owners != p.Even.Elements || total > 1<<50 {
		return nil, fmt.Errorf("%d elements for each of %d ranks, want at most 2^50 in total", p.Even.Elements, owners)
	}
	pieces := min(int64(dealt)*int64(p.Even.Pieces), total)
	b := decomp.NewBuilder([]int64{total}, j.Ranks)
	cut := func(i int64) int64 { // offset of piece i
		return total/pieces*i + min(i, total%pieces)
	}
	for r := range j.Ranks {
		var reqs []decomp.Req
		for i := int64(r); i < pieces; i += int64(j.Ranks) {
			reqs = append(reqs, decomp.Req{Offset: cut(i), Length: cut(i+1) - cut(i)})
		}
		if err := b.Set(r, reqs); err != nil {
			return nil, err
		}
	}
	m, err := b.Map()
	if err != nil {
		return nil, err
	}
	t.maps = []*decomp.Map{m}
	t.c = &e3smcases.Case{Name: evenCase, Dims: []cdf5.Dim{{Name: "time"}, {Name: "x", Len: total}}, MapDims: [][]int{{1}}}
	for v := range p.Even.Vars {
		t.c.Vars = append(t.c.Vars, e3smcases.Var{Name: fmt.Sprintf("v%d", v), Type: cdf5.Double, TypeFloat: cdf5.Float, Dims: []int{0, 1}, Record: true, Map: 1})
	}
	if t.s, err = t.c.Schema(j.Float); err != nil {
		return nil, err
	}
	t.values, err = e3smcases.NewValues(t.c, e3smcases.Unique, j.Float)
	return t, err
}

// dataBytes returns the size in memory of all ranks' data: of fixed variables, and of one record.
func (t *task) dataBytes() (fixed, record int64) {
	for v := range t.c.Vars {
		cv := &t.c.Vars[v]
		n := t.c.Elems(v)
		if cv.Map != 0 {
			n = t.maps[cv.Map-1].Total()
		}
		_, mem := t.types(cv)
		if n *= int64(mem.Size()); cv.Record {
			record += n
		} else {
			fixed += n
		}
	}
	return fixed, record
}

// fileBytes returns the approximate size of the files.
func (t *task) fileBytes() (n int64) {
	for v := range t.c.Vars {
		cv := &t.c.Vars[v]
		elems := t.c.Elems(v)
		if cv.Map != 0 {
			elems = t.maps[cv.Map-1].Total()
		}
		file, _ := t.types(cv)
		n += elems * int64(file.Size()) * t.records(v)
	}
	return n
}
