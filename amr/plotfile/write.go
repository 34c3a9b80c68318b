package plotfile

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"blobio/amr"
	"blobio/internal/durable"
	"blobio/internal/elem"
	"blobio/internal/par"
	"blobio/internal/vfs"
	"blobio/subfile"
)

// Description is what a plotfile is to hold.
type Description struct {
	Header           // Levels: Domain, Ratio, Width, Step, and Box of each grid
	Type   amr.Type  // of all fields: Float32 or Float64
	Kinds  []NewKind // of particles
}

// NewKind is a kind of particles to be written.
type NewKind struct {
	Name  string
	Type  amr.Type // of real numbers
	Reals []string // beside the place
	Ints  []string // beside id and cpu
}

// Values gives the data of a grid. It is called by several goroutines.
type Values interface {
	// Fields are all fields of a grid: elements of the Description's type in the order of the host, x fastest, for each field.
	Fields(ctx context.Context, level, grid int) ([][]byte, error)
	// Particles are those of a kind in a grid: for each its place and Reals, then id, cpu and Ints.
	Particles(ctx context.Context, level, grid, kind int) (reals [][]float64, ints [][]int32, err error)
}

// WriteOptions of Write. The zero value, or nil, means the defaults.
type WriteOptions struct {
	Files      int                     // Cell_D files of each level. Default 1
	Workers    int                     // goroutines. Default the number of CPUs
	NoSync     bool                    // do not wait until the files are on the disk
	Unverified bool                    // mark it: the data were not compared with their checksums
	Progress   func(done, total int64) // in grids; called by several goroutines
}

// Write writes a plotfile. It appears under its name when it is whole; a name that is taken is ErrExist.
func Write(ctx context.Context, dir string, d *Description, v Values, o *WriteOptions) error {
	if o == nil {
		o = &WriteOptions{}
	}
	w := &writer{d: d, v: v, o: o, fsys: vfs.OS}
	if err := w.check(); err != nil {
		return err
	}
	out, err := durable.NewOutputDir(ctx, w.fsys, dir, durable.DirOptions{NoSync: o.NoSync})
	if err != nil {
		return err
	}
	defer out.Discard()
	w.out = out
	w.m = manifest{Version: 1, ID: durable.NewID(), Unverified: o.Unverified, Heads: map[string]subfile.CRC{}, Kinds: map[string]subfile.CRCs{}, Levels: make([]subfile.CRCs, len(d.Levels))}
	for l := range d.Levels {
		if err := w.level(ctx, l); err != nil {
			return err
		}
	}
	for k := range d.Kinds {
		if err := w.kind(ctx, k); err != nil {
			return err
		}
	}
	if err := w.head(HeaderName, d.encode()); err != nil {
		return err
	}
	b, err := manifests.Encode(&w.m)
	if err == nil {
		err = out.Write(ManifestName, b)
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return err
	}
	return out.Commit()
}

type writer struct {
	d    *Description
	v    Values
	o    *WriteOptions
	fsys vfs.FS
	out  *durable.OutputDir
	m    manifest
	done atomic.Int64
}

// check holds what is asked for against what the format has.
func (w *writer) check() error {
	d := w.d
	name := func(s string) bool {
		return s != "" && strings.TrimSpace(s) == s && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' }) && len(s) < 1024
	}
	switch {
	case d.Rank < 1 || d.Rank > 3 || len(d.Levels) == 0 || len(d.Levels) > maxLevels:
		return pkg.Usage("%d dimensions, %d levels", d.Rank, len(d.Levels))
	case d.Type != amr.Float32 && d.Type != amr.Float64:
		return pkg.Usage("fields of %v, want float32 or float64", d.Type)
	case w.o.Files < 0 || w.o.Files > 1<<16:
		return pkg.Usage("%d files, want 1 to 65536", w.o.Files)
	case len(d.Fields) == 0 || len(d.Fields) > maxFields || !allOf(d.Fields, name):
		return pkg.Usage("fields %q, want names", d.Fields)
	}
	for _, k := range d.Kinds {
		if !localName(k.Name) || strings.Contains(k.Name, "/") || strings.HasPrefix(k.Name, "Level_") || k.Name == HeaderName || !allOf(k.Reals, name) || !allOf(k.Ints, name) {
			return pkg.Usage("particles %q with %q and %q, want names", k.Name, k.Reals, k.Ints)
		}
	}
	for l := range d.Levels {
		d.Levels[l].Path = fmt.Sprintf("Level_%d/Cell", l)
	}
	return nil
}

func allOf(list []string, f func(string) bool) bool {
	return !slices.ContainsFunc(list, func(s string) bool { return !f(s) })
}

// head writes a text file and keeps its checksum.
func (w *writer) head(name string, b []byte) error {
	w.m.Heads[name] = subfile.CRC(crc32.ChecksumIEEE(b))
	return w.out.Write(name, b)
}

// level writes the grids of a level, each file by one goroutine.
func (w *writer) level(ctx context.Context, l int) error {
	d, x := w.d, &w.d.Levels[l]
	dir := path.Dir(x.Path)
	if err := w.out.Mkdir(dir); err != nil {
		return err
	}
	n, fields := len(x.Grids), len(d.Fields)
	files := max(min(w.o.Files, n), 1)
	lo, hi := make([][]float64, n), make([][]float64, n)
	sums := make(subfile.CRCs, n*(fields+1))
	f := form{d.Type, elem.HostBig}
	err := par.Each(ctx, par.Workers(w.o.Workers), files, func(ctx context.Context, k int) (err error) {
		name := fmt.Sprintf("Cell_D_%05d", k)
		file, err := w.create(path.Join(dir, name))
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		at := int64(0)
		for i := n * k / files; i < n*(k+1)/files; i++ {
			g := &x.Grids[i]
			g.File, g.Offset = name, at
			data, err := w.v.Fields(ctx, l, i)
			if err != nil {
				return err
			}
			want := g.Cells() * int64(d.Type.Size())
			if len(data) != fields {
				return pkg.Usage("%d fields of grid %d of level %d, want %d", len(data), i, l, fields)
			}
			head := encodeFab(f, g.Box, d.Rank, fields)
			bufs := append([][]byte{head}, data...)
			for j, b := range bufs {
				sums[i*(fields+1)+j] = crc32.ChecksumIEEE(b)
				if j == 0 {
					continue
				}
				if int64(len(b)) != want {
					return pkg.Usage("%d bytes of field %s of grid %d of level %d, want %d", len(b), d.Fields[j-1], i, l, want)
				}
				least, most := extrema(floats(d.Type, b))
				lo[i], hi[i] = append(lo[i], least), append(hi[i], most)
			}
			wrote, err := file.WritevAt(bufs, at)
			if err != nil {
				return err
			}
			at += wrote
			if done := w.done.Add(1); w.o.Progress != nil {
				w.o.Progress(done, w.total())
			}
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		if !w.o.NoSync {
			return file.Sync()
		}
		return nil
	})
	if err != nil {
		return err
	}
	w.m.Levels[l] = sums
	return w.head(x.Path+"_H", encodeCells(x.Grids, d.Rank, fields, lo, hi))
}

func (w *writer) total() (n int64) {
	for l := range w.d.Levels {
		n += int64(len(w.d.Levels[l].Grids))
	}
	return n
}

// extrema are the least and the greatest value, NaN beside others left out.
func extrema(values []float64) (lo, hi float64) {
	lo, hi = math.NaN(), math.NaN()
	for _, v := range values {
		if v < lo || lo != lo {
			lo = v
		}
		if v > hi || hi != hi {
			hi = v
		}
	}
	return lo, hi
}

// create makes a file of the output.
func (w *writer) create(name string) (vfs.File, error) {
	return w.fsys.Create(filepath.Join(w.out.Temp(), filepath.FromSlash(name)))
}

// kind writes the particles of a kind, one file for each level.
func (w *writer) kind(ctx context.Context, k int) error {
	d, kind := w.d, &w.d.Kinds[k]
	if err := w.out.Mkdir(kind.Name); err != nil {
		return err
	}
	var sums subfile.CRCs
	var parts []particlePart
	total, next := int64(0), int64(1)
	for l := range d.Levels {
		var data []byte
		var file vfs.File
		at := int64(0)
		dir := path.Join(kind.Name, fmt.Sprintf("Level_%d", l))
		for i := range d.Levels[l].Grids {
			reals, ints, err := w.v.Particles(ctx, l, i, k)
			if err == nil && (len(reals) != d.Rank+len(kind.Reals) || len(ints) != 2+len(kind.Ints)) {
				err = pkg.Usage("%d and %d columns of particles %s, want %d and %d", len(reals), len(ints), kind.Name, d.Rank+len(kind.Reals), 2+len(kind.Ints))
			}
			if err != nil {
				return errors.Join(err, closed(file))
			}
			n := len(reals[0])
			data = data[:0]
			for j := range n {
				for _, c := range ints {
					data = binary.NativeEndian.AppendUint32(data, uint32(c[j]))
				}
				next = max(next, int64(ints[0][j])+1)
			}
			for j := range n {
				for _, c := range reals {
					data = appendReal(data, kind.Type, c[j])
				}
			}
			sums = append(sums, crc32.ChecksumIEEE(data))
			parts = append(parts, particlePart{level: l, grid: i, count: int64(n), offset: at})
			if n == 0 {
				continue
			}
			if file == nil {
				if err := w.out.Mkdir(dir); err != nil {
					return err
				}
				if file, err = w.create(path.Join(dir, "DATA_00000")); err != nil {
					return err
				}
			}
			if _, err := file.WriteAt(data, at); err != nil {
				return errors.Join(err, closed(file))
			}
			at += int64(len(data))
			total += int64(n)
		}
		if file == nil {
			continue
		}
		var err error
		if !w.o.NoSync {
			err = file.Sync()
		}
		if err = errors.Join(err, file.Close()); err != nil {
			return err
		}
		b := fmt.Appendf(nil, "(%d 0\n", len(d.Levels[l].Grids))
		for i := range d.Levels[l].Grids {
			b = append(append(b, boxText(d.Levels[l].Grids[i].Box, d.Rank)...), '\n')
		}
		if err := w.head(path.Join(dir, "Particle_H"), append(b, ")\n"...)); err != nil {
			return err
		}
	}
	w.m.Kinds[kind.Name] = sums
	return w.head(path.Join(kind.Name, HeaderName), encodeKind(d, kind, parts, total, next))
}

func closed(f vfs.File) error {
	if f == nil {
		return nil
	}
	return f.Close()
}

func appendReal(b []byte, t amr.Type, x float64) []byte {
	if t == amr.Float32 {
		return append(b, elem.Bytes([]float32{float32(x)})...)
	}
	return append(b, elem.Bytes([]float64{x})...)
}

// encodeKind is the file Header of particles.
func encodeKind(d *Description, k *NewKind, parts []particlePart, total, next int64) []byte {
	v := particleVersion
	if k.Type == amr.Float32 {
		v = strings.Replace(v, "double", "single", 1)
	}
	b := fmt.Appendf(nil, "%s\n%d\n%d\n", v, d.Rank, len(k.Reals))
	for _, s := range k.Reals {
		b = append(append(b, s...), '\n')
	}
	b = fmt.Appendf(b, "%d\n", len(k.Ints))
	for _, s := range k.Ints {
		b = append(append(b, s...), '\n')
	}
	b = fmt.Appendf(b, "1\n%d\n%d\n%d\n", total, next, len(d.Levels)-1)
	for l := range d.Levels {
		b = fmt.Appendf(b, "%d\n", len(d.Levels[l].Grids))
	}
	for _, p := range parts {
		b = fmt.Appendf(b, "%d %d %d\n", p.file, p.count, p.offset)
	}
	return b
}
