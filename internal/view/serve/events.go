package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"blobio/blob"
	"blobio/internal/view/tree"
)

// streams are the /events answers in progress.
type streams struct {
	open   atomic.Int64
	ending chan struct{} // closed when the server shuts down
	end    sync.Once
}

// stop ends the streams.
func (s *streams) stop() { s.end.Do(func() { close(s.ending) }) }

type event struct {
	ID   string `json:"id"`   // ID of the content; when it changes, the answers to other requests have changed, too
	Text string `json:"text"` // the status in a line
	*blob.Status
}

const (
	maxStreams = 256              // maximum number of open streams
	tick       = 15 * time.Second // period of empty lines that keep the connection alive
)

// watch sends the status of a dataset: being written, finished, or abandoned by a dead writer. It sends server-sent events
// "state", at once and after each change, until the dataset is finished or its writer is dead. A client that accepts JSON gets
// only the present status.
func (s *Server) watch(a *answer, r *http.Request, name string) error {
	w, err := s.tree.Watch(name)
	if err != nil {
		return err
	}
	now, err := s.event(name, w)
	if err != nil {
		return err
	}
	a.Header().Add("Vary", "Accept")
	if a.head || wantsJSON(r) {
		return sendJSON(a, now)
	}
	if s.events.open.Add(1) > maxStreams {
		s.events.open.Add(-1)
		return &statusError{http.StatusServiceUnavailable, "too many clients are waiting for events"}
	}
	defer s.events.open.Add(-1)
	a.Header().Set("Content-Type", "text/event-stream")
	_ = a.ctl.SetReadDeadline(time.Time{}) // otherwise the request's context would end at its deadline
	told, said := "", time.Time{}
	for {
		b, err := json.Marshal(now)
		if err != nil {
			return err
		}
		if text := string(b); text != told {
			told, said = text, time.Now()
			if _, err = fmt.Fprintf(a, "event: state\ndata: %s\n\n", text); err != nil {
				return err
			}
		} else if time.Since(said) > tick {
			said = time.Now()
			if _, err = fmt.Fprint(a, ": \n\n"); err != nil {
				return err
			}
		}
		if now.State == blob.Finished || now.State == blob.Died {
			_, err := fmt.Fprint(a, "event: end\ndata: {}\n\n")
			return err
		}
		if err := a.ctl.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return err
		}
		if err := s.events.pause(r.Context(), w.Next()); err != nil {
			return nil // the client is gone, or the server shuts down
		}
		if now, err = s.event(name, w); err != nil {
			return err
		}
	}
}

// pause waits for the duration d. It returns an error early if the client leaves or the server shuts down.
func (s *streams) pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-s.ending:
	case <-ctx.Done():
	}
	return context.Canceled
}

// event returns the present state of a dataset.
func (s *Server) event(name string, w *blob.Watch) (*event, error) {
	e, err := s.tree.Lookup(name)
	if err != nil {
		return nil, err
	}
	if e.Kind != tree.KindDataset {
		return nil, fs.ErrNotExist
	}
	if e.Err != nil {
		return nil, e.Err
	}
	st, err := w.Look()
	if err != nil {
		return nil, err
	}
	if st.Writer != nil { // a heartbeat is not a change
		st.Writer.Sign = time.Time{}
	}
	return &event{ID: e.ID, Text: st.String(), Status: st}, nil
}
