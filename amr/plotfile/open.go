package plotfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"

	"blobio/amr"
	"blobio/internal/elem"
	"blobio/internal/vfs"
)

// Is says whether a directory looks like a plotfile: its file Header begins with the name of a format, a number of fields, and as many names.
func Is(dir string) bool {
	f, err := os.Open(filepath.Join(dir, HeaderName))
	if err != nil {
		return false
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return false
	}
	b := make([]byte, 4<<10)
	n, _ := f.Read(b)
	lines := bytes.SplitN(b[:n], []byte{'\n'}, 3)
	if len(lines) < 3 || len(lines[0]) == 0 {
		return false
	}
	t := &text{b: lines[1]}
	t.int("", 0, maxFields)
	return t.err == nil && !slices.ContainsFunc(lines[0], func(c byte) bool { return c < ' ' || c > '~' }) && (len(lines[0]) < 8 || string(lines[0][:8]) != "Version_")
}

// OpenOptions of Open. The zero value, or nil, means the defaults.
type OpenOptions struct {
	// NoVerify: do not compare with checksums. Files of AMReX have none.
	NoVerify bool
}

// Plotfile is an open plotfile. It is safe for concurrent use.
type Plotfile struct {
	Header
	Kinds []Kind // of particles
	Dir   string

	files    *files
	root     *vfs.Root
	manifest *manifest // nil: there is none
	verify   bool
}

// Open reads Header, each Cell_H, and the headers of particles. Links that lead out of the directory are not followed.
func Open(ctx context.Context, dir string, o *OpenOptions) (*Plotfile, error) {
	p, err := open(ctx, dir)
	if err != nil {
		return nil, err
	}
	p.verify = p.manifest != nil && (o == nil || !o.NoVerify)
	for _, step := range []func() error{p.readHeader, p.readCells, p.readKinds, p.holdManifest} {
		if err = step(); err == nil {
			err = ctx.Err()
		}
		if err != nil {
			p.Close()
			return nil, p.named(err)
		}
	}
	return p, nil
}

// open opens the directory and reads the manifest, if there is one.
func open(_ context.Context, dir string) (*Plotfile, error) {
	dir = filepath.Clean(dir)
	root, err := vfs.NewRoot(dir)
	if err != nil {
		return nil, err
	}
	p := &Plotfile{Dir: dir, root: root, files: &files{fsys: root, dir: root.Dir(), open: map[string]*handle{}}}
	if _, err := vfs.Lstat(root, p.files.path(ManifestName)); err == nil {
		b, err := p.files.text(ManifestName)
		if err == nil {
			p.manifest, err = decodeManifest(b)
		}
		if err != nil {
			p.Close()
			return nil, p.named(err)
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		p.Close()
		return nil, err
	}
	return p, nil
}

// named puts the directory before the file of an error.
func (p *Plotfile) named(err error) error {
	var fe *FormatError
	if errors.As(err, &fe) && fe.Pkg == string(pkg) && !filepath.IsAbs(fe.File) {
		c := *fe
		c.File = filepath.Join(filepath.Base(p.Dir), fe.File)
		return &c
	}
	return err
}

// Close closes all files.
func (p *Plotfile) Close() error {
	p.files.close()
	return p.root.Close()
}

// HasSums says whether there are checksums.
func (p *Plotfile) HasSums() bool { return p.manifest != nil }

// Unverified says whether the data were copied without comparing them with their checksums.
func (p *Plotfile) Unverified() bool { return p.manifest != nil && p.manifest.Unverified }

// head reads a text file, and compares it with its checksum.
func (p *Plotfile) head(name string) ([]byte, error) {
	b, err := p.files.text(name)
	if err != nil || !p.verify {
		return b, err
	}
	return b, p.manifest.compare(name, b)
}

func (p *Plotfile) readHeader() error {
	b, err := p.head(HeaderName)
	if err != nil {
		return err
	}
	h, err := parseHeader(b)
	if err == nil {
		p.Header = *h
	}
	return err
}

func (p *Plotfile) readCells() error {
	for l := range p.Levels {
		if err := p.readLevel(l); err != nil {
			return err
		}
	}
	return nil
}

// readLevel reads the file Cell_H of a level.
func (p *Plotfile) readLevel(l int) error {
	x := &p.Levels[l]
	name := x.Path + "_H"
	b, err := p.head(name)
	if err != nil {
		return err
	}
	c, grids, err := parseCells(name, b, p.Rank)
	if err != nil {
		return err
	}
	x.cells, x.Grids = *c, grids
	switch {
	case len(grids) != len(x.Bounds):
		return pkg.At(HeaderName, int64(x.pathAt), fmt.Sprintf("level %d", l), ErrCorrupt, "%d grids, %s has %d", len(x.Bounds), name, len(grids))
	case c.fields != len(p.Fields):
		return pkg.At(name, -1, "number of fields", ErrCorrupt, "%d, Header has %d", c.fields, len(p.Fields))
	}
	for i := range grids {
		for a := range p.Rank {
			if grids[i].Lo[a] < x.Domain.Lo[a] || grids[i].Hi[a] > x.Domain.Hi[a] {
				return pkg.At(name, -1, fmt.Sprintf("grid %d", i), ErrCorrupt, "cells %d to %d on axis %d, the domain has %d to %d", grids[i].Lo[a], grids[i].Hi[a]-1, a, x.Domain.Lo[a], x.Domain.Hi[a]-1)
			}
		}
	}
	return nil
}

// data is the name of the file with the data of a grid.
func (p *Plotfile) data(level, grid int) string {
	x := &p.Levels[level]
	return path.Join(path.Dir(x.Path), x.Grids[grid].File)
}

// fab reads the header of a FAB, and holds it against Cell_H.
func (p *Plotfile) fab(level, grid int) (*fabHeader, error) {
	x := &p.Levels[level]
	g := &x.Grids[grid]
	want := g.Box.Grow(x.cells.ghosts)
	if f := x.cells.form; f != nil {
		return &fabHeader{form: *f, box: want, fields: x.cells.fields}, nil
	}
	name := p.data(level, grid)
	f, err := p.files.get(name)
	if err != nil {
		return nil, err
	}
	size := f.size
	p.files.put(f)
	b, err := p.files.read(name, g.Offset, min(maxFabHeader, max(size-g.Offset, 1)), "FAB")
	if err != nil {
		return nil, err
	}
	h, err := parseFab(name, g.Offset, b, p.Rank)
	if err != nil {
		return nil, err
	}
	switch {
	case h.box != want:
		return nil, pkg.At(name, g.Offset, "FAB: box", ErrCorrupt, "%s, %s has %s with %v ghost cells", boxText(h.box, p.Rank), x.cells.file, boxText(g.Box, p.Rank), x.cells.ghosts[:p.Rank])
	case h.fields != x.cells.fields:
		return nil, pkg.At(name, g.Offset, "FAB: number of fields", ErrCorrupt, "%d, %s has %d", h.fields, x.cells.file, x.cells.fields)
	}
	return h, nil
}

// maxGrid caps the bytes of one field of a grid.
const maxGrid = min(1<<33, math.MaxInt)

// bytes reads the bytes of some fields of a grid as they are in the file, with ghosts: the fields first to below last.
func (p *Plotfile) bytes(level, grid int, h *fabHeader, first, last int) ([]byte, error) {
	g := &p.Levels[level].Grids[grid]
	cells, size := h.box.Cells(), int64(h.typ.Size())
	if cells > maxGrid/size/int64(max(last-first, 1)) {
		return nil, pkg.At(p.data(level, grid), g.Offset, "FAB", ErrTooLarge, "%d cells of %d fields, want at most %d bytes", cells, last-first, int64(maxGrid))
	}
	return p.files.read(p.data(level, grid), g.Offset+h.len+int64(first)*cells*size, int64(last-first)*cells*size, fmt.Sprintf("grid %d of level %d", grid, level))
}

// Read returns a field of a grid, without ghost cells: elements in the order of the host, x fastest. What differs from its checksum is ErrChecksum.
func (p *Plotfile) Read(ctx context.Context, level, grid, field int) (amr.Type, []byte, error) {
	if level < 0 || level >= len(p.Levels) || grid < 0 || grid >= len(p.Levels[level].Grids) || field < 0 || field >= len(p.Fields) {
		return 0, nil, pkg.Usage("field %d of grid %d of level %d", field, grid, level)
	}
	if err := ctx.Err(); err != nil {
		return 0, nil, err
	}
	h, err := p.fab(level, grid)
	if err != nil {
		return 0, nil, p.named(err)
	}
	b, err := p.bytes(level, grid, h, field, field+1)
	if err == nil && p.verify {
		if want, ok := p.manifest.sum(level, grid, field, len(p.Fields)); ok {
			if got := crc32.ChecksumIEEE(b); got != want {
				err = pkg.At(p.data(level, grid), p.Levels[level].Grids[grid].Offset, "field "+p.Fields[field], ErrChecksum, "grid %d of level %d: data sum to %08x, the manifest says %08x", grid, level, got, want)
			}
		}
	}
	if err != nil {
		return 0, nil, p.named(err)
	}
	elem.Reorder(b, b, h.typ.Size(), h.big)
	return h.typ, inner(b, h.typ.Size(), h.box, p.Levels[level].Grids[grid].Box), nil
}

// Type is the type of the data of a grid.
func (p *Plotfile) Type(level, grid int) (amr.Type, error) {
	h, err := p.fab(level, grid)
	if err != nil {
		return 0, p.named(err)
	}
	return h.typ, nil
}

// File is one file of data.
type File struct {
	Name  string // in the directory
	Bytes int64
	Level int
	Grids int
}

// Files lists the files of data of the levels, in the order of the grids.
func (p *Plotfile) Files() (out []File, err error) {
	for l := range p.Levels {
		at := map[string]int{}
		for i := range p.Levels[l].Grids {
			name := p.data(l, i)
			k, ok := at[name]
			if !ok {
				k = len(out)
				at[name] = k
				info, err := p.root.Stat(p.files.path(name))
				if err != nil {
					return nil, p.named(p.files.fault(name, err))
				}
				out = append(out, File{Name: name, Bytes: info.Size(), Level: l})
			}
			out[k].Grids++
		}
	}
	return out, nil
}
