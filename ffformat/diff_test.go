package ffformat

import (
	"blobio/internal/base/fault"
	"bytes"
	"context"
	"crypto/md5"
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// single makes a file of one variable.
func single(t rapid.TB, l Layout, data []byte) *Reader {
	t.Helper()
	n := int64(len(data))
	f := layOut(l, [][]spec{{{1, n, n}}})
	b := make([]byte, f.Size)
	c := &f.Blocks[0].Containers[0]
	copy(b[c.Fptr:], data)
	c.Hash = chunkHash(f, data)
	reseal(t, f, b)
	return reader(t, b, "single")
}

func diffs(t rapid.TB, a, b *Reader, o *Options) []VarDiff {
	t.Helper()
	var out []VarDiff
	for v, err := range Diff(context.Background(), a, b, o) {
		must(t, err)
		out = append(out, v)
	}
	return out
}

func TestDiff(t *testing.T) {
	_, a := build(t, LayoutF, MD5, 0, six)
	_, b := build(t, LayoutA, MD5, 0, seven) // the same content in another layout and with other container sizes
	got := fmt.Sprint(diffs(t, reader(t, a, "a"), reader(t, b, "b"), nil))
	if want := "[{2 3200 400 0 [] 0} {3 3600 800 0 [] 0}]"; got != want {
		t.Errorf("checkpoints 6 and 7: %s, want %s", got, want)
	}
	if d := diffs(t, reader(t, a, "a"), reader(t, a, "b"), nil); len(d) != 0 {
		t.Errorf("equal files: %v", d)
	}
	_, c := build(t, LayoutF, Fast, 512, [][]spec{six[0], six[1]})
	got = fmt.Sprint(diffs(t, reader(t, c, "a"), reader(t, a, "b"), &Options{Vars: []int32{4, 5}}))
	if want := "[{5 -1 2000 0 [] 0}]"; got != want {
		t.Errorf("a variable that only b has: %s, want %s", got, want)
	}
}

func TestDiffRanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 20000).Draw(t, "n")
		a := make([]byte, n)
		b := bytes.Clone(a)
		for range rapid.IntRange(0, 20).Draw(t, "changes") {
			at := rapid.IntRange(0, n-1).Draw(t, "at")
			for i := at; i < min(n, at+rapid.IntRange(1, 40).Draw(t, "len")); i++ {
				b[i] = 1
			}
		}
		gap := rapid.Int64Range(0, 50).Draw(t, "gap")
		got := diffs(t, single(t, LayoutF, a), single(t, LayoutB, b), &Options{Gap: gap})
		if bytes.Equal(a, b) {
			if len(got) != 0 {
				t.Fatalf("equal, but %v", got)
			}
			return
		}
		in := make([]bool, n)
		last := int64(-1 << 30)
		for _, r := range got[0].Ranges {
			if r.Off-last <= gap && last >= 0 || a[r.Off] == b[r.Off] || a[r.Off+r.Len-1] == b[r.Off+r.Len-1] {
				t.Fatalf("ranges %v with gap %d", got[0].Ranges, gap)
			}
			last = r.Off + r.Len
			for i := r.Off; i < last; i++ {
				in[i] = true
			}
		}
		count := int64(0)
		for i := range a {
			if a[i] != b[i] {
				count++
				if !in[i] {
					t.Fatalf("byte %d is in no range", i)
				}
			}
		}
		if count != got[0].Bytes {
			t.Fatalf("%d bytes, want %d", got[0].Bytes, count)
		}
	})
}

func TestDiffBounds(t *testing.T) {
	a, b := make([]byte, 3*diffPiece), make([]byte, 3*diffPiece)
	for i := 0; i < len(b); i += 10 {
		b[i] = 1
	}
	b[diffPiece-1], b[diffPiece] = 1, 1 // one range across the border of two pieces
	d := diffs(t, single(t, LayoutF, a), single(t, LayoutF, b), nil)
	if len(d) != 1 || len(d[0].Ranges) != maxRanges || d[0].More != 157288-maxRanges || d[0].Bytes != 157289 {
		t.Errorf("%d ranges and %d more, %d bytes", len(d[0].Ranges), d[0].More, d[0].Bytes)
	}
	for _, o := range []*Options{{Gap: -1}, {Gap: 1 << 30}} {
		for _, err := range Diff(t.Context(), single(t, LayoutF, a), single(t, LayoutF, b), o) {
			if !errors.Is(err, fault.ErrUsage) {
				t.Errorf("%+v: %v", *o, err)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range Diff(ctx, single(t, LayoutF, a), single(t, LayoutF, b), nil) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
	}
}

// TestDiffDamaged: an unreadable variable does not hide the differences of other variables.
func TestDiffDamaged(t *testing.T) {
	f, a := build(t, LayoutF, MD5, 0, six)
	f.Blocks[0].Containers[1].Dptr = 8 // a container of variable 2
	b := bytes.Clone(a)
	put(t, f, b)
	b[f.Blocks[0].Containers[0].Fptr] ^= 1 // a byte of variable 1; damage is not a difference
	c := &f.Blocks[3].Containers[0]
	b[c.Fptr] ^= 1
	c.Hash = md5.Sum(b[c.Fptr : c.Fptr+c.ChunkSize])
	put(t, f, b)
	reseal(t, f, b)
	var ids []int32
	var bad []int32
	for v, err := range Diff(t.Context(), reader(t, a, "a"), reader(t, b, "b"), nil) {
		if err != nil {
			bad = append(bad, v.ID)
		} else {
			ids = append(ids, v.ID)
		}
	}
	if fmt.Sprint(bad) != "[1 2]" || fmt.Sprint(ids) != "[5]" {
		t.Errorf("bad %v, different %v", bad, ids)
	}
}
