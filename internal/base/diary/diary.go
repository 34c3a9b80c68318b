// Package diary writes lines for people without delaying the program: a writer of a line never waits for a reader.
package diary

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Diary passes lines to an io.Writer in the background. While that writer blocks, the Diary keeps lines up to a limit and
// counts the others. So a full pipe delays no caller. A Diary is safe for concurrent use. A nil Diary, or one with a nil writer,
// drops all lines.
type Diary struct {
	w     io.Writer
	stamp func() string

	mu      sync.Mutex
	queue   []string
	bytes   int   // bytes in the queue
	lost    int64 // number of dropped lines
	writing bool  // a goroutine is writing; the goroutine ends when the queue is empty
	wrote   chan struct{}
	kinds   map[string]*kind
}

// kind counts the lines of one kind within a minute.
type kind struct {
	lines []string
	more  int64 // number of lines not written
	since time.Time
}

const (
	maxBytes    = 256 << 10 // maximum of queued bytes
	repeatAfter = time.Minute
	maxSame     = 8    // lines of a kind to write within repeatAfter
	maxKinds    = 1024 // maximum of known kinds
	patience    = time.Second
)

// New returns a Diary for w. stamp, if not nil, returns the prefix of each line.
func New(w io.Writer, stamp func() string) *Diary {
	if stamp == nil {
		stamp = func() string { return "" }
	}
	return &Diary{w: w, stamp: stamp, kinds: map[string]*kind{}}
}

// Write implements io.Writer: b is one line. It always succeeds.
func (d *Diary) Write(b []byte) (int, error) {
	if d == nil || d.w == nil {
		return len(b), nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.put(strings.TrimSuffix(string(b), "\n"))
	return len(b), nil
}

// Say writes a line of a kind, such as the errors of one file. Programs and the kernel often retry and repeat their errors, so
// Say writes only the first few lines of a kind and no line twice. It counts the other lines and writes their number after a
// minute.
func (d *Diary) Say(what, line string) {
	if d == nil || d.w == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	k := d.kinds[what]
	if k != nil && time.Since(k.since) >= repeatAfter {
		d.sum(what, k)
		k = nil
	}
	if k == nil {
		if len(d.kinds) >= maxKinds {
			d.sumAll()
		}
		k = &kind{since: time.Now()}
		d.kinds[what] = k
	}
	if len(k.lines) < maxSame && !slices.Contains(k.lines, line) {
		k.lines = append(k.lines, line)
		d.put(line)
		return
	}
	if k.more++; k.more == 1 {
		time.AfterFunc(time.Until(k.since.Add(repeatAfter)), func() {
			d.mu.Lock()
			defer d.mu.Unlock()
			if d.kinds[what] == k {
				d.sum(what, k)
			}
		})
	}
}

// sum writes the number of unwritten lines of a kind, and forgets the kind. d.mu is held.
func (d *Diary) sum(what string, k *kind) {
	delete(d.kinds, what)
	if k.more > 0 {
		d.put(fmt.Sprintf("%s: %d more similar lines", what, k.more))
	}
}

func (d *Diary) sumAll() {
	for what, k := range d.kinds {
		d.sum(what, k)
	}
}

// put queues a line. d.mu is held.
func (d *Diary) put(line string) {
	line = d.stamp() + line + "\n"
	if d.bytes+len(line) > maxBytes {
		d.lost++
		return
	}
	d.queue, d.bytes = append(d.queue, line), d.bytes+len(line)
	if !d.writing {
		d.writing, d.wrote = true, make(chan struct{})
		go d.write()
	}
}

func (d *Diary) write() {
	for {
		d.mu.Lock()
		if len(d.queue) == 0 {
			d.writing = false
			close(d.wrote)
			d.mu.Unlock()
			return
		}
		line := d.queue[0]
		d.queue = d.queue[1:]
		d.bytes -= len(line)
		d.mu.Unlock()
		_, _ = io.WriteString(d.w, line) // an error cannot be reported
		d.mu.Lock()
		if d.lost > 0 {
			d.queue = append([]string{d.stamp() + fmt.Sprintf("%d lines were dropped because the reader was too slow", d.lost) + "\n"}, d.queue...)
			d.bytes += len(d.queue[0])
			d.lost = 0
		}
		close(d.wrote)
		d.wrote = make(chan struct{})
		d.mu.Unlock()
	}
}

// Flush returns when all lines are written, or when the writer accepts nothing for a second.
func (d *Diary) Flush() {
	if d == nil || d.w == nil {
		return
	}
	d.mu.Lock()
	d.sumAll()
	for d.writing {
		wrote := d.wrote
		d.mu.Unlock()
		select {
		case <-wrote:
		case <-time.After(patience):
			return
		}
		d.mu.Lock()
	}
	d.mu.Unlock()
}
