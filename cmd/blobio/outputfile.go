package main

import (
	"context"
	"io"

	"blobio/internal/durable"
	"blobio/internal/vfs"
)

// writeOutput lets f write a file that appears under its name when it is whole. f may leave the file out by
// returning false.
func writeOutput(ctx context.Context, fsys vfs.FS, name string, o durable.OutputOptions, f func(dst vfs.File) (bool, error)) error {
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

// writeFile is writeOutput of a stream. It returns the bytes that were written.
func writeFile(ctx context.Context, name string, force bool, f func(w io.Writer) error) (size int64, err error) {
	err = writeOutput(ctx, vfs.OS, name, durable.OutputOptions{Force: force}, func(dst vfs.File) (bool, error) {
		w := io.NewOffsetWriter(dst, 0)
		if err := f(w); err != nil {
			return false, err
		}
		var err error
		size, err = w.Seek(0, io.SeekCurrent)
		return err == nil, err
	})
	return size, err
}
