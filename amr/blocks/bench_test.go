package blocks

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"blobio/amr"
	"blobio/amr/cello"
	"blobio/blob"
	"blobio/comm"
)

// uniform is n^3 blocks of 16^3 cells, of level 0, with 8 fields of 32 bits.
func uniform(n int) (*amr.Meta, []*amr.Block) {
	m := &amr.Meta{Geometry: amr.Geometry{Rank: 3, Roots: [3]int{n, n, n}, Block: [3]int{16, 16, 16}, Upper: [3]float64{1, 1, 1}}}
	for i := range 8 {
		m.Fields = append(m.Fields, amr.FieldSpec{Name: string(rune('a' + i)), Type: amr.Float32})
	}
	data := make([]byte, 16*16*16*4)
	var out []*amr.Block
	for x := range m.Level(0) {
		b := &amr.Block{Index: x, Leaf: true}
		for i := range m.Fields {
			b.Fields = append(b.Fields, amr.Field{Spec: &m.Fields[i], Data: data})
		}
		out = append(out, b)
	}
	return m, out
}

func benchWrite(b *testing.B, form Form, ranks int) {
	m, blocks := uniform(8)
	parts := deal(blocks, ranks, 0)
	dir := b.TempDir()
	b.SetBytes(int64(len(blocks)) * blocks[0].Bytes())
	for b.Loop() {
		writeToy(b, filepath.Join(dir, "b.nc"), m, parts, &Options{Form: form, Durability: blob.DurableNone})
		b.StopTimer()
		if err := os.RemoveAll(dir); err != nil {
			b.Fatal(err)
		}
		if err := os.Mkdir(dir, 0o777); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

func BenchmarkWriteCanonical(b *testing.B) { benchWrite(b, Canonical, 64) }
func BenchmarkWriteVariable(b *testing.B)  { benchWrite(b, VariableCentric, 64) }
func BenchmarkWriteProcess(b *testing.B)   { benchWrite(b, ProcessCentric, 64) }

func BenchmarkRead(b *testing.B) {
	m, blocks := uniform(8)
	name := filepath.Join(b.TempDir(), "b.nc")
	writeToy(b, name, m, deal(blocks, 8, 0), &Options{Durability: blob.DurableNone})
	b.SetBytes(int64(len(blocks)) * blocks[0].Bytes())
	for b.Loop() {
		d := openToy(b, name)
		err := comm.Run(b.Context(), 8, nil, func(ctx context.Context, c comm.Comm) error {
			for lo := d.Len() * c.Rank() / 8; lo < d.Len()*(c.Rank()+1)/8; lo += 32 {
				if _, err := d.Range(ctx, lo, lo+32); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOpen opens a tree of many small blocks; the number is of blocks.
func BenchmarkOpen(b *testing.B) {
	m, blocks := uniform(32)
	m.Block, m.Fields = [3]int{1, 1, 1}, m.Fields[:1]
	for _, x := range blocks {
		x.Fields = []amr.Field{{Spec: &m.Fields[0], Data: make([]byte, 4)}}
	}
	name := filepath.Join(b.TempDir(), "b.nc")
	writeToy(b, name, m, deal(blocks, 8, 0), &Options{Durability: blob.DurableNone})
	for b.Loop() {
		d, err := Open(b.Context(), name, nil)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := d.Tree(); err != nil {
			b.Fatal(err)
		}
		d.Close()
	}
	b.ReportMetric(float64(len(blocks))*float64(b.N)/b.Elapsed().Seconds(), "blocks/s")
}

// The same blocks as a Cello checkpoint of 16 files, to compare.
func BenchmarkWriteCello(b *testing.B) {
	m, blocks := uniform(8)
	parts := deal(blocks, 64, 0)
	dir := filepath.Join(b.TempDir(), "b")
	b.SetBytes(int64(len(blocks)) * blocks[0].Bytes())
	for b.Loop() {
		writeCello(b, dir, m, parts)
		b.StopTimer()
		if err := os.RemoveAll(dir); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

func writeCello(b *testing.B, dir string, m *amr.Meta, parts [][]*amr.Block) {
	b.Helper()
	err := comm.Run(b.Context(), len(parts), nil, func(ctx context.Context, c comm.Comm) error {
		return cello.Write(ctx, c, dir, m, parts[c.Rank()], &cello.Options{Files: 16, Durability: cello.DurableNone})
	})
	if err != nil {
		b.Fatal(err)
	}
}

func BenchmarkReadCello(b *testing.B) {
	m, blocks := uniform(8)
	dir := filepath.Join(b.TempDir(), "b")
	writeCello(b, dir, m, deal(blocks, 8, 0))
	b.SetBytes(int64(len(blocks)) * blocks[0].Bytes())
	for b.Loop() {
		k, err := cello.Open(b.Context(), dir, nil)
		if err != nil {
			b.Fatal(err)
		}
		err = comm.Run(b.Context(), 8, nil, func(ctx context.Context, c comm.Comm) error {
			s := k.Share(c.Rank(), 8)
			for i := range s.Len() {
				if _, err := s.Block(ctx, i); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
		k.Close()
	}
}
