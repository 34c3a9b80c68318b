package versioned

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"blobio/ffformat"
	"blobio/internal/fault"
	"blobio/internal/vfs"
)

// salvage is what is found in the directories of an array.
type salvage struct {
	fsys  vfs.FS
	dirs  []string
	files []salvaged
	left  []Finding
	paths map[string][]string // of a data file's name, in all directories
}

type salvaged struct {
	info  fileInfo
	about *about
}

func (s *salvage) leave(name, format string, args ...any) {
	for _, p := range s.paths[name] {
		s.left = append(s.left, Finding{Severity: fault.Error, File: p, Offset: -1, Msg: fault.Text(fmt.Errorf(format, args...))})
	}
}

// scan reads all data files of the array.
func (s *salvage) scan(ctx context.Context, array string) error {
	s.paths = map[string][]string{}
	var names []string
	for _, d := range s.dirs {
		list, err := s.fsys.ReadDir(d)
		if errors.Is(err, fs.ErrNotExist) && len(s.dirs) > 1 {
			continue
		}
		if err != nil {
			return err
		}
		for _, e := range list {
			if n := e.Name(); dataRE.MatchString(n) && e.Type().IsRegular() {
				if s.paths[n] == nil {
					names = append(names, n)
				}
				s.paths[n] = append(s.paths[n], filepath.Join(d, n))
			}
		}
	}
	for _, n := range names {
		var f *salvaged
		var err error
		for _, p := range s.paths[n] { // the first copy that is whole
			if f, err = s.read(ctx, p); err == nil {
				f.info.Node = slices.Index(s.dirs, filepath.Dir(p))
				if f.about != nil && f.about.Node >= 0 && f.about.Node < len(s.dirs) && slices.Contains(s.paths[n], filepath.Join(s.dirs[f.about.Node], n)) {
					f.info.Node = f.about.Node // the others are copies
				}
				break
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
		switch {
		case err != nil:
			s.leave(n, "%v", err)
		case f.about == nil:
			s.leave(n, "does not say what it is of: it was written by an older program")
		case f.about.Spec.Name != array:
			s.leave(n, "is of array %s", f.about.Spec.Name)
		default:
			s.files = append(s.files, *f)
		}
	}
	slices.SortFunc(s.files, func(x, y salvaged) int {
		return cmp.Or(cmp.Compare(x.info.Gen, y.info.Gen), cmp.Compare(x.info.Born, y.info.Born), cmp.Compare(x.info.Node, y.info.Node), cmp.Compare(x.info.Name, y.info.Name))
	})
	if len(s.files) == 0 {
		return pkg.Errorf("%s: no seal, and no data file that says which array it belongs to: %w", s.dirs[0], ErrMissing)
	}
	return nil
}

// read takes a file for what it says it is; its metadata, and what it says, are verified.
func (s *salvage) read(ctx context.Context, name string) (*salvaged, error) {
	f, err := s.fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	r, err := ffformat.NewReader(f, size, name, &ffformat.DecodeOptions{Layout: ffformat.LayoutF})
	if err != nil {
		return nil, err
	}
	sum, err := r.File().MetaSum()
	if err != nil {
		return nil, err
	}
	x := &salvaged{info: fileInfo{Name: filepath.Base(name), Size: size, Sum: hex.EncodeToString(sum[:])}}
	if x.about, err = readAbout(ctx, r, name); err != nil || x.about == nil {
		return x, err
	}
	v := x.about.Versions[len(x.about.Versions)-1]
	x.info.Gen, x.info.Born, x.info.From = v.Gen, v.Number, 0 // until the tables are read
	for _, id := range r.File().Vars() {
		if id.ID != aboutID && id.ID%2 == 0 {
			x.info.Segs = append(x.info.Segs, int(id.ID/2))
		}
	}
	var gen, born int64
	if fmt.Sscanf(x.info.Name, "g%d-v%d-", &gen, &born); int64(v.Gen) != gen || v.Number != born {
		return nil, pkg.At(name, -1, "about", ErrCorrupt, "version %d of generation %d", v.Number, v.Gen)
	}
	return x, nil
}
