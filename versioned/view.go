package versioned

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"blobio/internal/base/vfs"
	"blobio/internal/versioned/arrays"
)

// View reads the versions of an array without ranks.
type View struct {
	cat    *catalog
	rec    *record
	dir    string
	spec   Spec
	fsys   vfs.FS
	sealed bool // the array is encrypted, and no key was given
	key    []byte
}

// OpenView opens an array for reading. dir is the directory of the array, which is in the store's directory and has the name of
// the array. A nil fsys means the operating system's file system. key is the key of an encrypted store. Without the key, reads
// and checks of elements return ErrKey, and all other calls work.
func OpenView(dir string, fsys vfs.FS, key []byte) (*View, error) {
	v := &View{dir: dir, fsys: vfs.OrOS(fsys), key: key}
	var err error
	if v.rec, err = readRecord(v.fsys, dir); err != nil {
		return nil, err
	}
	opt := (&Options{Key: key}).withDefaults()
	if v.sealed = v.rec.Key != "" && len(key) == 0; !v.sealed {
		if err := keyFits(v.rec, &opt); err != nil {
			return nil, err
		}
	}
	v.spec, _ = v.rec.Spec.public() // readRecord has checked the spec
	v.cat, err = newCatalog(v.rec, v.spec.Type, []*nodeStore{{v.fsys, dir}}, 0, &opt)
	return v, err
}

// Close releases the files.
func (v *View) Close() error {
	v.cat.close()
	return nil
}

// Spec returns the spec of the array, with the shape of the newest version.
func (v *View) Spec() Spec { return v.spec }

// Versions lists the committed versions, oldest first.
func (v *View) Versions() []VersionInfo { return v.rec.versions() }

// Encrypted reports whether the chunks are encrypted.
func (v *View) Encrypted() bool { return v.rec.Key != "" }

// Bytes returns the total size of the array's files, and their number.
func (v *View) Bytes() (n int64, files int) {
	for _, f := range v.rec.Files {
		n += f.Size
	}
	return n, len(v.rec.Files)
}

// Get reads the box [lo, hi) of a version, with elements in the byte order of the host. It reads and verifies whole chunks.
func (v *View) Get(ctx context.Context, version int64, lo, hi []int64, dst []byte) error {
	if v.sealed {
		return fmt.Errorf("array %s is encrypted and no key was given: %w", v.spec.Name, ErrKey)
	}
	return v.cat.get(ctx, v.rec, version, lo, hi, dst)
}

// Pieces reads the box [lo, hi) of a version in pieces, in row-major order. most is the maximum size of a piece in bytes.
// Elements are in the byte order of the host. f must not use its argument after it returns.
func (v *View) Pieces(ctx context.Context, version int64, lo, hi []int64, most int, f func(lo, hi []int64, b []byte) error) error {
	size := int64(v.spec.Type.Size())
	buf := []byte(nil)
	return slabs(lo, hi, max(int64(most)/size, 1), func(lo, hi []int64) error {
		n := size
		for d := range lo {
			n *= hi[d] - lo[d]
		}
		if int64(len(buf)) < n {
			buf = make([]byte, n)
		}
		if err := v.Get(ctx, version, lo, hi, buf[:n]); err != nil {
			return err
		}
		return f(lo, hi, buf[:n])
	})
}

// slabs cuts a box into smaller boxes and calls f for them in row-major order. most is the maximum number of elements of a box.
func slabs(lo, hi []int64, most int64, f func(lo, hi []int64) error) error {
	per := int64(1) // number of elements per index of dimension d
	d := len(lo) - 1
	for ; d > 0; d-- {
		n := hi[d] - lo[d]
		if n == 0 {
			return nil
		}
		if per > most/n {
			break
		}
		per *= n
	}
	// Dimensions before d advance by one index at a time, and dimension d in steps of several indices.
	for k := range d {
		if hi[k] <= lo[k] {
			return nil
		}
	}
	step := max(most/per, 1)
	at, end := slices.Clone(lo), slices.Clone(hi)
	for {
		for k := range d {
			end[k] = at[k] + 1
		}
		for x := lo[d]; x < hi[d]; x += step {
			at[d], end[d] = x, min(x+step, hi[d])
			if err := f(at, end); err != nil {
				return err
			}
		}
		k := d - 1
		for ; k >= 0; k-- {
			if at[k]++; at[k] < hi[k] {
				break
			}
			at[k] = lo[k]
		}
		if k < 0 {
			return nil
		}
	}
}

// Expired lists, ascending, the versions that a retention would not keep. It never lists the newest untainted version.
func (v *View) Expired(keep Retention) []int64 {
	stay := retained(v.rec.Versions, -1, keep, nil)
	var out []int64
	for _, x := range v.rec.Versions {
		if v.rec.goes(x.Number) == nil && !slices.Contains(stay, x.Number) {
			out = append(out, x.Number)
		}
	}
	return out
}

// If the array belongs to a level, Pinned lists, ascending, the versions that snapshots of its hierarchy use. If one of them is
// dropped, the snapshot cannot be opened; Drop does not check this. The list is empty for an array that is not a level, or whose
// hierarchy has no snapshots in the same store. ErrKey means that the snapshots are encrypted, and that the View has no key.
func (v *View) Pinned(ctx context.Context) ([]int64, error) {
	name, level := arrays.Member(v.spec.Name)
	if name == "" || level < 0 {
		return nil, nil
	}
	g, err := OpenView(filepath.Join(filepath.Dir(filepath.Clean(v.dir)), name+".global"), v.fsys, v.key)
	if errors.Is(err, ErrMissing) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer g.Close()
	var out []int64
	for _, x := range g.rec.Versions {
		if x.Number == 0 || x.Tainted { // the version is empty or tainted
			continue
		}
		s, err := g.Snapshot(ctx, x.Number)
		if err != nil {
			return nil, fmt.Errorf("the versions that snapshots need are unknown: %w", err)
		}
		if level < len(s.Versions) {
			out = append(out, s.Versions[level])
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// Drop drops versions in a store that no Array has open. It removes the files that no other version needs, and returns their
// size and number. If another version needs a part of a file, the whole file stays; later commits of an array with Retention
// compact such files if this saves enough space. The newest untainted version cannot be dropped. A dry run changes nothing.
func (v *View) Drop(ctx context.Context, dry bool, versions ...int64) (bytes int64, files int, err error) {
	rec, err := v.cat.dropped(ctx, versions...)
	if err != nil {
		return 0, 0, err
	}
	for _, f := range v.rec.Files {
		if slices.ContainsFunc(rec.Files, func(o fileInfo) bool { return o.Name == f.Name }) {
			continue
		}
		if info, err := v.fsys.Stat(filepath.Join(v.dir, f.Name)); err == nil {
			bytes += info.Size()
			files++
		}
	}
	if dry || len(versions) == 0 {
		return bytes, files, nil
	}
	return bytes, files, v.replace(rec)
}

// replace replaces the record and removes the files that the new record does not name.
func (v *View) replace(rec *record) error {
	seq, err := lastSeq(v.fsys, v.dir)
	if err != nil {
		return err
	}
	if seq >= rec.Seq {
		return fmt.Errorf("%s: another program has written commit %d: %w", v.dir, seq, ErrConflict)
	}
	if err := writeRecord(v.fsys, v.dir, rec, true); err != nil {
		return err
	}
	v.rec = rec
	v.cat.mu.Lock()
	gone := v.cat.setRecord(rec)
	v.cat.mu.Unlock()
	for _, f := range gone {
		v.cat.open.forget(f.Name)
		if err := v.fsys.Remove(filepath.Join(v.dir, f.Name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
