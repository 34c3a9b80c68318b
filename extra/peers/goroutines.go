package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"blobio/blob"
)

// against is one set of data for peers.
type against struct {
	name string
	job  Job // without ranks
}

// peerJobs returns the jobs of the marks: E3SM-IO was timed with them on this machine.
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
// compares what it makes with ours, finds its best tuning if none is given.
func (s *session) peerRunner(ctx context.Context, p Peer, a against, ranks int, as *Tuning) (runner, error) {
	j := a.job
	j.Ranks = ranks
	t, err := j.load()
	if err != nil {
		return runner{}, err
	}
	v := &verifier{t: t, box: s.box, dir: s.dir}
	note := "files equal ours"
	if p == adios2Blob || p.plain() {
		note = ""
	}
	if a.job.Case[0] == 'I' && strings.HasSuffix(p.prog, "canonical") {
		note = ""
	} else if err := v.verify(ctx, p, s.box.tunings(p)[0]); errors.Is(err, errSkip) {
		note = ""
	} else if errors.Is(err, errDiffer) { // newer versions of the libraries leave other gaps; that each file is right is for tests
		note = "its file differs from ours"
		s.Log(fmt.Sprintf("%s, %s: %v", a.name, p.Name, err))
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
		if err := os.RemoveAll(path); err != nil {
			return Took{}, err
		}
		return s.box.RunPeer(ctx, p, ranks, tune, job, path)
	}
	var best Tuning
	if as != nil {
		best = *as
	} else if best, err = s.tune(ctx, p, p.Name, a.name, ranks, once); err != nil {
		return runner{}, err
	}
	if r := a.reuse(); r != "" {
		note = strings.Trim(note+"; "+r, "; ")
	}
	return runner{
		row:    &Row{Data: a.name, What: "write", Who: p.Name, Ranks: ranks, As: "processes", Sync: j.Sync, Tuning: best.String(), Note: note},
		tuning: best,
		run:    func(ctx context.Context) (Took, error) { return once(ctx, best) },
		clear:  func() error { return os.RemoveAll(path) },
		bound: func(ctx context.Context, r *Row) error {
			if err := os.RemoveAll(path); err != nil {
				return err
			}
			return s.rawWrites(min(ranks, maxRawWriters), j.Sync)(ctx, r)
		}}, nil
}

// maxRawWriters caps the writers of a bound: more only get into each other's way.
const maxRawWriters = 16

// ourRunner writes with ranks that are goroutines of a process, or processes. Flushes are where the peer
// has them: after each record, and process-centric once at the end, as HDF5 blob keeps all records until then, if the data of all are there.
func (s *session) ourRunner(l blob.Layout, a against, ranks int, processes bool) runner {
	j, note := a.job, a.reuse()
	j.Ranks = ranks
	if l == blob.ProcessCentric && j.Records > 1 && note == "" {
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

// peers: our 16 goroutines against the peers at any number of processes.
func (s *session) peers(ctx context.Context) error {
	if _, err := s.tools(ctx); err != nil {
		return err
	}
	jobs, err := s.peerJobs()
	if err != nil {
		return err
	}
	for _, a := range jobs {
		if err := s.goroutinesAgainst(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) goroutinesAgainst(ctx context.Context, a against) error {
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
			r, err := s.peerRunner(ctx, p, a, n, nil)
			if err != nil {
				return err
			}
			list = append(list, r)
		}
	}
	return s.race(ctx, false, list...)
}
