package pio

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/internal/base/vfs"
)

// DecompInfo is what a decomposition file says beside the map.
type DecompInfo struct {
	Title, History string // "": none
	Fortran        bool   // the program that made it counts dimensions from the fastest one
}

// Names in decomposition files.
const (
	attVersion, attMaxLen, attTitle, attHistory = "PIO_library_version", "max_maplen", "title", "history"
	attSource, attOrder                         = "source", "array_order"
	varSizes, varLens, varMap                   = "global_size", "maplen", "map"
)

// WriteDecomp writes a decomposition file, an ordinary netCDF file with the names of PIO's. With noClobber one that is there is EEXIST. Collective.
func (s *System) WriteDecomp(ctx context.Context, path string, d *Decomp, info DecompInfo, noClobber bool) error {
	ctx = comm.In(ctx, "System.WriteDecomp")
	if err := s.usable(); err != nil {
		return err
	}
	var err error
	if d == nil || d.s != s {
		err = failed(EBADID, "%s: a decomposition of other ranks, or none", path)
	}
	n := int64(0)
	if err == nil {
		n = d.Len()
	}
	got, err := agreeMin(ctx, s.c, err, ^n)
	if err != nil {
		return err
	}
	longest := max(^got[0], 1)
	if longest > math.MaxInt64/16/int64(s.c.Size()) {
		return failed(ENOMEM, "%s: maps of %d elements", path, longest)
	}
	t := cdf5.Int
	if d.elems > math.MaxInt32 {
		t = cdf5.Int64
	}
	f, err := s.Create(ctx, path, &FileOptions{Form: Canonical, NoClobber: noClobber, Durability: blob.DurableNone})
	if err != nil {
		return err
	}
	// Texts end with a NUL, as PIO's do.
	text := func(name, value string) {
		err = errors.Join(err, f.PutAtt(Global, name, cdf5.Char, Text(value+"\x00")))
	}
	text(attVersion, "2.0.0")
	err = errors.Join(err, f.PutAtt(Global, attMaxLen, cdf5.Int, []int64{longest}))
	if info.Title != "" {
		text(attTitle, info.Title)
	}
	if info.History != "" {
		text(attHistory, info.History)
	}
	text(attSource, "blobio")
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
	err = errors.Join(err, e1, e2, e3, f.EndDef(), f.PutVars(ctx, 0, nil, nil, nil, nil, d.dims))
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

// blocksOf is a decomposition of an array with a row for each rank, which has the first n of its elements. Collective.
func blocksOf(ctx context.Context, s *System, row, n int64) (*Decomp, error) {
	p, r := int64(s.c.Size()), int64(s.c.Rank())
	return s.InitDecompBlock(ctx, cdf5.Int64, []int64{p, row}, []int64{r, 0}, []int64{1, n})
}

// ReadDecomp makes a decomposition, of elements of type t, of a file that WriteDecomp or PIO has written for as many ranks. Collective.
func (s *System) ReadDecomp(ctx context.Context, path string, t cdf5.Type) (d *Decomp, info DecompInfo, err error) {
	ctx = comm.In(ctx, "System.ReadDecomp")
	f, err := s.Open(ctx, path, nil)
	if err != nil {
		return nil, info, err
	}
	defer func() { err = errors.Join(err, f.Close(ctx)) }()
	info = DecompInfo{Title: f.text(attTitle), History: f.text(attHistory), Fortran: f.text(attOrder) == "Fortran"}
	shape := func(name string, want int) (v int, n []int64, err error) {
		if v, err = f.VarID(name); err != nil {
			return v, nil, err
		}
		if n = f.shape(f.vars[v]); len(n) != want || slices.Contains(n, 0) {
			return v, nil, failed(EINVAL, "%s: variable %q of %d dimensions, want %d", path, name, len(n), want)
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
		return nil, info, failed(EINVAL, "%s: a decomposition of %d dimensions for %d ranks, want at most 64 for %d", path, nd[0], nt[0], ranks)
	}
	dims, n, r := make([]int64, nd[0]), make([]int64, 1), int64(s.c.Rank())
	if err := errors.Join(f.GetVars(ctx, sizes, nil, nil, nil, nil, dims), f.GetVars(ctx, lens, []int64{r}, []int64{1}, nil, nil, n)); err != nil {
		return nil, info, err
	}
	if n[0] < 0 || n[0] > nm[1] {
		err = failed(EINVAL, "%s: %s[%d] is %d, want 0..%d", path, varLens, r, n[0], nm[1])
	} else if n[0] > math.MaxInt32 {
		err = failed(ENOMEM, "%s: %s[%d] is %d, want at most %d", path, varLens, r, n[0], math.MaxInt32)
	}
	if err := agree(ctx, s.c, err); err != nil {
		return nil, info, err
	}
	compdof := make([]int64, n[0])
	if err := f.GetVars(ctx, maps, []int64{r, 0}, []int64{1, n[0]}, nil, nil, compdof); err != nil {
		return nil, info, err
	}
	for i := range compdof {
		compdof[i]++
	}
	d, err = s.InitDecomp(ctx, t, dims, compdof, nil)
	return d, info, err
}

// text is an attribute of the file without what ends it, "" if there is none.
func (f *File) text(name string) string {
	a, err := f.Att(Global, name)
	if err != nil {
		return ""
	}
	s, _ := a.Value.(string)
	return strings.TrimRight(s, "\x00")
}

// mapVersion is that of PIO's text files of maps.
const mapVersion = 2001

// tag of messages between the ranks and the one that has the file.
const tagMap = 1

// WriteMap writes dims and the maps of all ranks as PIO's text, with what they have in the order that is given. Collective.
func WriteMap(ctx context.Context, c comm.Comm, path string, dims, compdof []int64) error {
	ctx = comm.In(ctx, "WriteMap")
	if c.Rank() != 0 {
		if _, err := c.Recv(ctx, 0, tagMap); err != nil {
			return err
		}
		if err := c.Send(ctx, 0, tagMap, words(compdof)); err != nil {
			return err
		}
		return agree(ctx, c, nil)
	}
	f, err := os.Create(path)
	w := bufio.NewWriter(f) // keeps its first error; of no file too
	line := func(n []int64) {
		for _, x := range n {
			fmt.Fprint(w, x, " ")
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "version %d npes %d ndims %d \n", mapVersion, c.Size(), len(dims))
	line(dims)
	for r := range c.Size() {
		if r > 0 {
			if err := c.Send(ctx, r, tagMap, nil); err != nil {
				return err
			}
			b, err := c.Recv(ctx, r, tagMap)
			if err != nil {
				return err
			}
			compdof = numbers(b)
		}
		fmt.Fprintln(w, r, len(compdof))
		line(compdof)
	}
	if err == nil {
		err = errors.Join(w.Flush(), f.Close())
	}
	return agree(ctx, c, err)
}

// ReadMap reads what WriteMap, or PIO, has written for at most as many ranks; further ones have no elements. Collective.
func ReadMap(ctx context.Context, c comm.Comm, path string) (dims, compdof []int64, err error) {
	ctx = comm.In(ctx, "ReadMap")
	if c.Rank() == 0 {
		err = dealMap(ctx, c, path, func(d []int64) { dims = d }, func(m []int64) { compdof = m })
	} else {
		var b []byte
		if b, err = c.Recv(ctx, 0, tagMap); err != nil {
			return nil, nil, err
		}
		compdof = numbers(b)
	}
	if err := agree(ctx, c, err); err != nil {
		return nil, nil, err
	}
	b, err := c.Bcast(ctx, 0, words(dims))
	return numbers(b), compdof, err
}

// dealMap reads a text and sends each rank its map, an empty one if it has none or something is wrong.
func dealMap(ctx context.Context, c comm.Comm, path string, dims, own func([]int64)) error {
	f, err := os.Open(path)
	sent := 1
	read := func() error {
		defer f.Close()
		r := bufio.NewReader(f)
		if b, _ := r.Peek(len(vfs.ByteOrderMark)); string(b) == vfs.ByteOrderMark {
			_, _ = r.Discard(len(b))
		}
		var version, ranks, n int64
		if _, err := fmt.Fscanf(r, "version %d npes %d ndims %d \n", &version, &ranks, &n); err != nil || version != mapVersion || n < 1 || n > 64 {
			return failed(EINVAL, "%s: version %d with %d dimensions, want %d with 1..64", path, version, n, mapVersion)
		}
		if ranks < 1 || ranks > int64(c.Size()) {
			return failed(EINVAL, "%s: maps of %d ranks, want 1..%d", path, ranks, c.Size())
		}
		list := func(what string, n int64) (out []int64, err error) {
			for i := range n {
				var x int64
				if _, err := fmt.Fscan(r, &x); err != nil {
					return nil, failed(EINVAL, "%s: %s: number %d of %d: %v", path, what, i, n, err)
				}
				out = append(out, x)
			}
			return out, nil
		}
		d, err := list("dimensions", n)
		if err != nil {
			return err
		}
		dims(d)
		for rank := range ranks {
			head, err := list("rank and length", 2)
			if err == nil && (head[0] != rank || head[1] < 0) {
				err = failed(EINVAL, "%s: a map of rank %d with %d elements, want rank %d", path, head[0], head[1], rank)
			}
			if err != nil {
				return err
			}
			m, err := list(fmt.Sprint("map of rank ", rank), head[1])
			if err != nil {
				return err
			}
			if rank == 0 {
				own(m)
				continue
			}
			if err := c.Send(ctx, int(rank), tagMap, words(m)); err != nil {
				return err
			}
			sent++
		}
		return nil
	}
	if err == nil {
		err = read()
	}
	for ; sent < c.Size(); sent++ {
		if serr := c.Send(ctx, sent, tagMap, nil); serr != nil {
			return serr
		}
	}
	return err
}

// words are numbers as bytes of a message; numbers is the reverse.
func words(n []int64) []byte {
	b := make([]byte, 0, 8*len(n))
	for _, x := range n {
		b = binary.LittleEndian.AppendUint64(b, uint64(x))
	}
	return b
}

func numbers(b []byte) []int64 {
	n := make([]int64, 0, len(b)/8)
	for ; len(b) >= 8; b = b[8:] {
		n = append(n, int64(binary.LittleEndian.Uint64(b)))
	}
	return n
}
