package kvtree_test

import (
	"bytes"
	"fmt"
	"testing"

	"blobio/scr/kvtree"
)

// rank2file returns a tree that resembles the map of a checkpoint, with two files
// for each rank.
func rank2file(ranks int) *kvtree.Tree {
	t := kvtree.New()
	for r := range ranks {
		for f := range 2 {
			file := t.SetKVInt("RANK", r).SetKV("FILE", fmt.Sprintf("ckpt.1/rank_%d.%d.ckpt", r, f))
			file.Value("SIZE").SetUint64(uint64(524294 + r))
			file.Value("CRC").SetCRC32(uint32(r) * 2654435761)
		}
	}
	return t
}

func BenchmarkCodec(b *testing.B) {
	for _, ranks := range []int{4, 8192} {
		t := rank2file(ranks)
		rec, err := kvtree.Encode(t)
		if err != nil {
			b.Fatal(err)
		}
		run := func(name string, f func()) {
			b.Run(fmt.Sprintf("%s/%d", name, ranks), func(b *testing.B) {
				b.SetBytes(int64(len(rec)))
				b.ReportAllocs()
				for b.Loop() {
					f()
				}
			})
		}
		dst := make([]byte, len(rec))
		run("copy", func() { copy(dst, rec) })
		run("Encode", func() { kvtree.Encode(t) })
		run("Decode", func() { kvtree.Decode(rec, nil) })
		run("Clone", func() { t.Clone() })
		run("Merge", func() { kvtree.New().Merge(t) })
		run("Equal", func() { t.Equal(t.Clone()) })
		run("SortAll", func() { t.SortAll() })
		var out bytes.Buffer
		run("Print", func() { out.Reset(); kvtree.Print(t, &out, 0, true) })
	}
}

func BenchmarkGet(b *testing.B) {
	t := rank2file(8192)
	for b.Loop() {
		t.GetKVInt("RANK", 4096)
	}
}

func BenchmarkUpdate(b *testing.B) {
	name := b.TempDir() + "/halt.scr"
	for i := range b.N {
		err := kvtree.Update(b.Context(), nil, name, nil, func(t *kvtree.Tree) error { t.Value("CheckpointsLeft").SetInt(i); return nil })
		if err != nil {
			b.Fatal(err)
		}
	}
}
