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

// RunOptions of Run.
type RunOptions struct {
	Prefix *prefixdir.Dir
	Was    string // path of the prefix directory when the datasets were written; "": as it is now
	Nodes  []Node // that are up
	// Scavenge copies from one node, perhaps by a command on it. nil: the function of this package, with the file
	// systems of Nodes; then Run looks for datasets in the catalogues of the nodes, too, not in the flush file alone.
	Scavenge func(ctx context.Context, o ScavengeOptions) (*Copied, error)
	Now      func() time.Time // nil: time.Now
}

// Outcome is the result for one dataset.
type Outcome struct {
	ID      int
	Dataset record.Dataset
	Result  *Result          // nil if it could not be saved
	Nodes   map[string]error // by the name of a node: why it could not be copied from
	Err     error            // why it could not be saved
}

// RunReport is the result of Run.
type RunReport struct {
	Tried   []Outcome // in the order of trying; datasets that were in the prefix directory already are left out
	Current string    // name of the dataset that is current now
	Safe    int       // number of the newest checkpoint that is safe in the prefix directory, 0 if none of those found is
}

// Run follows the end of the last run of an allocation: it saves datasets that are only in the caches of the nodes. All
// output datasets are saved, oldest first, up to the first that cannot be. Then checkpoints are tried, newest first
// and older than the output that failed, until one is safe in the prefix directory; that becomes the current one. The
// flush file then says that they are there.
//
// That a dataset cannot be saved is in the report, not an error.
func Run(ctx context.Context, o RunOptions) (*RunReport, error) {
	if o.Prefix == nil || o.Prefix.FS == nil {
		return nil, fault.Usage("no prefix directory")
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

// candidates lists the datasets that may be in caches, by number.
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
			all, _ := Survey(n) // unreadable caches count as empty; copying from the node says why
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
			delete(byID, e.ID) // the application found it of no use
		}
	}
	var out []record.Dataset
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		out = append(out, byID[id])
	}
	return out, nil
}

// save brings a dataset to the prefix directory. An error is one that ends the run.
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
		// A current dataset that is older was chosen, or is of before what was just saved as output.
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

// copyAll copies from all nodes at once.
func (r *runner) copyAll(ctx context.Context, ds record.Dataset) map[string]error {
	scavenge := r.Scavenge
	if scavenge == nil {
		scavenge = Scavenge
	}
	errs := make([]error, len(r.Nodes))
	par.Do(len(r.Nodes), len(r.Nodes), func(i int) {
		c, err := scavenge(ctx, ScavengeOptions{Node: r.Nodes[i], Prefix: r.Prefix, Was: r.Was, ID: ds.ID, Dataset: ds})
		if err == nil && c != nil && c.Stale {
			err = fmt.Errorf("another dataset %d: %w", ds.ID, fault.ErrExist)
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

// ErrOutside: by its record, a file does not belong below the prefix directory, or among its metadata.
var ErrOutside = errors.New("outside of the prefix directory")

// sourceError is an error of the source of a copy, not of the destination.
type sourceError struct{ err error }

func (e *sourceError) Error() string { return e.err.Error() }

func (e *sourceError) Unwrap() error { return e.err }
