package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// The real program is E3SM-IO. Its output has a time for each phase.
var (
	endToEnd   = regexp.MustCompile(`(?m)^\s*end-to-end time\s+min/max =\s*[0-9.]+\s*/\s*([0-9.]+)`)
	preparing  = regexp.MustCompile(`(?m)^\s*Time of I/O preparing\s+min/max =\s*[0-9.]+\s*/\s*([0-9.]+)`)
	itsLibrary = regexp.MustCompile(`(?m)^\s*\w+ library version\s+=[ \t]*([0-9]\S*)`) // of ADIOS2 it prints uninitialised memory
)

// realWho is the name of its rows, without the version of the library.
func realWho(p Peer) string { return "E3SM-IO, " + p.Name }

func isReal(r *Row) bool { return strings.HasPrefix(r.Who, "E3SM-IO") }

// RunReal runs the real E3SM-IO on the job, whose maps must be one captured file.
func (b *toolbox) RunReal(ctx context.Context, prog string, p Peer, j *Job, tune Tuning, env []string, path string) (Took, error) {
	args, err := realArgs(p, j, path)
	if err != nil {
		return Took{}, err
	}
	out, err := b.run(ctx, j.Ranks, tune.IO, env, append([]string{prog}, args...)...)
	if err != nil {
		return Took{}, err
	}
	return parseReal(out)
}

func realArgs(p Peer, j *Job, path string) ([]string, error) {
	if len(j.Maps.Files) != 1 || strings.HasSuffix(j.Maps.Files[0], ".dat") {
		return nil, fmt.Errorf("the real program wants one captured map file: %w", errSkip)
	}
	api, strategy, _ := strings.Cut(p.prog, "_")
	if p == adios2Blob {
		if api = "adios"; j.Maps.Factor > 1 || j.Case[0] == 'I' {
			return nil, fmt.Errorf("its ADIOS2 driver ignores -e, and of I it writes other bytes: %w", errSkip)
		}
	}
	args := []string{"-a", api, "-x", strategy, "-r", strconv.FormatInt(j.Records, 10), "-y", strconv.FormatInt(j.Flush, 10), "-o", path}
	if _, h, ok := strings.Cut(j.Case, "_h"); ok {
		args = append(args, "-f", h)
	}
	if j.Float {
		args = append(args, "-j")
	}
	if j.Maps.Factor > 1 {
		args = append(args, "-e", strconv.FormatInt(j.Maps.Factor, 10))
	}
	if j.Maps.Slice == "fillers" {
		args = append(args, "-u")
	}
	return append(args, j.Maps.Files[0]), nil
}

// parseReal takes the time from open to close of the slowest rank, without that in which the program makes its data: it does
// so within its clock, and everybody else before.
func parseReal(out []byte) (Took, error) {
	total, err := sumOf(endToEnd, out)
	if err != nil {
		return Took{}, err
	}
	if total <= 0 {
		return Took{}, fmt.Errorf("the real program prints an end-to-end time of %g s: %s", total, lastLine(out))
	}
	making, err := sumOf(preparing, out)
	if err != nil {
		return Took{}, err
	}
	if making >= total {
		return Took{}, fmt.Errorf("the real program prints an end-to-end time of %g s, of which %g s are to prepare", total, making)
	}
	t := Took{Library: "E3SM-IO", Seconds: total - making}
	if m := itsLibrary.FindSubmatch(out); m != nil {
		t.Note = string(m[1])
	}
	return t, nil
}

func sumOf(what *regexp.Regexp, out []byte) (sum float64, err error) {
	m := what.FindAllSubmatch(out, -1)
	if len(m) == 0 {
		return 0, fmt.Errorf("the real program prints no line like %q: %s", what, lastLine(out))
	}
	for _, k := range m {
		s, err := strconv.ParseFloat(string(k[1]), 64)
		if err != nil {
			return 0, err
		}
		sum += s
	}
	return sum, nil
}

// A realProgram is one build of E3SM-IO that can write as a peer does.
type realProgram struct {
	bin  string
	p    Peer
	name string // with the version of the library, if it says that
}

// realOnce runs it once.
func (s *session) realOnce(r realProgram, j *Job) func(context.Context, Tuning) (Took, error) {
	return func(ctx context.Context, tune Tuning) (Took, error) {
		env, err := tune.environ(s.dir)
		if err != nil {
			return Took{}, err
		}
		t, err := s.box.RunReal(ctx, r.bin, r.p, j, tune, env, s.path("real"))
		return t, errors.Join(err, s.removeReal()) // it removes its output itself, but not if it was killed
	}
}

// removeReal removes all that a real program has left: files, and the directory of BP5.
func (s *session) removeReal() error {
	files, err := beginning(s.path("real"))
	for _, f := range files {
		err = errors.Join(err, os.RemoveAll(f))
	}
	return err
}

// realRunner is the real program with its best tuning.
func (s *session) realRunner(ctx context.Context, r realProgram, a against, ranks int) (runner, error) {
	j := a.job
	j.Ranks = ranks
	if _, err := realArgs(r.p, &j, ""); err != nil {
		return runner{}, err
	}
	once := s.realOnce(r, &j)
	var best Tuning
	var err error
	if r.p != adios2Blob { // its driver sets the parameters of the engine itself
		if best, err = s.tune(ctx, r.p, r.name, a.name, ranks, once); err != nil {
			return runner{}, err
		}
	}
	return runner{
		row:    &Row{Data: a.name, What: "write", Who: r.name, Ranks: ranks, As: "processes", Tuning: best.String(), Note: a.reuse()},
		tuning: best,
		run: func(ctx context.Context) (Took, error) {
			t, err := once(ctx, best)
			t.Note = ""
			return t, err
		}}, nil
}

// tryReal runs each real program once for each peer, before the hours that the rest takes: a wrong program is an error now,
// and a program that was built without a library has no rows for that library. Of several programs, only those that
// print different versions of the library are used.
func (s *session) tryReal(ctx context.Context, a against, peers ...Peer) (list []realProgram, err error) {
	seen := map[string]bool{}
	for _, bin := range s.PeerBins {
		var failed []error
		for _, p := range peers {
			j := a.job
			j.Ranks = 1
			r := realProgram{bin, p, realWho(p)}
			if _, err := realArgs(p, &j, ""); err != nil {
				return nil, err
			}
			t, err := s.realOnce(r, &j)(ctx, Tuning{})
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if err != nil {
				failed = append(failed, fmt.Errorf("%s as %s: %w", bin, p.Name, err))
				if p != adios2Blob { // few builds have it
					s.skip(r.name, err)
				}
				continue
			}
			if t.Note != "" {
				r.name += " " + t.Note
			}
			if !seen[r.name] {
				seen[r.name] = true
				list = append(list, r)
			}
		}
		if len(failed) == len(peers) {
			return nil, failed[0]
		}
	}
	return list, nil
}

// sized gives rows of the real program, which counts other bytes, the bytes of blobio's file of the same layout.
func sized(list []runner) []runner {
	for i, r := range list {
		if !isReal(r.row) {
			continue
		}
		who := vcName
		if strings.HasPrefix(r.row.Who, realWho(hdf5Blob)) {
			who = pcName
		}
		for _, q := range list {
			if q.row.Who == who {
				run := r.run
				list[i].run = func(ctx context.Context) (Took, error) {
					t, err := run(ctx)
					t.Bytes = q.row.Bytes
					return t, err
				}
			}
		}
	}
	return list
}
