package ffformat

import (
	"blobio/internal/base/fault"
	"math"
)

// VarInfo is one variable of a file.
type VarInfo struct {
	ID         int32
	Size       int64 // size of all chunks with content
	Reserved   int64 // size of all containers
	Containers int
}

// Vars returns the variables in order of first appearance.
func (f *File) Vars() []VarInfo {
	var vars []VarInfo
	at := map[int32]int{}
	for c := range f.all() {
		k, ok := at[c.ID]
		if !ok {
			k = len(vars)
			at[c.ID] = k
			vars = append(vars, VarInfo{ID: c.ID})
		}
		v := &vars[k]
		v.Containers++
		v.Reserved = addSat(v.Reserved, c.ContainerSize)
		if c.HasContent {
			v.Size = addSat(v.Size, c.ChunkSize)
		}
	}
	return vars
}

// addSat adds file sizes of any value. If the sum overflows, it returns the largest value.
func addSat(a, b int64) int64 {
	switch {
	case b < 0:
		return a
	case a > math.MaxInt64-b:
		return math.MaxInt64
	}
	return a + b
}

// Containers returns the containers of a variable in file order, as pointers into f. In a sound file their dptr fields
// ascend. The result is nil if the file does not have the variable.
func (f *File) Containers(id int32) []*Container {
	var cs []*Container
	for p := range f.all() {
		if p.ID == id {
			cs = append(cs, p.Container)
		}
	}
	return cs
}

// RecordOffset returns the file offset of a container's record (VMD).
func (f *File) RecordOffset(block, container int) int64 {
	return f.Blocks[block].Offset + f.Layout.blockMeta(container)
}

// bounds refuses records whose sizes exceed the file. A program that allocates memory for the variables of a file then never
// needs more memory than the size of the file. bounds does not check offsets.
func (f *File) bounds() error {
	t := &f.Layout.table().vmd
	room := f.dataEnd() // space for containers
	if !f.Layout.atEnd() {
		room -= f.metaBytes()
	}
	content := min(room, f.Size) // layout B can end before its last containers do
	for p := range f.all() {
		if p.ContainerSize < 0 || p.ContainerSize > room {
			return fault.At(f.Name, p.offset+int64(t.room.off), p.field()+": containersize", ErrCorrupt, "%d, want 0 to %d, the free space after the containers before", p.ContainerSize, room)
		}
		most := min(p.ContainerSize, content)
		if p.ChunkSize < 0 || p.ChunkSize > most {
			return fault.At(f.Name, p.offset+int64(t.chunk.off), p.field()+": chunksize", ErrCorrupt, "%d, want 0 to %d, the size of the container in the file", p.ChunkSize, most)
		}
		room -= p.ContainerSize
		if p.HasContent {
			content -= p.ChunkSize
		}
	}
	return nil
}
