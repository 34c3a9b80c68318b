package runlog

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"

	"blobio/internal/base/vfs"
)

// Text is a Sink that writes a log file as text.
type Text struct {
	mu  sync.Mutex
	put func(line []byte) error
	end func() error
	buf []byte
}

// OpenText opens a log file for appending, and creates it if necessary. The directory must exist. With vfs.OS, each entry is
// written at the end of the file by one system call. Then several processes may share a log if the file system appends
// atomically, as local file systems do. With any other vfs.FS only one process at a time may write the log.
func OpenText(fsys vfs.FS, name string) (*Text, error) {
	if fsys == vfs.OS {
		f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o666)
		if err != nil {
			return nil, err
		}
		t := &Text{end: f.Close, put: func(line []byte) error { _, err := f.Write(line); return err }}
		st, err := f.Stat()
		if err == nil {
			err = t.mend(f, st.Size())
		}
		return t.opened(err)
	}
	f, err := fsys.OpenRW(name)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = fsys.Create(name)
	}
	if err != nil {
		return nil, err
	}
	t := &Text{end: f.Close, put: func(line []byte) error {
		n, err := f.Size()
		if err == nil {
			_, err = f.WriteAt(line, n)
		}
		return err
	}}
	n, err := f.Size()
	if err == nil {
		err = t.mend(f, n)
	}
	return t.opened(err)
}

func (t *Text) opened(err error) (*Text, error) {
	if err != nil {
		_ = t.end()
		return nil, err
	}
	return t, nil
}

// mend writes a newline if an earlier writer left an incomplete last line.
func (t *Text) mend(f io.ReaderAt, size int64) error {
	if size == 0 {
		return nil
	}
	var last [1]byte
	if _, err := f.ReadAt(last[:], size-1); err != nil {
		return err
	}
	if last[0] == '\n' {
		return nil
	}
	return t.put([]byte{'\n'})
}

// Put implements Sink.
func (t *Text) Put(e *Entry) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(e.AppendLine(t.buf[:0]), '\n')
	return t.put(t.buf)
}

// Close implements Sink.
func (t *Text) Close() error { return t.end() }
