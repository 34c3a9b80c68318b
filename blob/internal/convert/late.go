package convert

import (
	"context"
	"sync"

	"blobio/blob/internal/read"
)

// lateRecords are the records that are read in several units. The checksums of a record are compared when all its units have
// been read.
type lateRecords struct {
	mu sync.Mutex
	of map[unit]*read.Late // by record: a unit with lo and hi 0
}

// record returns the entry of a record of n bytes, and makes it at the first call.
func (l *lateRecords) record(record unit, n int64) *read.Late {
	l.mu.Lock()
	defer l.mu.Unlock()
	late := l.of[record]
	if late == nil {
		late = &read.Late{Left: n}
		l.of[record] = late
	}
	return late
}

// didRead counts n bytes of a record as read. After the last bytes it compares the checksums of the record.
func (l *lateRecords) didRead(ctx context.Context, record unit, n int64) error {
	l.mu.Lock()
	late := l.of[record]
	late.Left -= n
	done := late.Left == 0
	if done {
		delete(l.of, record)
	}
	l.mu.Unlock()
	if !done {
		return nil
	}
	return late.Settle(ctx)
}

// settle compares the checksums of what this rank has read of records that it shares with other ranks.
func (l *lateRecords) settle(ctx context.Context) error {
	for record, late := range l.of {
		delete(l.of, record)
		if err := late.Settle(ctx); err != nil {
			return err
		}
	}
	return nil
}
