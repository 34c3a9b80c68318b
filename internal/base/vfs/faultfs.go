package vfs

import (
	"io/fs"
	"sync/atomic"
)

// faultFS calls hook before each operation.
type faultFS struct {
	under FS
	hook  func(Op) error
	seq   atomic.Int64
}

func (f *faultFS) ask(op Op) error {
	op.Seq = f.seq.Add(1)
	if f.hook == nil {
		return nil
	}
	return f.hook(op)
}

// do calls the hook and then the function call.
func (f *faultFS) do(op Op, call func() error) error {
	if err := f.ask(op); err != nil {
		return err
	}
	return call()
}

// asked is do for a call that returns a value.
func asked[T any](f *faultFS, op Op, call func() (T, error)) (v T, err error) {
	if err := f.ask(op); err != nil {
		return v, err
	}
	return call()
}

func (f *faultFS) file(kind OpKind, name string, open func(string) (File, error)) (File, error) {
	u, err := asked(f, Op{Kind: kind, Name: name}, func() (File, error) { return open(name) })
	if err != nil {
		return nil, err
	}
	return &faultFile{u, f}, nil
}

func (f *faultFS) Create(name string) (File, error) { return f.file(OpCreate, name, f.under.Create) }
func (f *faultFS) Open(name string) (File, error)   { return f.file(OpOpen, name, f.under.Open) }
func (f *faultFS) OpenRW(name string) (File, error) { return f.file(OpOpen, name, f.under.OpenRW) }

func (f *faultFS) Rename(oldname, newname string) error {
	return f.do(Op{Kind: OpRename, Name: oldname, New: newname}, func() error { return f.under.Rename(oldname, newname) })
}

func (f *faultFS) Remove(name string) error {
	return f.do(Op{Kind: OpRemove, Name: name}, func() error { return f.under.Remove(name) })
}

func (f *faultFS) Stat(name string) (fs.FileInfo, error) {
	return asked(f, Op{Kind: OpStat, Name: name}, func() (fs.FileInfo, error) { return f.under.Stat(name) })
}

func (f *faultFS) ReadDir(name string) ([]fs.DirEntry, error) {
	return asked(f, Op{Kind: OpReadDir, Name: name}, func() ([]fs.DirEntry, error) { return f.under.ReadDir(name) })
}

func (f *faultFS) Mkdir(name string) error {
	return f.do(Op{Kind: OpMkdir, Name: name}, func() error { return f.under.Mkdir(name) })
}

func (f *faultFS) MkdirAll(name string) error {
	return f.do(Op{Kind: OpMkdir, Name: name}, func() error { return f.under.MkdirAll(name) })
}

func (f *faultFS) SyncDir(name string) error {
	return f.do(Op{Kind: OpSyncDir, Name: name}, func() error { return f.under.SyncDir(name) })
}

// faultFile calls the hook of its file system.
type faultFile struct {
	under File
	fs    *faultFS
}

func (f *faultFile) Name() string { return f.under.Name() }

func (f *faultFile) ReadAt(b []byte, off int64) (int, error) {
	err := f.fs.ask(Op{Kind: OpRead, Name: f.Name(), Off: off, N: int64(len(b))})
	if err == nil {
		return f.under.ReadAt(b, off)
	}
	part, cause, ok := partial(err)
	if !ok {
		return 0, err
	}
	n, err := f.under.ReadAt(b[:max(0, min(part, int64(len(b))))], off)
	if err == nil {
		err = cause
	}
	return n, err
}

func (f *faultFile) WriteAt(b []byte, off int64) (int, error) {
	n, err := f.WritevAt([][]byte{b}, off)
	return int(n), err
}

func (f *faultFile) WritevAt(bufs [][]byte, off int64) (int64, error) {
	var size int64
	for _, b := range bufs {
		size += int64(len(b))
	}
	err := f.fs.ask(Op{Kind: OpWrite, Name: f.Name(), Off: off, N: size})
	if err == nil {
		return f.under.WritevAt(bufs, off)
	}
	left, cause, ok := partial(err)
	if !ok {
		return 0, err
	}
	var part [][]byte
	for _, b := range bufs {
		if left <= 0 {
			break
		}
		b = b[:min(left, int64(len(b)))]
		left -= int64(len(b))
		part = append(part, b)
	}
	n, err := f.under.WritevAt(part, off)
	if err == nil {
		err = cause
	}
	return n, err
}

func (f *faultFile) Size() (int64, error) {
	return asked(f.fs, Op{Kind: OpStat, Name: f.Name()}, f.under.Size)
}

func (f *faultFile) Truncate(size int64) error {
	return f.fs.do(Op{Kind: OpTruncate, Name: f.Name(), N: size}, func() error { return f.under.Truncate(size) })
}

func (f *faultFile) Allocate(off, n int64) error {
	return f.fs.do(Op{Kind: OpAllocate, Name: f.Name(), Off: off, N: n}, func() error { return f.under.Allocate(off, n) })
}

func (f *faultFile) Sync() error {
	return f.fs.do(Op{Kind: OpSync, Name: f.Name()}, f.under.Sync)
}

// Close releases the handle even if the hook fails, because a close(2) that fails also releases the descriptor.
func (f *faultFile) Close() error {
	hookErr := f.fs.ask(Op{Kind: OpClose, Name: f.Name()})
	if err := f.under.Close(); err != nil {
		return err
	}
	return hookErr
}
