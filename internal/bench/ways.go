package bench

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"blobio/blob"
)

// What is shown, and how, while a way reads. Each run has a process of its own for it.
const (
	byNothing = ""
	byMount   = "mount"
	byServer  = "server"
)

// A way is how a tool gets at a dataset that nobody has converted.
type way struct {
	name   string // in tables
	shown  string
	under  string // of a server's URLs: the word before the path
	client string // of levelClients; "": Python
	tool   string // of tools/inplace.py
	needs  []string
	beside string // the reader of the converted file that it is compared with
	own    bool   // its open is blobio's alone
}

// ownClient is what this package reads with.
const ownClient = "own client"

// ways in the order of tables.
var ways = []way{
	{name: "mount, " + ownClient, shown: byMount, client: "file", beside: ownClient, own: true},
	{name: "DAP2, " + ownClient, shown: byServer, under: "dap/", client: "DAP2", beside: ownClient, own: true},
	{name: "Zarr, " + ownClient, shown: byServer, under: "zarr/", client: "Zarr", beside: ownClient, own: true},
	{name: "mount, netCDF4", shown: byMount, tool: "netCDF4", needs: []string{"netCDF4"}, beside: "netCDF4"},
	{name: "DAP2, netCDF4", shown: byServer, under: "dap/", tool: "netCDF4", needs: []string{"netCDF4"}, beside: "netCDF4"},
	{name: "Zarr, zarr", shown: byServer, under: "zarr/", tool: "zarr", needs: []string{"zarr", "fsspec", "aiohttp"}, beside: "netCDF4"},
	{name: "Zarr, xarray", shown: byServer, under: "zarr/", tool: "xarray-zarr", needs: []string{"zarr", "fsspec", "aiohttp", "xarray"}, beside: "xarray"},
	{name: "Python, numpy", tool: "numpy", needs: []string{"blobio", "numpy"}, beside: "netCDF4", own: true},
	{name: "Python, xarray", tool: "xarray-blobio", needs: []string{"blobio", "xarray"}, beside: "xarray"},
}

// library is the way of a Go program.
var library = way{name: "library", client: "dataset", own: true}

// convertedBy are the readers of the converted file that ways are compared with.
var convertedBy = []way{
	{name: ownClient, client: "file"},
	{name: "netCDF4", tool: "netCDF4", needs: []string{"netCDF4"}},
	{name: "xarray", tool: "xarray", needs: []string{"xarray", "netCDF4"}},
}

// usable are the ways for which everything is here; of the others it tells what is not.
func (s *session) usable(ctx context.Context, list []way, py *python) (out []way) {
	missing := map[string]error{}
	for _, shown := range []string{byMount, byServer} {
		missing[shown] = s.canShow(ctx, shown)
	}
	for _, w := range list {
		err := missing[w.shown]
		if err == nil && w.client == "" && py == nil {
			continue // said already
		}
		if err == nil && w.client == "" {
			err = py.can(w.needs...)
		}
		if err != nil {
			s.skip(w.name, err)
			continue
		}
		out = append(out, w)
	}
	return out
}

// canShow tries whether a mount or a server comes up.
func (s *session) canShow(ctx context.Context, shown string) error {
	v, err := s.show(ctx, shown)
	if err == nil {
		_, err = v.end()
	}
	return err
}

// show starts what shows the files of the session.
func (s *session) show(ctx context.Context, shown string) (*service, error) {
	if shown == byMount {
		return s.mounting(ctx, s.dir)
	}
	return s.serving(ctx, s.dir)
}

// forget takes files out of the page cache, and says what of them stayed there; nothing of a file system in memory.
func (s *session) forget(names ...string) (note string, err error) {
	settle(s.dir)
	if strings.HasPrefix(s.res.FileSystem, "tmpfs") {
		return "", nil
	}
	stayed := int64(0)
	for _, name := range names {
		files, err := beginning(name)
		if err != nil {
			return "", err
		}
		for _, f := range files {
			if err := forgetFile(f); err != nil {
				return "", err
			}
			n, err := kept(f)
			if err != nil {
				return "", err
			}
			if n < 0 {
				return "the page cache may have had the files", nil
			}
			stayed += n
		}
	}
	if stayed > 0 {
		note = fmt.Sprintf("%d MiB stayed in the page cache", stayed>>20)
	}
	return note, nil
}

// readBy lets a way read a level of a file of the session, with nothing open before and nothing kept; -1 opens only. Took.Memory is the peak of the
// process that shows it, or that reads it.
func (s *session) readBy(ctx context.Context, w *way, py *python, name string, level int64) (t Took, err error) {
	note, err := s.forget(name)
	if err != nil {
		return t, err
	}
	at := name
	if w.shown != byNothing {
		v, err := s.show(ctx, w.shown)
		if err != nil {
			return t, err
		}
		defer func() {
			peak, eerr := v.end()
			if t.Memory = peak; t.Phases != nil {
				t.Phases["start"] = v.ready // not on the clock
			}
			if err == nil {
				err = eerr
			}
		}()
		if at = filepath.Join(v.at, filepath.Base(name)); w.shown == byServer {
			at = v.at + w.under + filepath.Base(name)
		}
	}
	if w.client != "" {
		t, err = s.worker(ctx, Work{Op: opLevel, Phase: w.client, Path: at, Level: level}, false)
	} else {
		t, err = py.level(ctx, w.tool, at, level, s.path("level.f4"))
	}
	t.Note = note
	return t, err
}

// runnerOf is a row of a way that reads a dataset of one layout.
func (s *session) runnerOf(w way, py *python, job Job, data, what string, l blob.Layout, name string, level int64) runner {
	row := &Row{Data: data, What: what + w.name, Who: l.String(), Ranks: job.Ranks}
	return runner{row: row, run: func(ctx context.Context) (Took, error) {
		t, err := s.readBy(ctx, &w, py, name, level)
		row.Note = t.Note
		return t, err
	}}
}
