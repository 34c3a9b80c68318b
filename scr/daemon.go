package scr

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"blobio/internal/base/par"
	"blobio/internal/base/vfs"
	"blobio/internal/scr/transfer"
	"blobio/scr/kvtree"
)

// courier lets the node's transfer process copy the files of background flushes (Config.Daemon).
type courier struct {
	*job
	run context.Context // context of background flushes; done when the session is closed
}

// file returns the path in Config.FS of this node's transfer file. noLock is true if the file has no lock.
func (co *courier) file() (name string, noLock bool) {
	return co.fs.Real(path.Join(co.p.job.Control, transfer.FileName)), co.cfg.FS != vfs.OS
}

// copy lets the node's transfer process copy files, and waits for it. Several ranks of a node share the transfer file.
func (co *courier) copy(ctx context.Context, jobs []transfer.Job) (res []transfer.Result, err error) {
	name, noLock := co.file()
	mine := map[string]int{}
	defer func() {
		// If no rank waits for the files any more, they must not be copied later. But if the run is ending, the process must
		// finish the copies.
		if co.run.Err() == nil {
			err = errors.Join(err, co.recall(mine))
		}
	}()
	err = transfer.UpdateFile(ctx, co.cfg.FS, name, noLock, func(f *transfer.File) error {
		for i, j := range jobs {
			src := co.fs.Real(j.Src)
			mine[src] = i
			it := transfer.Item{Src: src, Dst: j.Dst, Size: j.Size, CRC: j.CRC, HasCRC: j.HasCRC, Meta: j.Meta, Out: j.Out}
			if j.Out != nil {
				it.Dst = j.Out[0].File
			}
			f.Put(it)
		}
		if len(f.Items) > 0 {
			f.Command, f.Done, f.Failed = transfer.CommandRun, false, false
		}
		f.BW, f.Percent = float64(co.p.rate)/float64(co.node.count), co.p.percent
		return nil
	})
	if err != nil {
		return nil, err
	}
	res = make([]transfer.Result, len(jobs))
	served := co.pulse(name, noLock)
	for left := len(jobs); left > 0; {
		if err := par.Pause(ctx, 20*time.Millisecond); err != nil {
			return nil, err
		}
		f, err := transfer.ReadFile(ctx, co.cfg.FS, name, noLock)
		if err != nil {
			return nil, err
		}
		if err := served(f); err != nil {
			return nil, err
		}
		left = len(jobs)
		found := 0
		for _, it := range f.Items {
			i, ok := mine[it.Src]
			if !ok {
				continue
			}
			found++
			if it.Error != "" {
				return nil, fmt.Errorf("transfer process: %s: %s", it.Src, it.Error)
			}
			// The checksum is written together with the finished copy. For an empty file it is the only sign that the copy is
			// finished.
			if !it.HasCRC || it.Written < it.Size || it.Size == 0 && !f.Done {
				continue
			}
			if jobs[i].HasCRC && it.CRC != jobs[i].CRC {
				return nil, fmt.Errorf("%s: %w: CRC-32 %#x, want %#x", it.Src, ErrChecksum, it.CRC, jobs[i].CRC)
			}
			if _, err := co.cfg.FS.Stat(it.Dst); err != nil {
				if errors.Is(err, fs.ErrNotExist) {
					continue
				}
				return nil, err
			}
			res[i] = transfer.Result{Size: it.Size, CRC: it.CRC}
			left--
		}
		if found < len(mine) {
			return nil, fmt.Errorf("%s: %w: files of this flush were removed from the transfer file", name, ErrMissing)
		}
	}
	return res, nil
}

// pulse returns a function that must be called repeatedly with the transfer file while a rank waits for the transfer process.
// The function returns an error if there has been no process for Config.DaemonWait. A running process holds a lock. Without
// locks, it shows that it is running by writing the file.
func (co *courier) pulse(name string, noLock bool) func(f *transfer.File) error {
	const every = 100 * time.Millisecond
	alive := time.Now() // system time, because Config.Clock may be simulated
	asked, last := alive, ""
	return func(f *transfer.File) error {
		now := time.Now()
		if co.cfg.DaemonWait < 0 || now.Sub(asked) < every {
			return nil
		}
		asked = now
		held, err := transfer.Served(co.cfg.FS, name, noLock)
		if errors.Is(err, kvtree.ErrNoLocks) {
			said := fmt.Sprint(f.State, f.Done, f.Failed)
			for _, it := range f.Items {
				said += fmt.Sprint(" ", it.Written)
			}
			held, last, err = said != last, said, nil
		}
		switch {
		case err != nil:
			return err
		case held:
			alive = now
		case now.Sub(alive) >= co.cfg.DaemonWait:
			return fmt.Errorf("%s: no transfer process: %w: no process has served this file for %v; start blobio scr transfer %s on %s", name, ErrMissing, co.cfg.DaemonWait, path.Dir(name), co.cfg.Node)
		}
		return nil
	}
}

// recall removes files from the transfer file for which no rank waits any more.
func (co *courier) recall(mine map[string]int) error {
	name, noLock := co.file()
	return transfer.UpdateFile(context.Background(), co.cfg.FS, name, noLock, func(f *transfer.File) error {
		var keep []transfer.Item
		for _, it := range f.Items {
			if _, ok := mine[it.Src]; !ok {
				keep = append(keep, it)
			}
		}
		f.Items = keep
		return nil
	})
}

// stop makes the node's transfer process stop its work for an earlier run, as SCR does at the start. The first rank of the
// node calls it.
func (co *courier) stop(ctx context.Context) error {
	if !co.cfg.Daemon || co.node.c.Rank() != 0 {
		return nil
	}
	name, noLock := co.file()
	return transfer.UpdateFile(ctx, co.cfg.FS, name, noLock, func(f *transfer.File) error {
		f.Items, f.Command = nil, transfer.CommandStop
		return nil
	})
}
