package ffformat

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// reader opens a file in memory.
func reader(t rapid.TB, b []byte, name string) *Reader {
	t.Helper()
	r, err := NewReader(bytes.NewReader(b), int64(len(b)), name, nil)
	must(t, err)
	return r
}

// created returns an empty file in memory and a function that returns its bytes.
func created(t rapid.TB) (vfs.File, func() []byte) {
	t.Helper()
	fsys := vfs.NewMem()
	f, err := fsys.Create("new.fti")
	must(t, err)
	return f, func() []byte {
		b, err := vfs.ReadFile(fsys, "new.fti", 1<<30)
		must(t, err)
		return b
	}
}

// allVars reads and verifies every variable.
func allVars(t rapid.TB, b []byte, name string) map[int32][]byte {
	t.Helper()
	r := reader(t, b, name)
	out := map[int32][]byte{}
	for _, v := range r.File().Vars() {
		out[v.ID] = make([]byte, v.Size)
		must(t, r.ReadVar(context.Background(), v.ID, out[v.ID]))
	}
	return out
}

func sameVars(t rapid.TB, what string, got, want map[int32][]byte) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d variables, want %d", what, len(got), len(want))
	}
	for id, b := range want {
		if !bytes.Equal(got[id], b) {
			t.Errorf("%s: variable %d differs", what, id)
		}
	}
}

// noFaults checks that Check finds only notes.
func noFaults(t rapid.TB, b []byte, what string) {
	t.Helper()
	for _, f := range findings(t, b, "new.fti", nil) {
		if f.Severity != fault.Note && !strings.HasPrefix(f.Msg, "true for no bytes") { // the file breaks the growth rule, but is sound
			t.Errorf("%s: %v", what, f)
		}
	}
}

// rewriteKinds are all layouts with MD5, and F with fast hashes.
func rewriteKinds() []Options {
	var out []Options
	for l := LayoutA; l <= LayoutF; l++ {
		out = append(out, Options{Layout: l})
	}
	return append(out, Options{Layout: LayoutF, Hash: Fast, BlockSize: 512}, Options{Hash: Fast})
}

// TestConvertVectors: Convert makes a sound file of every kind from every vector, with the same variables in the same containers,
// and Compact makes a file without unused space.
func TestConvertVectors(t *testing.T) {
	dir, m := vectors(t)
	n := 0
	for name, e := range m {
		if e.FB == nil || path.Base(path.Dir(name)) == "l4-withhead" {
			continue
		}
		b := readVector(t, dir, name)
		r := reader(t, b, name)
		if r.File().Parity {
			dst, _ := created(t)
			if _, err := Convert(t.Context(), r, dst, nil); !errors.Is(err, ErrUnsupported) {
				t.Errorf("%s: conversion of parity: %v", name, err)
			}
			continue
		}
		want := allVars(t, b, name)
		for i, o := range rewriteKinds() {
			if (n+i)%5 != 0 { // in this sample each kind still meets each layout often
				continue
			}
			what := fmt.Sprintf("%s to %v, %d", name, o.Layout, o.Hash)
			dst, bytesOf := created(t)
			f, err := Convert(t.Context(), r, dst, &o)
			if err != nil {
				t.Errorf("%s: %v", what, err)
				continue
			}
			noFaults(t, bytesOf(), what)
			sameVars(t, what, allVars(t, bytesOf(), what), want)
			sameContainers(t, what, f, r.File())
			dst, bytesOf = created(t)
			f, err = Compact(t.Context(), r, dst, &o)
			if err != nil {
				t.Errorf("%s: %v", what, err)
				continue
			}
			noFaults(t, bytesOf(), "compact "+what)
			sameVars(t, "compact "+what, allVars(t, bytesOf(), what), want)
			if u := usage(f.Extents()); len(f.Blocks) != 1 || len(f.Blocks[0].Containers) != len(want) || u[extentEmpty]+u[extentGap]+u[extentLost] != 0 {
				t.Errorf("%s: compact has %d blocks and %v", what, len(f.Blocks), u)
			}
		}
		n++
	}
}

func sameContainers(t *testing.T, what string, got, want *File) {
	t.Helper()
	var a, b []string
	for p := range got.all() {
		a = append(a, fmt.Sprint(p.block, p.ID, p.ContainerID, p.HasContent, p.Dptr, p.ChunkSize, p.ContainerSize))
	}
	for p := range want.all() {
		b = append(b, fmt.Sprint(p.block, p.ID, p.ContainerID, p.HasContent, p.Dptr, p.ChunkSize, p.ContainerSize))
	}
	if !slices.Equal(a, b) {
		t.Errorf("%s: containers\n%q, want\n%q", what, a, b)
	}
}

// TestConvertRoundTrip: converting a file to another layout or hash and back gives the same bytes.
func TestConvertRoundTrip(t *testing.T) {
	for _, from := range rewriteKinds() {
		if from.Hash == Fast {
			from.Layout = LayoutF
			from.BlockSize = 4096
		}
		_, b := build(t, from.Layout, from.Hash, from.BlockSize, six)
		for _, to := range rewriteKinds() {
			what := fmt.Sprintf("%v %d to %v %d", from.Layout, from.Hash, to.Layout, to.Hash)
			to.CkptID = 7
			dst, mid := created(t)
			f, err := Convert(t.Context(), reader(t, b, "a"), dst, &to)
			if err != nil {
				t.Errorf("%s: %v", what, err)
				continue
			}
			if f.Layout.table().fb.ckptID.len > 0 && f.FB.CkptID != 7 || f.FB.Timestamp != 1795220042 {
				t.Errorf("%s: checkpoint %d at %d", what, f.FB.CkptID, f.FB.Timestamp)
			}
			dst, end := created(t)
			back := from
			back.CkptID = 7
			if _, err := Convert(t.Context(), reader(t, mid(), "b"), dst, &back); err != nil {
				t.Errorf("%s and back: %v", what, err)
			} else if !bytes.Equal(end(), b) {
				t.Errorf("%s and back: other bytes", what)
			}
		}
	}
}

// TestRewriteRandom: Convert and Compact handle random files, with empty containers and empty variables.
func TestRewriteRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ks := rewriteKinds()
		from := ks[rapid.IntRange(0, len(ks)-2).Draw(t, "from")]
		_, b := build(t, from.Layout, from.Hash, from.BlockSize, drawSpecs(t))
		r := reader(t, b, "a")
		want := allVars(t, b, "a")
		for _, f := range []func(context.Context, *Reader, vfs.File, *Options) (*File, error){Convert, Compact} {
			o := ks[rapid.IntRange(0, len(ks)-1).Draw(t, "to")]
			o.Workers = rapid.IntRange(0, 3).Draw(t, "workers")
			dst, bytesOf := created(t)
			if _, err := f(context.Background(), r, dst, &o); err != nil {
				t.Fatal(err)
			}
			noFaults(t, bytesOf(), "new")
			sameVars(t, "new", allVars(t, bytesOf(), "new"), want)
		}
	})
}

// TestRewriteLarge: Convert and Compact handle large chunks, which cross the borders of pieces and blocks.
func TestRewriteLarge(t *testing.T) {
	for _, size := range []int64{rewritePiece - 1, rewritePiece, rewritePiece + 1, 3*rewritePiece + 4097} {
		specs := [][]spec{{{1, size, size}, {2, 100, 100}}, {{1, size, size - 7}}}
		for _, from := range []Options{{Layout: LayoutA}, {Layout: LayoutF, Hash: Fast, BlockSize: 4095}} {
			_, b := build(t, from.Layout, from.Hash, from.BlockSize, specs)
			want := allVars(t, b, "a")
			for _, to := range []Options{{Layout: LayoutB}, {Layout: LayoutF, Hash: Fast, BlockSize: 1 << 20}, {Hash: Fast, BlockSize: 777}} {
				dst, bytesOf := created(t)
				if _, err := Compact(t.Context(), reader(t, b, "a"), dst, &to); err != nil {
					t.Fatal(err)
				}
				noFaults(t, bytesOf(), "new")
				sameVars(t, "new", allVars(t, bytesOf(), "new"), want)
			}
		}
	}
}

func TestConvertRefuses(t *testing.T) {
	_, b := build(t, LayoutF, MD5, 0, seven)
	r := reader(t, b, "a")
	for _, o := range []*Options{{Layout: 9}, {Hash: 7}, {Layout: LayoutE, Hash: Fast}, {Hash: Fast, BlockSize: 511}, {BlockSize: 512}, {Workers: -1}} {
		dst, _ := created(t)
		if _, err := Convert(t.Context(), r, dst, o); !errors.Is(err, fault.ErrUsage) {
			t.Errorf("%+v: %v", *o, err)
		}
	}
	dst, _ := created(t)
	if _, err := dst.WriteAt([]byte("x"), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := Convert(t.Context(), r, dst, nil); !errors.Is(err, fault.ErrUsage) {
		t.Errorf("into a file with bytes: %v", err)
	}
	bad := bytes.Clone(b)
	bad[1] ^= 1 // a byte of variable 1
	for _, f := range []func(context.Context, *Reader, vfs.File, *Options) (*File, error){Convert, Compact} {
		for _, o := range []*Options{nil, {Hash: Fast}} {
			dst, _ := created(t)
			_, err := f(t.Context(), reader(t, bad, "a"), dst, o)
			if !errors.Is(err, ErrChecksum) || !slices.Equal(BadVars(err), []int32{1}) {
				t.Errorf("a bad chunk: %v", err)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dst, _ = created(t)
	if _, err := Convert(ctx, r, dst, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestConvertTooLarge: conversion of a file of 2 GiB to layout E fails before any data are copied. The file is sparse.
func TestConvertTooLarge(t *testing.T) {
	f := layOut(LayoutF, [][]spec{{{1, 1 << 31, 0}}})
	f.Blocks[0].Containers[0].Hash = newSum(f).Sum()
	must(t, f.seal(readerChecksum(f.Blocks)))
	pieces, err := f.encode()
	must(t, err)
	r, err := NewReader(sparse{pieces, f.Size}, f.Size, "large", nil)
	must(t, err)
	dst, _ := created(t)
	if _, err := Convert(t.Context(), r, dst, &Options{Layout: LayoutE}); !errors.Is(err, fault.ErrRange) {
		t.Errorf("2 GiB to layout E: %v", err)
	}
	dst, _ = created(t)
	if _, err := Compact(t.Context(), r, dst, &Options{Layout: LayoutE}); err != nil {
		t.Errorf("compact to layout E: %v", err)
	}
}

type sparse struct {
	pieces []piece
	size   int64
}

func (s sparse) ReadAt(p []byte, off int64) (int, error) {
	clear(p)
	for _, q := range s.pieces {
		if lo, hi := max(off, q.Off), min(off+int64(len(p)), q.Off+int64(len(q.Data))); lo < hi {
			copy(p[lo-off:hi-off], q.Data[lo-q.Off:hi-q.Off])
		}
	}
	if off+int64(len(p)) > s.size {
		return int(max(s.size-off, 0)), io.EOF
	}
	return len(p), nil
}

// TestRewriteFaults: if any operation on either file fails, its error is returned.
func TestRewriteFaults(t *testing.T) {
	_, b := build(t, LayoutA, MD5, 0, seven)
	boom := errors.New("boom")
	for _, o := range []*Options{{Layout: LayoutF}, {Layout: LayoutA}} {
		for n := int64(2); ; n++ {
			dst, err := vfs.FailNth(vfs.NewMem(), n, boom).Create("x")
			must(t, err)
			if _, err = Convert(t.Context(), reader(t, b, "a"), dst, o); err == nil {
				if n < 10 {
					t.Errorf("only %d operations", n)
				}
				break
			}
			if !errors.Is(err, boom) {
				t.Errorf("operation %d fails: %v", n, err)
			}
		}
	}
}

func TestCopyVar(t *testing.T) {
	for _, k := range kinds {
		f, b := build(t, k.layout, k.hash, 512, six)
		r := reader(t, b, "a")
		for id, want := range contentOf(six) {
			var w bytes.Buffer
			if err := r.CopyVar(t.Context(), id, &w); err != nil || !bytes.Equal(w.Bytes(), want) {
				t.Errorf("%s: variable %d: %v", k.name, id, err)
			}
		}
		b[f.at(1, 0).Fptr] ^= 1
		if err := r.CopyVar(t.Context(), 4, io.Discard); !errors.Is(err, ErrChecksum) || !slices.Equal(BadVars(err), []int32{4}) {
			t.Errorf("%s: a bad chunk: %v", k.name, err)
		}
		if err := r.CopyVar(t.Context(), 9, io.Discard); !errors.Is(err, ErrMissing) {
			t.Errorf("%s: no such variable: %v", k.name, err)
		}
	}
}
