package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"blobio/blob"
)

// against is one set of data for peers.
type against struct {
	name string
	job  Job // without ranks
}

// peerJobs are those of the marks: as E3SM-IO was timed here.
func (s *session) peerJobs() ([]against, error) {
	var list []against
	for _, k := range []struct {
		name, letter string
		records      int64
		factor       int64
	}{{"F_h0", "F", 1, 1}, {"F_h0", "F", 1, 10}, {"G", "G", 40, 1}, {"I_h0", "I", 3, 1}} {
		maps, err := s.mapsOf(k.letter)
		if err != nil {
			return nil, err
		}
		maps.Factor = k.factor
		name := strings.Replace(k.name, "_", " ", 1) + " " + s.capturedSize()
		if k.factor > 1 {
			name += fmt.Sprintf(", runs x%d", k.factor)
		}
		if k.records > 1 {
			if s.Quick {
				k.records = 2
			}
			name += fmt.Sprintf(", %d records", k.records)
		}
		list = append(list, against{name, Job{Case: k.name, Maps: maps, Records: k.records, Flush: 1}})
	}
	if s.Quick {
		list = list[2:3]
	}
	return list, nil
}

// peerRunner prepares a peer at a number of ranks: writes the job file,
// compares what it makes with ours, finds its best tuning.
func (s *session) peerRunner(ctx context.Context, p Peer, a against, ranks int) (runner, error) {
	j := a.job
	j.Ranks = ranks
	t, err := j.load()
	if err != nil {
		return runner{}, err
	}
	v := &verifier{t: t, box: s.box, dir: s.dir}
	s.At(fmt.Sprintf("%s: %s, comparing files of %s with %d ranks", s.name, a.name, p.Name, ranks), 0, 0)
	note := "files equal ours"
	if a.job.Case[0] == 'I' && strings.HasSuffix(p.prog, "canonical") {
		note = ""
	} else if err := v.verify(ctx, p, tunings[0]); errors.Is(err, errSkip) {
		note = ""
	} else if err != nil {
		return runner{}, err
	}
	v.remove()
	job := s.path(fmt.Sprintf("job.%s.%d", p.prog, ranks))
	if err := t.writeJobFile(job); err != nil {
		return runner{}, err
	}
	path := s.path("theirs")
	once := func(ctx context.Context, tune Tuning) (Took, error) {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return Took{}, err
		}
		return s.box.RunPeer(ctx, p, ranks, tune, job, path)
	}
	best, err := s.tune(ctx, p, a.name, ranks, once)
	if err != nil {
		return runner{}, err
	}
	return runner{
		row: &Row{Data: a.name, What: "write", Who: p.Name, Ranks: ranks, As: "processes", Sync: j.Sync, Tuning: best.String(), Note: note},
		run: func(ctx context.Context) (Took, error) { return once(ctx, best) },
		clear: func() error {
			if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
				return err
			}
			return nil
		},
		bound: func(ctx context.Context, r *Row) error {
			if err := os.Remove(path); err != nil {
				return err
			}
			return s.rawWrites(min(ranks, maxRawWriters), j.Sync)(ctx, r)
		}}, nil
}

// maxRawWriters caps the writers of a bound: more only get into each other's way.
const maxRawWriters = 16

// tune runs each tuning twice and returns the one with the least time.
func (s *session) tune(ctx context.Context, p Peer, data string, ranks int, once func(context.Context, Tuning) (Took, error)) (Tuning, error) {
	list := tunings
	if p != pnetCDFBlob && p != pnetCDFCanonical { // hints of PnetCDF
		list = slices.DeleteFunc(slices.Clone(list), func(t Tuning) bool { return strings.HasPrefix(strings.Join(t.Hints, " "), "nc_") })
	}
	if s.NoTune {
		return list[0], nil
	}
	if s.Quick {
		list = list[:1]
	}
	best, least := list[0], -1.0
	for i, t := range list {
		for range 2 {
			if err := ctx.Err(); err != nil {
				return best, err
			}
			s.At(fmt.Sprintf("%s: %s, tuning %s with %d ranks", s.name, data, p.Name, ranks), int64(i), int64(len(list)))
			k, err := once(ctx, t)
			if ctx.Err() != nil {
				return best, ctx.Err()
			}
			if err != nil {
				s.Log(fmt.Sprintf("%s with %s: %v", p.Name, t, err))
				break // not every tuning is to be had everywhere
			}
			if least < 0 || k.Seconds < least {
				best, least = t, k.Seconds
			}
			if s.Quick {
				break
			}
		}
	}
	if least < 0 {
		return best, pkg.Errorf("%s runs with no MPI-IO", p.Name)
	}
	return best, nil
}

// realRunner is the real program, if there is one.
func (s *session) realRunner(p Peer, a against, ranks int, tune string) (runner, error) {
	j := a.job
	j.Ranks = ranks
	if _, err := realArgs(p, &j, ""); err != nil {
		return runner{}, err
	}
	io, hints, _ := strings.Cut(tune, " ")
	if hints != "" {
		io, _, _ = strings.Cut(io, " ")
	}
	return runner{
		row: &Row{Data: a.name, What: "write", Who: "E3SM-IO, " + p.Name, Ranks: ranks, As: "processes", Tuning: io},
		run: func(ctx context.Context) (Took, error) {
			t, err := s.box.RunReal(ctx, s.PeerBin, p, &j, Tuning{IO: io}, s.path("real"))
			return t, errors.Join(err, removeDataset(s.path("real"))) // it removes its output itself
		}}, nil
}

// tryReal runs the real program once beside each peer, before the hours that the rest takes: a wrong program is told now,
// and of one that was built without a library the rows that it cannot have are left out.
func (s *session) tryReal(ctx context.Context, a against) (map[Peer]bool, error) {
	works := map[Peer]bool{}
	if s.PeerBin == "" {
		return works, nil
	}
	var failed []error
	for _, p := range []Peer{pnetCDFBlob, hdf5Blob} {
		r, err := s.realRunner(p, a, 1, "")
		if err == nil {
			s.At(fmt.Sprintf("%s: trying %s", s.name, r.row.Who), 0, 0)
			_, err = r.run(ctx)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("%s as %s: %w", s.PeerBin, p.Name, err))
			s.skip("E3SM-IO, "+p.Name, err)
			continue
		}
		works[p] = true
	}
	if len(works) == 0 {
		return nil, failed[0]
	}
	return works, nil
}

// ourRunner writes with ranks that are goroutines of a process, or processes. Flushes are where the peer
// has them: after each record, and process-centric once at the end, as HDF5 blob keeps all records until then.
func (s *session) ourRunner(l blob.Layout, a against, ranks int, processes bool) runner {
	j, note := a.job, ""
	j.Ranks = ranks
	if l == blob.ProcessCentric && j.Records > 1 {
		j.Flush, note = -1, "one flush, as HDF5 blob"
	}
	path := s.path("ours." + l.String())
	as, n := "goroutines", writers()
	if processes {
		as, n = "processes", min(ranks, maxRawWriters)
	}
	return runner{
		row:   &Row{Data: a.name, What: "write", Who: l.String(), Ranks: ranks, As: as, Sync: j.Sync, Note: note},
		clear: func() error { return removeDataset(path) },
		run: func(ctx context.Context) (Took, error) {
			return s.worker(ctx, Work{Job: j, Layout: l.String(), Path: path}, processes)
		},
		bound: func(ctx context.Context, r *Row) error {
			if err := removeDataset(path); err != nil {
				return err
			}
			return s.rawWrites(n, j.Sync)(ctx, r)
		}}
}

// sized lets rows of the real program, which counts other bytes, have those of our peer.
func sized(list []runner) []runner {
	for i, r := range list {
		if !strings.HasPrefix(r.row.Who, "E3SM-IO") {
			continue
		}
		for _, q := range list {
			if strings.HasSuffix(r.row.Who, q.row.Who) && q.row.Ranks == r.row.Ranks {
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

// peers: our 16 goroutines against the peers at any number of processes.
func (s *session) peers(ctx context.Context) error {
	if _, err := s.tools(ctx); err != nil {
		return err
	}
	jobs, err := s.peerJobs()
	if err != nil {
		return err
	}
	works, err := s.tryReal(ctx, jobs[0])
	if err != nil {
		return err
	}
	for _, a := range jobs {
		ranks := 16
		if s.Quick {
			ranks = 4
		}
		var list []runner
		for _, l := range layouts {
			list = append(list, s.ourRunner(l, a, ranks, false))
		}
		for _, p := range []Peer{pnetCDFBlob, hdf5Blob} {
			if !s.box.Has(p) {
				s.skip(p.Name, errors.New("its library is not here"))
				continue
			}
			for _, n := range s.processCounts() {
				r, err := s.peerRunner(ctx, p, a, n)
				if err != nil {
					return err
				}
				list = append(list, r)
				if !works[p] {
					continue
				}
				real, err := s.realRunner(p, a, n, r.row.Tuning)
				if err != nil {
					return err
				}
				list = append(list, real)
			}
		}
		if err := s.race(ctx, false, sized(list)...); err != nil {
			return err
		}
	}
	return nil
}
