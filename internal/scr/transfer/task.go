package transfer

import (
	"context"
	"sync/atomic"

	"blobio/internal/par"
)

// Task is a list of copies that is worked off in the background.
type Task struct {
	task    *par.Task
	bytes   atomic.Int64
	total   atomic.Int64
	results []Result // valid after the end of task
}

// Start begins to copy files in the background, as CopyAll, and returns at once. Until the task is Done its goroutines
// run; ctx ends them as Cancel does.
//
// A file that is at its destination already, whole, is not copied again (Result.Skipped): so a list that was cut off,
// by Cancel or a crash, is resumed by starting it again. What is there is read and compared with Size and CRC; of a job
// without CRC the source is read as well.
func (e *Engine) Start(ctx context.Context, jobs []Job) *Task {
	t := new(Task)
	jobs = append([]Job(nil), jobs...)
	for i := range jobs {
		t.total.Add(max(jobs[i].Size, 0))
	}
	t.task = par.NewTask(ctx, func(ctx context.Context) (err error) {
		t.results, err = e.copyAll(ctx, jobs, true, func(b *batch, ctx context.Context, j *Job) (Result, error) {
			count := func(n int64) {
				if j.Size < 0 {
					t.total.Add(n)
				}
				t.bytes.Add(n)
			}
			return b.resume(ctx, j, count, func(n int64) {
				count(n)
				if e.o.Progress != nil {
					e.o.Progress(n)
				}
			})
		})
		return err
	})
	t.task.Go()
	return t
}

// Done is closed when nothing of the task runs any more.
func (t *Task) Done() <-chan struct{} { return t.task.Done() }

// Wait waits until the task is done, or ctx is, which does not end the task. The results are as those of CopyAll.
func (t *Task) Wait(ctx context.Context) ([]Result, error) {
	if err := t.task.Wait(ctx); err != nil {
		return nil, err
	}
	return t.results, t.task.Err()
}

// Cancel stops the task at the next block and returns at once; Done tells when it has stopped. Files that are finished
// stay, others leave nothing.
func (t *Task) Cancel() { t.task.Stop() }

// Progress returns how many bytes of data were copied or found to be there, and how many there are; of jobs without Size
// that is known when they begin.
func (t *Task) Progress() (bytes, total int64) { return t.bytes.Load(), t.total.Load() }
