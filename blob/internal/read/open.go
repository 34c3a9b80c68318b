package read

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

	"blobio/blob/internal/dataset"
	"blobio/comm"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
)

// OpenOptions is blob.OpenOptions.
type OpenOptions struct {
	AllowMissing bool  // accept missing subfiles (see Data.Missing), or a canonical file that ends early: missing elements read as fill values, and variables without any existing subfile are left out. If variable-centric subfiles without a manifest have different numbers of records, the smallest number counts
	MissingLater bool  // with a manifest: Open accepts missing subfiles and subfiles with a damaged header as long as one is left, but reads of their elements fail. For missing subfiles, AllowMissing has precedence
	Memory       int64 // limit of buffers for reading, in bytes, at least 1 MiB; default 256 MiB. Results do not count. Maps do not count either, except maps of a compressed file that are more than 64 times as long as the file
	Workers      int   // concurrent reads, at most 65,536; default GOMAXPROCS
	MaxOpen      int   // maximum number of open files; default 256
	MaxHeader    int64 // maximum length of a header, in bytes; default 256 MiB. In memory a header can take up to 20 times its length
	Maps         int64 // limit of maps in memory, in bytes, at least 1 MiB: the least recently used maps are dropped, and read again when they are needed; 0: all maps are kept

	ZeroFill bool // elements that no blob covers read as zeros instead of fill values

	Verify Verification // which checksums reads compare; default VerifyOnce
	FS     vfs.FS       // file system of the files; nil: the operating system's
}

// Validate checks the options.
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
	case o.Workers < 0 || o.Workers > dataset.MaxWorkers || o.MaxOpen < 0:
		return fault.Usage("OpenOptions.Workers %d, want 0 to %d, and MaxOpen %d, want >= 0", o.Workers, dataset.MaxWorkers, o.MaxOpen)
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

// Open is blob.Open.
func Open(ctx context.Context, path string, o *OpenOptions) (*Reader, error) {
	return OpenWith(ctx, path, o, o.files())
}

// files returns the knobs with the file system of the options.
func (o *OpenOptions) files() (k dataset.Knobs) {
	if o != nil {
		k.Fs = o.FS
	}
	return k
}

func OpenWith(ctx context.Context, path string, o *OpenOptions, k dataset.Knobs) (*Reader, error) {
	return openAfter(ctx, path, o, k, nil)
}

// openAfter is OpenWith for a dataset with an earlier state, before, that is already open; nil: there is none.
func openAfter(ctx context.Context, path string, o *OpenOptions, k dataset.Knobs, before *Data) (*Reader, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	opt, fsys := o.withDefaults(), vfs.OrOS(k.Fs)
	looks := 0
	for try := 1; ; try++ {
		r, was, err := openOnce(fsys, path, opt, before)
		if err == nil {
			return r, nil
		}
		// If a writer has replaced the dataset while it was opened, opening it again can help. After an error of the file system
		// it cannot.
		if !isState(err) {
			return nil, err
		}
		_, now := Look(fsys, path)
		late := looks < maxLooks && !fsys.Local(path) &&
			(was.record() != nil && !errors.Is(err, dataset.ErrNotCommitted) || between(fsys, path, err))
		switch same := now.Same(was); {
		case try == maxOpens || same && !late:
			return nil, err
		case same: // the client may still show the old seal beside newer files
			looks++
			time.Sleep(LookAgain)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}

// between reports whether err may mean that another client of a network file system is just replacing the file path: the
// directory lists the file, but opening it finds no file or a removed file.
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

// isState reports whether an error can have its cause in files that a writer is just changing. A header that cannot be read is
// not such an error.
func isState(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, dataset.ErrMissing) || errors.Is(err, dataset.ErrNotCommitted) || errors.Is(err, vfs.ErrStale) ||
		errors.As(err, new(*dataset.FormatError)) && !errors.As(err, new(*fs.PathError))
}

// maxOpens limits the number of attempts to open a dataset that is being replaced.
const maxOpens = 1000

func openOnce(fsys vfs.FS, path string, opt OpenOptions, was *Data) (*Reader, Standing, error) {
	found, st := Look(fsys, path)
	if st.Err != nil {
		return nil, st, st.Err
	}
	r := newReader(opt, fsys, found.Base)
	err := r.Data.open(found, st, was)
	if err == nil {
		err = KnowsName(fsys, path, found, r.Data.Wanted())
	}
	if err != nil {
		r.Files.Pool.Close()
		return nil, st, err
	}
	return r, st, nil
}

// KnowsName returns an error if path has the form of a subfile name, but no such file exists and the dataset has no subfile of
// this name. The name of a missing subfile is accepted as a name of the dataset; OpenOptions decide whether the missing file is
// an error.
func KnowsName(fsys vfs.FS, path string, found *subfile.Set, wanted iter.Seq[string]) error {
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

// Wanted yields the names of all subfiles, including missing ones.
func (r *Data) Wanted() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, s := range r.Sets {
			for _, p := range s.Parts {
				if !yield(p.Wanted()) {
					return
				}
			}
		}
	}
}

// Standing holds the seals of a dataset at one moment, or the error of reading them.
type Standing struct {
	*subfile.State
	Err error
}

// Same reports whether both have the same seal, at the same step of its commit, or both have none.
func (s Standing) Same(o Standing) bool {
	a, b := s.record(), o.record()
	if a == nil || b == nil {
		return a == b && (s.Err == nil) == (o.Err == nil)
	}
	return a.ID == b.ID && a.Writer == b.Writer && a.Records == b.Records && a.Log == b.Log && a.Commits == b.Commits && s.Pending == o.Pending
}

func (s Standing) record() *subfile.Manifest {
	if s.State == nil {
		return nil
	}
	return s.Manifest
}

// Look finds the dataset of a path and its seals.
func Look(fsys vfs.FS, path string) (*subfile.Set, Standing) {
	found, err := subfile.Find(fsys, path)
	if err != nil || found.Single {
		return found, Standing{Err: err}
	}
	st, err := subfile.ReadState(fsys, found.Base)
	return found, Standing{st, err}
}

// OpenComm is blob.OpenComm.
func OpenComm(ctx context.Context, c comm.Comm, path string, o *OpenOptions) (*Reader, error) {
	return OpenCommWith(ctx, c, path, o, o.files())
}

func OpenCommWith(ctx context.Context, c comm.Comm, path string, o *OpenOptions, k dataset.Knobs) (*Reader, error) {
	ctx = comm.In(ctx, "OpenComm")
	here, err := c.Share(ctx, true)
	if err != nil {
		return nil, err
	}
	lead, local := dataset.Leader(here), 0
	for _, h := range here {
		if h != nil {
			local++
		}
	}
	var r *Reader
	if local < c.Size() {
		r, err = openTogether(ctx, c, path, o, k, lead == c.Rank())
	} else if lead == c.Rank() {
		r, err = OpenWith(ctx, path, o, k)
	}
	if err == nil && r != nil {
		r.Life.refs = local
	}
	all, serr := c.Share(ctx, r)
	if err == nil {
		err = serr
	}
	if err := comm.Agree(ctx, c, err); err != nil {
		if r != nil {
			r.Files.Pool.Close()
		}
		return nil, err
	}
	return all[lead].(*Reader), nil
}

func (r *Data) open(found *subfile.Set, st Standing, was *Data) error {
	if !found.Single {
		if st.Manifest == nil && len(found.Members) == 0 {
			return fmt.Errorf("%s: only partial subfiles exist: %w", found.Base, dataset.ErrNotCommitted)
		}
		r.Files.Manifest, r.Files.Pending, r.Files.foreign = st.Manifest, st.Pending, st.Manifest == nil
	}
	switch {
	case r.Files.Manifest != nil:
		if c := r.Files.Manifest.Codec; c != "" && c != dataset.ManifestCodec {
			return fault.At(subfile.ManifestName(r.Files.Base), 0, "codec", dataset.ErrUnsupported, "%q, want none or %q", c, dataset.ManifestCodec)
		}
		for _, si := range r.Files.Manifest.Sets {
			s := &Set{of: r, First: si.First, Records: si.Records, places: si.Places()}
			for i := range si.Subfiles {
				name, err := r.Files.FinalOrPartial(subfile.Name(filepath.Join(subfile.Dir(found.Base), si.Base), i))
				if err != nil {
					return err
				}
				s.Parts = append(s.Parts, &FilePart{Files: r.Files, Index: i, Info: &si.Subfiles[i], since: si.First, Name: name})
			}
			r.Sets = append(r.Sets, s)
		}
		r.relate()
	default:
		s := &Set{of: r}
		if !found.Single {
			var err error
			if found, err = dataset.WithoutStrays(r.Files.Fs, found); err != nil {
				return err
			}
			if !r.Files.Opt.AllowMissing {
				if err := Orphaned(r.Files.Fs, r.Files.Base); err != nil {
					return err
				}
			}
		}
		if n := found.Len(); n > len(found.Members)+MaxMissing {
			return fault.At(found.Members[n-1], -1, "subfile number", dataset.ErrMissing, "found %d, but only %d subfiles exist", n-1, len(found.Members))
		}
		for i := range found.Len() {
			s.Parts = append(s.Parts, &FilePart{Files: r.Files, Index: i, Name: found.Members[i]})
		}
		r.Sets = []*Set{s}
		s.family = &family{Home: s}
		r.Families = []*family{s.family}
	}
	return r.openFirst(found, was)
}

// relate finds, with the manifest, the sets that have the same maps.
func (r *Data) relate() {
	for k, s := range r.Sets {
		si := &r.Files.Manifest.Sets[k]
		ranks, prints := r.Files.Manifest.MapsOf(si)
		for _, f := range r.Families {
			if r.Files.Manifest.SameMaps(&r.Files.Manifest.Sets[f.at], ranks, len(si.Subfiles), prints) {
				s.family = f
				break
			}
		}
		if s.family == nil {
			s.family = &family{Home: s, at: k}
			r.Families = append(r.Families, s.family)
		}
	}
}

// MaxMissing is the maximum number of missing subfiles. It limits the work that a stray file with a high number in its name, or a
// damaged header, can cause.
const MaxMissing = 1 << 16

// FinalOrPartial returns the current name of a subfile. While a commit is pending, some subfiles still have their partial names,
// and their final names may belong to files of the dataset that is being replaced. Therefore FinalOrPartial returns the final
// name only if there is no file with the partial name.
func (r *Files) FinalOrPartial(name string) (string, error) {
	if !r.Pending {
		return name, nil
	}
	partial := subfile.PartialBy(name, r.Manifest.Writer)
	_, err := r.Fs.Stat(partial)
	switch {
	case err == nil:
		return partial, nil
	case IsGone(err):
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

// IsGone reports whether a stat error means that the file does not exist.
func IsGone(err error) bool { return errors.Is(err, fs.ErrNotExist) }
