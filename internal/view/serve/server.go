package serve

import (
	"context"
	"errors"
	"log"
	"math"
	"net"
	"net/http"
	"strings"
	"time"

	"blobio/internal/base/fault"
	"blobio/internal/draw/fieldplot"
	"blobio/internal/view/tree"
	"blobio/internal/view/zarr"
)

// Limits of a request. A constraint of DAP2 may name each variable twice.
const (
	maxHeader   = 256 << 10
	headTime    = 10 * time.Second
	requestTime = 30 * time.Second
	idleTime    = 2 * time.Minute
)

// A Server is an http.Handler that offers the datasets below a directory. It is safe for concurrent use.
type Server struct {
	tree   *tree.Tree
	opt    Options
	guard  guard
	parts  map[string]part
	memory *budget // of answers under way
	work   *budget // reads
	atlas  *fieldplot.Atlas
	checks *checks
	groups *zarrGroups
	log    *requestLog
	events streams
}

// New returns a server of the datasets below a directory. Close must be called.
func New(dir string, o *Options) (*Server, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	opt := o.withDefaults()
	answers := opt.Memory / 3
	files := opt.Memory - answers
	t, err := tree.Open(dir, &tree.Options{Version: opt.Version, Verify: opt.Verify, AllowMissing: opt.AllowMissing, ZeroFill: opt.ZeroFill, Memory: files, MaxOpen: int(files / heldMemory), Wait: opt.Wait})
	if err != nil {
		return nil, err
	}
	// Reads wait as long as it takes: there is one for each answer under way, whose connection would break.
	return &Server{tree: t, opt: opt, guard: newGuard(&opt), log: newRequestLog(opt.Log, t.Root()), parts: parts, atlas: fieldplot.NewAtlas(atlasMemory), checks: newChecks(),
		groups: newZarrGroups(opt.ZarrChunk), events: streams{ending: make(chan struct{})},
		memory: newBudget(answers, opt.Queue, opt.Wait), work: newBudget(int64(opt.Work), math.MaxInt, 0)}, nil
}

// heldMemory is what a dataset may take that an answer holds, its header and maps included, in bytes.
const heldMemory = 2 << 20

// Close closes the files. No request may be under way, or come.
func (s *Server) Close() error {
	s.events.stop()
	err := s.tree.Close()
	s.log.diary.Flush()
	return err
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	begun := time.Now()
	a := &answer{ResponseWriter: w, ctl: http.NewResponseController(w), stall: s.opt.Stall, head: r.Method == http.MethodHead}
	err := errors.New("panic") // unless it comes to its end
	defer func() { s.log.request(r, a, time.Since(begun), err) }()
	s.opt.secure(w.Header())
	err = s.serve(a, r)
	switch {
	case err == nil && a.failed == nil:
		a.commit()
		a.deadline() // for what net/http still holds
	case a.sent:
		panic(http.ErrAbortHandler) // what is out must not look whole
	default:
		a.refuse(err, s.log.textOf(err))
		a.deadline()
	}
}

func (s *Server) serve(a *answer, r *http.Request) error {
	if err := s.guard.check(r); err != nil {
		if statusOf(err) == http.StatusUnauthorized {
			a.Header().Add("WWW-Authenticate", `Bearer realm="blobio"`)
			a.Header().Add("WWW-Authenticate", `Basic realm="blobio"`)
		}
		return err
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead:
	case http.MethodOptions:
		a.Header().Set("Allow", "GET, HEAD, OPTIONS")
		a.WriteHeader(http.StatusNoContent)
		return nil
	default:
		a.Header().Set("Allow", "GET, HEAD, OPTIONS")
		return &statusError{http.StatusMethodNotAllowed, "only GET and HEAD are allowed, because the server is read-only"}
	}
	p, path := s.route(r.URL.Path)
	return p(s, a, r, path)
}

// dataset opens a dataset, and notes its members that are not served.
func (s *Server) dataset(ctx context.Context, name string) (*tree.Dataset, error) {
	d, err := s.tree.Dataset(ctx, name)
	if err != nil {
		return nil, err
	}
	s.log.leftOut(name, d)
	return d, nil
}

// part answers for the path behind its word, which begins without a slash and has no %XX left. The context of the request ends when
// the client goes. The client gets an error if nothing is out yet; otherwise the connection breaks.
type part func(s *Server, a *answer, r *http.Request, path string) error

// parts are all words that a path may begin with.
var parts = map[string]part{
	"files":  (*Server).files,
	"dap":    (*Server).dap,
	"zarr":   zarrPart(zarr.V2),
	"zarr3":  zarrPart(zarr.V3),
	"static": static,
	"plot":   (*Server).plot,
	"value":  (*Server).value,
	"events": (*Server).watch,
	pageWord: (*Server).view,
}

// route finds the part that answers for a path: "/" is the list of the directory.
func (s *Server) route(path string) (part, string) {
	if path == "/" || path == "" { // but not "//files/x.nc": a list is no answer to that
		return (*Server).files, ""
	}
	word, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if p := s.parts[word]; p != nil {
		return p, rest
	}
	return nothing, ""
}

func nothing(*Server, *answer, *http.Request, string) error {
	return &statusError{http.StatusNotFound, "nothing has this name; / lists the datasets"}
}

// Serve answers connections to l until ctx ends. Then it accepts no more, gives responses in progress Options.Grace to end, and
// returns nil. A listener that other machines reach is refused without Options.Token or Public. l is closed.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	if err := s.CheckAddr(l.Addr()); err != nil {
		return errors.Join(err, l.Close())
	}
	h := &http.Server{Handler: s, MaxHeaderBytes: maxHeader, ReadHeaderTimeout: headTime, ReadTimeout: requestTime, IdleTimeout: idleTime,
		ErrorLog: log.New(s.log.diary, "", log.LstdFlags|log.LUTC)}
	ended := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		s.events.stop()
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
		return fault.Usage("listen on %v: other machines can reach this address, want a token, or Public if anyone may read", a)
	}
	return nil
}
