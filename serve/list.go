package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"blobio/blob"
	"blobio/internal/cli"
	"blobio/internal/fault"
	"blobio/internal/par"
	"blobio/internal/tree"
)

// pageLength is how many entries of a directory are shown at once.
const pageLength = 500

// listing is a directory, or the part of it that begins with a name.
type listing struct {
	Path    string  `json:"path"`
	Entries []entry `json:"entries"`
	Next    string  `json:"next,omitempty"` // ?from= of the part that follows
}

// entry is what a listing says of a name.
type entry struct {
	Name     string       `json:"name"`
	Kind     string       `json:"kind"`
	Size     int64        `json:"size"` // of the netCDF file, in bytes
	Records  *int64       `json:"records,omitempty"`
	Modified *time.Time   `json:"modified,omitempty"`
	ID       string       `json:"id,omitempty"`
	Status   *blob.Status `json:"status,omitempty"` // of a dataset whose writer goes on, or died
	Error    string       `json:"error,omitempty"`
	URL      string       `json:"url,omitempty"` // of the netCDF file, or of the directory's list
	Page     string       `json:"page,omitempty"`
	DAP      string       `json:"dap,omitempty"`
	Zarr     string       `json:"zarr,omitempty"` // version 2
}

// list answers with the entries of a directory. Files that are no datasets are not shown, but for those that are netCDF by their name; nor are directories of files
// that are shown as a dataset.
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
	names = slices.DeleteFunc(names, func(e tree.Entry) bool { return e.Parts || e.Kind == tree.KindPlain && !isNetCDF(e.Name) })
	from := r.URL.Query().Get("from")
	names = slices.DeleteFunc(names, func(e tree.Entry) bool { return e.Name < from })
	l := listing{Path: "/" + dir, Entries: []entry{}}
	if len(names) > pageLength {
		l.Next = names[pageLength].Name
		names = names[:pageLength]
	}
	l.Entries = slices.DeleteFunc(s.entries(dir, names), func(e entry) bool { return e.Name == "" })
	a.Header().Add("Vary", "Accept")
	if wantsJSON(r) {
		return sendJSON(a, l)
	}
	var b bytes.Buffer
	if err := listPage.Execute(&b, l); err != nil {
		return err
	}
	return sendText(a, "text/html; charset=utf-8", b.Bytes())
}

// entries looks at names; one that has gone meanwhile is empty.
func (s *Server) entries(dir string, names []tree.Entry) []entry {
	out := make([]entry, len(names))
	par.Do(int(s.work.all), len(names), func(i int) {
		p := path.Join(dir, names[i].Name)
		e, err := s.tree.Lookup(p)
		if errors.Is(err, fs.ErrNotExist) {
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
			x.Error = s.textOf(e.Err)
		default:
			x.URL, x.DAP, x.Zarr = link("files", p), link("dap", p), link("zarr", p)
			if s.parts[pageWord] != nil {
				x.Page = link(pageWord, p)
			}
		}
		if e.Kind == tree.KindDataset {
			x.Records = &e.Records
			if e.Growing {
				if w, err := s.tree.Watch(p); err == nil {
					x.Status, _ = w.Look() // what is wrong, whoever opens it is told
				}
			}
		}
		if t := e.ModTime.UTC(); !t.IsZero() {
			x.Modified = &t
		}
		out[i] = x
	})
	return out
}

// pageWord begins the URL of the page of a dataset, if there is such a part.
const pageWord = "view"

// isNetCDF says whether a plain file is called as netCDF files are.
func isNetCDF(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".nc", ".nc4", ".cdf":
		return true
	}
	return false
}

// link is the URL of a path in a part.
func link(word, p string) string { return (&url.URL{Path: "/" + word + "/" + p}).EscapedPath() }

// wantsJSON says whether a client accepts JSON, and rather than HTML.
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

// sendText sends a body that is there as a whole.
func sendText(a *answer, mediaType string, body []byte) error {
	a.Header().Set("Content-Type", mediaType)
	a.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, err := a.Write(body)
	return err
}

// listPage is a listing as HTML.
var listPage = template.Must(template.New("list").Funcs(template.FuncMap{
	"bytes": cli.HumanBytes, "printable": fault.Printable,
	"up": func(p string) string { return link("files", strings.TrimPrefix(path.Dir(p), "/")+"/") },
	"next": func(p, name string) string {
		u := strings.TrimSuffix(link("files", strings.TrimPrefix(p, "/")), "/") + "/"
		return u + "?" + url.Values{"from": {name}}.Encode()
	},
}).Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{printable .Path}} - blobio</title>
<link rel="stylesheet" href="/static/list.css">
</head>
<body>
<main>
<h1>{{printable .Path}}</h1>
{{if ne .Path "/"}}<p><a href="{{up .Path}}">Up</a></p>{{end}}
{{if .Entries}}<div class="scroll"><table>
<thead><tr><th scope="col">Name</th><th scope="col" class="number">Size</th><th scope="col" class="number">Records</th><th scope="col">Modified (UTC)</th><th scope="col">State</th><th scope="col">Open as</th></tr></thead>
<tbody>
{{range .Entries}}<tr>
<td>{{if .Page}}<a href="{{.Page}}">{{printable .Name}}</a>{{else if .URL}}<a href="{{.URL}}">{{printable .Name}}{{if eq .Kind "directory"}}/{{end}}</a>{{else}}{{printable .Name}}{{end}}</td>
<td class="number">{{if and .Modified (not .Error)}}{{bytes .Size}}{{end}}</td>
<td class="number">{{with .Records}}{{.}}{{end}}</td>
<td>{{with .Modified}}{{.Format "2006-01-02 15:04"}}{{end}}</td>
<td>{{if .Error}}<span class="error">{{.Error}}</span>{{else if eq .Kind "dataset"}}committed{{else if eq .Kind "file"}}ordinary file{{end}}</td>
<td>{{if .DAP}}<a href="{{.URL}}">netCDF file</a> · <a href="{{.DAP}}.info">DAP2</a>{{end}}</td>
</tr>
{{end}}</tbody>
</table></div>
{{else}}<p>There are no datasets here.</p>{{end}}
{{if .Next}}<p><a href="{{next .Path .Next}}">More</a></p>{{end}}
</main>
</body>
</html>
`))
