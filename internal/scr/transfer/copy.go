package transfer

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"
	"time"

	"blobio/internal/base/fault"
	"blobio/internal/base/par"
	"blobio/internal/base/vfs"
)

// Copy copies one file. Dst appears only when it is whole and matches Size and CRC. Copy writes a temporary file in the same
// folder (.blobio.<16 hex digits>.tmp), syncs it and renames it; after a failure it removes the temporary file. It creates
// missing folders. With Options.Sync the copy is durable when Copy returns. An error after the rename leaves the whole file in
// place.
func (e *Engine) Copy(ctx context.Context, j Job) (Result, error) {
	if err := j.Validate(); err != nil {
		return Result{}, fmt.Errorf("%s: %w", j, err)
	}
	b := e.newBatch([]Job{j})
	r, err := b.copy(ctx, &j, nil)
	if err == nil {
		err = b.finish()
	}
	if err != nil {
		return Result{}, fmt.Errorf("%s: %w", j, err)
	}
	return r, nil
}

// check reads the source of a job and compares it with Size and CRC.
func (e *Engine) check(ctx context.Context, fsys vfs.FS, j *Job) (Result, error) {
	src, err := e.open(fsys, j)
	if err != nil {
		return Result{}, err
	}
	r, err := e.pump(ctx, j, src, io.Discard, nil)
	return r, errors.Join(err, src.Close())
}

// copy copies one file of a batch. Its containers and folders are synced later.
func (b *batch) copy(ctx context.Context, j *Job, report func(int64)) (r Result, err error) {
	defer func() { err = errors.Join(err, b.release(j)) }()
	if err := ctx.Err(); err != nil {
		return r, err
	}
	src, err := b.e.open(b.e.o.FS, j)
	if err != nil {
		return r, err
	}
	dst, err := b.openSink(j)
	if err != nil {
		return r, errors.Join(err, src.Close())
	}
	r, err = b.e.pump(ctx, j, src, dst, report)
	if err = errors.Join(err, src.Close()); err != nil {
		dst.abort()
		return Result{}, err
	}
	if err = dst.commit(); err != nil {
		return Result{}, err
	}
	r.Done = true
	return r, nil
}

// pump copies and checks the data. After an error the caller must abort the copy.
func (e *Engine) pump(ctx context.Context, j *Job, src *source, dst io.Writer, report func(int64)) (Result, error) {
	p := e.bufs.Get().(*[]byte)
	defer e.bufs.Put(p)
	buf := *p
	timed := e.cpu.limited()
	var r Result
	for end := false; !end; {
		if err := ctx.Err(); err != nil {
			return r, err
		}
		var began time.Time
		if timed {
			began = e.o.Clock.Now()
		}
		n, err := io.ReadFull(src, buf[:e.block()])
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			end = true
		} else if err != nil {
			return r, err
		}
		if n == 0 {
			break
		}
		r.Size += int64(n)
		if r.Size > src.size {
			return r, fault.In(j.sourceName(), "", fault.ErrCorrupt, "more bytes than the expected %d", src.size)
		}
		// The bytes are still in the processor's cache.
		r.CRC = crc32.Update(r.CRC, crc32.IEEETable, buf[:n])
		if _, err := dst.Write(buf[:n]); err != nil {
			return r, err
		}
		if report != nil {
			report(int64(n))
		}
		if err := e.pace(ctx, n, began); err != nil {
			return r, err
		}
	}
	if err := src.stable(); err != nil {
		return r, err
	}
	switch {
	case r.Size != src.size:
		return r, fault.In(j.sourceName(), "", fault.ErrTruncated, "%d bytes, want %d", r.Size, src.size)
	case j.HasCRC && r.CRC != j.CRC:
		return r, fault.In(j.sourceName(), "", fault.ErrChecksum, "CRC-32 %#x, want %#x", r.CRC, j.CRC)
	}
	return r, nil
}

// CopyAll copies files in order, Options.Files at once. The first failure stops the rest; the error is a *JobError if a job
// failed. There is a result for each job, in order. After a failure, results with Done are finished, but with Options.Sync they
// may not be durable.
func (e *Engine) CopyAll(ctx context.Context, jobs []Job) ([]Result, error) {
	return e.copyAll(ctx, jobs, false, func(b *batch, ctx context.Context, j *Job) (Result, error) { return b.copy(ctx, j, nil) })
}

func (e *Engine) copyAll(ctx context.Context, jobs []Job, climb bool, do func(*batch, context.Context, *Job) (Result, error)) ([]Result, error) {
	results := make([]Result, len(jobs))
	if err := validateAll(jobs); err != nil {
		return results, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		b     = e.newBatch(jobs)
		mu    sync.Mutex
		first error
	)
	// A job begins even after a failure, so that it releases its containers.
	par.Do(e.o.Files, len(jobs), func(i int) {
		r, err := do(b, ctx, &jobs[i])
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			results[i] = r
		} else if first == nil {
			first = &JobError{Index: i, Job: jobs[i], Err: err}
			cancel()
		}
	})
	b.climb = climb
	if first == nil {
		first = b.finish()
	}
	return results, first
}

// Resume is like CopyAll, but skips files that are already whole at their destinations (Result.Skipped), so that an interrupted
// list can be resumed. It reads an existing file and compares it with Size and CRC. For a job without CRC it also reads the
// source.
func (e *Engine) Resume(ctx context.Context, jobs []Job) ([]Result, error) {
	return e.copyAll(ctx, jobs, true, func(b *batch, ctx context.Context, j *Job) (Result, error) { return b.resume(ctx, j, func(int64) {}) })
}

// resume copies one file unless it is already there. It passes to report the size of each block, or of the whole file.
func (b *batch) resume(ctx context.Context, j *Job, report func(int64)) (Result, error) {
	r, ok := b.there(ctx, j)
	if ok {
		report(r.Size)
		return r, b.release(j)
	}
	if err := ctx.Err(); err != nil {
		return Result{}, errors.Join(err, b.release(j))
	}
	return b.copy(ctx, j, report)
}

// there reports whether the destination of a job already has the right data. After any error the file is copied.
func (b *batch) there(ctx context.Context, j *Job) (Result, bool) {
	e := b.e
	if j.Out == nil {
		st, err := vfs.Lstat(e.o.DstFS, j.Dst) // a link gets replaced
		if err != nil || !st.Mode().IsRegular() || j.Size >= 0 && st.Size() != j.Size {
			return Result{}, false
		}
	}
	back := Job{Src: j.Dst, In: j.Out, Size: j.Size, CRC: j.CRC, HasCRC: j.HasCRC}
	if !j.HasCRC {
		r, err := e.check(ctx, e.o.FS, j)
		if err != nil {
			return Result{}, false
		}
		back.Size, back.CRC, back.HasCRC = r.Size, r.CRC, true
	}
	r, err := e.check(ctx, e.o.DstFS, &back)
	if err == nil {
		err = b.settle(j)
	}
	r.Done, r.Skipped = true, true
	return r, err == nil
}

// settle makes an existing whole destination durable.
func (b *batch) settle(j *Job) error {
	if j.Out != nil {
		for name := range containersOf(j) {
			if _, err := b.file(name); err != nil { // synced on release
				return err
			}
			b.named(name)
		}
		return nil
	}
	if !b.e.o.Sync {
		return nil
	}
	f, err := b.e.o.DstFS.Open(j.Dst)
	if err != nil {
		return err
	}
	b.named(j.Dst)
	return errors.Join(f.Sync(), f.Close())
}
