package fti

import (
	"bytes"
	"strings"
	"testing"

	"blobio/ffformat"
)

// fileOf makes a file of layout F with a block for each list of containers.
func fileOf(blocks ...[]ffformat.Container) *ffformat.File {
	f := &ffformat.File{Layout: ffformat.LayoutF}
	at := int64(0)
	for _, list := range blocks {
		b := ffformat.Block{Containers: list}
		for i := range list {
			list[i].Fptr, list[i].HasContent = at, list[i].ChunkSize > 0
			at += list[i].ContainerSize
			b.Size += list[i].ContainerSize
		}
		f.Blocks = append(f.Blocks, b)
	}
	f.FB.DataSize, f.FB.CkptID = at, 7
	for i := range f.Blocks {
		f.Blocks[i].Offset = at
		at += 12 + 58*int64(len(f.Blocks[i].Containers))
	}
	f.Size = at + 106
	return f
}

// shrunk makes a file with two variables. The first variable fills its container. The second variable fills half of its first
// container; its second container is empty.
func shrunk() *ffformat.File {
	return fileOf(
		[]ffformat.Container{{ID: 1, ChunkSize: 1 << 20, ContainerSize: 1 << 20}, {ID: 2, ChunkSize: 1 << 19, ContainerSize: 1 << 20}},
		[]ffformat.Container{{ID: 2, ContainerID: 1, Dptr: 1 << 20, ContainerSize: 2 << 20}})
}

func TestMap(t *testing.T) {
	var b bytes.Buffer
	if err := writeMap(&b, shrunk(), 16, 5); err != nil {
		t.Fatal(err)
	}
	want := `map: each character is 64.0 KiB, # metadata, . reserved but unused
  0x000000  1111111111111111
  0x100000  22222222........
  0x200000  ................
  0x300000  ................
  0x400000  #
`
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
	b.Reset()
	f := shrunk()
	f.Blocks[0].Containers[0].ID = 12 // not a digit
	f.Size = 2 << 20                  // truncated
	if err := writeMap(&b, f, 32, 2); err != nil {
		t.Fatal(err)
	}
	if s := b.String(); !strings.Contains(s, "AAAAAAAABBBB....????????????????") || !strings.Contains(s, "? past the end") {
		t.Errorf("map of a file that is cut:\n%s", s)
	}
	b.Reset()
	if err := writeMap(&b, &ffformat.File{Layout: ffformat.LayoutF, Size: 106}, 64, mapLines); err != nil || strings.Count(b.String(), "#") != 107 {
		t.Errorf("an empty file: %v\n%s", err, b.String())
	}
}

func TestMapSymbols(t *testing.T) {
	var list []ffformat.Container
	for i := range int32(60) {
		list = append(list, ffformat.Container{ID: 100 + i, ChunkSize: 1, ContainerSize: 1})
	}
	s := mapSymbols(fileOf(list))
	if s[100] != 'A' || s[125] != 'Z' || s[126] != 'a' || s[152] != symbolOther || len(s) != 60 {
		t.Errorf("%c", s)
	}
}
