package serve

import (
	"blobio/internal/base/fault"
	"context"
	"errors"
	"log"
	"net"
	"net/http"
	"time"
)

// Limits of a request. A constraint of DAP2 may name each variable twice.
const (
	maxHeader   = 256 << 10
	headTime    = 10 * time.Second
	requestTime = 30 * time.Second
	idleTime    = 2 * time.Minute
)

// Serve answers connections to l until ctx ends. Then it accepts no more, gives responses in progress Options.Grace to end, and
// returns nil. A listener that other machines reach is refused without Options.Token or Public. l is closed.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	if err := s.CheckAddr(l.Addr()); err != nil {
		return errors.Join(err, l.Close())
	}
	h := &http.Server{Handler: s, MaxHeaderBytes: maxHeader, ReadHeaderTimeout: headTime, ReadTimeout: requestTime, IdleTimeout: idleTime,
		ErrorLog: log.New(s.diary, "", log.LstdFlags|log.LUTC)}
	ended := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		s.stopStreams()
		left, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.opt.Grace)
		defer cancel()
		err := h.Shutdown(left)
		if errors.Is(err, context.DeadlineExceeded) {
			err = h.Close() // of answers that take longer the connection breaks
		}
		ended <- err
	})
	err := h.Serve(l)
	if !stop() {
		return <-ended
	}
	return errors.Join(err, h.Close())
}

// CheckAddr refuses an address that other machines reach, unless everybody may read or must have the token.
func (s *Server) CheckAddr(a net.Addr) error {
	if s.opt.Token != "" || s.opt.Public {
		return nil
	}
	if t, ok := a.(*net.TCPAddr); ok && !t.IP.IsLoopback() {
		return fault.Usage("listen on %v: other machines can reach it, want a token, or Public if anyone may read", a)
	}
	return nil
}
