package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"blobio/blob"
)

// canonicalRuns is the maximum number of runs in a canonical race: some take half a minute.
const canonicalRuns = 3

const writeConvert = "write and convert"

// canonical: one ordinary file, as users write it today, beside blobs of as many processes.
func (s *session) canonical(ctx context.Context) error {
	if _, err := s.tools(ctx); err != nil {
		return err
	}
	if !mpiBuilt {
		return errNoMPI
	}
	jobs, err := s.peerJobs()
	if err != nil {
		return err
	}
	counts := []int{4, 16}
	if s.Quick {
		counts = counts[:1]
	}
	for i := range jobs {
		jobs[i].job.Distinct = 1
	}
	small := jobs[0]
	small.job.Case, small.job.Records, small.name = "F_h1", 3, "F h1 "+s.capturedSize()+", 3 records" // netCDF-4 as of Debian 12 fails to define F h0
	reals, err := s.tryReal(ctx, jobs[0], pnetCDFCanonical)
	if err != nil {
		return err
	}
	for _, a := range append(jobs, small) {
		if strings.Contains(a.name, "runs x") || a.job.Case[0] == 'I' {
			continue // take minutes
		}
		for _, n := range counts {
			if err := s.canonicalBeside(ctx, a, n, reals); err != nil {
				return err
			}
		}
	}
	return nil
}

// canonicalBeside is one race of blobs and of canonical files by n processes each.
func (s *session) canonicalBeside(ctx context.Context, a against, n int, reals []realProgram) error {
	write := s.ourRunner(blob.VariableCentric, a, n, true)
	list := []runner{write, s.writeAndConvert(a, n)}
	for _, r := range reals {
		real, err := s.realRunner(ctx, r, a, n)
		if err != nil {
			return err
		}
		list = append(list, real)
	}
	for _, p := range []Peer{pnetCDFCanonical, netcdf4Canonical} {
		if p == pnetCDFCanonical && len(reals) > 0 {
			continue
		}
		if !s.box.Has(p) {
			s.skip(p.Name, errors.New("its library is not here"))
			continue
		}
		r, err := s.peerRunner(ctx, p, a, n, nil)
		if ctx.Err() != nil {
			return err
		}
		if err != nil { // netCDF-4 fails with some data
			s.skip(fmt.Sprintf("%s, %s: %s", a.name, ranksText(n, "processes"), p.Name), err)
			continue
		}
		list = append(list, r)
	}
	for i := range list {
		list[i].bound = nil
	}
	runs := min(s.Runs, canonicalRuns)
	return s.raceUntil(ctx, false, func(run int) bool { return run < runs }, sized(list)...)
}

// writeAndConvert writes blobs by n processes, and then makes a canonical file of them in one process with all cores.
func (s *session) writeAndConvert(a against, n int) runner {
	write := s.ourRunner(blob.VariableCentric, a, n, true)
	base, out := s.path("ours."+blob.VariableCentric.String()), s.path("canonical")
	row := *write.row
	row.What = writeConvert
	return runner{row: &row,
		clear: func() error { return errors.Join(removeDataset(out), write.clear()) },
		run: func(ctx context.Context) (Took, error) {
			w, err := write.run(ctx)
			if err != nil {
				return w, err
			}
			k, err := s.worker(ctx, Work{Op: "convert", Path: base, To: out}, false)
			k.Phases = map[string]float64{"write": w.Seconds, "convert": k.Seconds}
			k.Seconds += w.Seconds
			k.Memory, k.CPU, k.Data = max(k.Memory, w.Memory), k.CPU+w.CPU, w.Data
			return k, err
		}}
}
