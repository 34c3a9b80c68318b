package ffformat

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"blobio/internal/base/crashtest"
	"blobio/internal/base/fault"
)

// scenario is the content of the vectors: for each checkpoint the size of each variable in ints, from the formula in the
// vectors' README with U = 100.
var scenario = map[int]map[int32]int{
	1: {1: 1, 2: 2, 3: 3},
	2: {1: 1, 2: 2, 3: 3, 4: 4},
	3: {1: 1, 2: 6, 3: 7, 4: 4},
	4: {1: 1, 2: 6, 3: 7, 4: 4, 5: 5},
	5: {1: 1, 2: 5, 3: 6, 4: 4, 5: 5},
	6: {1: 1, 2: 8, 3: 9, 4: 4, 5: 5},
	7: {1: 1, 2: 1, 3: 2, 4: 4, 5: 5},
}

func scenarioData(c int, id int32, rank, unit int) []byte {
	b := make([]byte, 4*unit*scenario[c][id])
	for i := range len(b) / 4 {
		g := c
		for g > 0 && g%7 != i/256%7 {
			g--
		}
		v := uint32(id)*16777619 + uint32(i)*2654435761 + uint32(g)*40503 + uint32(rank)*97
		binary.LittleEndian.PutUint32(b[4*i:], v)
	}
	return b
}

var vectorName = regexp.MustCompile(`cp(\d)__(?:node\d-)?.*?(Rank|Pcof)(\d)\.fti$`)

// vectorContent returns which checkpoint and rank of the scenario a vector has.
func vectorContent(t *testing.T, name string) (ckpt, rank int) {
	t.Helper()
	m := vectorName.FindStringSubmatch(name)
	if m == nil {
		t.Fatal(name)
	}
	ckpt, _ = strconv.Atoi(m[1])
	rank, _ = strconv.Atoi(m[3])
	switch {
	case strings.Contains(name, "withhead"):
		rank-- // the head is rank 0
	case m[2] == "Pcof":
		rank = (rank + 3) % 4
	}
	return ckpt, rank
}

// TestVectorContent: ReadVars with verification and ReadAt return the scenario's bytes for every variable of every vector.
func TestVectorContent(t *testing.T) {
	dir, m := vectors(t)
	for name, e := range m {
		if e.Kind == "RSed" {
			continue
		}
		b := readVector(t, dir, name)
		r, err := NewReader(bytes.NewReader(b), int64(len(b)), name, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		ckpt, rank := vectorContent(t, name)
		vars := r.File().Vars()
		if len(vars) != len(scenario[ckpt]) {
			t.Errorf("%s: %d variables", name, len(vars))
		}
		bufs := make([]VarBuf, len(vars))
		for i, v := range vars {
			bufs[i] = VarBuf{v.ID, make([]byte, v.Size)}
		}
		if err := r.ReadVars(context.Background(), bufs, nil); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, v := range bufs {
			want := scenarioData(ckpt, v.ID, rank, 100)
			if !bytes.Equal(v.Data, want) {
				t.Errorf("%s: variable %d: other bytes", name, v.ID)
			}
			got := make([]byte, len(want))
			half := int64(len(got) / 2)
			if n, err := r.ReadAt(v.ID, got[half:], half); n != len(got)-int(half) || err != nil {
				t.Errorf("%s: ReadAt %d: %d, %v", name, v.ID, n, err)
			}
			if n, err := r.ReadAt(v.ID, got[:half+1], 0); int64(n) != half+1 || err != nil {
				t.Errorf("%s: ReadAt %d: %d, %v", name, v.ID, n, err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s: ReadAt of variable %d: other bytes", name, v.ID)
			}
			if n, err := r.ReadAt(v.ID, got[:10], int64(len(want))-4); n != 4 || err != io.EOF {
				t.Errorf("%s: ReadAt over the end: %d, %v", name, n, err)
			}
		}
		if _, err := r.ReadAt(99, nil, 0); !errors.Is(err, ErrMissing) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestReadVarsErrors: ReadVars reads the good variables, even if bad variables are requested, too.
func TestReadVarsErrors(t *testing.T) {
	for _, k := range kinds {
		f, b := build(t, k.layout, k.hash, 512, six)
		b[f.at(2, 0).Fptr+700] ^= 1 // variable 2
		r, err := NewReader(bytes.NewReader(b), f.Size, "x", nil)
		must(t, err)
		want := contentOf(six)
		short := make([]byte, 399)
		three, five := make([]byte, len(want[3])), make([]byte, len(want[5]))
		bufs := []VarBuf{{1, short}, {3, three}, {2, make([]byte, len(want[2]))}, {9, nil}, {5, five}}
		for workers := range 4 {
			clear(three)
			err = r.ReadVars(context.Background(), bufs, &Options{Workers: workers})
			if ids := BadVars(err); !slices.Equal(ids, []int32{1, 2, 9}) {
				t.Errorf("%s: bad %v: %v", k.name, ids, err)
			}
			if !errors.Is(err, fault.ErrUsage) || !errors.Is(err, ErrChecksum) || !errors.Is(err, ErrMissing) {
				t.Errorf("%s: %v", k.name, err)
			}
			if !bytes.Equal(three, want[3]) || !bytes.Equal(five, want[5]) || !bytes.Equal(short, make([]byte, 399)) {
				t.Errorf("%s: other bytes", k.name)
			}
		}
		for range 2 { // only reads of the damaged chunk fail
			if n, err := r.ReadAt(2, make([]byte, 4), f.at(2, 0).Dptr+8); n != 0 || !errors.Is(err, ErrChecksum) || !slices.Equal(BadVars(err), []int32{2}) {
				t.Errorf("%s: ReadAt: %d, %v", k.name, n, err)
			}
			if n, err := r.ReadAt(3, three[:4], 8); n != 4 || err != nil || !bytes.Equal(three[:4], want[3][8:12]) {
				t.Errorf("%s: ReadAt: %d, %v", k.name, n, err)
			}
		}
		if err := r.ReadVars(context.Background(), nil, nil); err != nil {
			t.Error(err)
		}
		if _, err := r.ReadAt(1, short, -1); !errors.Is(err, fault.ErrUsage) {
			t.Error(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := r.ReadVars(ctx, bufs[4:], nil); !errors.Is(err, context.Canceled) || BadVars(err) != nil {
			t.Error(err)
		}
	}
}

// digestsOf returns the block digests of a file, as a side file would have them.
func digestsOf(t *testing.T, f *File, b []byte, bs int) *Digests {
	t.Helper()
	sum, err := f.MetaSum()
	must(t, err)
	d := &Digests{MetaSum: sum, Hash: f.Hash, BlockSize: bs}
	for p := range f.all() {
		data := b[p.Fptr : p.Fptr+p.ChunkSize]
		sums := make([]byte, (len(data)+bs-1)/bs*digestLen)
		sumBlocks(data, sums, bs)
		d.chunks = append(d.chunks, chunkDigests{p.ID, p.ContainerID, p.ChunkSize, p.Hash, sums})
	}
	return d.index()
}

// TestReadVarsByBlocks: reading with block digests gives the same bytes, and the error names the first damaged block.
func TestReadVarsByBlocks(t *testing.T) {
	for i, k := range kinds {
		for _, size := range []int64{1, 600, 5000, 9 << 20} {
			if !crashtest.Long() && size > 1<<20 && i%4 != 0 {
				continue
			}
			f, b := build(t, k.layout, k.hash, 4096, [][]spec{{{1, size, size}, {2, 700, 700}}, {{1, 5000, 3333}}})
			kept := &Options{Digests: digestsOf(t, f, b, 1024)}
			r, err := NewReader(bytes.NewReader(b), f.Size, "x", nil)
			must(t, err)
			want := append(bytes.Clone(b[f.at(0, 0).Fptr:][:size]), b[f.at(1, 0).Fptr:][:3333]...)
			got := make([]byte, len(want))
			for _, o := range []*Options{kept, nil} {
				clear(got)
				if err := r.ReadVars(context.Background(), []VarBuf{{1, got}}, o); err != nil || !bytes.Equal(got, want) {
					t.Errorf("%s: %v", k.name, err)
				}
			}
			at := f.at(1, 0).Fptr + 2048
			b[at+17] ^= 1
			err = r.ReadVars(context.Background(), []VarBuf{{1, got}}, kept)
			var fe *FormatError
			if !errors.As(err, &fe) || fe.Offset != at || !errors.Is(err, ErrChecksum) {
				t.Errorf("%s: %v, want %#x", k.name, err, at)
			}
		}
	}
}
