package versioned

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// salvage is what is found in the directory of an array.
type salvage struct {
	fsys  vfs.FS
	dir   string
	files []salvaged
	left  []Finding
}

type salvaged struct {
	info  fileInfo
	about *about
}

func (s *salvage) leave(name, format string, args ...any) {
	s.left = append(s.left, Finding{Severity: fault.Error, File: filepath.Join(s.dir, name), Offset: -1, Msg: fmt.Sprintf(format, args...)})
}

// scan reads all data files of the array.
func (s *salvage) scan(ctx context.Context, array string) error {
	list, err := s.fsys.ReadDir(s.dir)
	if err != nil {
		return err
	}
	for _, e := range list {
		n := e.Name()
		if !dataRE.MatchString(n) || !e.Type().IsRegular() {
			continue
		}
		f, err := s.read(ctx, filepath.Join(s.dir, n))
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
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
		return fmt.Errorf("%s: no seal, and no data file that says which array it belongs to: %w", s.dir, ErrMissing)
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
	r, sum, err := decodeData(f, size)
	if err != nil {
		return nil, err
	}
	x := &salvaged{info: fileInfo{Name: filepath.Base(name), Size: size, Sum: sum}}
	if x.about, err = readAbout(ctx, r, name); err != nil || x.about == nil {
		return x, err
	}
	v := x.about.Versions[len(x.about.Versions)-1]
	x.info.Node, x.info.Gen, x.info.Born, x.info.From = max(x.about.Node, 0), v.Generation, v.Number, 0 // until the tables are read
	for _, id := range r.File().Vars() {
		if id.ID != aboutID && id.ID%2 == 0 {
			x.info.Segs = append(x.info.Segs, int(id.ID/2))
		}
	}
	var gen, born int64
	if fmt.Sscanf(x.info.Name, "g%d-v%d-", &gen, &born); int64(v.Generation) != gen || v.Number != born {
		return nil, fault.At(name, -1, "about", ErrCorrupt, "version %d of generation %d", v.Number, v.Generation)
	}
	return x, nil
}
