package versions

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"blobio/internal/base/elem"
	"blobio/internal/cli"
	"blobio/versioned"
)

// versionsPiece is the number of bytes of a version in memory at once.
const versionsPiece = 4 << 20

// parseRange parses "0:10,5,:". Each dimension has a range lo:hi, which excludes hi, or an index.
func parseRange(s string, shape []int64) (lo, hi []int64, err error) {
	lo, hi = make([]int64, len(shape)), slices.Clone(shape)
	if s == "" {
		return lo, hi, nil
	}
	parts := strings.Split(s, ",")
	if len(parts) != len(shape) {
		return nil, nil, cli.Usagef("--elements %q has %s, the array has %d", s, cli.Plural(len(parts), "dimension"), len(shape))
	}
	for d, p := range parts {
		if lo[d], hi[d], err = cli.Range("elements", p, shape[d], "element"); err != nil {
			return nil, nil, err
		}
	}
	return lo, hi, nil
}

// lineOf returns the number of elements in a line of text.
func lineOf(t versioned.Type) int64 {
	if t.Size() <= 2 {
		return 16
	}
	return 8
}

// join joins numbers with a text in between.
func join[T int32 | int64](list []T, between string) string {
	s := make([]string, len(list))
	for i, n := range list {
		s[i] = strconv.FormatInt(int64(n), 10)
	}
	return strings.Join(s, between)
}

func indexText(idx []int64) string { return "[" + join(idx, ",") + "]" }

func extentText(shape []int64) string { return join(shape, "x") }

// printPiece prints the rows of a piece, each line with the index of its first element.
func printPiece(w io.Writer, t versioned.Type, lo, hi []int64, b []byte) error {
	size, per := int64(t.Size()), lineOf(t)
	et, order := elem.Parse(t.String()), elem.HostOrder()
	d := len(lo) - 1
	idx := slices.Clone(lo)
	var line bytes.Buffer
	for len(b) > 0 {
		n := min(per, hi[d]-idx[d])
		line.Reset()
		line.WriteString(indexText(idx))
		for range n {
			line.WriteByte(' ')
			line.Write(et.AppendText(line.AvailableBuffer(), b[:size], order))
			b = b[size:]
		}
		line.WriteByte('\n')
		if _, err := w.Write(line.Bytes()); err != nil {
			return err
		}
		idx[d] += n
		for k := d; k > 0 && idx[k] == hi[k]; k-- {
			idx[k] = lo[k]
			idx[k-1]++
		}
	}
	return nil
}

// bytesReader reads a range of a byte array, in pieces.
type bytesReader struct {
	ctx     context.Context
	v       *versioned.View
	version int64
	at, end int64
}

func (r *bytesReader) Read(b []byte) (int, error) {
	if r.at >= r.end {
		return 0, io.EOF
	}
	n := min(int64(len(b)), r.end-r.at)
	if err := r.v.Get(r.ctx, r.version, []int64{r.at}, []int64{r.at + n}, b[:n]); err != nil {
		return 0, err
	}
	r.at += n
	return int(n), nil
}

// boxText formats the corners of a box: (0,4) to (7,9).
func boxText(t *versioned.LevelInfo, b *versioned.BoxInfo) string {
	return fmt.Sprintf("(%s) to (%s)", join(b.Lo[:t.Dim], ","), join(b.Hi[:t.Dim], ","))
}
