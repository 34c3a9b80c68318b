package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"blobio/blob"
)

// Options are the options of Run. The zero value of a field means its default.
type Options struct {
	Dir   string // required; files go into a new subdirectory, which is removed afterwards
	Runs  int    // runs of each row, default 5
	Quick bool   // smallest sizes and two runs, to test the bench; the times are meaningless
	At    func(stage string, done, total int64)
}

// A Workload is a named group of rows.
type Workload struct {
	Name, About string
	run         func(*session, context.Context) error
}

// Workloads lists the workloads of Run, in order.
func Workloads() []Workload {
	return []Workload{
		{"shared", "on a parallel file system (--dir): write F and G without syncs and as durable as the default, beside one plain file of the same bytes and syncs", (*session).shared},
		{"ne30", "write F h0 at ne=30: 64 and 512 ranks, 1 and 4 subfiles", (*session).ne30},
		{"records", "write F h1 at ne=30 with 10 records: flush each, flush once, append; F h0 with 1 and 10", (*session).records},
		{"async", "compute between flushes as long as they take: Flush against FlushAsync", (*session).async},
		{"read", "read a whole variable, one level, one record, one column over time", (*session).read},
		{"convert", "convert in each direction, and on one core", (*session).convert},
		{"check", "check a dataset", (*session).check},
		{"compress", "process-centric files with and without compression: smooth fields, noise, fields with fill values", (*session).compress},
	}
}

// Run runs the named workloads and returns the results, including those before an error. It removes all files that it wrote,
// except the results.
func Run(ctx context.Context, o Options, name string) (res *Results, err error) {
	if o.Runs == 0 {
		o.Runs = 5
	}
	if o.Quick {
		o.Runs = 2
	}
	if o.At == nil {
		o.At = func(string, int64, int64) {}
	}
	all := Workloads()
	k := slices.IndexFunc(all, func(w Workload) bool { return w.Name == name })
	if k < 0 {
		return nil, fmt.Errorf("unknown workload %q", name)
	}
	dir, err := os.MkdirTemp(o.Dir, "blobio-bench-")
	if err != nil {
		return nil, err
	}
	defer func() {
		if rerr := os.RemoveAll(dir); err == nil {
			err = rerr
		}
	}()
	s := &session{Options: o, dir: dir, res: newResults(&o), name: name}
	s.res.Workloads = []string{name}
	if err := all[k].run(s, ctx); err != nil {
		if !errors.Is(err, errSkip) {
			return s.res, fmt.Errorf("%s: %w", name, err)
		}
		s.skip(name, err)
	}
	s.res.Host.LoadEnd = loadAverage()
	return s.res, nil
}

// session is one call of Run.
type session struct {
	Options
	dir  string
	res  *Results
	name string // name of the workload
}

// sweep removes the files of a finished part of a workload, so that file systems in memory do not fill up.
func (s *session) sweep() error {
	names, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	for _, e := range names {
		if err := os.RemoveAll(s.path(e.Name())); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) path(name string) string { return filepath.Join(s.dir, name) }

// skip records a measurement that was not possible, with the reason.
func (s *session) skip(what string, err error) {
	s.res.Skipped = append(s.res.Skipped, fmt.Sprintf("%s: %s", what, err.Error()))
}

// room returns an error if the file system has too little space.
func (s *session) room(bytes int64) error {
	if fs, free := fileSystem(s.dir); free > 0 && free < bytes {
		return fmt.Errorf("%s has %d MiB free, want %d: %w", fs, free>>20, bytes>>20, errSkip)
	}
	return nil
}

// A runner is one of several measurements that take turns.
type runner struct {
	row *Row
	run func(ctx context.Context) (Took, error)

	// clear removes files of an earlier run; nil: none. clear runs before the clock starts, so that the time of freeing blocks
	// is not measured.
	clear func() error

	// bound measures the bounds, once in each run; nil: none.
	bound func(ctx context.Context, r *Row) error
}

// race runs all runners in turn, as often as the session requires, and keeps the rows. If warm is set, it drops each runner's
// first turn, which fills pages and caches.
func (s *session) race(ctx context.Context, warm bool, list ...runner) error {
	first := 0
	if warm {
		first = -1
	}
	defer func() {
		for _, r := range list { // including incomplete rows
			if len(r.row.Seconds) > 0 {
				s.keep(r.row)
			}
		}
	}()
	total := int64((s.Runs - first) * len(list))
	done := int64(0)
	for run := first; run < s.Runs; run++ {
		for i, r := range list {
			if err := ctx.Err(); err != nil {
				return err
			}
			s.At(fmt.Sprintf("%s: %s, %s, %s", s.name, r.row.Data, r.row.What, r.row.Who), done, total)
			if r.clear != nil {
				if err := r.clear(); err != nil {
					return err
				}
			}
			settle(s.dir)
			t, err := r.run(ctx)
			if err != nil {
				return fmt.Errorf("%s, %s, %s: %w", r.row.Data, r.row.What, r.row.Who, err)
			}
			done++
			if run < 0 {
				continue
			}
			r.row.add(t)
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
}

// The layout names in rows.
const (
	vcName = "variable-centric"
	pcName = "process-centric"
)

// layouts of blobio, in table order.
var layouts = []blob.Layout{blob.VariableCentric, blob.ProcessCentric}

func fileBytes(name string) (int64, error) {
	info, err := os.Stat(name)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// datasetBytes returns the size of all subfiles.
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

// beginning lists the files whose path has the given prefix, sorted. The prefix is not a pattern, because the user names the
// directory.
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

// writers returns the number of concurrent writers: ranks of one process share its workers.
func writers() int { return cores() }
