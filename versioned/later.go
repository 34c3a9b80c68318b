package versioned

import (
	"context"
	"errors"
	"slices"

	"blobio/internal/base/par"
)

// later is what an array of a hierarchy with DurableSnapshot has not yet made durable. Its newest record is in memory; that on disk still names all of its
// files.
type later struct {
	on      bool
	pending bool     // versions that the record on disk does not have
	files   []string // that this rank has written and not synced
	last    int64    // commit of the newest record that this program has read or tried to write; 0: the one before the next
}

func (l *later) wrote(file string) {
	if l.on {
		l.files = append(l.files, file)
	}
}

// since is the newest record on disk that is our own.
func (l *later) since(rec *record) int64 {
	if !l.on {
		return rec.Seq - 1
	}
	last := l.last
	l.last = max(last, rec.Seq) // even if it is not written: part of it may be
	return last
}

func (l *later) done() { l.pending, l.files = false, nil }

// syncFiles makes the files durable that a record names. Others are gone, or will be.
func (l *later) syncFiles(n *nodes, rec *record) error {
	if !n.sync {
		return nil
	}
	need := slices.DeleteFunc(slices.Clone(l.files), func(name string) bool {
		return !slices.ContainsFunc(rec.Files, func(f fileInfo) bool { return f.Name == name })
	})
	if len(need) == 0 {
		return nil
	}
	// All at once: a disk that waits for one waits for all.
	err := par.Each(context.Background(), len(need), len(need), func(_ context.Context, i int) error {
		f, err := n.store.fs.OpenRW(n.file(need[i]))
		if err != nil {
			return err
		}
		return errors.Join(f.Sync(), f.Close())
	})
	if err != nil {
		return err
	}
	return n.store.fs.SyncDir(n.store.dir)
}
