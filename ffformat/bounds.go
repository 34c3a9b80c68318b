package ffformat

import "blobio/internal/base/fault"

// bounds refuses records whose sizes the file cannot have: nobody who makes room for the variables
// of a file that was opened needs more than the file has. That every container lies where it must is
// not looked at here.
func (f *File) bounds() error {
	t := &f.Layout.table().vmd
	room := f.dataEnd() // for containers
	if !f.Layout.atEnd() {
		room -= f.metaBytes()
	}
	content := min(room, f.Size) // layout B can end before its last containers do
	for p := range f.all() {
		if p.ContainerSize < 0 || p.ContainerSize > room {
			return fault.At(f.Name, p.offset+int64(t.room.off), p.field()+": containersize", ErrCorrupt, "%d, want 0 to %d, what the file has beside the containers before", p.ContainerSize, room)
		}
		most := min(p.ContainerSize, content)
		if p.ChunkSize < 0 || p.ChunkSize > most {
			return fault.At(f.Name, p.offset+int64(t.chunk.off), p.field()+": chunksize", ErrCorrupt, "%d, want 0 to %d, what the container and the file have", p.ChunkSize, most)
		}
		room -= p.ContainerSize
		if p.HasContent {
			content -= p.ChunkSize
		}
	}
	return nil
}
