package blocks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"blobio/amr"
	"blobio/blob"
	"blobio/comm"
	"blobio/internal/fault"
)

// TestRoundTrip: written by any number of ranks, in any form, dealt as may be, the
// blocks come back bit by bit, in the order asked for.
func TestRoundTrip(t *testing.T) {
	for _, rank := range []int{1, 2, 3} {
		m, blocks := toy(uint64(rank), rank)
		for _, form := range []Form{Canonical, VariableCentric, ProcessCentric} {
			for _, ranks := range []int{1, 2, 4, 7} {
				t.Run(fmt.Sprintf("%dD/%v/%d", rank, form, ranks), func(t *testing.T) {
					o := &Options{Form: form, Durability: blob.DurableNone}
					name := temp(t)
					writeToy(t, name, m, deal(blocks, ranks, 0), o)
					same(t, openToy(t, name), m, blocks)
					o.Ordering = amr.Morton{}
					name = temp(t)
					writeToy(t, name, m, deal(blocks, ranks, uint64(ranks)), o)
					same(t, openToy(t, name), m, blocks)
				})
			}
		}
	}
}

// TestBytes: the canonical file has the same bytes, whoever wrote it.
func TestBytes(t *testing.T) {
	m, blocks := toy(5, 3)
	var first []byte
	for i, ranks := range []int{1, 3, 8} {
		name := temp(t)
		writeToy(t, name, m, deal(blocks, ranks, uint64(i)), &Options{Ordering: amr.Morton{}, Durability: blob.DurableNone, Buffer: minBuffer << (4 * i)})
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = b
		} else if string(b) != string(first) {
			t.Errorf("written by %d ranks the file has other bytes", ranks)
		}
		if f, err := filepath.Glob(filepath.Join(filepath.Dir(name), "*")); err != nil || len(f) != 1 {
			t.Errorf("left behind: %v %v", f, err)
		}
	}
}

// TestParts: some blocks, one field, heads.
func TestParts(t *testing.T) {
	m, blocks := toy(9, 2)
	name := temp(t)
	writeToy(t, name, m, deal(blocks, 3, 0), nil)
	d := openToy(t, name)
	for i, w := range blocks {
		b, err := d.Block(t.Context(), i)
		if err != nil {
			t.Fatal(err)
		}
		sameBlock(t, i, b, w)
		for k := range w.Fields {
			f := &w.Fields[k]
			dst := make([]byte, len(f.Data))
			if err := d.Field(t.Context(), i, f.Spec.Name, dst); err != nil {
				t.Fatal(err)
			}
			if string(dst) != string(f.Data) {
				t.Errorf("block %d: field %s differs", i, f.Spec.Name)
			}
			if d.Ghosts(f.Spec.Name) != f.Ghosts {
				t.Errorf("ghosts of %s", f.Spec.Name)
			}
		}
		if got, want := d.Bytes(i), w.Bytes(); got != want {
			t.Errorf("block %d has %d bytes, want %d", i, got, want)
		}
	}
	h, err := d.Heads(t.Context(), 3, 9)
	if err != nil {
		t.Fatal(err)
	}
	for i, b := range h {
		if b.Index != blocks[3+i].Index || b.Fields[0].Data != nil || b.Particles[0].N != blocks[3+i].Particles[0].N || b.Particles[0].Data != nil {
			t.Errorf("head of block %d: %+v", 3+i, b)
		}
	}
	if err := d.Field(t.Context(), 0, "none", nil); !errors.Is(err, fault.ErrMissing) {
		t.Error(err)
	}
	for _, r := range [][2]int{{-1, 2}, {3, 3}, {0, d.Len() + 1}} {
		if _, err := d.Range(t.Context(), r[0], r[1]); !errors.Is(err, fault.ErrUsage) {
			t.Errorf("%v: %v", r, err)
		}
	}
}

// TestRefused: what cannot be written is an error on all ranks, and nothing is left.
func TestRefused(t *testing.T) {
	for _, form := range []Form{Canonical, VariableCentric, ProcessCentric} {
		for name, spoil := range map[string]func(m *amr.Meta, b [][]*amr.Block){
			"no blocks":          func(m *amr.Meta, b [][]*amr.Block) { b[0], b[1], b[2] = nil, nil, nil },
			"a block twice":      func(m *amr.Meta, b [][]*amr.Block) { b[2][0] = b[0][0] },
			"outside":            func(m *amr.Meta, b [][]*amr.Block) { b[1][0].Index = amr.At(3, [3]int{99, 0}) },
			"other fields":       func(m *amr.Meta, b [][]*amr.Block) { b[1][0].Fields = b[1][0].Fields[1:] },
			"other ghosts":       func(m *amr.Meta, b [][]*amr.Block) { b[2][1].Fields[0].Ghosts = false },
			"short data":         func(m *amr.Meta, b [][]*amr.Block) { b[2][1].Fields[0].Data = b[2][1].Fields[0].Data[1:] },
			"short particles":    func(m *amr.Meta, b [][]*amr.Block) { b[2][1].Particles[0].N++ },
			"other attribute":    func(m *amr.Meta, b [][]*amr.Block) { b[2][1].Attrs["word"] = []int8{1} },
			"strange attribute":  func(m *amr.Meta, b [][]*amr.Block) { b[0][1].Attrs["word"] = map[string]int{} },
			"no such field":      func(m *amr.Meta, b [][]*amr.Block) { m.Fields = m.Fields[:2] },
			"bad geometry":       func(m *amr.Meta, b [][]*amr.Block) { m.Rank = 4 },
			"space in particles": func(m *amr.Meta, b [][]*amr.Block) { m.Particles[2].Name = "a b"; clearParticles(b) },
		} {
			m, blocks := toy(3, 2)
			parts := deal(blocks, 3, 0)
			spoil(m, parts)
			file := temp(t)
			errs := make([]error, 3)
			_ = comm.Run(t.Context(), 3, nil, func(ctx context.Context, c comm.Comm) error {
				errs[c.Rank()] = Write(ctx, c, file, m, parts[c.Rank()], &Options{Form: form, Durability: blob.DurableNone})
				return nil
			})
			for r, err := range errs {
				if err == nil {
					t.Errorf("%v, %s: rank %d has no error", form, name, r)
				}
			}
			if left, _ := filepath.Glob(filepath.Join(filepath.Dir(file), "*")); len(left) > 0 {
				t.Errorf("%v, %s: left behind %v", form, name, left)
			}
		}
	}
}

func clearParticles(parts [][]*amr.Block) {
	for _, p := range parts {
		for _, b := range p {
			b.Particles = nil
		}
	}
}

func TestExist(t *testing.T) {
	m, blocks := toy(3, 2)
	for _, form := range []Form{Canonical, VariableCentric, ProcessCentric} {
		name := temp(t)
		o := &Options{Form: form, Durability: blob.DurableNone}
		writeToy(t, name, m, deal(blocks, 2, 0), o)
		err := Write(t.Context(), comm.Self(), name, m, blocks[:1], o)
		if !errors.Is(err, ErrExist) {
			t.Errorf("%v: %v", form, err)
		}
		same(t, openToy(t, name), m, blocks)
		o.Force = true
		writeToy(t, name, m, deal(blocks[:1], 1, 0), o)
		if d := openToy(t, name); d.Len() != 1 {
			t.Errorf("%v: replaced, but there are %d blocks", form, d.Len())
		}
	}
}
