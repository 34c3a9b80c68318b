package salvage

import (
	"context"
	"sync"

	"blobio/internal/scr/prefixdir"
	"blobio/internal/scr/record"
	"blobio/internal/vfs"
)

// claims is prefixdir.Claims of a dataset, read when it is needed first.
type claims struct {
	ds record.Dataset
	mu sync.Mutex
	c  *prefixdir.Claims
}

// makeWay is called before a file is written to the prefix directory: if it belongs to another dataset that is complete, that
// is not complete any more, or the error wraps ErrExist.
func (p target) makeWay(ctx context.Context, rel string) error {
	if p.claims == nil {
		return nil
	}
	if _, err := vfs.Lstat(p.fs, p.file(rel)); err != nil {
		return nil // not there, or told by who writes it
	}
	p.claims.mu.Lock()
	defer p.claims.mu.Unlock()
	if p.claims.c == nil {
		c, err := p.dir.Claims(p.claims.ds)
		if err != nil {
			return err
		}
		p.claims.c = c
	}
	lost, err := p.claims.c.Claim(ctx, rel)
	for _, e := range lost {
		if p.dir.Logger != nil {
			p.dir.Logger.Warn("salvage: a dataset of the prefix directory is not complete any more: another one has files of the same names",
				"dataset", e.Name, "id", e.ID, "new", p.id, "file", rel)
		}
	}
	return err
}
