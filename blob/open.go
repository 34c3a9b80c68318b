package blob

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"blobio/comm"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/subfile"
)

// OpenOptions of Open. The zero value, or nil, means the defaults.
type OpenOptions struct {
	AllowMissing bool  // open a dataset of which subfiles are missing (Reader.Missing), or a canonical file that ends early: what is not there reads as fill values, and variables that only missing subfiles have are left out. Of variable-centric subfiles without a manifest that differ in their number of records, those that all have are read
	MissingLater bool  // of a dataset with a manifest, subfiles that are missing or whose header is damaged are an error of what reads their elements, and not of Open, as long as one is left; of missing ones AllowMissing wins
	Memory       int64 // cap of buffers for reading, in bytes, at least 1 MiB; default 256 MiB. Maps and results are not counted, but for maps of compressed files that would be more than 64 times as long as the file
	Workers      int   // concurrent reads, up to 65,536; default GOMAXPROCS
	MaxOpen      int   // open files; default 256
	MaxHeader    int64 // longest header that is read, in bytes; default 256 MiB. In memory one takes a multiple, up to 20 times as much where it is made to
	Maps         int64 // cap of maps in memory, in bytes, at least 1 MiB: the least recently used are dropped, and read again when they are needed; 0: all are kept

	ZeroFill bool // elements that no blob covers read as zeros instead of fill values

	Verify Verification // which checksums reading compares; default VerifyOnce
	FS     vfs.FS       // that the files are in; nil: the operating system's
}

// Validate says what is wrong with the options.
func (o *OpenOptions) Validate() error {
	switch {
	case o == nil:
		return nil
	case o.Memory != 0 && o.Memory < 1<<20:
		return fault.Usage("OpenOptions.Memory %d, want at least 1 MiB", o.Memory)
	case o.Maps != 0 && o.Maps < 1<<20:
		return fault.Usage("OpenOptions.Maps %d, want at least 1 MiB", o.Maps)
	case o.MaxHeader < 0:
		return fault.Usage("OpenOptions.MaxHeader %d, want >= 0", o.MaxHeader)
	case o.Verify > VerifyNever:
		return fault.Usage("OpenOptions.Verify %d is unknown", o.Verify)
	case o.Workers < 0 || o.Workers > maxWorkers || o.MaxOpen < 0:
		return fault.Usage("OpenOptions.Workers %d and MaxOpen %d, want 0 to %d and >= 0", o.Workers, o.MaxOpen, maxWorkers)
	}
	return nil
}

const defaultReadMemory = 256 << 20

func (o *OpenOptions) withDefaults() OpenOptions {
	var v OpenOptions
	if o != nil {
		v = *o
	}
	if v.Memory == 0 {
		v.Memory = defaultReadMemory
	}
	if v.Workers == 0 {
		v.Workers = runtime.GOMAXPROCS(0)
	}
	return v
}

// Open opens a dataset; path is a base name, one of its subfiles, an ordinary
// netCDF file, or a directory with one dataset. The content of the files
// decides what they are. Of the subfiles only the first is read.
func Open(ctx context.Context, path string, o *OpenOptions) (*Reader, error) {
	return openWith(ctx, path, o, o.files())
}

// files are the knobs of what reads.
func (o *OpenOptions) files() (k knobs) {
	if o != nil {
		k.fs = o.FS
	}
	return k
}

func openWith(ctx context.Context, path string, o *OpenOptions, k knobs) (*Reader, error) {
	return openAfter(ctx, path, o, k, nil)
}

// openAfter is openWith where an earlier state of the dataset may be open.
func openAfter(ctx context.Context, path string, o *OpenOptions, k knobs, before *Reader) (*Reader, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	opt, fsys := o.withDefaults(), vfs.OrOS(k.fs)
	looks := 0
	for try := 1; ; try++ {
		r, was, err := openOnce(fsys, path, opt, before)
		if err == nil {
			return r, nil
		}
		// A writer may have replaced the dataset while it was looked at. An error of the file system is none of that.
		if !isState(err) {
			return nil, err
		}
		_, now := look(fsys, path)
		late := looks < maxLooks && !fsys.Local(path) &&
			(was.record() != nil && !errors.Is(err, ErrNotCommitted) || between(fsys, path, err))
		switch same := now.same(was); {
		case try == maxOpens || same && !late:
			return nil, err
		case same: // perhaps a record that is no more, and files that are newer
			looks++
			time.Sleep(lookAgain)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}

// between says of an error that path is being replaced by another client of a network file system: it is in the directory, and yet there is no such file,
// or one that has just gone.
func between(fsys vfs.FS, path string, err error) bool {
	if errors.Is(err, vfs.ErrStale) {
		return true
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	entries, err := fsys.ReadDir(filepath.Dir(path))
	return err == nil && slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == filepath.Base(path) })
}

// isState says whether an error may be about files that are there at one moment and not at the next. A header that cannot be read is none that is wrong.
func isState(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrMissing) || errors.Is(err, ErrNotCommitted) || errors.Is(err, vfs.ErrStale) ||
		errors.As(err, new(*FormatError)) && !errors.As(err, new(*fs.PathError))
}

// maxOpens bounds how often Open looks again at a dataset that is replaced all the time.
const maxOpens = 1000

func openOnce(fsys vfs.FS, path string, opt OpenOptions, was *Reader) (*Reader, standing, error) {
	r := &Reader{opt: opt, fs: fsys, refs: 1, known: newKnown()}
	found, st := look(fsys, path)
	if st.err != nil {
		return nil, st, st.err
	}
	r.base = found.Base
	r.pool = subfile.NewPool(watched{fsys, r}, opt.MaxOpen)
	err := r.open(found, st, was)
	if err == nil {
		err = knowsName(fsys, path, found, r.wanted())
	}
	if err != nil {
		r.pool.Close()
		return nil, st, err
	}
	return r, st, nil
}

// knowsName refuses a path that is the name of a subfile which is not there and is none of those that the dataset wants. One that is missing names
// its dataset still: whether that is an error, OpenOptions decide.
func knowsName(fsys vfs.FS, path string, found *subfile.Set, wanted iter.Seq[string]) error {
	base, i, ok := subfile.Split(path)
	if !ok || found.Single || base != found.Base || found.Members[i] != "" || found.Partials[i] != "" {
		return nil
	}
	if _, err := fsys.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for name := range wanted {
		if filepath.Clean(name) == filepath.Clean(subfile.Name(base, i)) {
			return nil
		}
	}
	return fmt.Errorf("%s: %s has no subfile of this name: %w", path, found.Base, fs.ErrNotExist)
}

// wanted are the names of all subfiles, missing ones included.
func (r *Reader) wanted() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, s := range r.sets {
			for _, p := range s.parts {
				if !yield(p.wanted()) {
					return
				}
			}
		}
	}
}

// standing is what the records of a dataset say at one moment, or why that is not known.
type standing struct {
	*subfile.State
	err error
}

// same says whether both are of one record, at the same step of its commit. Without a record that is not known.
func (s standing) same(o standing) bool {
	a, b := s.record(), o.record()
	if a == nil || b == nil {
		return a == b && (s.err == nil) == (o.err == nil)
	}
	return a.ID == b.ID && a.Writer == b.Writer && a.Records == b.Records && a.Log == b.Log && a.Commits == b.Commits && s.Pending == o.Pending
}

func (s standing) record() *subfile.Manifest {
	if s.State == nil {
		return nil
	}
	return s.Manifest
}

// look finds the dataset that path means, and its records.
func look(fsys vfs.FS, path string) (*subfile.Set, standing) {
	found, err := subfile.Find(fsys, path)
	if err != nil || found.Single {
		return found, standing{err: err}
	}
	st, err := subfile.ReadState(fsys, found.Base)
	return found, standing{st, err}
}

// OpenComm is Open for the ranks of c: one rank of each process opens the
// dataset, and the others of the process share its Reader. What it needs of the
// files one process reads for all. Every rank must Close. Collective.
func OpenComm(ctx context.Context, c comm.Comm, path string, o *OpenOptions) (*Reader, error) {
	return openCommWith(ctx, c, path, o, o.files())
}

func openCommWith(ctx context.Context, c comm.Comm, path string, o *OpenOptions, k knobs) (*Reader, error) {
	ctx = comm.In(ctx, "OpenComm")
	here, err := c.Share(ctx, true)
	if err != nil {
		return nil, err
	}
	lead, local := leader(here), 0
	for _, h := range here {
		if h != nil {
			local++
		}
	}
	var r *Reader
	if local < c.Size() {
		r, err = openTogether(ctx, c, path, o, k, lead == c.Rank())
	} else if lead == c.Rank() {
		r, err = openWith(ctx, path, o, k)
	}
	if err == nil && r != nil {
		r.refs = local
	}
	all, serr := c.Share(ctx, r)
	if err == nil {
		err = serr
	}
	if err := comm.Agree(ctx, c, err); err != nil {
		if r != nil {
			r.pool.Close()
		}
		return nil, err
	}
	return all[lead].(*Reader), nil
}

func (r *Reader) open(found *subfile.Set, st standing, was *Reader) error {
	if !found.Single {
		if st.Manifest == nil && len(found.Members) == 0 {
			return fmt.Errorf("%s: only partial subfiles are here: %w", found.Base, ErrNotCommitted)
		}
		r.manifest, r.pending, r.foreign = st.Manifest, st.Pending, st.Manifest == nil
	}
	switch {
	case r.manifest != nil:
		if c := r.manifest.Codec; c != "" && c != manifestCodec {
			return fault.At(subfile.ManifestName(r.base), 0, "codec", ErrUnsupported, "%q, want none or %q", c, manifestCodec)
		}
		for _, si := range r.manifest.Sets {
			s := &set{first: si.First, records: si.Records, places: si.Places()}
			for i := range si.Subfiles {
				name, err := r.finalOrPartial(subfile.Name(filepath.Join(subfile.Dir(found.Base), si.Base), i))
				if err != nil {
					return err
				}
				s.parts = append(s.parts, &filePart{r: r, index: i, info: &si.Subfiles[i], since: si.First, name: name})
			}
			r.sets = append(r.sets, s)
		}
		r.relate()
	default:
		s := &set{}
		if !found.Single {
			var err error
			if found, err = withoutStrays(r.fs, found); err != nil {
				return err
			}
			if !r.opt.AllowMissing {
				if err := orphaned(r.fs, r.base); err != nil {
					return err
				}
			}
		}
		if n := found.Len(); n > len(found.Members)+maxMissing {
			return fault.At(found.Members[n-1], -1, "subfile number", ErrMissing, "%d, but only %d subfiles are here", n-1, len(found.Members))
		}
		for i := range found.Len() {
			s.parts = append(s.parts, &filePart{r: r, index: i, name: found.Members[i]})
		}
		r.sets = []*set{s}
		s.family = &family{home: s}
		r.families = []*family{s.family}
	}
	return r.openFirst(found, was)
}

// relate finds the sets that have the same maps, by the manifest.
func (r *Reader) relate() {
	for k, s := range r.sets {
		si := &r.manifest.Sets[k]
		ranks, prints := r.manifest.MapsOf(si)
		for _, f := range r.families {
			if r.manifest.SameMaps(&r.manifest.Sets[f.at], ranks, len(si.Subfiles), prints) {
				s.family = f
				break
			}
		}
		if s.family == nil {
			s.family = &family{home: s, at: k}
			r.families = append(r.families, s.family)
		}
	}
}

// maxMissing is how many subfiles may be missing. It bounds what a number in
// the name of a stray file, or in a damaged header, costs.
const maxMissing = 1 << 16

// finalOrPartial returns the name under which a subfile is there: while a
// commit is pending, those that are not renamed yet have their partial name.
// Under its final name there may be a file of the dataset that is being
// replaced, so it must be known that there is no partial one.
func (r *Reader) finalOrPartial(name string) (string, error) {
	if !r.pending {
		return name, nil
	}
	partial := subfile.PartialBy(name, r.manifest.Writer)
	_, err := r.fs.Stat(partial)
	switch {
	case err == nil:
		return partial, nil
	case isGone(err):
		return name, nil
	}
	return name, fmt.Errorf("%s: %w", partial, err)
}

func firstMissing(found *subfile.Set, base string) string {
	for i := 0; ; i++ {
		if found.Members[i] == "" {
			return subfile.Name(base, i)
		}
	}
}

// isGone says whether a stat error means that the file is not there.
func isGone(err error) bool { return errors.Is(err, fs.ErrNotExist) }
