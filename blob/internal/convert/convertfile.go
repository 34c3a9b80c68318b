package convert

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/read"
	"blobio/internal/base/durable"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
)

// toCanonical writes one ordinary netCDF file, variable by variable.
func (c *conversion) toCanonical(ctx context.Context) (err error) {
	file, err := c.Canonical(read.CanonicalOptions{Version: c.o.Version, ZeroFill: c.o.ZeroFill})
	if err != nil {
		err = fmt.Errorf("convert to %s: %w", c.out, err)
	}
	var out *durable.Output // on root
	var temp string
	if c.ranks.root() && err == nil {
		if out, err = c.begin(ctx, file); err == nil {
			temp = out.Temp()
		}
		defer func() { out.Discard() }()
	}
	b, err := c.ranks.told(ctx, []byte(temp), err)
	if err != nil {
		return err
	}
	err = c.fill(ctx, out, string(b), file)
	if err = c.ranks.agree(ctx, err); err == nil && c.ranks.root() {
		if err = out.Commit(); err != nil {
			err = fmt.Errorf("convert: %w", err)
		}
	}
	return c.ranks.agree(ctx, err)
}

// begin makes the canonical file.
func (c *conversion) begin(ctx context.Context, file *read.CanonicalFile) (*durable.Output, error) {
	out, err := c.output(ctx)
	if err != nil {
		return nil, err
	}
	f, size := out.File(), file.Length
	if err = f.Allocate(0, size); err == nil {
		if err = f.Truncate(size); err == nil {
			_, err = f.WriteAt(file.Head, 0)
		}
	}
	if err != nil {
		out.Discard()
		return nil, err
	}
	return out, nil
}

// output creates the output file.
func (c *conversion) output(ctx context.Context) (*durable.Output, error) {
	out, err := durable.NewOutput(ctx, c.Fs, c.out, durable.OutputOptions{Force: c.o.Force, Also: c.free,
		NoSync: c.o.Durability == dataset.DurableNone, NoSyncDir: c.o.Durability != dataset.DurableCommit})
	if err != nil {
		return nil, fmt.Errorf("convert: %w", err)
	}
	return out, nil
}

// free checks that no dataset of subfiles has the name. One file cannot replace such a dataset, because programs that open
// the name would find the subfiles.
func (c *conversion) free() error {
	set, err := subfile.Find(c.Fs, c.out)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !set.Single:
		return fmt.Errorf("%s is the name of a dataset of subfiles: %w", c.out, dataset.ErrExist)
	}
	return nil
}

// fill writes this rank's part. Other ranks than root open the file by its hidden name.
func (c *conversion) fill(ctx context.Context, out *durable.Output, temp string, file *read.CanonicalFile) error {
	if c.ranks.root() {
		return c.stream(ctx, out.File(), file)
	}
	f, err := c.Fs.OpenRW(temp)
	if err != nil {
		return err
	}
	err = c.stream(ctx, f, file)
	if err == nil && c.o.Durability != dataset.DurableNone {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// stream copies this rank's units to the canonical file.
func (c *conversion) stream(ctx context.Context, f vfs.File, file *read.CanonicalFile) error {
	// Each worker holds one unit, and the reads for this unit need buffers too.
	workers := int(max(1, min(int64(c.o.Workers), c.o.Memory/(2*read.ReadBatch))))
	limit := max(1<<20, min(c.o.Memory/int64(2*workers), 64<<20))
	units := c.mine(c.units(limit))
	c.progress.total.Add(units.bytes())
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	bufs := make(chan []byte, workers)
	for range workers {
		bufs <- nil
	}
	how := func(v dataset.VarID, rec int64, whole bool) read.Form { return c.formOf(v, rec, whole, true) }
	var turn sync.Mutex // the kernel lets only one writer write to a file at a time; others would spin on a core
	units.groups(workers, limit, func(some []unit) {
		if ctx.Err() != nil {
			return
		}
		from, to := spotOf(file, some[0]), spotOf(file, some[len(some)-1])
		to += c.bytesOf(some[len(some)-1])
		buf := <-bufs
		defer func() { bufs <- buf }()
		if int64(cap(buf)) < to-from {
			buf = make([]byte, to-from)
		}
		b := buf[:to-from]
		err := file.Decode(ctx, how, read.Piece{B: b, Off: from})
		if err != nil && c.Arrays != nil && ctx.Err() == nil { // the error may come from bytes outside the selected part
			_, err = file.Exact(ctx, b, from)
		}
		if err == nil {
			err = c.didRead(ctx, some)
		}
		if err == nil {
			turn.Lock()
			_, err = f.WriteAt(b, from)
			turn.Unlock()
		}
		if err != nil {
			cancel(err)
			return
		}
		for _, u := range some {
			c.progress.add(c.bytesOf(u))
		}
	})
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return c.late.settle(ctx)
}

// spotOf returns the offset of a unit in the file.
func spotOf(c *read.CanonicalFile, u unit) int64 {
	off, _ := c.At.Extent(int(u.v), u.rec)
	return off + u.lo*int64(c.Schema.Vars[u.v].Type.Size())
}
