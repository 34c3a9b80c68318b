package bench

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"blobio/blob"
)

// What rows of whole files are called. Their bytes are those of the canonical file.
const (
	wholeMount    = "whole file: dd through the mount"
	wholePass     = "whole file: dd through a pass-through"
	wholeReadAt   = "whole file: ReadAt of 4 MiB"
	wholeConvert  = "whole file: convert"
	convertedName = "converted file"
)

// wholes reads all of a canonical file once: through a mount beside the converted file through a pass-through that is mounted in the
// same way, and by ReadAt beside a conversion.
func (s *session) wholes(ctx context.Context, job Job, data string, _ *python) error {
	missing := s.canShow(ctx, byMount)
	if missing == nil && either("dd") == "" {
		missing = fmt.Errorf("no dd: %w", errSkip)
	}
	if missing != nil {
		s.skip(wholeMount, missing)
	}
	_, names, err := s.datasets(ctx, job, 0)
	if err != nil {
		return err
	}
	converted, out := s.path("converted.nc"), s.path("out")
	if _, err := (&Work{Op: "convert", Path: names[blob.VariableCentric], To: converted}).convert(ctx); err != nil {
		return err
	}
	size, err := fileBytes(converted)
	if err != nil {
		return err
	}
	var all []runner
	add := func(what, who, name string, clear func() error, run func(ctx context.Context) (Took, error)) {
		row := &Row{Data: data, What: what, Who: who, Ranks: job.Ranks, Bytes: size}
		all = append(all, runner{row: row, clear: clear, run: func(ctx context.Context) (t Took, err error) {
			if row.Note, err = s.forget(name); err != nil {
				return t, err
			}
			if t, err = run(ctx); err == nil && t.Bytes != size {
				err = pkg.Errorf("%d bytes, want %d", t.Bytes, size)
			}
			return t, err
		}})
	}
	if missing == nil {
		for _, l := range layouts {
			add(wholeMount, l.String(), names[l], nil, func(ctx context.Context) (Took, error) { return s.dd(ctx, s.mounting, names[l]) })
		}
		add(wholePass, convertedName, converted, nil, func(ctx context.Context) (Took, error) { return s.dd(ctx, s.passing, converted) })
	}
	for _, l := range layouts {
		add(wholeReadAt, l.String(), names[l], nil, func(ctx context.Context) (Took, error) {
			return s.worker(ctx, Work{Op: opReadAt, Path: names[l]}, false)
		})
		add(wholeConvert, l.String(), names[l], func() error { return removeDataset(out) }, func(ctx context.Context) (Took, error) {
			t, err := s.worker(ctx, Work{Op: "convert", Path: names[l], To: out}, false)
			if err == nil {
				err = removeDataset(out)
			}
			return t, err
		})
	}
	return s.race(ctx, !s.Quick, all...)
}

// ddBytes is what dd says at its end.
var ddBytes = regexp.MustCompile(`(?m)^(\d+) bytes `)

// dd reads a file of the session through a mount that has just been made, 1 MiB at a time. Took.Memory is the peak of the process that shows it.
func (s *session) dd(ctx context.Context, show func(context.Context, string) (*service, error), name string) (t Took, err error) {
	v, err := show(ctx, s.dir)
	if err != nil {
		return t, err
	}
	cmd := exec.CommandContext(ctx, "dd", "if="+filepath.Join(v.at, filepath.Base(name)), "of=/dev/null", "bs=1M")
	cmd.Env = append(cmd.Environ(), "LC_ALL=C")
	start := time.Now()
	said, err := cmd.CombinedOutput()
	t.Seconds = time.Since(start).Seconds()
	peak, eerr := v.end()
	t.Memory = peak
	switch found := ddBytes.FindSubmatch(said); {
	case err != nil:
		return t, pkg.Errorf("dd: %w: %s", err, lastLine(said))
	case eerr != nil:
		return t, eerr
	case found == nil:
		return t, pkg.Errorf("dd says no bytes: %s", lastLine(said))
	default:
		t.Bytes, err = strconv.ParseInt(string(found[1]), 10, 64)
		return t, err
	}
}
