package versioned

import (
	"cmp"
	"context"
	"slices"

	"blobio/comm"
	"blobio/internal/base/fault"
)

// Drop forgets a committed version, but not the newest one that is not tainted. The others stay as they are. It is collective.
func (a *Array) Drop(ctx context.Context, version int64) error {
	bad := cmp.Or(a.broken, a.cat.record().goes(version))
	if _, pinned := slices.BinarySearch(a.pins, version); bad == nil && pinned {
		bad = fault.Usage("array %s: version %d belongs to a snapshot", a.spec.Name, version)
	}
	var b []byte
	if a.c.Rank() == 0 && bad == nil {
		var rec *record
		if rec, bad = a.cat.dropped(ctx, version); bad == nil {
			b, bad = rec.encode()
		}
	}
	if err := comm.Agree(ctx, a.c, bad); err != nil {
		return err
	}
	b, err := a.c.Bcast(ctx, 0, b)
	if err != nil {
		return err
	}
	rec, err := decodeRecord(b, a.spec.Name) // the same on all ranks
	if err != nil {
		return err
	}
	old := a.cat.record().Versions
	if err := a.writeRecord(ctx, rec); err != nil {
		return err
	}
	if version == old[len(old)-1].Number {
		a.changes.forget()
	}
	return a.install(ctx, rec)
}
