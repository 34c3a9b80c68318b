package write

import (
	"blobio/blob/internal/dataset"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
	"sync"
	"sync/atomic"
)

func (o *outFile) sync() error {
	f, done, err := o.Open()
	if err != nil {
		return err
	}
	defer done()
	return f.Sync()
}

// Called gives the subfile its names: the final one in a set, and that under which it is written.
func (o *outFile) Called(set string, rename bool, ten *Tenure) {
	o.Final = subfile.Name(set, o.Index)
	if o.Name = o.Final; rename {
		o.Name = subfile.PartialBy(o.Final, ten.Tag())
	}
}

// inUse bounds the subfiles that the engines of the process have open for use at one instant: leaders of hundreds of subfiles may flush at once, and only files
// that nobody uses can be closed for others. One that is opened by name may open its lease, too.
var inUse = make(chan struct{}, max(vfs.Descriptors.Max()/4, 1))

// enter and leave are around a use of the subfile; several uses of one engine count as one, so they may nest. Nothing that another engine does may be
// waited for between them.
func (o *outFile) enter() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.uses++; o.uses == 1 {
		inUse <- struct{}{}
	}
}

func (o *outFile) leave() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.uses--; o.uses == 0 {
		<-inUse
	}
}

// Open returns the open subfile; done gives it back.
func (o *outFile) Open() (f vfs.File, done func(), err error) {
	o.enter()
	name := o.Name
	f, err = o.proc.Pool.Get(name, true)
	if err != nil {
		o.leave()
		return nil, nil, err
	}
	return f, func() {
		o.proc.Pool.Put(name)
		o.leave()
	}, nil
}

// outFile is the subfile as it is opened and written.
type outFile struct {
	proc  *Process
	Name  string // the path that is written: partial or final
	Final string
	Index int         // subfile number
	Made  bool        // this process created the file name
	End   int64       // bytes allocated
	wrote atomic.Bool // this process has written to the file

	mu   sync.Mutex
	uses int // of the open file: see enter
}

// named returns an error if the subfile has not its name any more, or another file has it: then it would not be found behind the commit.
func (o *outFile) named(f vfs.File) error {
	is, err := vfs.Named(o.proc.Pool.FS(), f, o.Name)
	if err == nil && !is {
		err = fault.At(o.Name, -1, "subfile", dataset.ErrMissing, "renamed, removed or replaced while its writer is at work")
	}
	return err
}
