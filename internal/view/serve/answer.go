package serve

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"time"

	"blobio/internal/base/fault"
	"blobio/internal/view/tree"
)

// answer is the ResponseWriter of parts. It sends the status with the first byte, so that an error before the first byte can
// still set the status. Each piece of bytes has its own write deadline.
type answer struct {
	http.ResponseWriter
	ctl    *http.ResponseController
	stall  time.Duration
	head   bool // send only headers
	status int  // 0: not set
	sent   bool // the status has been sent
	bytes  int64
	told   error // error that the client got as a message of the protocol
	failed error // error of Write to the client
}

// piece is the number of bytes that must go out within Options.Stall.
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

// deadline sets the client's deadline for the next piece. The recorders of tests have no deadline.
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

// ReadFrom implements io.ReaderFrom for io.Copy. It writes a virtual file directly from the file's memory, without a small
// buffer.
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

// Unwrap returns the ResponseWriter for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// reset discards the headers that a part has set, so that an error can be sent. The caller has not sent the status yet.
func (a *answer) reset() {
	a.status = 0
	h := a.Header()
	for _, k := range []string{"Accept-Ranges", "Content-Description", "Content-Disposition", "Content-Encoding", "Content-Length", "Content-Range", "Content-Type",
		"ETag", "Last-Modified", "Location", "Vary"} {
		h.Del(k)
	}
}

// statusError is an error with an HTTP status and a text for the client.
type statusError struct {
	status int
	text   string
}

func (e *statusError) Error() string { return e.text }

// statusOf returns the HTTP status for an error of a part.
func statusOf(err error) int {
	var s *statusError
	switch {
	case errors.As(err, &s):
		return s.status
	case errors.Is(err, errBusy), errors.Is(err, tree.ErrTooMany), fault.Exhausted(err): // takes precedence over other classes
		return http.StatusServiceUnavailable
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return http.StatusServiceUnavailable
	case errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fault.ErrMissing):
		return http.StatusNotFound
	case errors.Is(err, fs.ErrPermission):
		return http.StatusForbidden
	case errors.Is(err, fault.ErrUsage), errors.Is(err, fault.ErrTooLarge), errors.Is(err, fault.ErrUnsupported):
		return http.StatusBadRequest
	}
	return http.StatusInternalServerError
}

// refuse sends an error as a line of text.
func (a *answer) refuse(err error, text string) {
	a.setError(statusOf(err))
	_ = sendText(a, "text/plain; charset=utf-8", []byte(text+"\n")) // sendText records that the client is gone
}

// setError begins the answer with an error instead of the part's headers. A client that should retry gets Retry-After.
func (a *answer) setError(status int) {
	a.reset()
	if status == http.StatusServiceUnavailable {
		a.Header().Set("Retry-After", "5")
	}
	a.WriteHeader(status)
}
