package serve

import (
	"net/http"
	"strings"

	"blobio/internal/view/zarr"
)

// part answers for the path behind its word, which begins without a slash and has no %XX left. The context of the request ends when
// the client goes. An error is told to the client if nothing is out yet, and breaks the connection otherwise.
type part func(s *Server, a *answer, r *http.Request, path string) error

// parts are all words that a path may begin with.
var parts = map[string]part{
	"files":  (*Server).files,
	"dap":    (*Server).dap,
	"zarr":   zarrPart(zarr.V2),
	"zarr3":  zarrPart(zarr.V3),
	"static": (*Server).static,
	"plot":   (*Server).plot,
	"value":  (*Server).value,
	"events": (*Server).events,
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
	return (*Server).nothing, ""
}

func (s *Server) nothing(*answer, *http.Request, string) error {
	return &statusError{http.StatusNotFound, "nothing has this name: / lists the datasets"}
}
