package ffformat

import (
	"bytes"
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"blobio/internal/base/crashtest"
	"blobio/internal/base/vfs"

	"pgregory.net/rapid"
)

// update writes one checkpoint and fails the test on any error.
func update(t rapid.TB, w *Writer, f vfs.File, o UpdateOptions, vars []VarBuf) *Result {
	t.Helper()
	u, err := w.Begin(f, o)
	must(t, err)
	must(t, u.AddAll(context.Background(), vars))
	res, err := u.Finish(context.Background())
	must(t, err)
	return res
}

// TestChecksumRules: a variable that shrank leaves empty containers. The checksum must follow the rule of FTI's reader, so that
// FTI can restart. It differs from the checksum by the rule of FTI's writer.
func TestChecksumRules(t *testing.T) {
	w, err := NewWriter(&Options{BlockSize: 512})
	must(t, err)
	s := newSlot(t, vfs.NewMem(), "f")
	for cp := 1; cp <= 7; cp++ {
		var vars []VarBuf
		want := map[int32][]byte{}
		for id := int32(1); id <= 5; id++ {
			if _, ok := scenario[cp][id]; ok {
				b := scenarioData(cp, id, 0, 100)
				vars, want[id] = append(vars, VarBuf{id, b}), b
			}
		}
		s.prev = update(t, w, s.f, UpdateOptions{CkptID: int32(cp), Timestamp: int64(cp), Prev: s.prev}, vars).Digests
		f := s.holds(t, want, int32(cp)).File()
		empty := false
		for p := range f.all() {
			empty = empty || !p.HasContent
		}
		if empty != (cp == 7) {
			t.Errorf("checkpoint %d: containers without content: %v", cp, empty)
		}
		if got := readerChecksum(f.Blocks); f.FB.Checksum != got {
			t.Errorf("checkpoint %d: the reader's rule gives %s, the file has %s", cp, got, f.FB.Checksum)
		}
		if agree := writerChecksum(f.Blocks) == f.FB.Checksum; agree != !empty {
			t.Errorf("checkpoint %d: the writer's rule agrees: %v", cp, agree)
		}
	}
}

// TestUpdateOtherHash: a file with one kind of chunk hash is updated by a Writer with the other kind. The old hashes in the
// digests must not get into the new records.
func TestUpdateOtherHash(t *testing.T) {
	for _, from := range []Hash{MD5, Fast} {
		rng := rand.NewChaCha8([32]byte{})
		vars := []VarBuf{{1, make([]byte, 5000)}, {2, make([]byte, 700)}}
		for _, v := range vars {
			rng.Read(v.Data)
		}
		a, err := NewWriter(&Options{Hash: from, BlockSize: 512})
		must(t, err)
		b, err := NewWriter(&Options{Hash: Fast - from, BlockSize: 512})
		must(t, err)
		mem := vfs.NewMem()
		s, s2 := newSlot(t, mem, "f"), newSlot(t, mem, "g")
		res := update(t, a, s.f, UpdateOptions{CkptID: 1}, vars)
		must(t, b.Resume(res.File))
		want := map[int32][]byte{1: vars[0].Data, 2: vars[1].Data}
		for _, prev := range []*Digests{res.Digests, marshalled(t, res.Digests)} {
			s2.prev = update(t, b, s2.f, UpdateOptions{CkptID: 2, Recent: prev}, vars).Digests
			s2.holds(t, want, 2)
			s.prev = update(t, b, s.f, UpdateOptions{CkptID: 2, Prev: prev}, vars).Digests
			s.holds(t, want, 2)
		}
	}
}

// TestUpdateOtherBlocks: a file is updated with another block size. If an old digest equals the digest of a new block at another
// offset, the new block must still be written.
func TestUpdateOtherBlocks(t *testing.T) {
	a, b, c := bytes.Repeat([]byte{1}, 512), bytes.Repeat([]byte{2}, 512), bytes.Repeat([]byte{3}, 512)
	vars := []VarBuf{{1, slices.Concat(a, b, c)}}
	w, err := NewWriter(&Options{BlockSize: 1024})
	must(t, err)
	s := newSlot(t, vfs.NewMem(), "f")
	res := update(t, w, s.f, UpdateOptions{CkptID: 1}, vars)
	if w, err = NewWriter(&Options{BlockSize: 512}); err != nil {
		t.Fatal(err)
	}
	must(t, w.Resume(res.File))
	vars[0].Data = slices.Concat(a, c, c) // the second block of 1024 bytes was c alone
	for _, prev := range []*Digests{res.Digests, marshalled(t, res.Digests)} {
		s.prev = update(t, w, s.f, UpdateOptions{CkptID: 2, Prev: prev, Recent: prev, Differential: true}, vars).Digests
		s.holds(t, map[int32][]byte{1: vars[0].Data}, 2)
	}
}

// marshalled returns digests after a round trip through a side file.
func marshalled(t rapid.TB, d *Digests) *Digests {
	t.Helper()
	back, err := UnmarshalDigests(d.Marshal(), "side")
	must(t, err)
	return back
}

// TestUpdateLarge: large chunks, which several workers share, and several MD5 in parallel give right results. MD5 is computed
// once for a changed chunk and never for an unchanged chunk.
func TestUpdateLarge(t *testing.T) {
	const mib = 1 << 20
	for _, sizes := range [][]int{{9*mib + 5, 100, 0}, {2 * mib, 2*mib + 1, 2*mib - 1, 700}} {
		for _, hash := range []Hash{MD5, Fast} {
			for _, workers := range []int{1, 3} {
				if !crashtest.Long() && (workers == 1) != (hash == Fast) {
					continue
				}
				w, err := NewWriter(&Options{Hash: hash, Workers: workers})
				must(t, err)
				mem := vfs.NewMem()
				slots := []*slotFile{newSlot(t, mem, "0"), newSlot(t, mem, "1")}
				var vars []VarBuf
				want := map[int32][]byte{}
				rng := rand.NewChaCha8([32]byte{7})
				total := int64(0)
				for i, n := range sizes {
					b := make([]byte, n)
					rng.Read(b)
					vars, want[int32(i)] = append(vars, VarBuf{int32(i), b}), b
					total += int64(n)
				}
				big := int64(sizes[0])
				var recent *Digests
				put := func(cp int32, s *slotFile, md5, blocks int64) {
					t.Helper()
					if hash == Fast {
						md5 = 0
					}
					res := update(t, w, s.f, UpdateOptions{CkptID: cp, Prev: s.prev, Recent: recent}, vars)
					recent, s.prev = res.Digests, res.Digests
					if res.Stats.MD5 != md5 || blocks >= 0 && res.Stats.Dirty != blocks {
						t.Errorf("%v, hash %d, %d workers, checkpoint %d: MD5 of %d bytes, want %d; %d blocks written, want %d",
							sizes, hash, workers, cp, res.Stats.MD5, md5, res.Stats.Dirty, blocks)
					}
					if cp == 2 || cp >= 6 {
						s.holds(t, want, cp)
					}
				}
				put(1, slots[0], total, -1)
				put(2, slots[1], 0, -1) // equal to the first state, so no MD5 is computed
				put(3, slots[0], 0, 0)
				vars[0].Data[big-1]++ // in the last block, which the last worker handles
				put(4, slots[1], big, 1)
				put(5, slots[0], 0, 1)
				vars[0].Data[0]++
				vars[0].Data[big/2]++
				put(6, slots[1], big, 2)
				vars[0].Data[0]++
				put(7, slots[0], big, 2)
			}
		}
	}
}
