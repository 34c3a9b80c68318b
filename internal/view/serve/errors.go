package serve

import (
	"context"
	"errors"
	"io/fs"
	"net/http"

	"blobio/internal/base/fault"
	"blobio/internal/view/tree"
)

// statusError is an error with a status of HTTP, and a text for the client.
type statusError struct {
	status int
	text   string
}

func (e *statusError) Error() string { return e.text }

// statusOf is the status of an error of a part.
func statusOf(err error) int {
	var s *statusError
	switch {
	case errors.As(err, &s):
		return s.status
	case errors.Is(err, errBusy), errors.Is(err, tree.ErrTooMany), fault.Exhausted(err): // whatever else it is said to be
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

// textOf is what a client is told: what is wrong with which file, but not where the directory lies.
func (s *Server) textOf(err error) string {
	if statusOf(err) == http.StatusNotFound {
		return "there is no such dataset or file"
	}
	return s.relative(fault.Printable(err.Error()))
}

// refuse sends an error as a line of text.
func (s *Server) refuse(a *answer, err error) {
	a.setError(statusOf(err))
	_ = sendText(a, "text/plain; charset=utf-8", []byte(s.textOf(err)+"\n")) // that the client has gone is noted there
}

// setError begins the answer with an error instead of what a part has set. A client that comes too early learns when to come again.
func (a *answer) setError(status int) {
	a.reset()
	if status == http.StatusServiceUnavailable {
		a.Header().Set("Retry-After", "5")
	}
	a.WriteHeader(status)
}
