package cli

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"

	"blobio/internal/base/durable"
	"blobio/internal/base/vfs"
)

// WriteOutput lets f write a file, which gets its name when it is complete. f returns false to write no file.
func WriteOutput(ctx context.Context, fsys vfs.FS, name string, o durable.OutputOptions, f func(dst vfs.File) (bool, error)) error {
	out, err := durable.NewOutput(ctx, fsys, name, o)
	if err != nil {
		return err
	}
	defer out.Discard()
	if keep, err := f(out.File()); err != nil || !keep {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return out.Commit()
}

// Written describes a written file.
type Written struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
}

// TreeSize counts the files below a directory and their bytes.
func TreeSize(dir string) (files int, bytes int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // another process is already replacing the file
		}
		if err == nil {
			files++
			bytes += info.Size()
		}
		return err
	})
	return files, bytes, err
}

// WriteFiles lets f write files; names[k] is the name of the k-th. No file appears before all are complete. Until then, no other
// program can write any of these files.
func WriteFiles(ctx context.Context, names []string, force bool, f func(k int, w io.Writer) error) (done []Written, err error) {
	var outs []*durable.Output
	defer func() {
		for _, out := range outs {
			out.Discard()
		}
	}()
	for _, name := range names {
		out, err := durable.NewOutput(ctx, vfs.OS, name, durable.OutputOptions{Force: force})
		if err != nil {
			return nil, err
		}
		outs = append(outs, out)
	}
	for k, out := range outs {
		w := io.NewOffsetWriter(out.File(), 0)
		if err := f(k, w); err != nil {
			return nil, err
		}
		size, err := w.Seek(0, io.SeekCurrent)
		if err != nil {
			return nil, err
		}
		done = append(done, Written{names[k], size})
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for _, out := range outs {
		if err := out.Commit(); err != nil {
			return nil, err
		}
	}
	return done, nil
}

// WriteFile is WriteFiles for one file. It returns the number of bytes written.
func WriteFile(ctx context.Context, name string, force bool, f func(w io.Writer) error) (int64, error) {
	done, err := WriteFiles(ctx, []string{name}, force, func(_ int, w io.Writer) error { return f(w) })
	if err != nil {
		return 0, err
	}
	return done[0].Bytes, nil
}
