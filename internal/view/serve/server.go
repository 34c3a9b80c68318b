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

// Limits of a request. A DAP2 constraint may name each variable twice.
const (
	maxHeader   = 256 << 10
	headTime    = 10 * time.Second
	requestTime = 30 * time.Second
	idleTime    = 2 * time.Minute
)

// A Server is an http.Handler that serves the datasets below a directory. It is safe for concurrent use.
type Server struct {
	tree   *tree.Tree
	opt    Options
	guard  guard
	parts  map[string]part
	memory *budget // memory of answers in progress
	work   *budget // slots of reads
	atlas  *fieldplot.Atlas
	checks *checks
	groups *zarrGroups
	log    *requestLog
	events streams
}

// New returns a server for the datasets below a directory. The caller must call Close.
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
	// Reads wait without a time limit, because each read belongs to an answer in progress, and a timeout would break its
	// connection.
	return &Server{tree: t, opt: opt, guard: newGuard(&opt), log: newRequestLog(opt.Log, t.Root()), parts: parts, atlas: fieldplot.NewAtlas(atlasMemory), checks: newChecks(),
		groups: newZarrGroups(opt.ZarrChunk), events: streams{ending: make(chan struct{})},
		memory: newBudget(answers, opt.Queue, opt.Wait), work: newBudget(int64(opt.Work), math.MaxInt, 0)}, nil
}

// heldMemory is the maximum memory of a dataset held by an answer, including header and maps, in bytes.
const heldMemory = 2 << 20

// Close closes the files. When Close is called, no request may be in progress, and none may follow.
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
	err := errors.New("panic") // reset at a normal end
	defer func() { s.log.request(r, a, time.Since(begun), err) }()
	s.opt.secure(w.Header())
	err = s.serve(a, r)
	switch {
	case err == nil && a.failed == nil:
		a.commit()
		a.deadline() // for data that net/http still buffers
	case a.sent:
		panic(http.ErrAbortHandler) // a partial answer must not look complete
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

// dataset opens a dataset, and logs its items that are not served.
func (s *Server) dataset(ctx context.Context, name string) (*tree.Dataset, error) {
	d, err := s.tree.Dataset(ctx, name)
	if err != nil {
		return nil, err
	}
	s.log.leftOut(name, d)
	return d, nil
}

// A part answers the requests for all paths below one first word. path is the rest of the path, decoded and without a leading
// slash. The context ends when the client leaves. The client gets an error if no byte has been sent; otherwise the connection
// breaks.
type part func(s *Server, a *answer, r *http.Request, path string) error

// parts maps the first words of paths to parts.
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

// route finds the part for a path: "/" is the list of the directory.
func (s *Server) route(path string) (part, string) {
	if path == "/" || path == "" { // but not for "//files/x.nc", for which the list would be a wrong answer
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

// Serve answers connections to l until ctx ends. Then it accepts no more connections, waits up to Options.Grace for the
// responses in progress, and returns nil. A listener reachable from other machines requires Options.Token or Public. Serve
// closes l.
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
			err = h.Close() // this breaks off the answers that are still in progress
		}
		ended <- err
	})
	err := h.Serve(l)
	if !stop() {
		return <-ended
	}
	return errors.Join(err, h.Close())
}

// CheckAddr rejects an address reachable from other machines without Options.Token or Public.
func (s *Server) CheckAddr(a net.Addr) error {
	if s.opt.Token != "" || s.opt.Public {
		return nil
	}
	if t, ok := a.(*net.TCPAddr); ok && !t.IP.IsLoopback() {
		return fault.Usage("listen on %v: other machines can reach this address: set Options.Token, or Options.Public if anyone may read", a)
	}
	return nil
}
