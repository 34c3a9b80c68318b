package ffstore

import (
	"context"
	"slices"
	"strconv"

	"blobio/comm"
	"blobio/ffformat"
	"blobio/internal/base/vfs"
)

// sideLogs is one rank's access to the side files of a store. The leader of each node reads and writes one side file.
type sideLogs struct {
	c, node comm.Comm // all ranks, and the ranks of this node
	fsys    vfs.FS
	dir     string
	d       Durability
	log     *nodeLog // the side file of this node on its leader; nil on other ranks
	adopted bool     // the side files are rewritten for the current nodes, and all their digests are known to the ranks
}

// fetch reads the logs on the leader of each node and sends each rank its digests. It is collective.
func (x *sideLogs) fetch(ctx context.Context) (map[int][]*ffformat.Digests, error) {
	all, err := x.node.Allgather(ctx, strconv.AppendInt(nil, int64(x.c.Rank()), 10))
	if err != nil {
		return nil, err
	}
	ranks := make([]int, len(all))
	for i, b := range all {
		if ranks[i], err = strconv.Atoi(string(b)); err != nil {
			return nil, err
		}
	}
	var send [][]byte
	var failed error
	if x.node.Rank() == 0 {
		x.log = &nodeLog{fsys: x.fsys, name: nodeLogName(x.dir, ranks[0]), d: x.d}
		var found map[int][]byte
		found, _, failed = loadDigests(x.fsys, x.dir, ranks[0], slices.Sorted(slices.Values(ranks)))
		send = make([][]byte, len(ranks))
		for i, r := range ranks {
			send[i] = found[r]
		}
	}
	if err := comm.Agree(ctx, x.c, failed); err != nil {
		return nil, err
	}
	got, err := x.node.Alltoallv(ctx, send)
	if err != nil {
		return nil, err
	}
	return digestsOf(got[0], "side file"), nil
}

// mark durably records in the side files that a slot is about to be written, unless this rank has already failed. The first call
// rewrites each side file with the valid digests of the node's current ranks. It also removes side files that an earlier run
// wrote on other nodes, because they would become outdated. It is collective.
func (x *sideLogs) mark(ctx context.Context, slot int, slots []slot, failed error) error {
	if x.adopted {
		if x.log != nil && failed == nil {
			if failed = x.log.tidy(); failed == nil {
				failed = x.log.mark(slot)
			}
		}
		return comm.Agree(ctx, x.c, failed)
	}
	var own []byte
	for k := range slots {
		if d := slots[k].digests; d != nil && k != slot {
			own = appendRecord(own, rankSlot{x.c.Rank(), k}, d.CkptID, 0, d.Marshal())
		}
	}
	all, err := x.node.Gather(ctx, 0, own)
	if err != nil {
		return err
	}
	if x.log != nil && failed == nil {
		x.log.epochs[slot]++
		failed = x.log.rewrite(x.log.epochs.stamp(all))
	}
	if err := comm.Agree(ctx, x.c, failed); err != nil {
		return err
	}
	if err := x.removeOthers(ctx); err != nil {
		return err
	}
	x.adopted = true
	return nil
}

// removeOthers durably removes the side files that no node of this run writes. It is collective.
func (x *sideLogs) removeOthers(ctx context.Context) error {
	var name []byte
	if x.log != nil {
		name = []byte(x.log.name)
	}
	names, err := x.c.Gather(ctx, 0, name)
	if err != nil {
		return err
	}
	var failed error
	if x.c.Rank() == 0 {
		ours := map[string]bool{}
		for _, n := range names {
			ours[string(n)] = true
		}
		var logs map[int]string
		logs, failed = nodeLogs(x.fsys, x.dir)
		removed := false
		for _, n := range logs {
			if !ours[n] && failed == nil {
				failed = x.fsys.Remove(n)
				removed = true
			}
		}
		if failed == nil && removed && x.d == DurableCommit {
			failed = x.fsys.SyncDir(x.dir)
		}
	}
	return comm.Agree(ctx, x.c, failed)
}

// add sends the digests of a checkpoint that was just written to a slot to the leader of the node, which appends them to the
// side file. If any rank of the node has new files, add makes their names durable. It is collective.
func (x *sideLogs) add(ctx context.Context, slot int, id int32, d *ffformat.Digests, named bool) error {
	own := []byte{0} // first whether the file's name is new, then the record
	if !named {
		own[0] = 1
	}
	own = appendRecord(own, rankSlot{x.c.Rank(), slot}, id, 0, d.Marshal())
	all, err := x.node.Gather(ctx, 0, own)
	if err != nil {
		return err
	}
	var failed error
	if x.log != nil {
		unnamed := false
		for i := range all {
			unnamed = unnamed || all[i][0] != 0
			all[i] = all[i][1:]
		}
		if unnamed && x.d == DurableCommit {
			failed = x.fsys.SyncDir(slotDir(x.dir, slot))
		}
		if failed == nil {
			failed = x.log.write(x.log.epochs.stamp(all))
		}
	}
	return comm.Agree(ctx, x.c, failed)
}
