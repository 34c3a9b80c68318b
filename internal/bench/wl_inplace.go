package bench

import (
	"context"
	"errors"
	"fmt"
)

// What rows of inplace are called.
const (
	inplaceName  = "inplace"
	firstLevel   = "first level of " + levelVar + ": "
	afterConvert = "convert, open, read: "
	coldOpen     = "open: "
)

// inplace is about datasets that are read where they are.
func (s *session) inplace(ctx context.Context) error {
	py, err := s.python(ctx)
	if err != nil && !errors.Is(err, errSkip) {
		return err
	}
	if err != nil {
		s.skip("Python", err)
	} else if s.res.Libraries == nil {
		s.res.Libraries = py.versions()
	}
	large, data := s.fCase("h0", 64)
	many, manyData := s.manyRanks()
	captured := func(run func(context.Context, Job, string, *python) error) func(context.Context, Job, string, *python) error {
		return func(ctx context.Context, _ Job, data string, py *python) error {
			j, err := s.capturedJob("F_h0")
			if err != nil {
				return err
			}
			return run(ctx, j, data, py)
		}
	}
	if err := s.room(6 << 30); err != nil && !s.Quick {
		return err
	}
	for _, part := range []struct {
		job  Job
		data string
		what string
		run  func(context.Context, Job, string, *python) error
	}{
		{large, data, "first level", s.levels},
		{Job{}, "F h0 " + s.capturedSize(), "first level", captured(s.levels)},
		{many, manyData, "open", s.opens},
		{large, data, "whole file", s.wholes},
		{Job{}, "F h0 " + s.capturedSize(), "whole file", captured(s.wholes)},
		{s.meanJob(), s.meanData(), "mean", s.means},
		{large, data, "load", s.load},
	} {
		if s.Quick && part.job.Case == "" {
			continue // as small as the others
		}
		err := s.cell(ctx, part.data+", "+part.what, func(ctx context.Context) error {
			if err := s.timeFor(0.5); err != nil { // a race takes longer than a run in pieces has at its end
				return err
			}
			err := part.run(ctx, part.job, part.data, py)
			if errors.Is(err, errSkip) {
				s.skip(part.data+", "+part.what, err)
				err = nil
			}
			return errors.Join(err, s.sweep())
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// capturedJob is a history of F with the captured maps.
func (s *session) capturedJob(name string) (Job, error) {
	maps, err := s.mapsOf("F")
	j := Job{Case: name, Ranks: 16, Float: true, FileMem: true, Maps: maps}
	if s.Quick {
		j.Ranks = 4
	}
	return j, err
}

// manyRanks is the case whose open counts: as many ranks as in production.
func (s *session) manyRanks() (Job, string) {
	j, _ := s.fCase("h0", 64)
	if j.Ranks = 21600; s.Quick {
		j.Ranks = 40
	}
	return j, manyRanksData(j.Maps.Ne, j.Ranks)
}

func manyRanksData(ne, ranks int) string { return fmt.Sprintf("F h0 ne%d, %d ranks", ne, ranks) }

// levels reads the first level that anybody asks for, in all ways, beside converting the dataset and reading it from the file.
func (s *session) levels(ctx context.Context, job Job, data string, py *python) error {
	list := s.usable(ctx, ways, py)
	t, names, err := s.datasets(ctx, job, 0)
	if err != nil {
		return err
	}
	level := t.c.Shape(t.c.VarIndex(levelVar))[0] / 2
	out := s.path("converted.nc")
	var all []runner
	for _, l := range layouts {
		for _, w := range list {
			all = append(all, s.runnerOf(w, py, job, data, firstLevel, l, names[l], level))
		}
		for _, w := range s.usable(ctx, convertedBy, py) {
			row := &Row{Data: data, What: afterConvert + w.name, Who: l.String(), Ranks: job.Ranks}
			all = append(all, runner{row: row, clear: func() error { return removeDataset(out) }, run: func(ctx context.Context) (t Took, err error) {
				if row.Note, err = s.forget(names[l]); err != nil {
					return t, err
				}
				made, err := s.worker(ctx, Work{Op: "convert", Path: names[l], To: out}, false)
				if err != nil {
					return made, err
				}
				if t, err = s.readConverted(ctx, &w, py, out, level); err != nil {
					return t, err
				}
				t.Seconds += made.Seconds
				t.Phases = map[string]float64{"convert": made.Seconds, "open it": t.Phases["open"], "read it": t.Phases["read"]}
				t.CPU, t.Memory = 0, max(made.Memory, t.Memory)
				return t, removeDataset(out)
			}})
		}
	}
	return s.race(ctx, !s.Quick, all...)
}

// readConverted reads a level of the file that was made a moment ago, which is still in memory.
func (s *session) readConverted(ctx context.Context, w *way, py *python, name string, level int64) (Took, error) {
	if w.client != "" {
		return s.worker(ctx, Work{Op: opLevel, Phase: w.client, Path: name, Level: level}, false)
	}
	return py.level(ctx, w.tool, name, level, s.path("level.f4"))
}

// opens opens a dataset of many ranks in all ways.
func (s *session) opens(ctx context.Context, job Job, data string, py *python) error {
	list := s.usable(ctx, append([]way{library}, ways...), py)
	_, names, err := s.datasets(ctx, job, 0)
	if err != nil {
		return err
	}
	var all []runner
	for _, l := range layouts {
		for _, w := range list {
			all = append(all, s.runnerOf(w, py, job, data, coldOpen, l, names[l], -1))
		}
	}
	return s.race(ctx, !s.Quick, all...)
}
