package serve

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// answer is the ResponseWriter of parts. The status goes out with the first byte, not before, so that an error can still be told; and
// each piece of bytes has its own time to go out.
type answer struct {
	http.ResponseWriter
	ctl    *http.ResponseController
	stall  time.Duration
	head   bool // only headers are wanted
	status int  // 0: not set
	sent   bool // the status is out
	bytes  int64
	told   error // the client has been told, in a form that a part has
	failed error // of the client: what Write returned
}

// piece is how much must go out within Options.Stall, in bytes.
const piece = 64 << 10

// WriteHeader keeps the status for the first byte. Only the first call counts.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

// commit sends the status.
func (a *answer) commit() {
	if a.sent {
		return
	}
	a.WriteHeader(http.StatusOK)
	a.sent = true
	a.deadline()
	a.ResponseWriter.WriteHeader(a.status)
}

// deadline gives the client time for the next piece. Where there are none (tests with a recorder) it does without.
func (a *answer) deadline() { _ = a.ctl.SetWriteDeadline(time.Now().Add(a.stall)) }

func (a *answer) Write(p []byte) (n int, err error) {
	a.commit()
	if a.head {
		return len(p), nil
	}
	for n < len(p) && a.failed == nil {
		a.deadline()
		var k int
		k, a.failed = a.ResponseWriter.Write(p[n:min(len(p), n+piece)])
		n += k
	}
	a.bytes += int64(n)
	return n, a.failed
}

// ReadFrom implements io.ReaderFrom for io.Copy: what of a virtual file is in memory goes out from there, not by a small buffer.
func (a *answer) ReadFrom(r io.Reader) (int64, error) {
	if l, ok := r.(*io.LimitedReader); ok {
		if f, ok := l.R.(*virtual); ok {
			n, err := f.sendTo(a, l.N)
			if l.N -= n; errors.Is(err, io.EOF) {
				err = nil
			}
			return n, err
		}
	}
	return io.Copy(struct{ io.Writer }{a}, r)
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// reset forgets what a part has set, for an error instead. The status is not out yet.
func (a *answer) reset() {
	a.status = 0
	h := a.Header()
	for _, k := range []string{"Accept-Ranges", "Content-Description", "Content-Disposition", "Content-Encoding", "Content-Length", "Content-Range", "Content-Type",
		"ETag", "Last-Modified", "Location", "Vary"} {
		h.Del(k)
	}
}
