package pio

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/comm"
)

// DecompInfo is the description stored in a decomposition file.
type DecompInfo struct {
	Title, History string // "": none; at most MaxName bytes
	Fortran        bool   // the program that made the file counts dimensions from the fastest one
	NCAR           bool   // the file has the names of NCAR's library, which SCORPIO does not read
}

// Names in decomposition files.
const (
	attVersion, attVersionNCAR      = "version", "PIO_library_version"
	attMaxLen, attTitle, attHistory = "max_maplen", "title", "history"
	attSource, attOrder             = "source", "array_order"
	varSizes, varLens, varMap       = "global_size", "maplen", "map"
)

// madeBy is the value of the attribute source in every decomposition file.
const madeBy = "Decomposition file produced by PIO library."

// version returns the name and the value of the attribute with the version of the library.
func (i *DecompInfo) version() (name, value string) {
	if i.NCAR {
		return attVersionNCAR, "2.7.0"
	}
	return attVersion, "2.0.1"
}

// rootPath returns the root's path on all ranks, as PIO does: some programs put their rank into the name. Collective.
func (s *System) rootPath(ctx context.Context, path string) (string, error) {
	b := []byte(path)
	if s.c.Rank() != s.root() {
		b = nil
	}
	b, err := s.c.Bcast(ctx, s.root(), b)
	return string(b), err
}

// WriteDecomp writes a decomposition file: an ordinary netCDF file with PIO's names. All ranks use the path of rank
// SystemOptions.Base. With noClobber an existing file is EEXIST. Collective.
func (s *System) WriteDecomp(ctx context.Context, path string, d *Decomp, info DecompInfo, noClobber bool) error {
	ctx = comm.In(ctx, "System.WriteDecomp")
	if err := s.usable(); err != nil {
		return err
	}
	var err error
	if d == nil || d.s != s {
		err = failed(EBADID, "%s: the decomposition belongs to another I/O system, or does not exist", path)
	}
	if len(info.Title) > MaxName || len(info.History) > MaxName {
		err = failed(EINVAL, "%s: title and history have %d and %d bytes, want at most %d", path, len(info.Title), len(info.History), MaxName)
	}
	n := int64(0)
	if err == nil {
		n = d.Len()
	}
	got, err := agreeMin(ctx, s.c, err, ^n)
	if err != nil {
		return err
	}
	if path, err = s.rootPath(ctx, path); err != nil {
		return err
	}
	longest := max(^got[0], 1)
	if longest > math.MaxInt64/16/int64(s.c.Size()) {
		return failed(ENOMEM, "%s: maps of %d elements are too large", path, longest)
	}
	t := cdf5.Int
	if d.elems > math.MaxInt32 {
		t = cdf5.Int64
	}
	f, err := s.Create(ctx, path, &FileOptions{Form: Canonical, NoClobber: noClobber, Durability: blob.DurableNone})
	if err != nil {
		return err
	}
	// Texts end with a NUL, as in PIO.
	text := func(name, value string) {
		err = errors.Join(err, f.PutAtt(Global, name, cdf5.Char, Text(value+"\x00")))
	}
	text(info.version())
	err = errors.Join(err, f.PutAtt(Global, attMaxLen, cdf5.Int, []int64{longest}))
	if info.Title != "" {
		text(attTitle, info.Title)
	}
	if info.History != "" {
		text(attHistory, info.History)
	}
	text(attSource, madeBy)
	text(attOrder, map[bool]string{false: "C", true: "Fortran"}[info.Fortran])
	dim := func(name string, n int64) int {
		id, e := f.DefDim(name, n)
		err = errors.Join(err, e)
		return id
	}
	dims, tasks, elems := dim("dims", int64(len(d.dims))), dim("task", int64(s.c.Size())), dim("map_element", longest)
	_, e1 := f.DefVar(varSizes, t, []int{dims})
	_, e2 := f.DefVar(varLens, cdf5.Int, []int{tasks})
	_, e3 := f.DefVar(varMap, t, []int{tasks, elems})
	err = errors.Join(err, e1, e2, e3, f.EndDef(), f.PutVars(ctx, 0, Part{}, d.dims))
	row := make([]int64, d.Len())
	for i, p := range d.compdof {
		row[i] = p - 1
	}
	lens, e4 := blocksOf(ctx, s, 1, 1)
	maps, e5 := blocksOf(ctx, s, longest, d.Len())
	if err = errors.Join(err, e4, e5); err == nil {
		err = errors.Join(f.WriteDarray(ctx, 1, lens, []int64{d.Len()}, nil), f.WriteDarray(ctx, 2, maps, row, nil))
	}
	return errors.Join(err, f.Close(ctx))
}

// blocksOf makes a decomposition of an array with one row for each rank; the rank has the first n elements of its row.
// Collective.
func blocksOf(ctx context.Context, s *System, row, n int64) (*Decomp, error) {
	p, r := int64(s.c.Size()), int64(s.c.Rank())
	return s.InitDecompBlock(ctx, cdf5.Int64, []int64{p, row}, []int64{r, 0}, []int64{1, n})
}

// ReadDecomp makes a decomposition of elements of type t from a file that WriteDecomp or PIO wrote for the same number of
// ranks. All ranks use the path of rank SystemOptions.Base. Collective.
func (s *System) ReadDecomp(ctx context.Context, path string, t cdf5.Type) (d *Decomp, info DecompInfo, err error) {
	ctx = comm.In(ctx, "System.ReadDecomp")
	if err := s.usable(); err != nil {
		return nil, info, err
	}
	if path, err = s.rootPath(ctx, path); err != nil {
		return nil, info, err
	}
	f, err := s.Open(ctx, path, nil)
	if err != nil {
		return nil, info, err
	}
	defer func() { err = errors.Join(err, f.Close(ctx)) }()
	_, aerr := f.Att(Global, attVersionNCAR)
	info = DecompInfo{Title: textOf(f, attTitle), History: textOf(f, attHistory), Fortran: textOf(f, attOrder) == "Fortran", NCAR: aerr == nil}
	shape := func(name string, want int) (v int, n []int64, err error) {
		if v, err = f.VarID(name); err != nil {
			return v, nil, err
		}
		if n = f.shape(f.vars[v]); len(n) != want || slices.Contains(n, 0) {
			return v, nil, failed(EINVAL, "%s: variable %q has %d dimensions, want %d", path, name, len(n), want)
		}
		return v, n, nil
	}
	sizes, nd, e1 := shape(varSizes, 1)
	lens, nt, e2 := shape(varLens, 1)
	maps, nm, e3 := shape(varMap, 2)
	if err := errors.Join(e1, e2, e3); err != nil {
		return nil, info, err
	}
	if ranks := int64(s.c.Size()); nd[0] > 64 || nt[0] != ranks || nm[0] != ranks {
		return nil, info, failed(EINVAL, "%s: the decomposition has %d dimensions and %d ranks, want at most 64 dimensions and %d ranks", path, nd[0], nt[0], ranks)
	}
	dims, n, r := make([]int64, nd[0]), make([]int64, 1), int64(s.c.Rank())
	if err := errors.Join(f.GetVars(ctx, sizes, Part{}, dims), f.GetVars(ctx, lens, Part{Start: []int64{r}, Count: []int64{1}}, n)); err != nil {
		return nil, info, err
	}
	if n[0] < 0 || n[0] > nm[1] {
		err = failed(EINVAL, "%s: %s[%d] is %d, want 0..%d", path, varLens, r, n[0], nm[1])
	} else if n[0] > math.MaxInt32 {
		err = failed(ENOMEM, "%s: %s[%d] is %d, want at most %d", path, varLens, r, n[0], math.MaxInt32)
	}
	d = &Decomp{t: t, dims: dims}
	got, err := agreeMin(ctx, s.c, errors.Join(err, d.make()), ^n[0])
	if err != nil {
		return nil, info, err
	}
	compdof, err := f.placesOf(ctx, maps, n[0], ^got[0], d.elems)
	if err != nil {
		return nil, info, err
	}
	d, err = s.InitDecomp(ctx, t, dims, compdof, false)
	return d, info, err
}

// mapPiece is how many elements of a map are read and checked at once: the file may declare far more elements than it has.
const mapPiece = 1 << 20

// placesOf reads the first n elements of this rank's row of a decomposition file, where most is the maximum of n on all ranks,
// and returns them counted from 1. Collective.
func (f *File) placesOf(ctx context.Context, v int, n, most, elems int64) (list []int64, err error) {
	r := int64(f.s.c.Rank())
	for at := int64(0); at < most; at += mapPiece {
		piece := make([]int64, min(max(n-at, 0), mapPiece))
		if err := f.GetVars(ctx, v, Part{Start: []int64{r, at}, Count: []int64{1, int64(len(piece))}}, piece); err != nil {
			return nil, err
		}
		for i, p := range piece {
			if err == nil && (p < -1 || p >= elems) {
				err = failed(EINVAL, "%s: %s[%d][%d] is %d, want -1..%d", f.path, varMap, r, at+int64(i), p, elems-1)
			}
			piece[i]++
		}
		if err = agree(ctx, f.s.c, err); err != nil {
			return nil, err
		}
		list = append(list, piece...)
	}
	return list, nil
}

// textOf returns an attribute of the file without trailing NULs, "" if the file lacks it.
func textOf(f *File, name string) string {
	a, err := f.Att(Global, name)
	if err != nil {
		return ""
	}
	s, _ := a.Value.(string)
	return strings.TrimRight(s, "\x00")
}
