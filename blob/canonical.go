package blob

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"

	"blobio/cdf5"
	"blobio/internal/vfs"
	"blobio/subfile"
)

// toCanonical writes one ordinary netCDF file, variable by variable.
func (c *conversion) toCanonical(ctx context.Context) error {
	hdr := c.schema.canonicalHeader(c.o.Version)
	hdr.NumRecs = c.records
	var f vfs.File
	var tmp string
	var err error
	if c.root() {
		if c.ten, err = hold(ctx, &Options{fs: c.o.fs}, c.out); err == nil {
			tmp, f, err = c.begin(hdr)
		}
	} else {
		err = hdr.Layout(nil)
	}
	b, err := c.told(ctx, []byte(tmp), err)
	if err == nil && !c.root() {
		f, err = c.o.fs.OpenRW(string(b))
	}
	if err == nil {
		err = c.stream(ctx, f, hdr)
	}
	if err == nil && c.o.Durability != DurableNone {
		err = f.Sync()
	}
	if f != nil {
		if cerr := f.Close(); err == nil {
			err = cerr
		} else {
			err = errors.Join(err, cerr)
		}
	}
	err = c.agree(ctx, err)
	if c.root() {
		if err == nil {
			err = c.publish(tmp)
		}
		if err != nil && tmp != "" {
			_ = c.o.fs.Remove(tmp) // gone if it was published
		}
		_ = c.ten.release() // a lease that could not be removed ends with the process
	}
	return c.agree(ctx, err)
}

// begin makes the canonical file under a name of its own.
func (c *conversion) begin(hdr *cdf5.Header) (tmp string, f vfs.File, err error) {
	if err := hdr.Layout(nil); err != nil {
		return "", nil, fmt.Errorf("blob: convert to %s: %w", c.out, err)
	}
	hb, err := hdr.AppendTo(nil, orderOf(true), false)
	if err != nil {
		return "", nil, fmt.Errorf("blob: convert to %s: %w", c.out, err)
	}
	if err := c.free(); err != nil {
		return "", nil, err
	}
	if err := errors.Join(c.sweep(), c.ten.secure(nil, false)); err != nil {
		return "", nil, err
	}
	dir, base := filepath.Split(c.out)
	tmp = dir + tempPrefix(base) + c.ten.id[:tempDigits] + tempSuffix
	if f, err = c.o.fs.Create(tmp); err != nil {
		return "", nil, err
	}
	size := hdr.FileSize(c.records)
	if err = f.Allocate(0, size); err == nil {
		if err = f.Truncate(size); err == nil {
			_, err = f.WriteAt(hb, 0)
		}
	}
	return tmp, f, err
}

// publish gives the output its name.
func (c *conversion) publish(tmp string) error {
	if err := errors.Join(c.ten.check(), c.free()); err != nil { // somebody may have made it meanwhile
		return err
	}
	if err := c.o.fs.Rename(tmp, c.out); err != nil {
		return err
	}
	if c.o.Durability == DurableCommit {
		return c.o.fs.SyncDir(subfile.Dir(c.out))
	}
	return nil
}

// A canonical output is written under a hidden name: ".F.nc.1a2b3c4d.partial".
const (
	tempDigits = 8
	tempSuffix = ".partial"
)

func tempPrefix(base string) string { return "." + base + "." }

// sweep removes what conversions to the same output left that were cut short.
// The lease of the output says that none of them is at work; one that is after all fails at its rename.
func (c *conversion) sweep() error {
	temps, err := canonicalTemps(c.o.fs, c.out)
	if err != nil {
		return err
	}
	for _, t := range temps {
		if err := c.o.fs.Remove(t); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// free checks that the output may take its name.
func (c *conversion) free() error {
	info, err := c.o.fs.Stat(c.out)
	if err == nil && info.IsDir() {
		return fmt.Errorf("blob: convert to %s: it is a directory: %w", c.out, ErrExist)
	}
	switch set, err := subfile.Find(c.o.fs, c.out); {
	case errors.Is(err, fs.ErrNotExist):
		_, err := c.o.fs.Stat(subfile.Dir(c.out))
		return err
	case err != nil:
		return err
	case !set.Single: // one file cannot take the place of several: whoever opens the name would get those
		return fmt.Errorf("blob: convert to %s: a dataset of subfiles of this name is there: %w", c.out, ErrExist)
	case !c.o.Force:
		return fmt.Errorf("blob: convert to %s: the file is there (ConvertOptions.Force replaces it): %w", c.out, ErrExist)
	}
	return nil
}

// stream copies this rank's units to the canonical file.
func (c *conversion) stream(ctx context.Context, f vfs.File, hdr *cdf5.Header) error {
	// Each worker holds one unit, and the reads below it their own buffers.
	workers := int(max(1, min(int64(c.o.Workers), c.o.Memory/(2*readBatch))))
	units := c.mine(c.units(max(1<<20, min(c.o.Memory/int64(2*workers), 64<<20))))
	c.expect(units)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	bufs := make(chan []byte, workers)
	for range workers {
		bufs <- nil
	}
	var turn sync.Mutex // writers of one file wait for each other in the kernel, at the cost of a core
	units.each(workers, func(u unit) {
		if ctx.Err() != nil {
			return
		}
		size := int64(c.schema.vars[u.v].Type.Size())
		n := (u.hi - u.lo) * size
		buf := <-bufs
		if int64(cap(buf)) < n {
			buf = make([]byte, n)
		}
		defer func() { bufs <- buf }()
		b := buf[:n]
		if err := c.read(ctx, u, b, true); err != nil {
			cancel(err)
			return
		}
		off, _ := hdr.Extent(int(u.v), u.rec)
		turn.Lock()
		_, err := f.WriteAt(b, off+u.lo*size)
		turn.Unlock()
		if err != nil {
			cancel(err)
			return
		}
		c.progress(n)
	})
	return context.Cause(ctx)
}
