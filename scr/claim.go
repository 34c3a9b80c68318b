package scr

import (
	"context"
	"fmt"

	"blobio/internal/vfs"
	"blobio/scr/prefixdir"
)

// claim makes way for a file of the prefix directory that is there already; see prefixdir.Claims. Without take it is only
// asked whether the file may be written.
func (wr *writer) claim(w *writing, abs string, take bool) error {
	rel, err := wr.relative(abs)
	if err != nil {
		return err
	}
	if w.claims == nil {
		if w.claims, err = wr.index.dir.Claims(w.ds); err != nil {
			return fmt.Errorf("scr: %w", err)
		}
	}
	if !take {
		err = w.claims.Check(rel)
	} else {
		err = wr.index.takeOver(context.Background(), w.claims, w.ds, rel)
	}
	if err != nil {
		return fmt.Errorf("scr: %w", err)
	}
	return nil
}

// foresee is an error if a file of output that goes to the cache could not be flushed: Complete would be too late to learn it.
func (wr *writer) foresee(w *writing, abs string) error {
	if !w.ds.Output || wr.p.containers {
		return nil
	}
	if wr.cfg.Zstd {
		abs += prefixdir.ZstdSuffix
	}
	if _, err := vfs.Lstat(wr.cfg.FS, abs); err != nil {
		return nil // not there, or told by the flush
	}
	return wr.claim(w, abs, false)
}
