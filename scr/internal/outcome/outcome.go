// Package outcome collects the results of background flushes on rank 0. The result of a rank is its written files, or an error.
// The package needs no calls of the application, and it sends no messages between ranks, because only calls of the application
// may do so. Ranks of one process use a hub in memory. Each other process writes a file part.<rank> in the dataset's metadata
// folder.
package outcome

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"sync"
	"time"

	"blobio/comm"
	"blobio/internal/base/fault"
	"blobio/internal/base/par"
	"blobio/internal/base/vfs"
	"blobio/internal/comm/remote"
	"blobio/internal/scr/prefixdir"
	"blobio/scr/kvtree"
)

// Exchange is one rank's end of the exchange of results. Only New communicates with other ranks. The other methods may be called
// by any goroutine.
type Exchange struct {
	c     comm.Comm
	fs    vfs.FS
	dir   *prefixdir.Dir
	hub   *hub
	heads []int // the lowest rank of each process
}

// hub is shared by the ranks of one process.
type hub struct {
	head  int // the lowest rank of the process
	ranks int
	mu    sync.Mutex
	sets  map[int]*delivery
}

// delivery collects the results of a process's ranks for one dataset.
type delivery struct {
	parts map[int][]byte
	full  chan struct{}
}

func (h *hub) delivery(id int) *delivery {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.sets[id]
	if l == nil {
		l = &delivery{parts: map[int][]byte{}, full: make(chan struct{})}
		h.sets[id] = l
	}
	return l
}

func (h *hub) put(id, rank int, part []byte) {
	l := h.delivery(id)
	h.mu.Lock()
	defer h.mu.Unlock()
	l.parts[rank] = part
	if len(l.parts) == h.ranks {
		close(l.full)
	}
}

func (h *hub) forget(id int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.sets, id)
}

// New finds the ranks that share a process. Collective.
func New(ctx context.Context, c comm.Comm, fsys vfs.FS, dir *prefixdir.Dir) (*Exchange, error) {
	x := &Exchange{c: c, fs: fsys, dir: dir}
	mine := &hub{head: c.Rank(), sets: map[int]*delivery{}}
	all, err := c.Share(ctx, mine)
	if err != nil {
		return nil, err
	}
	for r, v := range all {
		h, ok := v.(*hub)
		if !ok {
			continue
		}
		if x.hub == nil {
			x.hub = h
		}
		if r == c.Rank() && x.hub == mine {
			for _, w := range all {
				if _, ok := w.(*hub); ok {
					mine.ranks++
				}
			}
		}
	}
	heads, err := c.Allgather(ctx, []byte(strconv.Itoa(x.hub.head)))
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, h := range heads {
		if !seen[string(h)] {
			seen[string(h)] = true
			n, err := strconv.Atoi(string(h))
			if err != nil {
				return nil, err
			}
			x.heads = append(x.heads, n)
		}
	}
	return x, nil
}

// Head returns the lowest rank of this process. If it is not 0, this rank must call Post.
func (x *Exchange) Head() int { return x.hub.head }

// partFile returns the path of the file in which a process stores the results of its ranks. head is the lowest of these ranks.
func (x *Exchange) partFile(id, head int) string {
	return path.Join(x.dir.Datasets.Dir(id), "part."+strconv.Itoa(head))
}

// Reset removes files that a crashed run left for a dataset. Rank 0 calls it before a flush of the dataset begins.
func (x *Exchange) Reset(id int) (err error) {
	for _, h := range x.heads {
		if rerr := x.fs.Remove(x.partFile(id, h)); rerr != nil && !errors.Is(rerr, fs.ErrNotExist) {
			err = rerr
		}
	}
	return err
}

// Deliver stores the result of this rank for a dataset: the files that it wrote, or an error.
func (x *Exchange) Deliver(id int, files []prefixdir.File, err error) {
	t := kvtree.New()
	if err == nil {
		if ft, ferr := prefixdir.FilesTree(files); ferr != nil {
			err = ferr
		} else {
			t.SetAt(ft, "MAP")
		}
	}
	if err != nil {
		t.Value("ERROR").SetStr(hex.EncodeToString(remote.Encode(err))) // includes the classes of the error
	}
	p, perr := kvtree.Pack(t)
	if perr != nil {
		t = kvtree.New()
		t.Value("ERROR").SetStr(hex.EncodeToString(remote.Encode(perr)))
		p, _ = kvtree.Pack(t)
	}
	x.hub.put(id, x.c.Rank(), p)
}

// Post waits until all ranks of this process have delivered their results. Then it writes the results to a file, unless rank 0 is
// in this process.
func (x *Exchange) Post(ctx context.Context, id int) error {
	t, err := x.collect(ctx, id)
	if err != nil {
		return err
	}
	return kvtree.WriteFile(x.fs, x.partFile(id, x.hub.head), t)
}

// All waits for the results of all ranks for a dataset. It returns the packed trees for the map, one for each rank. Rank 0 only.
func (x *Exchange) All(ctx context.Context, id int) ([][]byte, error) {
	parts := make([][]byte, x.c.Size())
	for _, h := range x.heads {
		var t *kvtree.Tree
		var err error
		if h == x.hub.head {
			t, err = x.collect(ctx, id)
		} else {
			t, err = x.await(ctx, id, h)
		}
		if err != nil {
			return nil, err
		}
		for key, p := range t.Get("RANK").All() {
			r, err := strconv.Atoi(key)
			if err != nil || r < 0 || r >= len(parts) {
				return nil, fmt.Errorf("%s: %w: rank is %q, want a number below %d", x.partFile(id, h), fault.ErrCorrupt, key, len(parts))
			}
			if p.Has("ERROR") {
				msg, _ := p.Value("ERROR").Str()
				b, _ := hex.DecodeString(msg) // if msg cannot be decoded, DecodeError handles it
				return nil, fmt.Errorf("rank %d: %w", r, remote.Decode(b))
			}
			if parts[r], err = kvtree.Pack(p.Get("MAP")); err != nil {
				return nil, err
			}
		}
	}
	for r, p := range parts {
		if p == nil {
			return nil, fmt.Errorf("%w: the result of rank %d", fault.ErrMissing, r)
		}
	}
	return parts, nil
}

// collect waits for the results of the ranks of this process.
func (x *Exchange) collect(ctx context.Context, id int) (*kvtree.Tree, error) {
	l := x.hub.delivery(id)
	select {
	case <-l.full:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	out := kvtree.New()
	for r, p := range l.parts {
		t, err := kvtree.Unpack(p, nil)
		if err != nil {
			return nil, err
		}
		out.SetAt(t, "RANK", strconv.Itoa(r))
	}
	x.hub.forget(id)
	return out, nil
}

// await waits for the file with the results of another process.
func (x *Exchange) await(ctx context.Context, id, head int) (*kvtree.Tree, error) {
	name := x.partFile(id, head)
	for pause := time.Millisecond; ; pause = min(2*pause, 250*time.Millisecond) {
		t, err := kvtree.ReadFile(x.fs, name, nil)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return t, err
		}
		if err := par.Pause(ctx, pause); err != nil {
			return nil, err
		}
	}
}

// Remove removes the files of a dataset whose flush has ended. Rank 0 only.
func (x *Exchange) Remove(id int) {
	for _, h := range x.heads {
		_ = x.fs.Remove(x.partFile(id, h))
	}
}
