package pio

import (
	"blobio/comm"
	"blobio/internal/base/vfs"
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
)

// mapVersion is the version of PIO's text files of maps.
const mapVersion = 2001

// tagMap is the tag of messages between the root, which has the file, and the other ranks.
const tagMap = 1

// WriteMap writes dims and the maps of all ranks, in rank order, as PIO's text. Collective.
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
	w := bufio.NewWriter(f) // keeps its first error, also if f is nil
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

// ReadMap reads a file that WriteMap or PIO wrote for at most this many ranks. Further ranks have no elements. Collective.
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

// dealMap reads a text file and sends each rank its map. The map is empty if the file lacks it or an error occurs.
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
			return failed(EINVAL, "%s: version %d and %d dimensions, want version %d and 1..64 dimensions", path, version, n, mapVersion)
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
				err = failed(EINVAL, "%s: found the map of rank %d with %d elements, want rank %d", path, head[0], head[1], rank)
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

// words encodes numbers as bytes of a message; numbers decodes them.
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
