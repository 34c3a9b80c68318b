package tree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/internal/base/fault"
	"blobio/internal/base/par"
	"blobio/internal/base/vfs"
)

// A form is a kind of directory that can be shown as a netCDF file beside it.
type form struct {
	name string // in words
	// stamp identifies the state of a directory, or returns "" for other kinds; info describes the file that commits the state.
	stamp func(dir string, fsys vfs.FS) (stamp string, info fs.FileInfo, err error)
	is    func(dir string, fsys vfs.FS) (bool, error) // whether a directory with a stamp has the form; nil: every such directory has it
	open  func(ctx context.Context, o *formOptions) (source, error)
}

// forms are all forms.
var forms = [...]form{celloForm, versionsForm}

// suffix is appended to the directory's name to form the netCDF file's name.
const suffix = ".nc"

// formOptions select the directory to open, and limit resources.
type formOptions struct {
	fs     vfs.FS
	dir    string
	verify bool
	memory int64 // bytes to cache
}

// source is one state of a directory with a form: the bytes as CDF-5. Damage that does not prevent opening gives an error only
// for reads of the affected bytes.
type source interface {
	Bytes
	Close() error
}

// formed returns the state of the directory whose netCDF form has this name.
func (t *Tree) formed(base string) (state, error) {
	dir, ok := strings.CutSuffix(base, suffix)
	if name := filepath.Base(base); !ok || name == suffix || internal(strings.TrimSuffix(name, suffix)) {
		return state{}, nil
	}
	info, err := t.root.Stat(dir)
	if err != nil || !info.IsDir() {
		return state{}, absentOr(err)
	}
	for i := range forms {
		f := &forms[i]
		stamp, info, err := f.stamp(dir, t.fs)
		if err != nil {
			return state{}, err
		}
		if stamp == "" {
			continue
		}
		st := state{key: f.name + "|" + stamp, form: f}
		st.of(info)
		k, ok := t.facts.states.get(base, st.key)
		if !ok {
			k = known{key: st.key, is: true}
			if f.is != nil {
				if k.is, err = f.is(dir, t.fs); err != nil {
					return state{}, err
				}
			}
			t.facts.states.keep(base, k)
		}
		if st.is = k.is; st.is {
			return st, nil
		}
	}
	return state{}, nil
}

// absentOr returns err, or nil if err is fs.ErrNotExist.
func absentOr(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// addForms adds the netCDF forms of directories to a list; there holds the names of existing files.
func (t *Tree) addForms(dir string, list []Entry, there map[string]bool) ([]Entry, error) {
	is, errs := make([]bool, len(list)), make([]error, len(list))
	taken := map[string]bool{}
	for _, e := range list {
		taken[e.Name] = true
	}
	par.Do(lookAtOnce, len(list), func(i int) {
		if name := list[i].Name + suffix; list[i].Kind == KindDir && !taken[name] && !there[name] {
			st, err := t.stateOf(filepath.Join(dir, name))
			is[i], errs[i] = err == nil && st.form != nil, exhausted(err)
		}
	})
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for i, yes := range is {
		if yes {
			list[i].Parts = true
			list = append(list, Entry{Name: list[i].Name + suffix, Kind: KindDataset})
		}
	}
	return list, nil
}

// loadForm opens the state for s. The Reader reads the source like a file.
func (t *Tree) loadForm(ctx context.Context, s *shared) error {
	dir := strings.TrimSuffix(s.name, suffix)
	src, err := s.form.open(ctx, &formOptions{fs: t.fs, dir: dir, verify: t.opt.Verify != blob.VerifyNever, memory: s.memory / 4})
	if errors.Is(err, fs.ErrNotExist) { // a file of the directory is missing, not the directory itself, so look again
		return fmt.Errorf("%s: %v: %w", dir, err, fault.ErrMissing)
	}
	if err != nil {
		return err
	}
	r, err := t.open(ctx, s, &formFS{t.fs, s.name, src, formInfo{filepath.Base(s.name), src.Size(), s.mod}})
	if err != nil {
		return errors.Join(err, src.Close())
	}
	s.c = src
	if t.opt.Version != cdf5.CDF5 {
		if s.c, err = r.Canonical(&blob.CanonicalOptions{Version: t.opt.Version, Memory: max(s.memory/2, 1<<20)}); err != nil {
			return errors.Join(err, r.Close(), src.Close())
		}
	}
	id := hash("v"+string('0'+byte(t.opt.Version)), s.key)
	s.fact = fact{key: s.key, id: id, line: id, size: s.c.Size(), records: r.Records()}
	s.r, s.src = r, src
	return nil
}
