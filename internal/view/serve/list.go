package serve

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"html/template"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"blobio/blob"
	"blobio/internal/base/fault"
	"blobio/internal/base/par"
	"blobio/internal/cli"
	"blobio/internal/view/tree"
)

// pageLength is the maximum number of entries shown at once.
const pageLength = 500

// listing is a directory, or the part of it that begins with a name.
type listing struct {
	Path    string  `json:"path"`
	Entries []entry `json:"entries"`
	Next    string  `json:"next,omitempty"` // ?from= for the next part
	Python  []fact  `json:"-"`              // how to open the first dataset
}

type entry struct {
	Name     string       `json:"name"`
	Kind     string       `json:"kind"`
	Size     int64        `json:"size"` // size of the netCDF file, in bytes
	Records  *int64       `json:"records,omitempty"`
	Modified *time.Time   `json:"modified,omitempty"`
	ID       string       `json:"id,omitempty"`
	Status   *blob.Status `json:"status,omitempty"`   // of a dataset whose writer is active or dead
	Missing  int          `json:"missing,omitempty"`  // number of missing subfiles
	LeftOut  int          `json:"left_out,omitempty"` // number of items of a netCDF-4 file that CDF-5 cannot hold
	Error    string       `json:"error,omitempty"`
	URL      string       `json:"url,omitempty"` // of the netCDF file, or of the directory's list
	Page     string       `json:"page,omitempty"`
	DAP      string       `json:"dap,omitempty"`
	Zarr     string       `json:"zarr,omitempty"` // version 2
}

// State describes the state of an entry for a list.
func (e entry) State() string {
	switch {
	case e.Error != "":
		return e.Error
	case e.Missing > 0:
		return plural(int64(e.Missing), "subfile") + " missing"
	case e.Status != nil:
		return fault.Printable(e.Status.String())
	case e.Kind == "dataset":
		return "committed"
	case e.LeftOut > 0:
		return plural(int64(e.LeftOut), "member") + " left out"
	case e.Kind == "file":
		return "ordinary file"
	}
	return ""
}

// list sends the entries of a directory. It hides files that are not datasets, except for files with names of netCDF files. It
// also hides directories that are shown as datasets.
func (s *Server) list(a *answer, r *http.Request, dir string) error {
	give, err := s.memory.take(r.Context(), 1<<20)
	if err != nil {
		return err
	}
	defer give()
	names, err := s.tree.Names(dir)
	if err != nil {
		return err
	}
	from := r.URL.Query().Get("from")
	names = slices.DeleteFunc(names, func(e tree.Entry) bool {
		return e.Parts || e.Kind == tree.KindPlain && !isNetCDF(e.Name) || e.Name < from
	})
	l := listing{Path: "/" + dir, Entries: []entry{}}
	if len(names) > pageLength {
		l.Next = names[pageLength].Name
		names = names[:pageLength]
	}
	if l.Entries, err = s.entries(r.Context(), dir, names); err != nil {
		return err
	}
	l.Entries = slices.DeleteFunc(l.Entries, func(e entry) bool { return e.Name == "" })
	a.Header().Add("Vary", "Accept")
	if wantsJSON(r) {
		return sendJSON(a, l)
	}
	for _, e := range l.Entries {
		if e.DAP == "" {
			continue
		}
		if set, err := s.dataset(r.Context(), path.Join(dir, e.Name)); err == nil {
			l.Python = python(r, path.Join(dir, e.Name), set)
			set.Release()
			break
		}
	}
	return sendPage(a, "list.html", l)
}

// entries describes names; a name that has disappeared becomes an empty entry. A resource shortage of this process is an error of
// the whole list, not of one name.
func (s *Server) entries(ctx context.Context, dir string, names []tree.Entry) ([]entry, error) {
	out, errs := make([]entry, len(names)), make([]error, len(names))
	par.Do(int(s.work.all), len(names), func(i int) {
		p := path.Join(dir, names[i].Name)
		e, err := s.tree.Lookup(p)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if fault.Exhausted(err) {
			errs[i] = err
			return
		}
		if err != nil {
			e = tree.Entry{Name: names[i].Name, Kind: names[i].Kind, Err: err}
		}
		x := entry{Name: e.Name, Kind: e.Kind.String(), Size: e.Size, ID: e.ID}
		switch {
		case e.Kind == tree.KindDir:
			x.URL = link("files", p) + "/"
			out[i] = x
			return
		case e.Err != nil:
			x.Error = s.log.textOf(e.Err)
		case e.Kind == tree.KindPlain && s.unreadable(ctx, p, &x):
			x.URL = link("files", p)
		default:
			x.URL, x.DAP, x.Zarr = link("files", p), link("dap", p), link("zarr", p)
			if s.parts[pageWord] != nil {
				x.Page = link(pageWord, p)
			}
		}
		if e.Kind == tree.KindDataset && e.Err == nil {
			x.Records, x.Missing = &e.Records, e.Missing
			if e.Growing {
				if w, err := s.tree.Watch(p); err == nil {
					x.Status, _ = w.Look() // opening the dataset reports the error
				}
			}
		}
		if t := e.ModTime.UTC(); !t.IsZero() {
			x.Modified = &t
		}
		out[i] = x
	})
	return out, errors.Join(errs...)
}

// python returns lines of code that open a dataset, one for each protocol.
func python(r *http.Request, p string, set *tree.Dataset) (out []fact) {
	line := func(open, name string) string { return "xarray." + open + "(" + strconv.Quote(name) + ")" }
	if set.Form() == "" {
		out = append(out, fact{"path", line("open_dataset", p) + "  # in the served directory, with the package blobio"})
	}
	return append(out, fact{"mount", line("open_dataset", "MOUNTPOINT/"+p) + "  # after: blobio mount DIR MOUNTPOINT"},
		fact{"DAP2", line("open_dataset", "http://"+r.Host+link("dap", p))}, fact{"Zarr", line("open_zarr", "http://"+r.Host+link("zarr", p))})
}

// unreadable opens an ordinary file to count its records. It returns true if the file cannot be opened; the file is then not a
// dataset.
func (s *Server) unreadable(ctx context.Context, p string, x *entry) bool {
	set, err := s.dataset(ctx, p)
	switch {
	case err == nil:
		n := set.Reader().Records()
		x.Records, x.LeftOut = &n, len(set.Reader().LeftOut())
		set.Release()
	case statusOf(err) != http.StatusServiceUnavailable:
		x.Error = s.log.textOf(err)
		return true
	}
	return false
}

// pageWord begins the URL of a dataset's page, if that part exists.
const pageWord = "view"

// isNetCDF reports whether a plain file has a netCDF file name.
func isNetCDF(name string) bool {
	return slices.Contains([]string{".nc", ".nc4", ".cdf"}, strings.ToLower(path.Ext(name)))
}

// link returns the URL of a path in a part.
func link(word, p string) string { return (&url.URL{Path: "/" + word + "/" + p}).EscapedPath() }

// wantsJSON reports whether a client accepts JSON and prefers it to HTML.
func wantsJSON(r *http.Request) bool {
	accept := strings.ToLower(strings.Join(r.Header.Values("Accept"), ","))
	j, h := strings.Index(accept, "application/json"), strings.Index(accept, "text/html")
	return j >= 0 && (h < 0 || j < h)
}

func sendJSON(a *answer, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return sendText(a, "application/json", append(b, '\n'))
}

// sendText sends a complete body.
func sendText(a *answer, mediaType string, body []byte) error {
	a.Header().Set("Content-Type", mediaType)
	a.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, err := a.Write(body)
	return err
}

// pages are the templates of directory lists and dataset pages.
var pages = template.Must(template.New("").Funcs(template.FuncMap{
	"bytes": cli.HumanBytes, "printable": fault.Printable,
	"up": func(p string) string { return link("files", strings.TrimPrefix(path.Dir(p), "/")+"/") },
	"next": func(p, name string) string {
		u := strings.TrimSuffix(link("files", strings.TrimPrefix(p, "/")), "/") + "/"
		return u + "?" + url.Values{"from": {name}}.Encode()
	},
}).ParseFS(staticFiles, "static/*.html"))

func sendPage(a *answer, name string, data any) error {
	var b bytes.Buffer
	if err := pages.ExecuteTemplate(&b, name, data); err != nil {
		return err
	}
	return sendText(a, "text/html; charset=utf-8", b.Bytes())
}

//go:embed static
var staticFiles embed.FS

// static sends a file that the pages use.
func static(_ *Server, a *answer, _ *http.Request, name string) error {
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
