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

// Copy copies one file. Dst gets its name only when the copy is whole and matches Size and CRC. Copy writes a temporary file in
// the same folder (.blobio.<16 hex digits>.tmp), syncs it and renames it; after a failure it removes the temporary file. It
// creates missing folders. With Options.Sync the copy is durable when Copy returns. If an error occurs after the rename, the
// whole file stays in place.
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

// copy copies one file of a batch. The batch syncs containers and folders later.
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

// pump copies the data and checks them. After an error the caller must abort the copy.
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
			return r, fault.In(j.sourceName(), "", fault.ErrCorrupt, "more than %d bytes, want exactly this number", src.size)
		}
		// Compute the CRC here, because the bytes are still in the processor's cache.
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

// CopyAll copies files in order, Options.Files at the same time. The first failure stops all other jobs. If a job failed, the
// error is a *JobError. There is a result for each job, in order. After a failure, results with Done belong to finished copies,
// which may not be durable even with Options.Sync.
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
	// Begin each job even after a failure, so that the job releases its containers.
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

// Resume is like CopyAll, but skips files that are already whole at their destinations (Result.Skipped). With it a caller
// resumes an interrupted CopyAll. Resume reads an existing file and compares it with Size and CRC. For a job without CRC it
// also reads the source.
func (e *Engine) Resume(ctx context.Context, jobs []Job) ([]Result, error) {
	return e.copyAll(ctx, jobs, true, func(b *batch, ctx context.Context, j *Job) (Result, error) { return b.resume(ctx, j, func(int64) {}) })
}

// resume copies one file, unless the destination already has it. It calls report with the size of each block, or of the whole
// file if it is skipped.
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

// there reports whether the destination of a job already has the right data. If the destination cannot be read, there returns
// false, and the file is copied.
func (b *batch) there(ctx context.Context, j *Job) (Result, bool) {
	e := b.e
	if j.Out == nil {
		st, err := vfs.Lstat(e.o.DstFS, j.Dst) // a link is not followed, but replaced
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

// settle makes a destination durable that was already whole.
func (b *batch) settle(j *Job) error {
	if j.Out != nil {
		for name := range containersOf(j) {
			if _, err := b.file(name); err != nil { // the container is synced when it is released
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
