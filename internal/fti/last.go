package fti

import (
	"context"
	"errors"
	"io/fs"

	"blobio/ffformat"
)

// lastCheckpoint is the newest committed checkpoint, or the checkpoint of the restart.
type lastCheckpoint struct {
	*files
	key                    // level 0: there is none
	half   bool            // files may still have their fresh names, or the files that they replace may exist
	stored *stored         // this rank's file; nil if closed
	sizes  map[int32]int64 // sizes of the variables in bytes
}

// adopt makes an open file of a committed checkpoint the source of Recover.
func (l *lastCheckpoint) adopt(k key, f *stored) {
	l.close()
	l.key, l.half, l.stored, l.sizes = k, false, f, map[int32]int64{}
	for _, v := range f.r.File().Vars() {
		l.sizes[v.ID] = v.Size
	}
}

// replace makes a new checkpoint the last one, before its files are published.
func (l *lastCheckpoint) replace(k key, sizes map[int32]int64) {
	l.close()
	l.key, l.half, l.sizes = k, true, sizes
}

// reader returns the reader of this rank's file. If the commit has failed, the file may have its fresh name, and an older file the
// committed name.
func (l *lastCheckpoint) reader(ctx context.Context) (*ffformat.Reader, error) {
	if l.stored != nil {
		return l.stored.r, nil
	}
	err := fs.ErrNotExist
	if l.half {
		l.stored, err = l.open(ctx, l.p.fresh(l.key, ckpt))
	}
	if errors.Is(err, fs.ErrNotExist) {
		l.stored, err = l.open(ctx, l.p.final(l.key, ckpt))
	}
	if err != nil {
		return nil, err
	}
	return l.stored.r, nil
}

func (l *lastCheckpoint) close() {
	if l.stored != nil {
		l.stored.close()
		l.stored = nil
	}
}
