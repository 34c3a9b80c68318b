package resume

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/lease"
	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
)

// RecoverOptions is blob.RecoverOptions.
type RecoverOptions struct {
	DryRun bool // only report the steps
	Force  bool
}

// Step is one step of Recover, taken or planned.
type Step struct {
	File string `json:"file"`
	What string `json:"what"` // "finish the commit", "remove: ..."
}

// Recover is blob.Recover.
func Recover(ctx context.Context, base string, o *RecoverOptions) ([]Step, error) {
	return RecoverWith(ctx, base, o, dataset.Knobs{})
}

func RecoverWith(ctx context.Context, base string, o *RecoverOptions, k dataset.Knobs) (steps []Step, err error) {
	var v RecoverOptions
	if o != nil {
		v = *o
	}
	k.Fs = vfs.OrOS(k.Fs)
	if base, err = recoverable(k.Fs, base); err != nil {
		return nil, err
	}
	taking, err := durable.Leftovers(k.Fs, base)
	if err != nil {
		return nil, err
	}
	// A store keeps the lease until its next writer starts. The seal of the store shows this writer which files a former writer
	// may still have open.
	store, err := durable.IsSeal(k.Fs, base)
	if err != nil {
		return nil, err
	}
	if v.DryRun {
		steps, err := toRecover(k.Fs, base, v.Force)
		steps = append(steps, takingSteps(taking)...)
		h, state, herr := durable.Inspect(k.Fs, base)
		if state != durable.NoHolder && !(store && h != nil && h.Unsure) {
			steps = append(steps, leaseStep(base, h))
		}
		return steps, errors.Join(err, herr)
	}
	ten, err := lease.Hold(ctx, &dataset.Settings{Knobs: k}, base)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err = errors.Join(err, ten.Release()); err == nil {
			err = k.Fs.SyncDir(subfile.Dir(base))
		}
	}()
	if st, _ := subfile.ReadForced(k.Fs, base); st != nil {
		if err := lease.LeftBy(k.Fs, base, st); err != nil {
			return nil, err
		}
	}
	var rebuilt []Step
	if old, lost := lostState(k.Fs, base, v.Force); lost != nil && v.Force {
		if rebuilt, err = rebuild(ctx, &dataset.Settings{Knobs: k}, base, ten, old); err != nil {
			return nil, errors.Join(lost, err)
		}
	}
	if steps, err = toRecover(k.Fs, base, v.Force); err != nil {
		return nil, err
	}
	steps = append(rebuilt, steps...)
	steps = append(steps, takingSteps(taking)...)
	for _, t := range taking { // taking a new lease does not remove these files
		if err := k.Fs.Remove(t); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	stays := store && ten.Lease.Unsure()
	if d := ten.Lease.Dead(); d != nil && !stays {
		steps = append(steps, leaseStep(base, d))
	}
	by := ten.By()
	by.Force = v.Force
	m, err := subfile.Recover(k.Fs, base, by)
	if err != nil {
		return nil, err
	}
	if !stays {
		if err := ten.Secure(m, true); err != nil {
			return nil, err
		}
	}
	if m != nil && dataset.LayoutGrows(m.Layout) {
		if err := settle(k.Fs, base, m, ten); err != nil {
			return nil, err
		}
	}
	return steps, durable.SweepHidden(k.Fs, base)
}

// recoverable returns the name of the dataset that Recover must treat for a path.
func recoverable(fsys vfs.FS, path string) (string, error) {
	path = filepath.Clean(path)
	hidden, err := durable.HiddenFiles(fsys, path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	own := len(hidden) > 0
	for _, n := range []string{durable.LockName(path), subfile.NextName(path), subfile.ManifestName(path)} {
		if _, err := fsys.Stat(n); err == nil {
			own = true
		}
	}
	if own {
		return path, nil
	}
	set, err := subfile.Find(fsys, path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, nil
	} else if err != nil {
		return "", err
	}
	if _, i, ok := subfile.Split(path); ok && set.Base != path && set.Members[i] == path {
		is, err := isPart(fsys, path, i)
		if err != nil || !is {
			return path, err
		}
	}
	return set.Base, nil
}

// isPart reports whether the file with the name of subfile i belongs to the dataset: a manifest lists the file, or its content is
// a subfile.
func isPart(fsys vfs.FS, name string, i int) (bool, error) {
	if is, err := dataset.HoldsSubfile(fsys)(name, i); is || err != nil {
		return is, err
	}
	base := subfile.Base(name)
	st, err := subfile.ReadState(fsys, base)
	if err != nil && !errors.Is(err, dataset.ErrNotCommitted) {
		return true, nil // unknown, but Recover returns the error later
	}
	known, err := st.Known(fsys, base)
	for _, m := range append(known, st.Manifest) {
		if m != nil && m.Lists(filepath.Base(name)) {
			return true, err
		}
	}
	return false, err
}

func takingSteps(list []string) (steps []Step) {
	for _, name := range list {
		steps = append(steps, Step{name, "remove: leftover of a writer that died while taking over the lease"})
	}
	return steps
}

func leaseStep(base string, h *durable.Holder) Step {
	return Step{durable.LockName(base), "remove: the lease of " + h.String()}
}

// toRecover lists the steps for a dataset.
func toRecover(fsys vfs.FS, base string, force bool) (steps []Step, err error) {
	add := func(file, what string) { steps = append(steps, Step{file, what}) }
	if _, lost := lostState(fsys, base, force); lost != nil && force { // rebuild may find more steps
		return []Step{rebuildStep(base)}, nil
	} else if lost != nil {
		return nil, forcible(lost)
	}
	temps, err := durable.HiddenFiles(fsys, base)
	if err != nil {
		return nil, err
	}
	for _, t := range temps {
		add(t, "remove: leftover of an unfinished output")
	}
	st, err := stateOf(fsys, base, force)
	never := errors.Is(err, dataset.ErrNotCommitted)
	if errors.As(err, new(*dataset.FormatError)) {
		return nil, forcible(err)
	}
	if err != nil && !never {
		return nil, err
	}
	m := st.Manifest
	for _, err := range st.Flaws {
		add(fault.Of(dataset.Error, "", err).File, "restore from the other copy: "+err.Error())
	}
	own := func(string) bool { return false }
	if st.Pending {
		add(subfile.NextName(base), "finish: the dataset is committed, but some files do not have their final names")
		own = func(name string) bool { _, tag, _ := subfile.Final(name); return tag == m.Writer }
	} else if st.Writing {
		add(subfile.NextName(base), "remove: leftover of a writer that did not commit")
	}
	if never && !st.Partial() {
		m = new(subfile.Manifest)
	}
	logs, err := subfile.Logs(fsys, base)
	if err != nil {
		return nil, err
	}
	for _, l := range logs {
		if m == nil || m.Log == "" || l != subfile.LogName(base, m.Log) {
			add(l, "remove: the log belongs to no commit")
			continue
		}
		add(l, fmt.Sprintf("merge into the manifest: the writer did not finish, with %d records at commit %d", m.Records, m.Commits))
		if m.Held != nil {
			add(l, fmt.Sprintf("discard data that this commit does not include: %v", m.Held))
		}
		if st.LogTorn > 0 {
			add(l, fmt.Sprintf("discard %d bytes from byte %d on: the commit is incomplete", st.LogTorn, st.LogEnd))
		}
	}
	records, err := subfile.Records(fsys, base)
	if err != nil {
		return nil, err
	}
	for _, r := range records {
		add(r, "remove: the record was not committed")
	}
	partials, err := subfile.Partials(fsys, base)
	if err != nil {
		return nil, err
	}
	for _, p := range partials {
		if own(p) {
			final, _, _ := subfile.Final(p)
			add(p, "rename to "+filepath.Base(final))
		} else {
			add(p, "remove: leftover of a writer that did not commit")
		}
	}
	if m == nil {
		return steps, nil
	}
	known, err := st.Known(fsys, base)
	if err != nil {
		return nil, err
	}
	stale, err := subfile.Stale(fsys, base, m, dataset.HoldsSubfile(fsys), known...)
	for _, s := range stale {
		add(s, "remove: the file belongs to no commit")
	}
	if err != nil || !dataset.LayoutGrows(m.Layout) {
		return steps, err
	}
	more, err := toCut(fsys, base, m)
	return append(steps, more...), err
}

// toCut lists the steps that bring files that grow in place back to their state in the manifest.
func toCut(fsys vfs.FS, base string, m *subfile.Manifest) (steps []Step, err error) {
	add := func(file, what string) { steps = append(steps, Step{file, what}) }
	err = lease.EachGrown(fsys, base, m, func(name string, records, size, want int64) error {
		if records == m.Last().Records && size <= want {
			return nil
		}
		if is, err := lease.OfManifest(fsys, name, m); !is {
			add(name, "leave unchanged: the file does not match the manifest; it is damaged or belongs to another dataset")
			return err
		}
		if n := m.Last().Records; records != n {
			add(name, fmt.Sprintf("set the number of records to %d: the header says %d", n, records))
		}
		if size > want {
			add(name, fmt.Sprintf("truncate to %d bytes: the %d bytes after them are uncommitted records", want, size-want))
		}
		return nil
	})
	return steps, err
}

// settle removes the data of an unfinished append from the subfiles of a variable-centric dataset.
func settle(fsys vfs.FS, base string, m *subfile.Manifest, ten *lease.Tenure) error {
	_, err := lease.Cut(fsys, base, m, ten, true)
	return err
}

// Unfinished is blob.Unfinished.
func Unfinished(dir string) ([]string, error) { return UnfinishedIn(vfs.OS, dir) }

func UnfinishedIn(fsys vfs.FS, dir string) (names []string, err error) {
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	base := subfile.BaseAmong(entries)
	for _, e := range entries {
		name := e.Name()
		if out, ok := durable.HiddenOf(name); ok {
			names = append(names, out)
		} else if out, ok := durable.LeftoverOf(name); ok && e.Type().IsRegular() {
			names = append(names, out)
		} else if out, ok := durable.LockOf(name); ok && e.Type().IsRegular() {
			// Files of other programs may have such names, so files that are unreadable or name no holder are skipped.
			if h, _, err := durable.Inspect(fsys, filepath.Join(dir, out)); err == nil && h != nil {
				names = append(names, out)
			}
		} else if log, _, ok := subfile.LogOf(name); ok {
			names = append(names, log)
		} else if _, _, partial := subfile.Final(name); partial || strings.HasSuffix(name, subfile.NextName("")) {
			if b := base(name); b != name {
				names = append(names, b)
			}
		}
	}
	slices.Sort(names)
	for i, n := range names {
		names[i] = filepath.Join(dir, n)
	}
	return slices.Compact(names), nil
}

// WriterOf is blob.WriterOf.
func WriterOf(name string) (holder, state string, err error) { return WriterIn(vfs.OS, name) }

func WriterIn(fsys vfs.FS, name string) (holder, state string, err error) {
	h, life, err := durable.NewPulse(fsys, name, nil).Look()
	if err != nil || life == durable.NoLife {
		return "", "", err
	}
	switch life {
	case durable.Alive:
		return h.String(), "writing", nil
	case durable.Dead:
		return h.String(), "dead", nil
	}
	return h.String(), "writing or dead", nil
}
