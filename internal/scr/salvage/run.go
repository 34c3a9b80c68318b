package salvage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"blobio/internal/base/fault"
	"blobio/internal/base/par"
	"blobio/internal/scr/prefixdir"
	"blobio/internal/scr/record"
)

// RunOptions are the options of Run.
type RunOptions struct {
	Prefix *prefixdir.Dir
	Was    string // path of the prefix directory when the datasets were written; "": same as now
	Nodes  []Node // nodes that are up
	// Scavenge copies a dataset's files from one node. It may run a command on the node. If it is nil, Run calls the function
	// of this package with the file systems of Nodes. Then Run searches the catalogues of the nodes for datasets, in addition
	// to the flush file.
	Scavenge func(ctx context.Context, o ScavengeOptions) (*Copied, error)
	Now      func() time.Time // nil: time.Now
}

// Outcome is the result for one dataset.
type Outcome struct {
	ID      int
	Dataset record.Dataset
	Result  *Result          // nil if the dataset could not be saved
	Nodes   map[string]error // by node name, the reason why copying from the node failed
	Err     error            // reason why the dataset could not be saved
}

// RunReport is the result of Run.
type RunReport struct {
	Tried   []Outcome // in the order of the attempts; datasets that were already in the prefix directory are not included
	Current string    // name of the current dataset
	Safe    int       // number of the newest checkpoint that was found safe in the prefix directory, 0 if there is none
}

// Run saves datasets that exist only in the caches of the nodes. It is called after the last run of an allocation. First it
// saves the output datasets, oldest first, and stops at the first failure. Then it tries checkpoints, newest first, until a
// checkpoint is safe in the prefix directory. It skips checkpoints newer than an output that could not be saved. The safe
// checkpoint becomes the current dataset. At the end the flush file lists the saved datasets as flushed.
//
// A dataset that cannot be saved is reported in the result. It does not cause an error.
func Run(ctx context.Context, o RunOptions) (*RunReport, error) {
	if o.Prefix == nil || o.Prefix.FS == nil {
		return nil, fault.Usage("no prefix directory")
	}
	// With bypass, a dataset is in the flush file only when it is listed.
	if err := o.Prefix.FinishInstalls(ctx); err != nil {
		return nil, err
	}
	r := &runner{RunOptions: o, rep: &RunReport{}}
	all, err := r.candidates()
	if err != nil {
		return nil, err
	}
	failed := 0
	for _, ds := range all {
		if !ds.Output {
			continue
		}
		if ok, err := r.save(ctx, ds, true); err != nil {
			return r.rep, err
		} else if !ok {
			failed = ds.ID
			break
		}
	}
	for _, ds := range slices.Backward(all) {
		if !ds.Checkpoint || failed > 0 && ds.ID >= failed {
			continue
		}
		ok, err := r.save(ctx, ds, false)
		if err != nil {
			return r.rep, err
		}
		if ok {
			r.rep.Safe = ds.ID
			break
		}
	}
	x, _, _, err := o.Prefix.Index.Load()
	if err == nil {
		r.rep.Current = x.Current()
	}
	return r.rep, err
}

type runner struct {
	RunOptions
	rep *RunReport
}

// candidates lists the datasets that may be in caches, sorted by number.
func (r *runner) candidates() ([]record.Dataset, error) {
	byID := map[int]record.Dataset{}
	f, err := r.Prefix.Flush.Load()
	if err != nil {
		return nil, err
	}
	for _, e := range f.Entries() {
		ds := e.Dataset
		if ds.ID == 0 {
			ds = record.Dataset{ID: e.ID, Name: e.Name}
		}
		ds.Checkpoint = ds.Checkpoint || e.Checkpoint
		ds.Output = ds.Output || e.Output
		byID[e.ID] = ds
	}
	if r.Scavenge == nil {
		for _, n := range r.Nodes {
			all, _ := Survey(n) // treat unreadable caches as empty; copying from the node will report the cause
			for _, h := range all {
				if old, ok := byID[h.ID]; h.Dataset.Complete && (!ok || !old.Complete || h.Dataset.Created.After(old.Created)) {
					byID[h.ID] = h.Dataset
				}
			}
		}
	}
	x, _, _, err := r.Prefix.Index.Load()
	if err != nil {
		return nil, err
	}
	for _, e := range x.Entries() {
		if ds, ok := byID[e.ID]; ok && !e.Failed.IsZero() && sameDataset(e.Dataset, ds) {
			delete(byID, e.ID) // the application marked the dataset as failed
		}
	}
	var out []record.Dataset
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		out = append(out, byID[id])
	}
	return out, nil
}

// save copies a dataset to the prefix directory. An error ends the run.
func (r *runner) save(ctx context.Context, ds record.Dataset, output bool) (bool, error) {
	p, err := newTarget(r.Prefix, r.Was, ds.ID)
	if err != nil {
		return false, err
	}
	e, ok, err := p.entry()
	if err != nil {
		return false, err
	}
	opts := Options{Prefix: r.Prefix, Was: r.Was, ID: ds.ID, Current: !output, Now: r.Now}
	safe := false
	if ok && sameDataset(e.Dataset, ds) {
		if safe, err = p.safe(e); err != nil {
			return false, err
		}
	}
	if safe {
		x, _, _, err := r.Prefix.Index.Load()
		if err != nil {
			return false, err
		}
		// Keep an older current dataset, because the user chose it, or it predates the output just saved.
		saved := slices.ContainsFunc(r.rep.Tried, func(t Outcome) bool { return t.ID == ds.ID })
		if !output && (saved || x.Current() == "") {
			err = p.current(ctx, opts, e.Dataset)
		}
		return true, err
	}
	out := Outcome{ID: ds.ID, Dataset: ds, Nodes: r.copyAll(ctx, ds)}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	out.Result, out.Err = Index(ctx, opts)
	if err := ctx.Err(); err != nil && out.Err != nil {
		return false, err
	}
	r.rep.Tried = append(r.rep.Tried, out)
	if out.Err != nil {
		return false, nil
	}
	f, err := r.Prefix.Flush.Load()
	if err != nil {
		return true, err
	}
	if _, ok := f.Entry(ds.ID); !ok {
		err = f.Put(out.Result.Dataset, prefixdir.PFS|prefixdir.Cache)
	} else if err = f.Add(ds.ID, prefixdir.PFS); err == nil {
		err = f.Clear(ds.ID, prefixdir.Flushing|prefixdir.SyncFlushing)
	}
	if err == nil {
		err = r.Prefix.Flush.Write(f)
	}
	return true, err
}

// copyAll copies the dataset from all nodes at the same time.
func (r *runner) copyAll(ctx context.Context, ds record.Dataset) map[string]error {
	scavenge := r.Scavenge
	if scavenge == nil {
		scavenge = Scavenge
	}
	errs := make([]error, len(r.Nodes))
	par.Do(len(r.Nodes), len(r.Nodes), func(i int) {
		c, err := scavenge(ctx, ScavengeOptions{Node: r.Nodes[i], Prefix: r.Prefix, Was: r.Was, ID: ds.ID, Dataset: ds})
		if err == nil && c != nil && c.Stale {
			err = fmt.Errorf("the node has a different dataset %d: %w", ds.ID, fault.ErrExist)
		}
		errs[i] = err
	})
	bad := map[string]error{}
	for i, n := range r.Nodes {
		if errs[i] != nil && !errors.Is(errs[i], context.Canceled) {
			bad[n.Name] = errs[i]
		}
	}
	return bad
}

// ErrOutside means that a file's recorded path is outside of the prefix directory, or in its metadata folder.
var ErrOutside = errors.New("path is not permitted")

// sourceError is an error of the source of a copy, not of the destination.
type sourceError struct{ err error }

func (e *sourceError) Error() string { return e.err.Error() }

func (e *sourceError) Unwrap() error { return e.err }
