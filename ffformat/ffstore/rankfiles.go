package ffstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"blobio/ffformat"
	"blobio/internal/base/vfs"
)

// fileName is the file of a rank in a slot. FTI names the file of a differential
// checkpoint so.
func fileName(dir string, slot, rank int) string {
	return filepath.Join(slotDir(dir, slot), fmt.Sprintf("dCPFile-Rank%d.fti", rank))
}

func slotDir(dir string, slot int) string { return filepath.Join(dir, fmt.Sprintf("slot%d", slot)) }

// slotDirs are the numbers of the slots that have a directory, ascending.
func slotDirs(fsys vfs.FS, dir string) ([]int, error) {
	l, err := fsys.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var slots []int
	for _, e := range l {
		var k int
		if _, err := fmt.Sscanf(e.Name(), "slot%d", &k); err == nil && e.IsDir() && k >= 0 && k <= maxKeep && slotDir(dir, k) == filepath.Join(dir, e.Name()) {
			slots = append(slots, k)
		}
	}
	slices.Sort(slots)
	return slots, nil
}

// rankFiles are the files of one rank, one in each slot.
type rankFiles struct {
	fsys  vfs.FS
	dir   string
	rank  int
	d     Durability
	w     *ffformat.Writer
	slots []slot

	gate  chan struct{} // of the ranks of the process that do I/O
	local int           // ranks of the process
}

// slot is this rank's file in one slot.
type slot struct {
	digests *ffformat.Digests // of the file's content; nil: not known
	named   bool              // the name of the file is durable, as far as Options.Durability wants that
}

// within calls f when there is a place among the ranks of the process that do I/O. Inside,
// nothing collective is done.
func (x *rankFiles) within(ctx context.Context, f func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case x.gate <- struct{}{}:
		defer func() { <-x.gate }()
		return f()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// grow makes room for more slots.
func (x *rankFiles) grow(slots int) {
	for len(x.slots) < slots {
		x.slots = append(x.slots, slot{})
	}
}

// inspect reads the metadata of the files in all slots. The newest sound committed one, of entries newest first,
// gives the containers; digests count that belong to a file whose containers are
// among them. A side file that does not know the newest checkpoint, which is in slot newest, is an old one: then
// none count.
func (x *rankFiles) inspect(digests map[int][]*ffformat.Digests, entries []entry, newest int) error {
	files := make([]*ffformat.File, len(x.slots))
	for k := range x.slots {
		f, err := x.fsys.Open(fileName(x.dir, k, x.rank))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if size, err := f.Size(); err == nil {
			if file, err := ffformat.Decode(f, size, f.Name(), nil); err == nil && !file.Parity {
				files[k] = file
			}
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	for _, e := range entries {
		if f := files[e.Slot]; f != nil && e.match(f) == nil && x.w.Resume(f) == nil {
			break
		}
	}
	for k, f := range files {
		if f == nil || !x.w.Holds(f) {
			continue
		}
		for _, d := range digests[k] {
			if d.Match(f) == nil {
				x.slots[k].digests = d
			}
		}
	}
	if newest >= 0 && x.slots[newest].digests == nil {
		clear(x.slots)
	}
	return nil
}

// makeSlot makes the directory of a slot. One rank does that.
func (x *rankFiles) makeSlot(k int) error {
	err := x.fsys.Mkdir(slotDir(x.dir, k))
	made := err == nil
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	// Also if it was there: the program that made it may have died before this.
	if err == nil && (made || !x.slots[k].named) && x.d == DurableCommit {
		err = x.fsys.SyncDir(x.dir)
	}
	return err
}

// drop removes this rank's files in slots from k on, which are not needed any more, after
// Keep became less. A file that it cannot remove only takes space.
func (x *rankFiles) drop(from int) {
	for k := from; k < len(x.slots); k++ {
		x.fsys.Remove(fileName(x.dir, k, x.rank)) //nolint:errcheck // see above
		x.fsys.Remove(slotDir(x.dir, k))          //nolint:errcheck // the last rank succeeds
	}
	x.slots = x.slots[:min(from, len(x.slots))]
}

// openFile opens the file of a slot, or makes it. f is nil if there is none to close. prev are the digests of its content, if they
// are known.
func (x *rankFiles) openFile(slot int) (f vfs.File, size int64, prev *ffformat.Digests, fresh bool, err error) {
	k := &x.slots[slot]
	prev = k.digests
	name := fileName(x.dir, slot, x.rank)
	if f, err = x.fsys.OpenRW(name); errors.Is(err, fs.ErrNotExist) {
		f, err = x.fsys.Create(name)
		fresh, k.named = true, false // also if it was there once
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("rank %d does not see the directory of rank 0, %s: all ranks must share the directory of a store: %w", x.rank, slotDir(x.dir, slot), err)
		}
	}
	if err != nil {
		return nil, 0, nil, false, err
	}
	if size, err = f.Size(); err != nil {
		return f, 0, nil, false, err
	}
	if prev != nil { // that it is still the file which we left is not taken for granted
		if file, err := ffformat.Decode(f, size, name, nil); err != nil || prev.Match(file) != nil {
			prev = nil
		}
	}
	return f, size, prev, fresh, nil
}
