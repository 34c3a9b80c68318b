package ffstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"blobio/comm"
	"blobio/ffformat"
	"blobio/internal/durable"
	"blobio/internal/fault"
	"blobio/internal/vfs"
)

// Export copies a checkpoint to files with the names that FTI looks for,
// Ckpt<id>-Rank<rank>.fti, in an existing directory. Each is verified on the way, and
// appears whole or not at all; one that is there is ErrExist.
func (v *View) Export(ctx context.Context, id int32, dir string) error {
	e, err := v.rec.entry(v.dir, id)
	if err != nil {
		return err
	}
	for rank := range v.rec.Ranks {
		if err := exportRank(ctx, v.fsys, v.dir, e.forRank(rank), rank, dir); err != nil {
			return err
		}
	}
	return v.fsys.SyncDir(dir)
}

// Export is View.Export by all ranks, each its file. It is collective.
func (s *Store) Export(ctx context.Context, id int32, dir string) error {
	e, err := s.ledger.rec.entry(s.dir, id)
	if err == nil {
		err = s.files.within(ctx, func() error { return exportRank(ctx, s.o.FS, s.dir, e, s.c.Rank(), dir) })
	}
	if err := comm.Agree(ctx, s.c, err); err != nil {
		return err
	}
	if s.c.Rank() == 0 {
		err = s.o.FS.SyncDir(dir)
	}
	return comm.Agree(ctx, s.c, err)
}

// exportName is the name that FTI gives to the file of a rank in a checkpoint.
func exportName(dir string, id int32, rank int) string {
	return filepath.Join(dir, fmt.Sprintf("Ckpt%d-Rank%d.fti", id, rank))
}

func exportRank(ctx context.Context, fsys vfs.FS, dir string, e *entry, rank int, to string) (err error) {
	switch info, err := fsys.Stat(to); {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: the directory to export to is not there: %w", to, err)
	case err != nil:
		return err
	case !info.IsDir():
		return fault.Usage("export: %s is not a directory", to)
	}
	r, err := openRank(fsys, dir, e, rank)
	if err != nil {
		return err
	}
	defer r.Close()
	for f := range ffformat.Check(ctx, r.Source(), r.File().Size, r.File().Name, nil) {
		if f.Severity == ffformat.Error {
			return f.AsError()
		}
	}
	out, err := durable.NewOutput(ctx, fsys, exportName(to, e.ID, rank), durable.OutputOptions{NoSyncDir: true}) // all are synced at once
	if err != nil {
		return fmt.Errorf("%w", err)
	}
	defer out.Discard()
	buf := make([]byte, 1<<20)
	for off := int64(0); off < r.File().Size; off += int64(len(buf)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := r.Source().ReadAt(buf[:min(int64(len(buf)), r.File().Size-off)], off)
		if err != nil && (!errors.Is(err, io.EOF) || n == 0) {
			return err
		}
		if _, err := out.File().WriteAt(buf[:n], off); err != nil {
			return err
		}
	}
	return out.Commit()
}
