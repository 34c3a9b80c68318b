package main

import (
	"context"
	"errors"
	"slices"
)

// processCounts returns the numbers of processes of the marks.
func (s *session) processCounts() []int {
	if s.Quick {
		return []int{1, 2}
	}
	return []int{1, 2, 4, 16}
}

// processes: ours under mpirun against the peers at the same number of processes, like for like: the same data in memory, which a later
// record overwrites, the same flushes, and beside them plain writes of the same arrays by as many processes, and
// such writes with the work that big-endian files with checksums ask for.
func (s *session) processes(ctx context.Context) error {
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
	var reals []realProgram
	for i := range jobs {
		jobs[i].job.Distinct = 1
	}
	if reals, err = s.tryReal(ctx, jobs[0], pnetCDFBlob, hdf5Blob, adios2Blob); err != nil {
		return err
	}
	for _, p := range allPeers {
		if !s.box.Has(p) {
			s.skip(p.Name, errors.New("its library is not here"))
		}
	}
	for _, a := range jobs {
		for _, n := range s.processCounts() {
			if err := s.likeForLike(ctx, a, n, reals); err != nil {
				return err
			}
		}
	}
	return nil
}

// likeForLike is one race of all that can write a job, by n processes each.
func (s *session) likeForLike(ctx context.Context, a against, n int, reals []realProgram) error {
	var list []runner
	for _, l := range layouts {
		list = append(list, s.ourRunner(l, a, n, true))
	}
	for _, p := range []Peer{pnetCDFBlob, hdf5Blob, adios2Blob, rawProcesses, sumProcesses} {
		i := slices.IndexFunc(reals, func(r realProgram) bool { return r.p == p })
		for _, r := range reals {
			if r.p != p {
				continue
			}
			real, err := s.realRunner(ctx, r, a, n)
			if errors.Is(err, errSkip) {
				continue
			}
			if err != nil {
				return err
			}
			list = append(list, real)
		}
		if !s.box.Has(p) || i >= 0 && p == pnetCDFBlob {
			continue // the real program reports all that matters; of HDF5 it does not report the memory
		}
		var tune *Tuning
		if i >= 0 && p == hdf5Blob {
			tune = &list[len(list)-1].tuning
		}
		r, err := s.peerRunner(ctx, p, a, n, tune)
		if err != nil {
			return err
		}
		r.bound = nil
		list = append(list, r)
	}
	for i := range list {
		list[i].bound = nil // the raw writes are a row
	}
	if err := s.raceSteadily(ctx, sized(list)...); err != nil {
		return err
	}
	s.besideRaw(a.name, n)
	return nil
}

// besideRaw gives the rows of a race the plain writes of the same race as their bound.
func (s *session) besideRaw(data string, ranks int) {
	i := slices.IndexFunc(s.res.Rows, func(r Row) bool {
		return r.Workload == "processes" && r.Data == data && r.Who == rawProcesses.Name && r.Ranks == ranks
	})
	if i < 0 {
		return
	}
	raw := s.res.Rows[i]
	for i := range s.res.Rows {
		r := &s.res.Rows[i]
		if r.Workload == "processes" && r.Data == data && r.Ranks == ranks && r.Who != raw.Who {
			r.Bounds = []Bound{{What: "raw write", Bytes: raw.Bytes, Seconds: raw.Seconds}}
		}
	}
}

// reuse says of rows what is reused.
func (a *against) reuse() string {
	if a.job.Distinct > 0 && a.job.Distinct < a.job.Records {
		return "one record's buffers reused"
	}
	return ""
}
