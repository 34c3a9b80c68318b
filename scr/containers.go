package scr

import (
	"context"
	"fmt"

	"blobio/comm"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/scr/transfer"
)

// containers sends the files to containers: one after the other, by node, rank and file, cut at the container size.
func (cp *copier) containers(ctx context.Context, d *cachedSet, jobs []transfer.Job) error {
	var mine int64
	for i := range jobs {
		mine += jobs[i].Size
	}
	// Order: nodes by their first rank, then ranks.
	sizes, err := comm.Allreduce(ctx, cp.c, oneHot(cp.c.Size(), cp.c.Rank(), mine), comm.Sum)
	if err != nil {
		return err
	}
	var at, total int64
	seen := map[string]bool{}
	var order []int
	for _, name := range cp.node.names {
		if seen[name] {
			continue
		}
		seen[name] = true
		for q, other := range cp.node.names {
			if other == name {
				order = append(order, q)
			}
		}
	}
	for _, r := range order {
		if r == cp.c.Rank() {
			at = total
		}
		total += sizes[r]
	}
	dir := cp.index.dir.Datasets.Dir(d.ID)
	var cerr error
	if cp.p.containerMax > 0 && total/cp.p.containerMax >= maxContainers {
		cerr = fmt.Errorf("SCR_CONTAINER_SIZE: %w: %d bytes in containers of %d", fault.ErrTooLarge, total, cp.p.containerMax)
	}
	for i := range jobs {
		if cerr != nil {
			break
		}
		if jobs[i].Size == 0 {
			continue // an empty file has no place in a container: it is made as a file
		}
		if jobs[i].Out, cerr = transfer.Pack(cp.p.containerMax, at, jobs[i].Size, dir); cerr != nil {
			cerr = fmt.Errorf("SCR_CONTAINER_SIZE: %w", cerr)
		}
		jobs[i].Dst = ""
		at += jobs[i].Size
	}
	if err := cp.agree(ctx, cerr); err != nil {
		return err
	}
	if cp.c.Rank() == 0 {
		for n := int64(0); n*cp.p.containerMax < total && cerr == nil; n++ {
			_ = cp.cfg.FS.Remove(transfer.ContainerName(dir, n))
			cerr = vfs.WriteFile(cp.cfg.FS, transfer.ContainerName(dir, n), nil)
		}
		if cerr == nil {
			cerr = cp.cfg.FS.SyncDir(dir)
		}
	}
	return cp.agree(ctx, cerr)
}

// maxContainers of a dataset: a container size that is far too small is a mistake.
const maxContainers = 1 << 20

func oneHot(n, i int, v int64) []int64 {
	out := make([]int64, n)
	out[i] = v
	return out
}
