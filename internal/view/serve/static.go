package serve

import (
	"embed"
	"io/fs"
	"mime"
	"net/http"
	"path"
)

//go:embed static
var staticFiles embed.FS

// static answers with a file of the pages themselves.
func (s *Server) static(a *answer, _ *http.Request, name string) error {
	name = path.Join("static", name)
	if !fs.ValidPath(name) {
		return fs.ErrNotExist
	}
	b, err := staticFiles.ReadFile(name)
	if err != nil {
		return fs.ErrNotExist
	}
	return sendText(a, mime.TypeByExtension(path.Ext(name)), b)
}
