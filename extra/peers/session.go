package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"blobio/blob"
	"blobio/decomp/mapfile"
)

// Options are the flags of the program.
type Options struct {
	Dir      string   // where the files go, in a directory of their own that is removed
	Runs     int      // of each row
	Quick    bool     // smallest sizes, two runs: does it work?
	Maps     string   // directory with the captured maps of E3SM-IO (map_f_case_16p.nc, ...); default: generated ones of their size
	Peers    string   // directory where the peers are built; default: in the directory of the files
	NoTune   bool     // take the first setting of MPI-IO, without trying others
	PeerBins []string // builds of the real E3SM-IO, which are timed beside our peers
	Log      func(string)
}

// Results are the results of a run.
type Results struct {
	FileSystem string            `json:"file_system"`
	Libraries  map[string]string `json:"libraries,omitempty"`
	Runs       int               `json:"runs"`
	Quick      bool              `json:"quick"` // a test run: the figures have no meaning
	Rows       []Row             `json:"rows"`
	Skipped    []string          `json:"skipped,omitempty"` // missing measurements, with reasons
	Tunings    []Tuned           `json:"tunings,omitempty"` // the best that were found
}

// A workload is a named set of rows.
type workload struct {
	name, about string
	run         func(*session, context.Context) error
}

// workloads lists the workloads of the program in the order in which they run.
var workloads = []workload{
	{"peers", "goroutines against the PnetCDF and HDF5 blob peers at 1, 2, 4 and 16 processes", (*session).peers},
	{"processes", "processes under mpirun against the peers at the same number: 1, 2, 4 and 16", (*session).processes},
	{"canonical", "4 and 16 processes that write one canonical file by PnetCDF or netCDF-4, against blobs, and blobs that are then converted", (*session).canonical},
	{"redset", "files of processes protected by redset and rebuilt, and checkpoints completed, against redset and SCR themselves (REDSET=DIR) and a loop that only moves the bytes", (*session).redset},
}

// session is one run of the program.
type session struct {
	Options
	dir    string
	res    *Results
	name   string // of the workload
	box    *toolbox
	boxErr error
	boxed  bool
	best   map[rawKey]rawWay
}

func newSession(o Options, dir string) *session {
	system, _ := fileSystem(dir)
	return &session{Options: o, dir: dir, res: &Results{FileSystem: system, Runs: o.Runs, Quick: o.Quick, Rows: []Row{}}}
}

// run does the named workloads, all without a name. It removes all its files except the results.
func run(ctx context.Context, o Options, names []string) (res *Results, err error) {
	dir, err := os.MkdirTemp(o.Dir, "blobio-peers-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s := newSession(o, dir)
	for _, w := range workloads {
		if len(names) > 0 && !slices.Contains(names, w.name) {
			continue
		}
		s.name = w.name
		if err := w.run(s, ctx); errors.Is(err, errSkip) || errors.Is(err, errNoPeers) {
			s.skip(w.name, err)
		} else if err != nil {
			return s.res, fmt.Errorf("%s: %w", w.name, err)
		}
		if err := s.sweep(); err != nil {
			return s.res, err
		}
	}
	return s.res, nil
}

// sweep removes the leftovers of a workload, so that memory file systems do not fill up.
func (s *session) sweep() error {
	names, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	for _, e := range names {
		if e.Name() == "peers" {
			continue
		}
		if err := os.RemoveAll(s.path(e.Name())); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) path(name string) string { return filepath.Join(s.dir, name) }

// skip records a missing measurement, with the reason.
func (s *session) skip(what string, err error) {
	if why := fmt.Sprintf("%s: %v", what, err); !slices.Contains(s.res.Skipped, why) { // a run in pieces says it once
		s.res.Skipped = append(s.res.Skipped, why)
	}
	s.Log(fmt.Sprintf("%s: skipped: %v", what, err))
}

// room returns an error if the file system lacks the bytes.
func (s *session) room(bytes int64) error {
	if fs, free := fileSystem(s.dir); free > 0 && free < bytes {
		return fmt.Errorf("%s has %d MiB left, %d are needed: %w", fs, free>>20, bytes>>20, errSkip)
	}
	return nil
}

// tools finds MPI and builds the peers, once.
func (s *session) tools(ctx context.Context) (*toolbox, error) {
	if !s.boxed {
		s.boxed = true
		if s.box, s.boxErr = findMPI(ctx); s.boxErr == nil {
			dir := s.Peers
			if dir == "" {
				dir = s.path("peers")
			}
			s.Log("building the peers")
			s.boxErr = s.box.BuildPeers(ctx, dir)
		}
		if s.boxErr == nil {
			s.res.Libraries = map[string]string{"MPI": s.box.MPI}
		}
	}
	return s.box, s.boxErr
}

// loadWindow is the time in which the load of other programs is measured before each run.
const loadWindow = 100 * time.Millisecond

// A runner is one of several things that take turns.
type runner struct {
	row *Row
	run func(ctx context.Context) (Took, error)

	// clear removes what an earlier run has left, nil: nothing. The file system gives the blocks back before the clock of run
	// starts, as it does before a bound.
	clear func() error

	// bound measures the bound of the row, once in each run; nil: none.
	bound func(ctx context.Context, r *Row) error

	tuning Tuning // of a peer
}

// race runs all in turn, as often as the session says, and keeps the rows. The first turn
// of each is not kept if warm is set: it makes pages and caches.
func (s *session) race(ctx context.Context, warm bool, list ...runner) error {
	return s.raceUntil(ctx, warm, func(run int) bool { return run < s.Runs }, list...)
}

// raceSteadily goes on until the spread of all rows is small in as many successive turns as the session says, which are then those that are
// kept; at most twice as many are taken.
func (s *session) raceSteadily(ctx context.Context, list ...runner) error {
	if s.Quick {
		return s.race(ctx, false, list...)
	}
	return s.raceUntil(ctx, false, func(run int) bool {
		if run < s.Runs {
			return true
		}
		from, least := steadiest(list, s.Runs)
		if least > steadySpread && run < 2*s.Runs {
			return true
		}
		for _, r := range list {
			r.row.window(from, s.Runs)
		}
		return false
	}, list...)
}

func (s *session) raceUntil(ctx context.Context, warm bool, more func(run int) bool, list ...runner) error {
	first := 0
	if warm {
		first = -1
	}
	defer func() {
		for _, r := range list { // also those that were cut short, as far as they came
			if len(r.row.Seconds) > 0 {
				s.keep(r.row)
			}
		}
	}()
	for run := first; more(run); run++ {
		for i, r := range list {
			if err := ctx.Err(); err != nil {
				return err
			}
			if r.clear != nil {
				if err := r.clear(); err != nil {
					return err
				}
			}
			settle(s.dir)
			load := busyCores(loadWindow)
			t, err := r.run(ctx)
			if err != nil {
				return fmt.Errorf("%s, %s, %s: %w", r.row.Data, r.row.What, r.row.Who, err)
			}
			if run < 0 {
				continue
			}
			r.row.add(t)
			if load >= 0 {
				r.row.Load = append(r.row.Load, load)
			}
			if t.Library != "" && !strings.HasPrefix(t.Library, "E3SM") && s.res.Libraries != nil {
				name, _, _ := strings.Cut(r.row.Who, " ")
				s.res.Libraries[name] = t.Library
			}
			if list[i].bound != nil {
				settle(s.dir)
				if err := list[i].bound(ctx, r.row); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (s *session) keep(r *Row) {
	r.Workload = s.name
	s.res.Rows = append(s.res.Rows, *r)
	line := fmt.Sprintf("%s, %s, %s, %s: %s", r.Data, r.What, r.Who, ranksText(r.Ranks, r.As), Seconds(r.Median()))
	if r.Bytes > 0 {
		line += fmt.Sprintf(", %.0f MiB/s", r.Rate()/(1<<20))
	}
	s.Log(line)
}

// The layouts as rows name them.
const (
	vcName = "variable-centric"
	pcName = "process-centric"
)

func ranksText(n int, as string) string {
	if n == 1 {
		as = map[string]string{"goroutines": "goroutine", "processes": "process"}[as]
	}
	return strings.TrimSpace(fmt.Sprintf("%d %s", n, as))
}

// layouts of blobio, in the order of tables.
var layouts = []blob.Layout{blob.VariableCentric, blob.ProcessCentric}

// worker does a Work in this process, or in several of this program.
func (s *session) worker(ctx context.Context, w Work, processes bool) (t Took, err error) {
	if !processes {
		if t, err = w.Do(ctx, Goroutines(max(w.Job.Ranks, 1))); err != nil {
			return t, err
		}
	} else {
		self, err := os.Executable()
		if err != nil {
			return t, err
		}
		spec := s.path("work.json")
		b, err := json.Marshal(w)
		if err != nil {
			return t, err
		}
		if err := os.WriteFile(spec, b, 0o666); err != nil {
			return t, err
		}
		out, err := s.box.run(ctx, w.Job.Ranks, "", nil, self, "worker", spec)
		if err != nil {
			return t, err
		}
		if t, err = decodeTook(out); err != nil {
			return t, err
		}
	}
	if w.Scheme != "" {
		return t, nil
	}
	if w.Op == "" || w.Op == "write" {
		t.Bytes, err = datasetBytes(ctx, w.Path)
	} else if t.Bytes, err = fileBytes(w.To); err != nil {
		t.Bytes, err = datasetBytes(ctx, w.To)
	}
	return t, err
}

func fileBytes(name string) (int64, error) {
	info, err := os.Stat(name)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// datasetBytes is the size of all subfiles.
func datasetBytes(ctx context.Context, name string) (n int64, err error) {
	r, err := blob.Open(ctx, name, nil)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	if m := r.Manifest(); m != nil {
		for _, set := range m.Sets {
			for _, f := range set.Subfiles {
				n += f.Size
			}
		}
	}
	return n, nil
}

// beginning lists the files whose path begins so, sorted. Nothing in it is a pattern, as the user names the directory.
func beginning(path string) (files []string, err error) {
	dir, base := filepath.Split(path)
	list, err := os.ReadDir(filepath.Clean(dir))
	for _, e := range list {
		if strings.HasPrefix(e.Name(), base) {
			files = append(files, dir+e.Name())
		}
	}
	return files, err
}

// removeDataset removes a dataset by its base name.
func removeDataset(name string) error {
	files, err := beginning(name)
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := os.Remove(f); err != nil {
			return err
		}
	}
	return nil
}

// writers is the number of concurrent writers: ranks of one process share its workers.
func writers() int { return cores() }

// mapsOf is the captured map file of a case; without captured ones a generated
// one of their size is written.
func (s *session) mapsOf(letter string) (MapSource, error) {
	base := "map_" + strings.ToLower(letter) + "_case_16p.nc"
	if s.Quick {
		base = "quick_" + base
	} else if s.Maps != "" {
		name := filepath.Join(s.Maps, base)
		if _, err := os.Stat(name); err != nil {
			return MapSource{}, err
		}
		m := MapSource{Files: []string{name}}
		if letter == "I" {
			m.Slice = "reference" // what E3SM-IO writes
		}
		return m, nil
	}
	name := s.path(base)
	m := MapSource{Files: []string{name}}
	if _, err := os.Stat(name); err == nil {
		return m, nil
	}
	gen, ranks := MapSource{}, 16
	if s.Quick {
		gen, ranks = MapSource{Ne: 2, Levels: 3, Cells: 120, Lat: 12, Lon: 18}, 4
	}
	maps, err := gen.load(letter, ranks)
	if err != nil {
		return m, err
	}
	f, err := mapfile.FromMaps(maps...)
	if err != nil {
		return m, err
	}
	out, err := os.Create(name)
	if err != nil {
		return m, err
	}
	if err := mapfile.WriteCDF(out, f, nil); err != nil {
		out.Close()
		return m, err
	}
	return m, out.Close()
}

// capturedSize names the maps of mapsOf.
func (s *session) capturedSize() string {
	switch {
	case s.Quick:
		return "quick"
	case s.Maps != "":
		return "captured"
	}
	return "as captured"
}
