package versioned

import (
	"context"
	"path/filepath"

	"blobio/comm"
	"blobio/internal/elem"
	"blobio/internal/vfs"
)

// copied says whether other nodes keep copies.
func (a *Array) copied() bool { return a.cat.copies > 0 && !a.shared && a.nodes > 1 }

// copyFile brings a copy of each new file to the next nodes. It is collective. Pieces go in step, so that
// no more than a few of them are on the way.
func (a *Array) copyFile(ctx context.Context, w *written) error {
	if !a.copied() {
		return nil
	}
	const piece = 1 << 20
	var mine [3]int64 // size, node, whether this rank keeps its node's store
	if w.file() != nil {
		mine[0] = w.info.Size
	}
	mine[1], mine[2] = int64(a.nodeID), btoi(a.keeper)
	all, err := a.c.Allgather(ctx, append(Bytes(mine[:]), []byte(wName(w))...))
	if err != nil {
		return err
	}
	type peer struct {
		size int64
		node int
		name string
	}
	peers := make([]peer, len(all))
	keeper := make([]int, a.nodes)
	most := int64(0)
	for r, b := range all {
		v := elem.View[int64](b[:24])
		peers[r] = peer{v[0], int(v[1]), string(b[24:])}
		if v[2] != 0 {
			keeper[v[1]] = r
		}
		most = max(most, v[0])
	}
	copies := min(a.cat.copies, a.nodes-1)
	var failed error
	sinks := map[int]*fileSink{}
	if a.keeper {
		for r, p := range peers {
			if d := (a.nodeID - p.node + a.nodes) % a.nodes; p.size > 0 && d >= 1 && d <= copies {
				sinks[r], failed = a.newSink(p.name, failed)
			}
		}
	}
	src, serr := a.source(w)
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
				if err := a.c.Send(ctx, keeper[(a.nodeID+k+1)%a.nodes], 0, b); err != nil {
					return err
				}
			}
		}
		for r, p := range peers { // in the order of ranks
			if s := sinks[r]; s != nil && p.size > off {
				b, err := a.c.Recv(ctx, r, 0)
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
		failed = s.close(a, failed)
	}
	return comm.Agree(ctx, a.c, failed)
}

func wName(w *written) string {
	if w.file() == nil {
		return ""
	}
	return w.info.Name
}

// source is the file that this rank has written, nil if there is none.
func (a *Array) source(w *written) (vfs.File, error) {
	if w.file() == nil {
		return nil, nil
	}
	return a.store.fs.Open(filepath.Join(a.store.dir, w.info.Name))
}

// fileSink is a copy that arrives. After an error it takes the rest and does nothing.
type fileSink struct {
	name string
	f    vfs.File
}

func (a *Array) newSink(name string, failed error) (*fileSink, error) {
	s := &fileSink{name: filepath.Join(a.store.dir, name)}
	if failed == nil {
		s.f, failed = a.createAnew(s.name)
	}
	return s, failed
}

func (s *fileSink) write(b []byte, off int64, failed error) error {
	if s.f != nil && failed == nil {
		_, failed = s.f.WriteAt(b, off)
	}
	return failed
}

func (s *fileSink) close(a *Array, failed error) error {
	if s.f == nil {
		return failed
	}
	if failed == nil && a.opt.Durability == DurableCommit {
		failed = s.f.Sync()
		if failed == nil {
			failed = a.store.fs.SyncDir(a.store.dir)
		}
	}
	if err := s.f.Close(); failed == nil {
		failed = err
	}
	if failed != nil {
		a.store.fs.Remove(s.name) // what stays is removed when the array is opened next
	}
	return failed
}
