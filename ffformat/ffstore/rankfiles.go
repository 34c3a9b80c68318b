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

// fileName returns the path of a rank's file in a slot. FTI gives the files of differential checkpoints the same name.
func fileName(dir string, slot, rank int) string {
	return filepath.Join(slotDir(dir, slot), fmt.Sprintf("dCPFile-Rank%d.fti", rank))
}

func slotDir(dir string, slot int) string { return filepath.Join(dir, fmt.Sprintf("slot%d", slot)) }

// slotDirs returns the numbers of the slots that have a directory, ascending.
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

	gate  chan struct{} // limits how many ranks of the process do I/O at the same time
	local int           // number of ranks in the process
}

// slot is this rank's file in one slot.
type slot struct {
	digests *ffformat.Digests // digests of the file's content; nil: unknown
	named   bool              // the name of the file is as durable as Options.Durability requires
}

// within waits for a free entry of the gate and calls f. f must not call a collective.
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

// grow adds slots up to the given number.
func (x *rankFiles) grow(slots int) {
	for len(x.slots) < slots {
		x.slots = append(x.slots, slot{})
	}
}

// inspect reads the metadata of the files in all slots. It takes the containers from the newest sound committed file; entries are
// newest first. Digests are valid only for a file with the same containers. The newest checkpoint is in slot newest. If the side
// file does not have its digests, the side file is outdated, and none of its digests are valid.
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

// makeSlot makes the directory of a slot. One rank calls it.
func (x *rankFiles) makeSlot(k int) error {
	err := x.fsys.Mkdir(slotDir(x.dir, k))
	made := err == nil
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	// Sync an existing directory, too: the program that made it may have died before it synced the directory.
	if err == nil && (made || !x.slots[k].named) && x.d == DurableCommit {
		err = x.fsys.SyncDir(x.dir)
	}
	return err
}

// drop removes this rank's files in the slots from the given one on, which a smaller Keep does not need. drop ignores errors,
// because a file that remains only takes space.
func (x *rankFiles) drop(from int) {
	for k := from; k < len(x.slots); k++ {
		x.fsys.Remove(fileName(x.dir, k, x.rank)) //nolint:errcheck // a file that remains only takes space
		x.fsys.Remove(slotDir(x.dir, k))          //nolint:errcheck // succeeds on the rank that comes last
	}
	x.slots = x.slots[:min(from, len(x.slots))]
}

// openFile opens or makes the file of a slot. f is nil if the file was not opened. prev has the digests of its content, if known.
func (x *rankFiles) openFile(slot int) (f vfs.File, size int64, prev *ffformat.Digests, fresh bool, err error) {
	k := &x.slots[slot]
	prev = k.digests
	name := fileName(x.dir, slot, x.rank)
	if f, err = x.fsys.OpenRW(name); errors.Is(err, fs.ErrNotExist) {
		f, err = x.fsys.Create(name)
		fresh, k.named = true, false // set even if the file exists: its name may not be durable
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
	if prev != nil { // check that the file is still the one that this Store wrote
		if file, err := ffformat.Decode(f, size, name, nil); err != nil || prev.Match(file) != nil {
			prev = nil
		}
	}
	return f, size, prev, fresh, nil
}
