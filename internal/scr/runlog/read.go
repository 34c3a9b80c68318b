package runlog

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"time"

	"blobio/internal/base/vfs"
)

const (
	// maxLine is the maximum length of a line in bytes; longer lines are skipped.
	maxLine = 64 << 10
	// MaxFile is the maximum size of a log that ReadFile reads, in bytes.
	MaxFile = 1 << 30
)

// Log is the content of a log.
type Log struct {
	Entries []Entry // in file order
	Skipped int     // number of lines that are not entries
	Torn    bool    // the last line has no newline, because the writer died or is still writing
}

// Read reads a log to its end. loc is the zone of the times; nil means local time. Invalid lines are counted and cause no
// error. If a read fails, Read returns the error and the entries before it.
func Read(r io.Reader, loc *time.Location) (*Log, error) {
	if loc == nil {
		loc = time.Local
	}
	l := &Log{}
	b := bufio.NewReaderSize(r, maxLine)
	for {
		line, err := b.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			l.Skipped++
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = b.ReadSlice('\n')
			}
			if err == nil {
				continue
			}
			l.Torn = errors.Is(err, io.EOF)
			line = nil
		}
		if text := bytes.TrimSuffix(line, []byte("\n")); len(bytes.TrimSpace(text)) > 0 {
			// A line without a newline may be cut anywhere, even within a number, and still look complete.
			whole := len(text) < len(line)
			if e, ok := ParseLine(string(text), loc); ok && whole {
				l.Entries = append(l.Entries, e)
			} else {
				l.Skipped++
			}
			l.Torn = l.Torn || !whole
		}
		if errors.Is(err, io.EOF) {
			return l, nil
		}
		if err != nil {
			return l, err
		}
	}
}

// ReadFile reads a log file of at most MaxFile bytes. Its times are local.
func ReadFile(fsys vfs.FS, name string) (*Log, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	n, err := f.Size()
	if err != nil {
		return nil, err
	}
	return Read(io.NewSectionReader(f, 0, min(n, MaxFile)), nil)
}
