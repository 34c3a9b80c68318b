package ffstore

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"blobio/ffformat"
	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// Rebuild makes a new seal for a store whose seal is lost or damaged, from the files in the slots. A slot is usable if it has one
// sound file for each rank, and all files are of the same checkpoint. left has an error for each other slot. The files do not
// record whether a checkpoint was committed, so Rebuild may also restore a checkpoint that was complete but not yet committed.
//
// Rebuild stops at an I/O error before it writes anything, because the content of the slot is then unknown.
//
// If the seal is sound, Rebuild returns ErrExist unless Force is set. It keeps a damaged seal under its name with ".damaged"
// appended. If no slot is usable, it writes nothing and returns ErrMissing. ErrInUse means that a Store writes to the directory
// (a DryRun does not check this), or that another program has made a seal at the same time.
func Rebuild(ctx context.Context, dir string, o *Options) (list []Info, left []error, err error) {
	var opt Options
	if o != nil {
		opt = *o
	}
	opt.FS = vfs.OrOS(opt.FS)
	b := &rebuild{Options: opt, dir: dir}
	if !b.DryRun { // before the record is read; no other program can then change the store until the record is replaced
		if b.lease, err = hold(ctx, b.FS, dir, DurableCommit, durable.LeaseOptions{}); err != nil {
			return nil, nil, err
		}
		defer func() { err = errors.Join(err, b.lease.Release()) }()
	}
	old, err := readRecord(b.FS, dir)
	damaged := err != nil
	if damaged && !errors.As(err, new(*fault.FormatError)) {
		return nil, nil, err
	}
	if old != nil && !b.Force {
		return nil, nil, fmt.Errorf("%s: the seal is intact: %w", dir, ErrExist)
	}
	// The side file of rank 0 has the id and the time of each checkpoint. Some layouts store them only in part or not at all.
	logged, unread, err := loadDigests(b.FS, dir, 0, []int{0})
	if err = errors.Join(err, unread); err != nil {
		return nil, nil, err
	}
	b.digests = digestsOf(logged[0], "side file")
	slots, err := slotDirs(b.FS, dir)
	if err != nil {
		return nil, nil, err
	}
	if len(slots) == 0 {
		return nil, nil, fmt.Errorf("%s is not a store of checkpoints, because it has no slots: %w", dir, ErrMissing)
	}
	for _, k := range slots {
		if e, err := b.slot(ctx, k); err != nil {
			// A checkpoint that cannot be read now may be sound. If the new record did not list it, the next checkpoint could
			// overwrite it.
			if !damage(err) {
				return nil, left, fmt.Errorf("slot %d: %w", k, err)
			}
			left = append(left, fmt.Errorf("slot %d: %w", k, err))
		} else {
			b.found = append(b.found, *e)
		}
	}
	rec, more := b.record()
	left = append(left, more...)
	if rec == nil {
		return nil, left, fault.In(dir, "slots", ErrMissing, "no slot holds a complete checkpoint")
	}
	if old != nil {
		rec.Seq = max(rec.Seq, old.Seq+1)
	}
	if b.DryRun {
		return rec.list(), left, nil
	}
	// If the seal has changed, a program writes to the store without taking the lease.
	now, err := readRecord(b.FS, dir)
	if damaged != errors.As(err, new(*fault.FormatError)) || (old == nil) != (now == nil) || now != nil && now.Seq != old.Seq {
		return nil, left, fmt.Errorf("%s: the seal has changed since it was read: %w", dir, ErrInUse)
	}
	if err != nil && !damaged {
		return nil, left, err
	}
	name := filepath.Join(dir, recordName)
	if damaged {
		if err := durable.Rename(b.FS, name, name+".damaged"); err != nil {
			return nil, left, err
		}
	}
	if err := b.lease.replace(rec, b.lease.check); err != nil {
		return nil, left, err
	}
	return rec.list(), left, nil
}

// rebuild is the state of one call of Rebuild.
type rebuild struct {
	Options
	dir     string
	lease   *lease
	digests map[int][]*ffformat.Digests // digests of rank 0, by slot
	found   []rebuilt
}

// rebuilt is a usable slot.
type rebuilt struct {
	entry
	ranks  int
	layout ffformat.Layout
	hash   ffformat.Hash
}

// slot examines the files of one slot.
func (b *rebuild) slot(ctx context.Context, k int) (*rebuilt, error) {
	l, err := b.FS.ReadDir(slotDir(b.dir, k))
	if err != nil {
		return nil, err
	}
	ranks := 0
	for _, e := range l {
		var r int
		if _, err := fmt.Sscanf(e.Name(), "dCPFile-Rank%d.fti", &r); err == nil && fileName(b.dir, k, r) == filepath.Join(slotDir(b.dir, k), e.Name()) {
			ranks++
		}
	}
	if ranks == 0 {
		return nil, fmt.Errorf("no files: %w", ErrMissing)
	}
	x := &rebuilt{entry: entry{Slot: k}, ranks: ranks}
	var first *ffformat.File
	for r := range ranks {
		f, err := b.file(ctx, k, r)
		if err != nil {
			return nil, err
		}
		if r == 0 {
			first = f
			x.layout, x.hash = f.Layout, f.Hash
			if err := b.identify(x, f); err != nil {
				return nil, err
			}
		}
		if f.Layout != first.Layout || f.Hash != first.Hash || f.FB.CkptID != first.FB.CkptID || f.FB.Timestamp != first.FB.Timestamp {
			return nil, fault.At(f.Name, -1, "FB", fault.ErrCorrupt, "checkpoint %d written at %d in layout %v, but rank 0 has %d, %d, %v",
				f.FB.CkptID, f.FB.Timestamp, f.Layout, first.FB.CkptID, first.FB.Timestamp, first.Layout)
		}
		sum, err := f.MetaSum()
		if err != nil {
			return nil, err
		}
		x.Sums = append(x.Sums, sum[:sumLen]...)
		x.Files += f.Size
		for _, v := range f.Vars() {
			x.Vars++
			x.Data += v.Size
		}
	}
	return x, nil
}

// file reads one file and verifies all of it.
func (b *rebuild) file(ctx context.Context, k, rank int) (*ffformat.File, error) {
	name := fileName(b.dir, k, rank)
	f, err := b.FS.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.At(name, -1, "", ErrMissing, "not there")
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	file, err := ffformat.Decode(f, size, name, nil)
	if err != nil {
		return nil, err
	}
	for x := range ffformat.Check(ctx, f, size, name, &ffformat.Options{Workers: b.Workers}) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if x.Severity >= ffformat.Error {
			return nil, x.AsError()
		}
	}
	return file, ctx.Err()
}

// identify finds the id and the full time of a checkpoint from the file of rank 0.
func (b *rebuild) identify(x *rebuilt, f *ffformat.File) error {
	x.ID, x.Time = f.FB.CkptID, f.FB.Timestamp
	of := b.digests[x.Slot]
	if i := slices.IndexFunc(of, func(d *ffformat.Digests) bool { return d.Match(f) == nil }); i >= 0 {
		x.ID, x.Time = of[i].CkptID, of[i].Timestamp
	} else if f.Layout == ffformat.LayoutE || f.Layout == ffformat.LayoutF {
		// Take the last time with these low bits that is not after the file's modification time.
		st, err := b.FS.Stat(f.Name)
		if err != nil {
			return err
		}
		now := st.ModTime().UnixNano()
		x.Time = now - int64(uint32(now)-uint32(x.Time))
	}
	if x.ID < 1 && hasID(f.Layout) {
		return fault.At(f.Name, -1, "FB.ckptId", fault.ErrCorrupt, "%d, want at least 1", x.ID)
	}
	return nil
}

// record makes a record of the checkpoints that were found. It returns an error for each checkpoint that cannot be in the record.
func (b *rebuild) record() (rec *record, left []error) {
	if len(b.found) == 0 {
		return nil, nil
	}
	slices.SortFunc(b.found, func(x, y rebuilt) int { return cmp.Compare(x.Time, y.Time) })
	for i := range b.found {
		if x := &b.found[i]; x.ID < 1 { // the layout does not store the id
			switch prev := max(i-1, 0); {
			case i == 0:
				x.ID = 1
			case x.Time == b.found[prev].Time && bytes.Equal(x.Sums, b.found[prev].Sums): // a copy
				x.ID = b.found[prev].ID
			default:
				x.ID = b.found[prev].ID + 1
			}
		}
	}
	last := b.found[len(b.found)-1]
	rec = &record{
		SealHead: records.Head(1 + max(0, last.Time/int64(time.Second))), Ranks: last.ranks,
		Layout: last.layout.String(), Hash: hashName(last.hash), Slots: 2,
	}
	for _, x := range b.found {
		if x.ranks != last.ranks || x.layout != last.layout || x.hash != last.hash {
			left = append(left, fmt.Errorf("slot %d: %d ranks, layout %v and hash %s differ from slot %d: %w", x.Slot, x.ranks, x.layout, hashName(x.hash), last.Slot, fault.ErrCorrupt))
			continue
		}
		// If a checkpoint was written later but has a lower id, the program had continued from an older checkpoint. Drop the
		// checkpoints in between.
		rec.Checkpoints = slices.DeleteFunc(rec.Checkpoints, func(e entry) bool { return e.ID >= x.ID })
		rec.Checkpoints = append(rec.Checkpoints, x.entry)
	}
	rec.Checkpoints = rec.Checkpoints[max(0, len(rec.Checkpoints)-maxKeep):]
	for _, e := range rec.Checkpoints {
		rec.Slots = max(rec.Slots, e.Slot+1)
	}
	// One slot must be free. If a checkpoint is in every slot that was found, add an empty slot.
	rec.Slots = max(rec.Slots, len(rec.Checkpoints)+1)
	return rec, left
}
