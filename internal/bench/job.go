package bench

import (
	"context"
	"fmt"
	"strings"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/decomp/mapfile"
	"blobio/e3smcases"
	"blobio/internal/base/par"
)

// MapSource is the source of a job's maps: files, or a generator.
type MapSource struct {
	Files  []string `json:"files,omitempty"`  // one map file, or .dat files
	Factor int64    `json:"factor,omitempty"` // multiplier of run lengths, as -e of E3SM-IO; 0 and 1 mean none

	// Without files: sizes of generated maps; 0 means the size of the captured maps.
	Ne     int `json:"ne,omitempty"`     // F
	Levels int `json:"levels,omitempty"` // F and G
	Cells  int `json:"cells,omitempty"`  // G
	Lat    int `json:"lat,omitempty"`    // I
	Lon    int `json:"lon,omitempty"`    // I
}

// load loads or makes the maps of a case for a number of ranks.
func (m *MapSource) load(letter string, ranks int) ([]*decomp.Map, error) {
	if len(m.Files) == 0 && m.Factor > 1 {
		return nil, fmt.Errorf("a factor requires map files, not generated maps")
	}
	if len(m.Files) == 0 {
		or := func(v, def int) int {
			if v == 0 {
				return def
			}
			return v
		}
		switch letter {
		case "F":
			return e3smcases.F{Ne: or(m.Ne, 4), Levels: or(m.Levels, 72), Ranks: ranks}.Maps()
		case "G":
			return e3smcases.G{Cells: or(m.Cells, 285), Levels: or(m.Levels, 100), Ranks: ranks}.Maps()
		case "I":
			return e3smcases.I{Lat: or(m.Lat, 96), Lon: or(m.Lon, 144), Ranks: ranks}.Maps()
		}
		return nil, fmt.Errorf("no map generator for case %q", letter)
	}
	f, err := mapfile.Open(m.Files...)
	if err != nil {
		return nil, err
	}
	o := mapfile.Options{Coalesce: true} // as in E3SM-IO
	maps := make([]*decomp.Map, len(f.Maps))
	for k := range f.Maps {
		own := o
		own.Factor = m.Factor
		if letter == "G" && len(f.Maps[k].Dims()) != 2 {
			own.Factor = 0 // like E3SM-IO, which multiplies only the two-dimensional maps of G
		}
		if maps[k], err = f.Maps[k].Map(ranks, own); err != nil {
			return nil, fmt.Errorf("%s: D%d: %w", strings.Join(m.Files, ", "), k+1, err)
		}
	}
	return maps, nil
}

// Job describes one history file to write.
type Job struct {
	Case     string    `json:"case"` // F_h0, F_h1, G, I_h0, I_h1
	Maps     MapSource `json:"maps"`
	Ranks    int       `json:"ranks"`
	Records  int64     `json:"records"`  // number of records
	Flush    int64     `json:"flush"`    // number of records between flushes, -1: one flush at the end
	Float    bool      `json:"float"`    // store record variables as float, like -j of E3SM-IO
	FileMem  bool      `json:"file_mem"` // memory has the file's types, so no conversion is needed
	Sync     bool      `json:"sync"`     // wait for the device before close returns
	Names    bool      `json:"names"`    // with Sync: also wait for the names of the files
	Subfiles int       `json:"subfiles"` // 0 means 1

	// Distinct is the number of records with their own data in memory. Later records repeat the data, as in a model whose next step
	// overwrites the last step. 0: every record has its own data, which come from memory that was not read before.
	Distinct int64 `json:"distinct,omitempty"`
}

// types returns the types of a variable in the file and in memory.
func (j *Job) types(v *e3smcases.Var) (file, memory cdf5.Type) {
	file, _ = v.FileType(j.Float)
	if j.FileMem {
		return file, file
	}
	return file, v.Type
}

// task is a job that is ready to run.
type task struct {
	Job
	c      *e3smcases.Case
	s      *blob.Schema
	maps   []*decomp.Map
	values *e3smcases.Values

	compute int64 // steps of spin that each rank computes before each record
	async   bool  // flush in the background
	reused  bool  // later records overwrite the data, so the data are lent only until the next flush
}

func (j *Job) load() (*task, error) {
	t := &task{Job: *j, reused: j.Distinct > 0 && j.Distinct < j.Records}
	t.Records, t.Subfiles = max(t.Records, 1), max(t.Subfiles, 1)
	if t.Flush == 0 {
		t.Flush = 1
	}
	letter, _, _ := strings.Cut(j.Case, "_")
	c, err := e3smcases.Load(j.Case)
	if err != nil {
		return nil, err
	}
	if t.maps, err = j.Maps.load(letter, j.Ranks); err != nil {
		return nil, err
	}
	if t.c, err = c.WithMapDims(t.maps); err != nil {
		return nil, err
	}
	if t.s, err = t.c.Schema(j.Float); err != nil {
		return nil, err
	}
	t.values, err = e3smcases.NewValues(t.c, e3smcases.Unique, j.Float)
	return t, err
}

// records returns the number of records of a variable.
func (t *task) records(v int) int64 {
	if t.c.Vars[v].Record {
		return t.Records
	}
	return 1
}

// rankData holds the data that one rank writes, by variable and record; nil where the rank writes no data.
type rankData [][]any

// fill makes the data of a rank with the unique pattern. Rank 0 has the variables that are not decomposed.
func (t *task) fill(rank int) (rankData, error) {
	d := make(rankData, len(t.c.Vars))
	for v := range t.c.Vars {
		cv := &t.c.Vars[v]
		n0 := t.records(v)
		if t.Distinct > 0 {
			n0 = min(n0, t.Distinct)
		}
		d[v] = make([]any, n0)
		n, runs := t.c.Elems(v), t.c.Whole(v)
		if cv.Map != 0 {
			n, runs = t.maps[cv.Map-1].Count(rank), t.maps[cv.Map-1].Reqs(rank)
		} else if rank != 0 {
			continue
		}
		if int64(int(n)) != n {
			return nil, fmt.Errorf("%d elements of %s in one rank exceed the largest slice on this 32-bit machine", n, cv.Name)
		}
		_, mem := t.types(cv)
		for rec := range d[v] {
			b := cdf5.NewSlice(mem, int(n))
			if err := t.values.Fill(b, v, int64(rec), runs, rank); err != nil {
				return nil, err
			}
			d[v][rec] = b
		}
	}
	return d, nil
}

// fillAll makes the data of all ranks, on all cores.
func (t *task) fillAll() ([]rankData, error) {
	out := make([]rankData, t.Ranks)
	err := par.Each(context.Background(), cores(), t.Ranks, func(_ context.Context, r int) (err error) {
		out[r], err = t.fill(r)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// bytes returns the size of the data in memory.
func (d rankData) bytes() (n int64) {
	for _, recs := range d {
		for _, x := range recs {
			if x != nil {
				b, _ := cdf5.Bytes(x)
				n += int64(len(b))
			}
		}
	}
	return n
}

func (t *task) options(l blob.Layout) *blob.Options {
	o := &blob.Options{Layout: l, Subfiles: t.Subfiles, Force: true, Durability: blob.DurableNone, Retain: blob.LendUntilClose}
	if t.Sync {
		o.Durability = blob.DurableData
	}
	if t.Sync && t.Names {
		o.Durability = blob.DurableCommit
	}
	if t.reused {
		o.Retain = blob.LendUntilFlush
	}
	if l == blob.ProcessCentric && t.Flush > 0 && t.Records > 1 {
		o.Records = t.Records // makes each flush write
	}
	return o
}

func (t *task) parts(c comm.Comm) []blob.Part {
	parts := make([]blob.Part, len(t.maps))
	for d, m := range t.maps {
		parts[d] = blob.Part{Decomp: blob.DecompID(d + 1), Runs: m.AppendReqs(nil, c.Rank())}
	}
	return parts
}
