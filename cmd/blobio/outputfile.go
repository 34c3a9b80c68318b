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

// written is one file that was written.
type written struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
}

// writeFiles lets f write files, the k-th of which has name k. None appears before all are whole, and nobody else
// may write any of them meanwhile.
func writeFiles(ctx context.Context, names []string, force bool, f func(k int, w io.Writer) error) (done []written, err error) {
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
		done = append(done, written{names[k], size})
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

// writeFile is writeFiles of one. It returns the bytes that were written.
func writeFile(ctx context.Context, name string, force bool, f func(w io.Writer) error) (int64, error) {
	done, err := writeFiles(ctx, []string{name}, force, func(_ int, w io.Writer) error { return f(w) })
	if err != nil {
		return 0, err
	}
	return done[0].Bytes, nil
}
