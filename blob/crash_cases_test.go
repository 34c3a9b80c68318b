package blob

import (
	"context"
	"fmt"
	"time"

	"blobio/blob/internal/dataset"
	"blobio/comm"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/durable"
	"blobio/internal/base/vfs"
)

// crashCase is one way to write a dataset.
type crashCase struct {
	name  string
	o     dataset.Settings
	apart bool // ranks share no heap
	far   bool // other machines may write, so a commit copies its record
}

func crashCases() (l []crashCase) {
	for _, layout := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
		for _, mode := range []int{dataset.CommitRename, dataset.CommitManifestOnly} {
			for _, n := range []int{1, 3} {
				o := dataset.Settings{Options: dataset.Options{Layout: layout, Renames: mode, Subfiles: n, Workers: 1}}
				name := fmt.Sprintf("%v-%s-%d", layout, map[int]string{dataset.CommitRename: "rename", dataset.CommitManifestOnly: "manifest"}[mode], n)
				l = append(l, crashCase{name: name, o: o})
			}
		}
	}
	for _, o := range []dataset.Settings{
		{Options: dataset.Options{OwnMin: 1 << 20, Aggregators: 1}},
		{Options: dataset.Options{OwnMin: 16, Aggregators: 2, Subfiles: 1}},
		{Options: dataset.Options{OwnMin: 1 << 20, Aggregators: 1, Subfiles: 3}, Knobs: dataset.Knobs{Messages: true}},
		{Options: dataset.Options{OwnMin: 1 << 20, Aggregators: 2, Layout: dataset.ProcessCentric}},
		{Options: dataset.Options{OwnMin: 1 << 20, Aggregators: 3, Layout: dataset.ProcessCentric, Stripe: dataset.Stripe{Size: 4096}}},
		{Options: dataset.Options{OwnMin: 1, Layout: dataset.ProcessCentric, Renames: dataset.CommitManifestOnly, Subfiles: 1}},
		{Options: dataset.Options{Layout: dataset.ProcessCentric, Subfiles: 2, Compress: dataset.Compress{Method: dataset.ShuffleZstd}}, Knobs: dataset.Knobs{Chunk: 8}},
	} {
		o.Workers = 1
		if o.Compress.On() {
			l = append(l, crashCase{name: fmt.Sprintf("compressed-%d", o.Subfiles), o: o})
			o.Renames, o.Compress, o.Chunk = dataset.CommitManifestOnly, dataset.Compress{Method: dataset.AutoCompression}, 0
			l = append(l, crashCase{name: "apart-compressed", o: o, apart: true})
			continue
		}
		l = append(l, crashCase{name: fmt.Sprintf("apart-%v-%d-%d", o.Layout, o.Aggregators, o.Subfiles), o: o, apart: true})
	}
	for k, o := range []dataset.Settings{ // background flushes; see flushOf
		{Options: dataset.Options{Subfiles: 1}},
		{Options: dataset.Options{Layout: dataset.ProcessCentric, Subfiles: 3, Renames: dataset.CommitManifestOnly}},
		{Options: dataset.Options{OwnMin: 1 << 20, Aggregators: 1}, Knobs: dataset.Knobs{Messages: true}},
		{Options: dataset.Options{OwnMin: 16, Aggregators: 2, Subfiles: 1, Memory: 64, Retain: dataset.LendUntilFlush}},
	} {
		o.Workers, o.SyncMin = 1, 1
		l = append(l, crashCase{name: fmt.Sprintf("async-%v-%d", o.Layout, k), o: o, apart: k > 1})
	}
	return l
}

// withFar returns crashCases and cases on a file system that other machines may write to.
func withFar() []crashCase {
	l := crashCases()
	for _, layout := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
		o := dataset.Settings{Options: dataset.Options{Layout: layout, Subfiles: 2, Workers: 1}}
		o.Lease = durable.LeaseOptions{Beat: time.Hour, Patience: time.Millisecond}
		l = append(l, crashCase{name: fmt.Sprintf("far-%v", layout), o: o, far: true})
	}
	return l
}

// leaseOn returns the lease options for a client of a shared file system. Each client counts as a machine, and dead writers are
// detected after a second. Locks work between the clients, so a live writer keeps its lease.
func leaseOn(client int) durable.LeaseOptions {
	if crashtest.Places() == nil {
		return durable.LeaseOptions{}
	}
	return durable.LeaseOptions{Boot: fmt.Sprintf("machine %d", client), Patience: time.Second}
}

// farFS is a file system that other machines may write to.
type farFS struct{ vfs.FS }

func (farFS) Local(string) bool { return false }

func (cc crashCase) comm(c comm.Comm) comm.Comm {
	return isolateIf(c, cc.apart)
}

// create writes a dataset in one session.
func (cc crashCase) create(m *model, fsys vfs.FS, force bool) error {
	return run(m.ranks, func(ctx context.Context, c comm.Comm) error {
		return m.create(ctx, cc.comm(c), "d.nc", cc.with(fsys, force))
	})
}

// add appends records until the dataset has all records of the model.
func (cc crashCase) add(m *model, fsys vfs.FS) error {
	return run(m.ranks, func(ctx context.Context, c comm.Comm) error {
		return m.add(ctx, cc.comm(c), "d.nc", cc.with(fsys, false))
	})
}

func (cc crashCase) with(fsys vfs.FS, force bool) *dataset.Settings {
	o := cc.o
	o.Fs, o.Force = fsys, force
	if cc.far {
		o.Fs = farFS{fsys}
	}
	return &o
}
