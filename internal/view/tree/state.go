package tree

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"strings"
	"sync"
	"time"

	"blobio/blob"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
)

// A state is a dataset's state as shown by its directory, with few reads.
type state struct {
	is         bool   // a dataset with this base name exists
	unfinished bool   // a dataset may appear: its files are hidden
	key        string // an equal key means that nothing has changed
	mod        time.Time
	mode       fs.FileMode
	uid, gid   uint32
	form       *form // nil: a blob dataset
}

// of copies time, permissions and owner from a file.
func (s *state) of(info fs.FileInfo) {
	s.mod, s.mode = info.ModTime(), info.Mode().Perm()
	s.uid, s.gid = vfs.Owner(info)
}

// facts caches facts about datasets until the datasets change. Each fact takes at most a few hundred bytes.
type facts struct {
	states memo[known]
	facts  memo[fact]
}

// A memo caches one value for each base name. The value is valid as long as the dataset has the same key. The zero value is
// empty. It is safe for concurrent use.
type memo[T interface{ keyOf() string }] struct {
	mu sync.Mutex
	m  map[string]T
}

func (m *memo[T]) get(name, key string) (v T, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok = m.m[name]
	return v, ok && v.keyOf() == key
}

func (m *memo[T]) keep(name string, v T) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.m == nil || len(m.m) >= maxFacts {
		m.m = map[string]T{}
	}
	m.m[name] = v
}

func (k known) keyOf() string { return k.key }
func (f fact) keyOf() string  { return f.key }

// known describes the files of a dataset. It is valid as long as they have this key.
type known struct {
	key            string
	is, unfinished bool
	log            string // tag of the log to which its writer adds commits; "" if none
	subfiles       int    // for a dataset without a manifest
}

// A fact is derived from the header of a dataset.
type fact struct {
	key     string
	id      string
	line    string
	growing bool
	size    int64
	records int64
	missing []string // missing subfiles
	err     error    // never cached, because the cause may be repaired
}

// maxFacts is the maximum number of datasets with cached facts.
const maxFacts = 1 << 16

// stateOf returns the state of the blob dataset with this base name or, if there is none, of the netCDF form.
func (t *Tree) stateOf(base string) (state, error) {
	st, err := t.blobs(base)
	if err == nil && !st.is && !st.unfinished {
		return t.formed(base)
	}
	return st, err
}

// blobs examines the files of the dataset with this base name. If the records are unreadable or damaged, the dataset still
// exists, and opening it reports the error.
func (t *Tree) blobs(base string) (st state, err error) {
	next, nerr := t.root.Stat(subfile.NextName(base)) // in this order, because a rename turns the .manifest.next into the .manifest
	man, merr := t.root.Stat(subfile.ManifestName(base))
	for _, err := range []error{nerr, merr} {
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return state{}, err
		}
	}
	isFile := func(info fs.FileInfo) bool { return info != nil && info.Mode().IsRegular() }
	if !isFile(next) && !isFile(man) {
		return t.foreign(base, "")
	}
	st.key = "m"
	for _, info := range []fs.FileInfo{next, man} {
		st.key += "|"
		if isFile(info) {
			st.key += vfs.Identity(info)
			st.of(info)
		}
	}
	k, ok := t.facts.states.get(base, st.key)
	if !ok {
		if k, err = t.recorded(base); err != nil {
			return state{}, err
		}
		k.key = st.key
		t.facts.states.keep(base, k)
	}
	if !k.is && !k.unfinished { // other files with names of this kind, or manifests that cannot be recognized because of damage
		return t.foreign(base, st.key)
	}
	st.is, st.unfinished = k.is, k.unfinished
	if k.log == "" {
		return st, nil
	}
	switch log, err := t.root.Stat(subfile.LogName(base, k.log)); { // each commit changes the log but not the manifest
	case err == nil:
		st.key += "|" + vfs.Identity(log)
		if log.ModTime().After(st.mod) {
			st.mod = log.ModTime()
		}
	case !errors.Is(err, fs.ErrNotExist): // the log is removed together with its manifest
		return state{}, err
	}
	return st, nil
}

// recorded reports whether a file with a manifest's name is a manifest.
func (t *Tree) recorded(base string) (k known, err error) {
	if id, log, err := subfile.Peek(t.root, base); err != nil || id != "" {
		return known{is: id != "", log: log}, err
	}
	st, err := subfile.ReadState(t.root, base)
	switch {
	case err == nil:
		return known{is: st.Manifest != nil}, nil
	case errors.Is(err, blob.ErrNotCommitted):
		return known{unfinished: st.Intent != nil || !errors.Is(st.NextErr, blob.ErrNotFormat)}, nil
	case errors.Is(err, blob.ErrNotFormat):
		return known{}, nil
	case fault.Exhausted(err):
	case errors.As(err, new(*blob.FormatError)):
		if k.is, err = vfs.Begins(t.root, subfile.ManifestName(base), vfs.ManifestStart); !k.is && err == nil {
			k.is, err = vfs.Begins(t.root, subfile.NextName(base), vfs.ManifestStart)
		}
		return k, err
	}
	return k, err
}

// foreign examines subfiles without a manifest, written by another program. The first one must exist and be a blob file. key
// identifies the files with names of manifests; "" if there are none. If there are such files, the blobs are a dataset with an
// unreadable manifest.
func (t *Tree) foreign(base, key string) (state, error) {
	first := subfile.Name(base, 0)
	info, err := t.root.Stat(first)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return state{}, nil
	}
	if err != nil {
		return state{}, err
	}
	st := state{key: key + "f|" + vfs.Identity(info)}
	st.of(info)
	k, ok := t.facts.states.get(base, st.key)
	if !ok {
		k = known{key: st.key}
		blobs, err := vfs.Begins(t.root, first, "CDF")
		if !blobs && err == nil {
			blobs, err = vfs.Begins(t.root, first, "\x89HDF")
		}
		if err != nil {
			return state{}, err // it may be readable next time
		}
		if blobs {
			r, err := t.openAny(context.Background(), nil, base, &blob.OpenOptions{FS: t.fs, AllowMissing: true, Memory: 1 << 20, Workers: 1})
			switch {
			case err == nil:
				k.is = r.Form().Layout != blob.Canonical
				k.subfiles, _ = r.Subfiles()
				err = r.Close()
			case fault.Exhausted(err): // not an error of the files
			case errors.Is(err, blob.ErrTooLarge): // opening the dataset reports the error
				k.is, err = true, nil
			case errors.As(err, new(*blob.FormatError)), errors.Is(err, blob.ErrNotCommitted):
				k.is, err = key != "", nil
			}
			if err != nil {
				return state{}, err
			}
		}
		t.facts.states.keep(base, k)
	}
	if st.is = k.is; !k.is {
		return state{}, nil
	}
	var all strings.Builder
	all.WriteString(st.key)
	for i := 1; i < k.subfiles; i++ {
		all.WriteByte('|')
		info, err := t.root.Stat(subfile.Name(base, i))
		if err := exhausted(err); err != nil {
			return state{}, err
		}
		if err != nil {
			continue
		}
		all.WriteString(vfs.Identity(info))
		if info.ModTime().After(st.mod) {
			st.mod = info.ModTime()
		}
	}
	st.key = all.String()
	return st, nil
}

// fact returns the facts about a dataset, and reads its header if necessary.
func (t *Tree) fact(base string, st state) (fact, error) {
	if f, ok := t.facts.facts.get(base, st.key); ok && !t.back(f) {
		return f, nil
	}
	ctx := context.Background()
	s, err := t.acquire(ctx, base, math.MaxInt, func() (state, error) { return t.stateOf(base) })
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, blob.ErrNotCommitted):
		return fact{}, fs.ErrNotExist
	case err != nil:
		return fact{key: st.key, err: err}, nil
	}
	defer t.release(s)
	return s.fact, nil
}
