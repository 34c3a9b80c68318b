package ffformat

import (
	"blobio/internal/base/fault"
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// The fields of the document's example that do not change: block, variable, index in FTI's table, number of the container,
// dptr, containersize, and fptr in layouts A and F.
var sevenContainers = []struct {
	block                                     int
	id, idx, n                                int32
	dptr, room, fptrA, fptrF                  int64
	chunks/* at each of the seven */ [7]int64 // sizes at each checkpoint; -1: no container yet; 0: without content
}{
	{0, 1, 0, 0, 0, 4000000, 300, 0, [7]int64{4000000, 4000000, 4000000, 4000000, 4000000, 4000000, 4000000}},
	{0, 2, 1, 0, 0, 8000000, 4000300, 4000000, [7]int64{8000000, 8000000, 8000000, 8000000, 8000000, 8000000, 4000000}},
	{0, 3, 2, 0, 0, 12000000, 12000300, 12000000, [7]int64{12000000, 12000000, 12000000, 12000000, 12000000, 12000000, 8000000}},
	{1, 4, 3, 0, 0, 16000000, 24000376, 24000000, [7]int64{-1, 16000000, 16000000, 16000000, 16000000, 16000000, 16000000}},
	{2, 2, 1, 1, 8000000, 16000000, 40000516, 40000000, [7]int64{-1, -1, 16000000, 16000000, 12000000, 16000000, 0}},
	{2, 3, 2, 1, 12000000, 16000000, 56000516, 56000000, [7]int64{-1, -1, 16000000, 16000000, 12000000, 16000000, 0}},
	{3, 5, 4, 0, 0, 20000000, 72000592, 72000000, [7]int64{-1, -1, -1, 20000000, 20000000, 20000000, 20000000}},
	{4, 2, 1, 2, 24000000, 8000000, 92000732, 92000000, [7]int64{-1, -1, -1, -1, -1, 8000000, 0}},
	{4, 3, 2, 2, 28000000, 8000000, 100000732, 100000000, [7]int64{-1, -1, -1, -1, -1, 8000000, 0}},
}

var (
	sevenSizeA  = [7]int64{24000300, 40000376, 72000516, 92000592, 92000592, 108000732, 108000732}
	sevenSizeF  = [7]int64{24000292, 40000362, 72000490, 92000560, 92000560, 108000688, 108000688}
	sevenBlockA = [5]int64{24000204, 16000076, 32000140, 20000076, 16000140}
	sevenBlockF = [5]int64{24000000, 16000000, 32000000, 20000000, 16000000}
)

// TestSevenCheckpoints: with the sizes of the document's example, every field of every container in every checkpoint matches
// the example's tables, in layouts A and F.
func TestSevenCheckpoints(t *testing.T) {
	for _, l := range []Layout{LayoutA, LayoutF} {
		g := newGrowth(l)
		for cp := 1; cp <= 7; cp++ {
			var vars []VarSize
			for id := int32(1); id <= 5; id++ {
				if n, ok := scenario[cp][id]; ok {
					vars = append(vars, VarSize{id, int64(n) * 4000000})
				}
			}
			g.open = false
			must(t, g.grow(vars))
			size, blocks := sevenSizeF, sevenBlockF
			if l == LayoutA {
				size, blocks = sevenSizeA, sevenBlockA
			}
			if got := g.size(); got != size[cp-1] {
				t.Errorf("layout %v, checkpoint %d: file of %d bytes, want %d", l, cp, got, size[cp-1])
			}
			for i, b := range g.blocks {
				if b.Size != blocks[i] {
					t.Errorf("layout %v, checkpoint %d: block %d has %d bytes, want %d", l, cp, i, b.Size, blocks[i])
				}
			}
			k := map[int]int{}
			n := 0
			for _, want := range sevenContainers {
				if want.chunks[cp-1] < 0 {
					continue
				}
				n++
				if want.block >= len(g.blocks) || k[want.block] >= len(g.blocks[want.block].Containers) {
					t.Fatalf("layout %v, checkpoint %d: no container %+v", l, cp, want)
				}
				got := g.blocks[want.block].Containers[k[want.block]]
				k[want.block]++
				fptr := want.fptrF
				if l == LayoutA {
					fptr = want.fptrA
				}
				if w := (Container{
					ID: want.id, Idx: want.idx, ContainerID: want.n, HasContent: want.chunks[cp-1] > 0, Dptr: want.dptr, Fptr: fptr,
					ChunkSize: want.chunks[cp-1], ContainerSize: want.room,
				}); got != w {
					t.Errorf("layout %v, checkpoint %d: %+v, want %+v", l, cp, got, w)
				}
			}
			if n != g.n {
				t.Errorf("layout %v, checkpoint %d: %d containers, want %d", l, cp, g.n, n)
			}
		}
	}
}

// TestGrowthModel: for any history of sizes, the containers of a variable hold its bytes in order: first full containers, then
// the one with the last byte, then empty ones. The reserved space only grows, and by exactly the bytes that did not fit.
// Containers never move and never overlap. Adding variables one by one gives the same result as adding all at once.
func TestGrowthModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := Layout(rapid.IntRange(int(LayoutA), int(LayoutF)).Draw(t, "layout"))
		g, one := newGrowth(l), newGrowth(l)
		room := map[int32]int64{} // the model: a variable reserves its largest size so far
		places := map[string]int64{}
		var ids []int32
		for range rapid.IntRange(1, 12).Draw(t, "checkpoints") {
			if n := rapid.IntRange(0, 3).Draw(t, "new"); len(ids) == 0 || n > 0 {
				for range max(n, 1) {
					ids = append(ids, int32(len(ids))*7-3)
				}
			}
			var vars []VarSize
			for _, id := range ids {
				vars = append(vars, VarSize{id, rapid.Int64Range(0, 50).Draw(t, "size")})
			}
			before := len(g.blocks)
			g.open, one.open = false, false
			must(t, g.grow(vars))
			if l.atEnd() {
				for _, v := range vars {
					if rest, more := one.fit(v.ID, v.Size); more {
						must(t, one.add(VarSize{v.ID, rest}))
					}
				}
				if a, b := fmt.Sprint(g.blocks), fmt.Sprint(one.blocks); a != b {
					t.Fatalf("at once %s\none by one %s", a, b)
				}
			}
			if len(g.blocks) > before+1 {
				t.Fatalf("%d new blocks", len(g.blocks)-before)
			}
			at := int64(0)
			if !l.atEnd() {
				at = l.fbSize()
			}
			sum, n := map[int32]int64{}, map[int32]int32{}
			used := map[int32]int64{}
			ended := map[int32]bool{}
			for i, b := range g.blocks {
				size := int64(0)
				if !l.atEnd() {
					size = l.blockMeta(len(b.Containers))
					at += size
				}
				if len(b.Containers) == 0 {
					t.Fatal("an empty block")
				}
				for j, c := range b.Containers {
					if c.Fptr != at || c.Dptr != sum[c.ID] || c.ContainerID != n[c.ID] {
						t.Fatalf("%+v, want fptr %d, dptr %d, number %d", c, at, sum[c.ID], n[c.ID])
					}
					if c.HasContent && ended[c.ID] || !c.HasContent && c.ChunkSize != 0 || c.ChunkSize > c.ContainerSize {
						t.Fatalf("%+v", c)
					}
					if c.ChunkSize < c.ContainerSize || !c.HasContent {
						ended[c.ID] = true
					}
					key := fmt.Sprint(i, j)
					if old, ok := places[key]; ok && old != c.Fptr {
						t.Fatalf("container %s moved from %d to %d", key, old, c.Fptr)
					}
					places[key] = c.Fptr
					sum[c.ID] += c.ContainerSize
					used[c.ID] += c.ChunkSize
					n[c.ID]++
					size += c.ContainerSize
					at += c.ContainerSize
				}
				if b.Size != size {
					t.Fatalf("block %d: %d bytes, want %d", i, b.Size, size)
				}
			}
			for _, v := range vars {
				room[v.ID] = max(room[v.ID], v.Size)
				if sum[v.ID] != room[v.ID] || used[v.ID] != v.Size {
					t.Fatalf("variable %d: room %d of %d, used %d of %d", v.ID, sum[v.ID], room[v.ID], used[v.ID], v.Size)
				}
			}
		}
	})
}

// TestGrowthTooLarge: sizes whose sum exceeds the maximum file size by one byte are refused, and the Writer stays usable.
func TestGrowthTooLarge(t *testing.T) {
	for _, k := range kinds {
		w, err := NewWriter(&Options{Layout: k.layout, Hash: k.hash})
		must(t, err)
		room := int64(maxOffset)
		if !k.layout.atEnd() {
			room -= k.layout.fbSize() + k.layout.blockMeta(2)
		}
		for _, c := range []struct {
			a, b int64
			ok   bool
		}{
			{room - 7, 7, true}, {room - 7, 8, false}, {7, room - 7, true}, {8, room - 7, false}, {room + 1, 0, false}, {1<<63 - 1, 1<<63 - 1, false}, {10, 20, true},
		} {
			n, err := w.FileSize([]VarSize{{1, c.a}, {2, c.b}})
			if c.ok != (err == nil) || err != nil && !errors.Is(err, fault.ErrUsage) {
				t.Errorf("%s: %d and %d bytes: %v", k.name, c.a, c.b, err)
			}
			if err == nil && n < c.a+c.b {
				t.Errorf("%s: %d and %d bytes are a file of %d", k.name, c.a, c.b, n)
			}
		}
	}
}
