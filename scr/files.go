package scr

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"blobio/comm"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/scr/cachedir"
	"blobio/internal/scr/transfer"
)

// syncFile syncs a file and returns its CRC-32 and size. The caller syncs the folder.
func syncFile(ctx context.Context, fsys vfs.FS, name string, sum bool) (uint32, int64, error) {
	f, err := fsys.OpenRW(name)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	if err := f.Sync(); err != nil {
		return 0, 0, err
	}
	if !sum {
		size, err := f.Size()
		return 0, size, err
	}
	return vfs.Sum(ctx, f, nil)
}

// syncFolders makes the names of files durable.
func syncFolders(fsys vfs.FS, files []cachedir.MapFile) error {
	done := map[string]bool{}
	for _, f := range files {
		dir := path.Dir(f.Name)
		if done[dir] {
			continue
		}
		done[dir] = true
		if err := fsys.SyncDir(dir); err != nil {
			return err
		}
	}
	return nil
}

// checkFiles checks that the files of this rank match its file map. If sums is set, it also compares their bytes with the
// checksums in the map, if there are any.
func (j *job) checkFiles(ctx context.Context, d *cachedSet, sums bool) error {
	fsys := j.fileFS(d)
	for _, f := range d.maps.Files() {
		st, err := fsys.Stat(f.Name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("%s: %w", f.Name, ErrMissing)
		case err != nil:
			return err
		case st.Size() != f.Meta.Size:
			return fmt.Errorf("%s: %w: size %d, want %d as in the file map", f.Name, ErrCorrupt, st.Size(), f.Meta.Size)
		case !f.Meta.Complete:
			return fmt.Errorf("%s: %w: the file is not complete", f.Name, ErrMissing)
		}
		if !sums || !f.Meta.HasCRC {
			continue
		}
		crc, _, err := vfs.SumFile(ctx, fsys, f.Name)
		if err != nil {
			return err
		}
		if crc != f.Meta.CRC {
			return fmt.Errorf("%s: %w: CRC-32 %#x, want %#x as in the file map", f.Name, ErrChecksum, crc, f.Meta.CRC)
		}
	}
	return nil
}

// groupPrefix returns the path with which the names of a group's redundancy files begin.
func groupPrefix(dir, group string) string { return path.Join(cachedir.MetaDir(dir), group) }

// containers assigns the files to containers. It orders them by node, rank and file, and cuts this sequence at the container
// size.
func (cp *copier) containers(ctx context.Context, d *cachedSet, jobs []transfer.Job) error {
	var mine int64
	for i := range jobs {
		mine += jobs[i].Size
	}
	// The nodes are in the order of their first ranks.
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
		cerr = fmt.Errorf("SCR_CONTAINER_SIZE: %w: %d bytes of data in containers of %d bytes", fault.ErrTooLarge, total, cp.p.containerMax)
	}
	for i := range jobs {
		if cerr != nil {
			break
		}
		if jobs[i].Size == 0 {
			continue // an empty file has no range in a container; it is created as a file
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

// maxContainers is the maximum number of containers of a dataset. A larger number shows that the container size is wrong.
const maxContainers = 1 << 20

func oneHot(n, i int, v int64) []int64 {
	out := make([]int64, n)
	out[i] = v
	return out
}

const (
	tagGo = 7101 + iota
	tagDone
)

// window calls f on each rank, at the same time on at most width ranks. Rank 0 admits the other ranks while its own f runs. f
// must not communicate. After a failure, ranks that are not yet admitted do not call f. All ranks get the same result.
func (j *job) window(ctx context.Context, width int, f func() error) error {
	n := j.c.Size()
	if width >= n {
		return j.agree(ctx, f())
	}
	var mine error
	if j.c.Rank() != 0 {
		b, err := j.c.Recv(ctx, 0, tagGo)
		if err != nil {
			return err
		}
		ok := []byte{1}
		if len(b) == 1 && b[0] == 1 {
			if mine = f(); mine != nil {
				ok[0] = 0
			}
		}
		if err := j.c.Send(ctx, 0, tagDone, ok); err != nil {
			return err
		}
		return j.agree(ctx, mine)
	}
	done := make(chan error, 1)
	go func() { done <- f() }()
	own := true // the f of this rank has not been awaited
	defer func() {
		if own { // the communication failed before f was awaited
			<-done
		}
	}()
	good, next := true, 1
	admit := func() error {
		b := []byte{0}
		if good {
			b[0] = 1
		}
		next++
		return j.c.Send(ctx, next-1, tagGo, b)
	}
	for next < n && next < width {
		if err := admit(); err != nil {
			return err
		}
	}
	wait := func(rank int) error {
		if rank == 0 {
			mine, own = <-done, false
			good = good && mine == nil
			return nil
		}
		b, err := j.c.Recv(ctx, rank, tagDone)
		good = good && len(b) == 1 && b[0] == 1
		return err
	}
	for rank := range n {
		if err := wait(rank); err != nil {
			return err
		}
		if next < n {
			if err := admit(); err != nil {
				return err
			}
		}
	}
	return j.agree(ctx, mine)
}
