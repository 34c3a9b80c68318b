package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/internal/base/h5"
)

// errDiffer is the class of errors about wrong files of peers.
var errDiffer = errors.New("files differ")

// compareVariableCentric compares a subfile of blobio with the file of the
// PnetCDF peer: every byte but those behind the last request of a row of
// Dk.offsets and Dk.lengths, which nobody writes.
func (t *task) compareVariableCentric(ours, theirs string) error {
	a, b, size, other, err := openBoth(ours, theirs)
	if err != nil {
		return err
	}
	defer a.Close()
	defer b.Close()
	if other != size {
		return fmt.Errorf("%s has %d bytes, want %d as %s: %w", theirs, other, size, ours, errDiffer)
	}
	h, _, err := cdf5.DecodeHeader(a, size, nil)
	if err != nil {
		return err
	}
	type span struct{ off, end int64 }
	var padding []span
	for k, m := range t.maps {
		for _, name := range []string{"offsets", "lengths"} {
			v := h.VarIndex(fmt.Sprintf("D%d.%s", k+1, name))
			if v < 0 {
				return fmt.Errorf("%s: no D%d.%s", ours, k+1, name)
			}
			off, _ := h.Extent(v, 0)
			size, row := int64(h.Vars[v].Type.Size()), max(m.MaxReqs(), 1)
			for r := range t.Ranks {
				padding = append(padding, span{off + size*(int64(r)*row+m.NumReqs(r)), off + size*int64(r+1)*row})
			}
		}
	}
	clear := func(buf []byte, at int64) {
		for len(padding) > 0 && padding[0].end <= at {
			padding = padding[1:]
		}
		for _, p := range padding {
			lo, hi := max(p.off, at), min(p.end, at+int64(len(buf)))
			if p.off >= at+int64(len(buf)) {
				break
			}
			for i := lo; i < hi; i++ {
				buf[i-at] = 0
			}
		}
	}
	x, y := make([]byte, 1<<20), make([]byte, 1<<20)
	for at := int64(0); at < size; at += int64(len(x)) {
		n := min(size-at, int64(len(x)))
		x, y = x[:n], y[:n]
		if err := readBoth(a, b, x, y, at); err != nil {
			return err
		}
		before := padding
		clear(x, at)
		padding = before
		clear(y, at)
		if err := sameBytes(x, y, at, theirs, ours); err != nil {
			return err
		}
	}
	return nil
}

// compareProcessCentric compares the bytes of header_blob and data_blob.
func compareProcessCentric(ours, theirs string) error {
	fa, fb, _, _, err := openBoth(ours, theirs) // the HDF5 around them is of another size
	if err != nil {
		return err
	}
	defer fa.Close()
	defer fb.Close()
	open := func(f *os.File, name string) (*h5.Dataset, error) {
		info, err := f.Stat()
		if err != nil {
			return nil, err
		}
		file, err := h5.NewFile(f, info.Size(), f.Name())
		if err != nil {
			return nil, err
		}
		return file.Dataset(name)
	}
	for _, name := range []string{"header_blob", "data_blob"} {
		a, err := open(fa, name)
		if err != nil {
			return err
		}
		b, err := open(fb, name)
		if err != nil {
			return err
		}
		na, nb := a.Bytes(), b.Bytes()
		if na != nb {
			return fmt.Errorf("%s: %s has %d bytes, want %d as in %s: %w", theirs, name, nb, na, ours, errDiffer)
		}
		x, y := make([]byte, 1<<20), make([]byte, 1<<20)
		for at := int64(0); at < na; at += int64(len(x)) {
			n := min(na-at, int64(len(x)))
			x, y = x[:n], y[:n]
			if err := readBoth(a, b, x, y, at); err != nil {
				return err
			}
			if err := sameBytes(x, y, at, theirs+": "+name, ours); err != nil {
				return err
			}
		}
	}
	return nil
}

// compareCanonical compares variable by variable. A netCDF-4 file is made a classic one first.
func compareCanonical(ctx context.Context, ours, theirs string) error {
	if head := make([]byte, 4); readHead(theirs, head) == nil && head[0] == 0x89 {
		nccopy := either("nccopy")
		if nccopy == "" {
			return fmt.Errorf("no nccopy to read netCDF-4 with: %w", errSkip)
		}
		classic := theirs + ".cdf5"
		defer os.Remove(classic)
		if _, err := output(ctx, exec.CommandContext(ctx, nccopy, "-k", "cdf5", theirs, classic)); err != nil {
			return err
		}
		theirs = classic
	}
	a, err := blob.Open(ctx, ours, nil)
	if err != nil {
		return err
	}
	defer a.Close()
	b, err := blob.Open(ctx, theirs, nil)
	if err != nil {
		return err
	}
	defer b.Close()
	for f := range blob.Diff(ctx, a, b, nil) {
		if f.Severity > blob.Note {
			return fmt.Errorf("%s and %s: %v: %w", ours, theirs, f, errDiffer)
		}
	}
	return ctx.Err()
}

func readHead(name string, b []byte) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.ReadFull(f, b)
	return err
}

// openBoth opens two files, and returns their sizes in bytes.
func openBoth(ours, theirs string) (a, b *os.File, sizeA, sizeB int64, err error) {
	if sizeA, err = fileBytes(ours); err != nil {
		return nil, nil, 0, 0, err
	}
	if sizeB, err = fileBytes(theirs); err != nil {
		return nil, nil, 0, 0, err
	}
	if a, err = os.Open(ours); err != nil {
		return nil, nil, 0, 0, err
	}
	if b, err = os.Open(theirs); err != nil {
		a.Close()
		return nil, nil, 0, 0, err
	}
	return a, b, sizeA, sizeB, nil
}

func readBoth(a, b io.ReaderAt, x, y []byte, at int64) error {
	if n, err := a.ReadAt(x, at); n < len(x) {
		return fmt.Errorf("read at %d: %w", at, err)
	}
	if n, err := b.ReadAt(y, at); n < len(y) {
		return fmt.Errorf("read at %d: %w", at, err)
	}
	return nil
}

func sameBytes(x, y []byte, at int64, theirs, ours string) error {
	if bytes.Equal(x, y) {
		return nil
	}
	for i := range x {
		if x[i] != y[i] {
			return fmt.Errorf("%s: byte %d is %#x, want %#x as in %s: %w", theirs, at+int64(i), y[i], x[i], ours, errDiffer)
		}
	}
	return nil
}
