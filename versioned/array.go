package versioned

import (
	"context"
	"errors"
	"slices"

	"blobio/comm"
	"blobio/internal/base/fault"
)

// Array is one rank's view of a distributed array. The current state lies in the memory of the ranks;
// committed versions in the store. The methods that say so are collective; the others need nobody else.
type Array struct {
	c    comm.Comm
	spec Spec
	opt  Options

	nodes   *nodes   // who is where, and the stores
	cat     *catalog // where the chunks of versions are; shared by the ranks of the process
	first   bool     // the lowest rank of the process: it closes cat
	windows *windows // on versions in the memory of other processes; nil: there are none
	state   *state   // the current state, of one generation
	changes changes  // of the state since the newest version

	later  later   // what waits for a snapshot to be durable
	pins   []int64 // versions that stay, whatever the retention says: those of snapshots, ascending
	broken error
}

// use makes a state of a new generation the current one, and returns the one before.
func (a *Array) use(next *state) (was *state) {
	was, a.state = a.state, next
	a.changes.reset(next.chunks())
	return was
}

// writeRecord replaces the record by the next one. It is collective.
func (a *Array) writeRecord(ctx context.Context, rec *record) error {
	if a.later.on {
		if err := comm.Agree(ctx, a.c, a.later.syncFiles(a.nodes, rec)); err != nil {
			return err
		}
	}
	broken, err := a.nodes.writeRecords(ctx, rec, a.later.since(rec))
	if broken {
		a.broken = err
	}
	if err == nil {
		a.later.done()
	}
	return err
}

// install makes the new record, which all ranks have agreed on, the one of this process, and removes the files that are gone. It is collective.
func (a *Array) install(ctx context.Context, rec *record) error {
	gone := a.cat.install(rec)
	if err := a.windows.conceal(ctx, rec); err != nil {
		return err
	}
	if a.later.pending {
		return nil // the record on disk names files that may be gone from this one
	}
	if !a.nodes.memory {
		_ = a.nodes.sweep(rec) // what stays is left to the next one
	} else if a.nodes.keeper { // nothing but what went with this version
		for _, f := range gone {
			a.nodes.store.fs.Remove(a.nodes.file(f.Name)) // it may be that of another node
		}
	}
	return nil
}

// Spec is what the array is; its Shape is of the current state.
func (a *Array) Spec() Spec {
	s := a.spec
	s.Shape = slices.Clone(a.state.shape)
	return s
}

// Versions lists the committed versions, oldest first.
func (a *Array) Versions() []VersionInfo { return a.cat.record().versions() }

// Newest is the number of the newest committed version that is not tainted, -1 if all are.
func (a *Array) Newest() int64 {
	if v := a.cat.record().newest(); v != nil {
		return v.Number
	}
	return -1
}

// Close ends the use of the array by all ranks. What was not committed is gone; versions
// in memory too. It is collective.
func (a *Array) Close(ctx context.Context) error {
	err := errors.Join(a.windows.conceal(ctx, nil), a.state.win.Free(ctx))
	if err == nil {
		err = a.c.Barrier(ctx) // nobody reads through the catalog any more
	}
	if a.first {
		a.cat.close()
	}
	a.broken = fault.Usage("array %s is closed", a.spec.Name)
	return err
}
