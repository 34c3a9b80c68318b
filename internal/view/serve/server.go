package serve

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"blobio/internal/base/cache"
	"blobio/internal/base/diary"
	"blobio/internal/base/fault"
	"blobio/internal/draw/fieldplot"
	"blobio/internal/view/tree"
	"blobio/internal/view/zarr"
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
	stores *cache.Cache[string, *zarr.Store] // what was computed of headers
	chunks sync.Pool                         // of *[]byte: values of Zarr that were sent
	diary  *diary.Diary

	streams atomic.Int64  // of events
	ending  chan struct{} // closed when the server is to end

	leftOut struct {
		sync.Mutex
		told map[string]bool // by path and identity
	}
	end sync.Once
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
	return &Server{tree: t, opt: opt, guard: newGuard(&opt), diary: diary.New(opt.Log, nil), parts: parts, atlas: fieldplot.NewAtlas(atlasMemory), checks: newChecks(), stores: cache.New[string](maxStores, (*zarr.Store).MetaBytes), ending: make(chan struct{}),
		memory: newBudget(answers, opt.Queue, opt.Wait), work: newBudget(int64(opt.Work), math.MaxInt, 0)}, nil
}

// heldMemory is what a dataset may take that an answer holds, its header and maps included, in bytes.
const heldMemory = 2 << 20

// Close closes the files. No request may be under way, or come.
func (s *Server) Close() error {
	s.stopStreams()
	err := s.tree.Close()
	s.diary.Flush()
	return err
}

// stopStreams ends the answers that go on until somebody goes.
func (s *Server) stopStreams() { s.end.Do(func() { close(s.ending) }) }

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	begun := time.Now()
	a := &answer{ResponseWriter: w, ctl: http.NewResponseController(w), stall: s.opt.Stall, head: r.Method == http.MethodHead}
	err := errors.New("panic") // unless it comes to its end
	defer func() { s.log(r, a, time.Since(begun), err) }()
	s.opt.secure(w.Header())
	err = s.serve(a, r)
	switch {
	case err == nil && a.failed == nil:
		a.commit()
		a.deadline() // for what net/http still holds
	case a.sent:
		panic(http.ErrAbortHandler) // what is out must not look whole
	default:
		s.refuse(a, err)
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
		return &statusError{http.StatusMethodNotAllowed, "only GET and HEAD are allowed: the server is read only"}
	}
	p, path := s.route(r.URL.Path)
	return p(s, a, r, path)
}

// relative takes the name of the directory out of a text.
func (s *Server) relative(text string) string {
	root := s.tree.Root()
	if root == "/" {
		return text
	}
	return strings.ReplaceAll(text, strings.TrimSuffix(root, "/")+"/", "")
}

// dataset opens a dataset. The log names what is not served of a netCDF-4 file once for each of its states: clients of DAP and Zarr see no more
// than that it is not there.
func (s *Server) dataset(ctx context.Context, name string) (*tree.Dataset, error) {
	d, err := s.tree.Dataset(ctx, name)
	if err != nil {
		return nil, err
	}
	left := d.Reader().LeftOut()
	if len(left) == 0 {
		return d, nil
	}
	key := name + "\x00" + d.ID()
	s.leftOut.Lock()
	told := s.leftOut.told[key]
	if !told {
		if len(s.leftOut.told) >= maxTold {
			clear(s.leftOut.told)
		}
		if s.leftOut.told == nil {
			s.leftOut.told = map[string]bool{}
		}
		s.leftOut.told[key] = true
	}
	s.leftOut.Unlock()
	if !told {
		for _, err := range left {
			fmt.Fprintf(s.diary, "%s - left out: %s\n", time.Now().UTC().Format("2006-01-02T15:04:05Z"), fault.Printable(shorten(s.relative(err.Error()))))
		}
	}
	return d, nil
}

// maxTold is for how many files the server remembers that the log has named what it does not serve.
const maxTold = 4096

// log writes a line: when, who, what, the status (with a * if the answer broke off), bytes, seconds, and what went wrong.
func (s *Server) log(r *http.Request, a *answer, took time.Duration, err error) {
	host, _, serr := net.SplitHostPort(r.RemoteAddr)
	if serr != nil {
		host = r.RemoteAddr
	}
	broken := "" // the answer
	if a.sent && (err != nil || a.failed != nil) && a.status < 400 {
		broken = "*"
	}
	line := fmt.Sprintf("%s %s %s %s %d%s %d %.3f", time.Now().UTC().Format("2006-01-02T15:04:05Z"), host, fault.Quoted(r.Method),
		fault.Quoted(shorten(r.RequestURI)), a.status, broken, a.bytes, took.Seconds())
	if err == nil {
		err = a.told
	}
	switch {
	case err != nil:
		line += " " + fault.Printable(shorten(err.Error()))
	case a.failed != nil:
		line += " " + fault.Printable(a.failed.Error())
	}
	fmt.Fprintln(s.diary, line)
}

// shorten keeps a line of the log readable.
func shorten(s string) string {
	const most = 500
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}
