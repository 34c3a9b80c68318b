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

// Copy copies one file. Nothing is under the name Dst unless it is whole, and matches Size and CRC: it is written
// under another name in the same folder (.blobio.<16 hex digits>.tmp), synced, and renamed; after a failure that other
// file is removed. Missing folders are made. With Options.Sync all that is durable when Copy returns; an error after
// the renaming leaves the whole file there.
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

// pump moves the data and checks them. Errors leave it to the caller to abort.
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
		// The bytes are in the cache of the processor now.
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

// CopyAll copies files, Options.Files at once, in their order. The first failure stops the rest; the error is a
// *JobError if a job failed. There is a result for each job, in their order; after a failure results with Done
// are finished, but with Options.Sync not all of them are known to be durable.
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
	// A job is begun even when there was a failure, so that it lets its containers go.
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

// Resume is CopyAll of files that may be at their destinations already. One that is there, whole, is not copied again
// (Result.Skipped), so that a list that was cut off can be resumed. A file that is there is read and compared with Size and CRC; for a job
// without CRC the source is read as well.
func (e *Engine) Resume(ctx context.Context, jobs []Job) ([]Result, error) {
	return e.copyAll(ctx, jobs, true, func(b *batch, ctx context.Context, j *Job) (Result, error) { return b.resume(ctx, j, func(int64) {}) })
}

// resume copies one file unless it is there. report is called with the bytes of each block, or of all that is there.
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

// there reports whether the destination of a job has the data that it is to have. Whatever goes wrong is a reason to copy.
func (b *batch) there(ctx context.Context, j *Job) (Result, bool) {
	e := b.e
	if j.Out == nil {
		st, err := vfs.Lstat(e.o.DstFS, j.Dst) // a link is replaced
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

// settle makes a destination that was found whole durable.
func (b *batch) settle(j *Job) error {
	if j.Out != nil {
		for name := range containersOf(j) {
			if _, err := b.file(name); err != nil { // synced when it is released
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
