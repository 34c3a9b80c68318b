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
	// maxLine caps a line in bytes; longer lines are passed over.
	maxLine = 64 << 10
	// MaxFile caps the log that ReadFile reads, in bytes.
	MaxFile = 1 << 30
)

// Log is the content of a log.
type Log struct {
	Entries []Entry // in the order of the file
	Skipped int     // lines that are no entries
	Torn    bool    // the last line has no newline: the writer died, or is at it
}

// Read reads a log to its end; times are in the zone loc (nil: local). Lines
// that are no entries are counted, not errors. The error is r's; the log
// up to there is returned with it.
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
			// Without its newline a line may be cut anywhere, within a number too:
			// it looks like a whole one.
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

// ReadFile reads a log file of at most MaxFile bytes; times are local.
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
