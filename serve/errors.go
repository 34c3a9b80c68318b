package serve

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"strconv"

	"blobio/internal/fault"
	"blobio/internal/tree"
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
	case errors.Is(err, errBusy), errors.Is(err, tree.ErrTooMany):
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
	a.reset()
	h, status := a.Header(), statusOf(err)
	s.setRetry(h, status)
	text := s.textOf(err) + "\n"
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(len(text)))
	a.WriteHeader(status)
	_, _ = a.Write([]byte(text)) // that the client has gone is noted there
}

// setRetry tells a client that comes too early when to come again.
func (s *Server) setRetry(h http.Header, status int) {
	if status == http.StatusServiceUnavailable {
		h.Set("Retry-After", "5")
	}
}
