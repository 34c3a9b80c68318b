package versioned

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"blobio/internal/fault"
	"blobio/internal/vfs"
	"blobio/scr/redset"
)

// checkSets verifies the redundancy of a protected store, and says of what is lost whether it can be rebuilt. Nothing is changed: what
// would be made anew is made in memory, and forgotten.
func (v *View) checkSets(ctx context.Context, yield func(Finding) bool) bool {
	for i := range v.rec.Sets {
		p := &v.rec.Sets[i]
		g, err := v.gather(p)
		if err != nil {
			return yield(wordsOf(err))
		}
		rep, err := redset.Offline(ctx, g, filepath.Join(gatherDir, p.Prefix), &redset.RecoverOptions{Root: gatherDir})
		if ctx.Err() != nil {
			return false
		}
		if err != nil {
			whole := fmt.Errorf("redundancy of version %d: %w", p.Born, err)
			if lost := (*redset.LostError)(nil); errors.As(err, &lost) || errors.Is(err, redset.ErrNone) {
				whole = fmt.Errorf("redundancy of version %d: what is lost cannot be rebuilt: %w", p.Born, err)
			}
			if !yield(wordsOf(whole)) {
				return false
			}
			continue
		}
		for _, e := range rep.Rebuilt {
			name := filepath.Base(e.Name)
			file, what := name, "is lost"
			if real, ok := g.was[name]; ok {
				file, what = real, "is damaged"
			}
			f := noteOf(file, fmt.Sprintf("%s; the next Open rebuilds it by the redundancy of version %d", what, p.Born))
			if !isData(name) { // else that it is bad was said
				f.Severity = fault.Error
			}
			if !yield(f) {
				return false
			}
		}
	}
	return true
}

const gatherDir = "d"

// gather is what there is of a set, of all directories, as if it were in one.
func (v *View) gather(p *protection) (*gathered, error) {
	g := &gathered{FS: vfs.NewMem(), real: v.fsys, from: map[string]string{}, was: map[string]string{}}
	if err := g.FS.MkdirAll(gatherDir); err != nil {
		return nil, err
	}
	files := map[string]bool{}
	for i := range v.rec.Files {
		if f := &v.rec.Files[i]; p.covers(f) {
			files[f.Name] = true
		}
	}
	for _, d := range v.dirs {
		list, err := v.fsys.ReadDir(d)
		if errors.Is(err, fs.ErrNotExist) && len(v.dirs) > 1 {
			continue // of a node that is lost
		}
		if err != nil {
			return nil, err
		}
		for _, e := range list {
			if n := e.Name(); g.from[n] == "" && !e.IsDir() && (files[n] || strings.HasPrefix(n, p.Prefix)) {
				g.from[n] = filepath.Join(d, n)
				g.was[n] = g.from[n]
			}
		}
	}
	return g, nil
}

// gathered is a directory of files that are elsewhere, which are not changed: new ones are in the memory of FS.
type gathered struct {
	vfs.FS
	real      vfs.FS
	from, was map[string]string // where files are, by base name; was keeps those that were replaced
}

func (g *gathered) Create(name string) (vfs.File, error) {
	if g.from[filepath.Base(name)] != "" {
		return nil, &fs.PathError{Op: "create", Path: name, Err: fs.ErrExist}
	}
	return g.FS.Create(name)
}

func (g *gathered) Open(name string) (vfs.File, error) {
	if f := g.from[filepath.Base(name)]; f != "" {
		return g.real.Open(f)
	}
	return g.FS.Open(name)
}

func (g *gathered) OpenRW(name string) (vfs.File, error) {
	if g.from[filepath.Base(name)] != "" {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return g.FS.OpenRW(name)
}

func (g *gathered) Rename(oldname, newname string) error {
	if g.from[filepath.Base(oldname)] != "" {
		return &fs.PathError{Op: "rename", Path: oldname, Err: fs.ErrPermission}
	}
	err := g.FS.Rename(oldname, newname)
	if err == nil {
		delete(g.from, filepath.Base(newname))
	}
	return err
}

func (g *gathered) Remove(name string) error {
	if n := filepath.Base(name); g.from[n] != "" {
		delete(g.from, n)
		return nil
	}
	return g.FS.Remove(name)
}

func (g *gathered) Stat(name string) (fs.FileInfo, error) {
	if f := g.from[filepath.Base(name)]; f != "" {
		return g.real.Stat(f)
	}
	return g.FS.Stat(name)
}

func (g *gathered) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := g.FS.ReadDir(name)
	if err != nil {
		return nil, err
	}
	for _, f := range g.from {
		info, err := g.real.Stat(f)
		if err != nil {
			return nil, err
		}
		list = append(list, fs.FileInfoToDirEntry(info))
	}
	return list, nil
}
