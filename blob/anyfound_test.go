package blob

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"blobio/blob/internal/check"
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/read"
	"blobio/blob/internal/watch"
	"blobio/blob/internal/write"
	"blobio/comm"
	"blobio/internal/base/vfs"
)

// find checks that the dataset has the values of the state.
func (p *anyPuts) find(a *anyState, w *write.Writer) error {
	ctx := context.Background()
	r, err := read.OpenWith(ctx, "d.nc", nil, dataset.Knobs{Fs: p.o.Fs})
	if a.commits == 0 {
		if err == nil {
			return errors.New("something is there of a dataset that was never committed")
		}
		return nil
	}
	if err != nil {
		return err
	}
	defer r.Close()
	if r.Now().Data.Records != a.committed {
		return fmt.Errorf("%d records, want %d", r.Now().Data.Records, a.committed)
	}
	for v := range p.s.Vars {
		sv := &p.s.Vars[v]
		n := int64(1)
		if sv.Record {
			n = a.committed
		}
		elems := int(p.s.Elems(dataset.VarID(v)))
		got := make([]float64, int(n)*elems)
		if err := r.Read(ctx, sv.Name, nil, nil, got); err != nil {
			return err
		}
		for k, x := range got {
			want, ok := a.val[anyElem{v, int64(k / elems), k % elems}]
			if !ok {
				want = math.Float64frombits(0x479e000000000000) // NC_FILL_DOUBLE
			}
			if x != want {
				return fmt.Errorf("%s[%d][%d] is %v, want %v", sv.Name, k/elems, k%elems, x, want)
			}
		}
	}
	for f := range check.CheckWith(ctx, "d.nc", &check.CheckOptions{Workers: 1}, dataset.Knobs{Fs: p.o.Fs}) {
		if f.Severity >= dataset.Error {
			return fmt.Errorf("check: %v", f)
		}
	}
	st, err := watch.NewWatchAt(p.o.Fs, "d.nc", nil).Look()
	if err != nil {
		return err
	}
	if w != nil && w.Held.Last != nil && w.State.Err == nil && (st.Held == nil || *st.Held != *w.Held.Last.Info()) && w.Commits.Count > 0 {
		return fmt.Errorf("status %v, but held back is %v", st, w.Held.Last)
	}
	return nil
}

// errKilled is the error that a killed program gets.
var errKilled = errors.New("killed")

// sitting runs a session on the disk. Changing operation number at and all later operations fail, as if the program were
// killed; 0 means never. It returns the expected state and the number of changing operations.
func (p *anyPuts) sitting(disk *vfs.Mem, have *anyState, seed, at int64) (state *anyState, ops int64, err error) {
	var n atomic.Int64
	p.o.Fs = vfs.NewFault(disk, func(op vfs.Op) error {
		k := n.Load()
		if op.Kind.Changes() {
			k = n.Add(1)
		}
		if at > 0 && k >= at {
			return errKilled
		}
		return nil
	})
	p.had, p.told, p.o.Force = nil, -1, have == nil // an uncommitted dataset is replaced
	err = run(p.ranks, func(ctx context.Context, c comm.Comm) error {
		return p.session(ctx, c, have, seed, func(a *anyState) { state = a })
	})
	if at > 0 && n.Load() >= at {
		err = nil
	}
	return state, n.Load(), err
}

// killed checks that the disk has a commit that is not older than the last one that the killed session reported.
func (p *anyPuts) killed(a *anyState) error {
	r, err := read.OpenWith(context.Background(), "d.nc", nil, dataset.Knobs{Fs: p.o.Fs})
	if err != nil {
		if p.told >= 0 || !errors.Is(err, dataset.ErrNotCommitted) && !read.IsGone(err) {
			return fmt.Errorf("told of commit %d of %v: %w", p.told, p.had, err)
		}
		a.commits = 0
		return nil
	}
	n := r.Now().Data.Records
	r.Close()
	if !slices.Contains(p.had[max(p.told, 0):], n) {
		return fmt.Errorf("%d records, told of commit %d of %v", n, p.told, p.had)
	}
	a.committed, a.commits = n, 1
	return p.find(a, nil)
}
