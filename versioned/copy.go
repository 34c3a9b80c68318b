package versioned

import (
	"cmp"
	"context"

	"blobio/comm"
	"blobio/internal/base/elem"
	"blobio/internal/base/vfs"
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
	all, err := n.c.Allgather(ctx, append(bytesOf(mine[:]), name...))
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
	var failed error            // then the rest arrives, and is not written
	sinks := map[int]vfs.File{} // by rank of the sender
	if n.keeper {
		for r, p := range peers {
			if d := (n.own - p.node + n.count) % n.count; p.size > 0 && d >= 1 && d <= copies {
				sink, err := n.create(p.name)
				sinks[r], failed = sink, cmp.Or(failed, err)
			}
		}
	}
	var src vfs.File
	if f != nil {
		if src, err = n.store.fs.Open(n.file(f.Name)); err != nil {
			failed = cmp.Or(failed, err)
		} else {
			defer src.Close()
		}
	}
	buf := make([]byte, min(piece, max(mine[0], 1)))
	for off := int64(0); off < most; off += piece {
		if mine[0] > off {
			b := buf[:min(piece, mine[0]-off)]
			if failed == nil {
				_, failed = src.ReadAt(b, off)
			}
			for k := range copies {
				if err := n.c.Send(ctx, keeper[(n.own+k+1)%n.count], 0, b); err != nil {
					return err
				}
			}
		}
		for r, p := range peers { // in the order of ranks
			sink, ok := sinks[r]
			if !ok || p.size <= off {
				continue
			}
			b, err := n.c.Recv(ctx, r, 0)
			if err != nil {
				return err
			}
			if failed == nil {
				_, failed = sink.WriteAt(b, off)
			}
		}
	}
	for _, sink := range sinks {
		if sink != nil {
			failed = cmp.Or(failed, sink.Close())
		}
	}
	for r := range sinks {
		if failed != nil {
			n.store.fs.Remove(n.file(peers[r].name)) // what stays is removed when the array is opened next
		}
	}
	return comm.Agree(ctx, n.c, failed)
}
