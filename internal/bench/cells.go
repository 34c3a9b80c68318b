package bench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"blobio/internal/durable"
	"blobio/internal/vfs"
)

// ErrTime says that Options.For is over and some cells are left; the same run with the same Options.Resume goes on with them.
var ErrTime = errors.New("the time is up; the same command goes on with what is left")

// resume takes what an earlier run left in the file, if there is one.
func (s *session) resume() error {
	if s.Resume == "" {
		return nil
	}
	old, err := LoadResults(s.Resume)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if old.FileSystem != s.res.FileSystem || old.Quick != s.res.Quick || old.Runs != s.res.Runs || old.Blobio != s.res.Blobio {
		return pkg.Errorf("%s is of %s, blobio %s, %d runs; this run is of %s, blobio %s, %d runs: what is compared would not be of one kind",
			s.Resume, old.FileSystem, old.Blobio, old.Runs, s.res.FileSystem, s.res.Blobio, s.res.Runs)
	}
	s.res = old
	return nil
}

// save keeps what there is so far in the file of Options.Resume.
func (s *session) save() error {
	if s.Resume == "" {
		return nil
	}
	b, err := s.res.encode()
	if err != nil {
		return err
	}
	return durable.Replace(vfs.OS, s.Resume, b, durable.ReplaceOptions{})
}

// timeFor is ErrTime if the given part of Options.For is not left.
func (s *session) timeFor(part float64) error {
	if s.For > 0 && time.Since(s.began) > time.Duration((1-part)*float64(s.For)) {
		return ErrTime
	}
	return nil
}

// cell does a part of a workload, unless it is there already.
func (s *session) cell(ctx context.Context, name string, f func(context.Context) error) error {
	name = s.name + ": " + name
	if slices.Contains(s.res.Done, name) {
		return nil
	}
	if err := s.timeFor(0); err != nil {
		return err
	}
	if err := f(ctx); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	s.res.Done = append(s.res.Done, name)
	return s.save()
}

// wanted says whether Options.Only names the cell, or none.
func (s *session) wanted(data string, ranks int) bool {
	if len(s.Only) > 0 && !slices.Contains(s.Only, shortData(data)) {
		return false
	}
	return len(s.Ranks) == 0 || slices.Contains(s.Ranks, ranks)
}

// shortData drops how the maps are called, and the records.
func shortData(d string) string {
	f := strings.Split(strings.NewReplacer(" captured", "", " as captured", "", " quick", "").Replace(d), ", ")
	f = slices.DeleteFunc(f, func(s string) bool { return strings.HasSuffix(s, "records") })
	return strings.Join(f, ", ")
}
