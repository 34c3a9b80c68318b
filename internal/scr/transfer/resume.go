package transfer

import (
	"context"
	"errors"

	"blobio/internal/base/vfs"
)

// Resume is CopyAll of files that may be at their destinations already. One that is there, whole, is not copied again
// (Result.Skipped): so a list that was cut off is resumed. What is there is read and compared with Size and CRC; of a job
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
