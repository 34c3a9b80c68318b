package versioned

import (
	"context"

	"blobio/comm"
	"blobio/internal/elem"
	"blobio/internal/vfs"
)

// copyFile brings a copy of each new file, nil if this rank has none, to the memory of the next nodes. It is collective. Pieces go in step,
// so that no more than a few of them are on the way.
func (n *nodes) copyFile(ctx context.Context, f *fileInfo) error {
	const piece = 1 << 20
	var mine [3]int64 // size, node, whether this rank keeps its node's store
	name := ""
	if f != nil {
		mine[0], name = f.Size, f.Name
	}
	mine[1], mine[2] = int64(n.own), btoi(n.keeper)
	all, err := n.c.Allgather(ctx, append(Bytes(mine[:]), name...))
	if err != nil {
		return err
	}
	type peer struct {
		size int64
		node int
		name string
	}
	peers := make([]peer, len(all))
	keeper := make([]int, n.count)
	most := int64(0)
	for r, b := range all {
		v := elem.View[int64](b[:24])
		peers[r] = peer{v[0], int(v[1]), string(b[24:])}
		if v[2] != 0 {
			keeper[v[1]] = r
		}
		most = max(most, v[0])
	}
	copies := min(n.copies, n.count-1)
	var failed error
	sinks := map[int]*fileSink{}
	if n.keeper {
		for r, p := range peers {
			if d := (n.own - p.node + n.count) % n.count; p.size > 0 && d >= 1 && d <= copies {
				sinks[r], failed = n.newSink(p.name, failed)
			}
		}
	}
	src, serr := n.source(f)
	if failed == nil {
		failed = serr
	}
	buf := make([]byte, min(piece, max(mine[0], 1)))
	for off := int64(0); off < most; off += piece {
		if mine[0] > off {
			b := buf[:min(piece, mine[0]-off)]
			if src != nil {
				if _, err := src.ReadAt(b, off); err != nil && failed == nil {
					failed = err
				}
			}
			for k := range copies {
				if err := n.c.Send(ctx, keeper[(n.own+k+1)%n.count], 0, b); err != nil {
					return err
				}
			}
		}
		for r, p := range peers { // in the order of ranks
			if s := sinks[r]; s != nil && p.size > off {
				b, err := n.c.Recv(ctx, r, 0)
				if err != nil {
					return err
				}
				failed = s.write(b, off, failed)
			}
		}
	}
	if src != nil {
		src.Close()
	}
	for _, s := range sinks {
		failed = s.close(n, failed)
	}
	return comm.Agree(ctx, n.c, failed)
}

// source is the file that this rank has written, nil if there is none.
func (n *nodes) source(f *fileInfo) (vfs.File, error) {
	if f == nil {
		return nil, nil
	}
	return n.store.fs.Open(n.file(f.Name))
}

// fileSink is a copy that arrives. After an error it takes the rest and does nothing.
type fileSink struct {
	name string
	f    vfs.File
}

func (n *nodes) newSink(name string, failed error) (*fileSink, error) {
	s := &fileSink{name: n.file(name)}
	if failed == nil {
		s.f, failed = n.create(name)
	}
	return s, failed
}

func (s *fileSink) write(b []byte, off int64, failed error) error {
	if s.f != nil && failed == nil {
		_, failed = s.f.WriteAt(b, off)
	}
	return failed
}

func (s *fileSink) close(n *nodes, failed error) error {
	if s.f == nil {
		return failed
	}
	if err := s.f.Close(); failed == nil {
		failed = err
	}
	if failed != nil {
		n.store.fs.Remove(s.name) // what stays is removed when the array is opened next
	}
	return failed
}
