package main

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"blobio/comm"
	"blobio/internal/base/vfs"
	"blobio/internal/comm/verdict"
	"blobio/scr/redset"
)

// realRedset is the library itself; make builds it where REDSET in the environment is the directory that it is installed in.
var realRedset = Peer{"redset", "redset"}

const (
	opEncode  = "encode"
	opRebuild = "rebuild"

	// loops that only move and combine the bytes that these do
	opFloor        = "floor"
	opFloorRebuild = "floor of a rebuild"
)

// redset: files of processes protected and rebuilt, and checkpoints completed in the caches, against the libraries themselves and a loop
// that only moves and combines.
func (s *session) redset(ctx context.Context) error {
	if _, err := s.tools(ctx); err != nil {
		return err
	}
	if !mpiBuilt {
		return errNoMPI
	}
	if !s.box.Has(realRedset) {
		s.skip(realRedset.Name, errors.New("REDSET in the environment is not the directory of an installed redset"))
	}
	counts, size := []int{2, 4}, int64(256<<20)
	if s.Quick {
		counts, size = counts[:1], 1<<20
	}
	if err := s.room(int64(counts[len(counts)-1]) * size * 3); err != nil {
		return err
	}
	for _, n := range counts {
		for _, scheme := range []redset.Scheme{redset.Single, redset.Partner, redset.XOR, redset.RS} {
			var list []runner
			for _, op := range []string{opEncode, opRebuild} {
				if scheme == redset.Single && op == opRebuild {
					continue // nothing can be
				}
				list = append(list, s.protects(n, scheme, op, size)...)
			}
			if err := s.race(ctx, true, list...); err != nil {
				return err
			}
		}
	}
	if counts = []int{1, 2, 4, 16}; s.Quick {
		counts = counts[:2]
	}
	for _, n := range counts {
		for _, scheme := range []redset.Scheme{redset.Single, redset.Partner, redset.XOR, redset.RS} {
			if n == 1 && scheme != redset.Single {
				continue // no other rank can keep a copy
			}
			list := s.completes(n, scheme, min(size, 1<<30/int64(n)))
			if err := s.race(ctx, true, list...); err != nil {
				return err
			}
		}
	}
	return nil
}

// protects are the rows of an operation: ours, the library's, and its floor.
func (s *session) protects(n int, scheme redset.Scheme, op string, size int64) (list []runner) {
	dir := s.path("set")
	add := func(who string, run func(ctx context.Context) (Took, error)) {
		list = append(list, runner{
			row: &Row{Data: fmt.Sprintf("%d MiB of each rank, %v", size>>20, scheme), What: op, Who: who, Ranks: n, As: "processes", Bytes: size * int64(n)},
			run: run, clear: func() error { return os.RemoveAll(dir) }})
	}
	w := Work{Op: op, Job: Job{Ranks: n}, Path: dir, Scheme: scheme.String(), Bytes: size}
	add("blobio", func(ctx context.Context) (Took, error) { return s.worker(ctx, w, true) })
	if scheme != redset.Single {
		w := w
		w.Op = map[string]string{opEncode: opFloor, opRebuild: opFloorRebuild}[op]
		add("moved and combined only", func(ctx context.Context) (Took, error) { return s.worker(ctx, w, true) })
	}
	if s.box.Has(realRedset) {
		add(realRedset.Name, func(ctx context.Context) (Took, error) {
			out, err := s.box.run(ctx, n, "", nil, filepath.Join(s.box.dir, realRedset.prog), op, scheme.String(), dir, strconv.FormatInt(size, 10))
			if err != nil {
				return Took{}, err
			}
			return decodeTook(out)
		})
	}
	return list
}

// protect does an operation of the workload on one rank for all: the files are there before the clock starts.
func (k *Work) protect(ctx context.Context, e Engine) (took Took, err error) {
	scheme, err := redset.ParseScheme(k.Scheme)
	if err != nil {
		return took, err
	}
	err = e.Run(ctx, func(ctx context.Context, c comm.Comm) error {
		j := &scrJob{dir: k.Path, data: make([][]byte, c.Size())}
		j.data[c.Rank()] = randomParts(k.Bytes, 1)[0]
		if err := j.write(ctx, c, func() error { return nil }); err != nil {
			return err
		}
		o := redset.Options{Scheme: scheme, K: min(2, max(1, c.Size()/2)), Group: fmt.Sprint("node", c.Rank())}
		set, err := redset.New(ctx, c, o)
		if err != nil {
			return err
		}
		run := func() error { return set.Encode(ctx, vfs.OS, []string{j.file(c)}, j.prefix(c)) }
		switch k.Op {
		case opFloor, opFloorRebuild:
			run = func() error { return j.combine(c, o, k.Op, k.Bytes) }
		case opRebuild:
			if err := run(); err != nil {
				return err
			}
			if c.Rank() == 1 {
				if err := j.lose(c); err != nil {
					return err
				}
			}
			run = func() error {
				_, err := redset.Recover(ctx, c, vfs.OS, j.prefix(c), nil)
				return err
			}
		}
		if err := c.Barrier(ctx); err != nil {
			return err
		}
		start, cpu := time.Now(), cpuTime()
		if err := comm.Agree(ctx, c, run()); err != nil {
			return err
		}
		seconds := time.Since(start).Seconds()
		cpu, err = comm.AllreduceOne(ctx, c, cpuTime()-cpu, comm.Sum)
		if c.Rank() == 0 {
			took = Took{Seconds: seconds, CPU: cpu}
		}
		return err
	})
	return took, verdict.FirstCause(err)
}

// combine writes the bytes of a rank: for an encode the payload of its redundancy file, for a rebuild its share of the lost data. It is
// made from pieces of the files of other ranks, read one by one and added up, whatever a scheme would compute of them.
func (j *scrJob) combine(c comm.Comm, o redset.Options, op string, size int64) error {
	n := c.Size()
	ins, outs := 1, 1
	switch o.Scheme {
	case redset.XOR:
		ins = n - 1
	case redset.RS:
		ins, outs = n-o.K, o.K
	}
	chunk := size / int64(ins)
	if op == opFloorRebuild { // a rank has lost an element of each stripe: one for each rank; with PARTNER two files
		outs = 1
		if o.Scheme == redset.Partner {
			chunk = 2 * size / int64(n)
		}
	}
	in := make([]*os.File, ins)
	for i := range in {
		f, err := os.Open(filepath.Join(j.dir, fmt.Sprint((c.Rank()+1+i)%n), filepath.Base(j.file(c))))
		if err != nil {
			return err
		}
		defer f.Close()
		in[i] = f
	}
	out, err := os.Create(j.prefix(c) + "floor")
	if err != nil {
		return err
	}
	defer out.Close()
	sum, b := make([]byte, 256<<10), make([]byte, 256<<10)
	for off := int64(0); off < chunk; off += int64(len(sum)) {
		n := min(int64(len(sum)), chunk-off)
		if _, err := in[0].ReadAt(sum[:n], off); err != nil {
			return err
		}
		for i, f := range in[1:] {
			if _, err := f.ReadAt(b[:n], int64(i+1)*chunk+off); err != nil {
				return err
			}
			subtle.XORBytes(sum[:n], sum[:n], b[:n])
		}
		for i := range outs {
			if _, err := out.WriteAt(sum[:n], int64(i)*chunk+off); err != nil {
				return err
			}
		}
	}
	return nil
}

// scrJob is one file for each rank, written from memory.
type scrJob struct {
	dir  string
	data [][]byte // by rank
	sync bool
}

func (j *scrJob) folder(c comm.Comm) string { return filepath.Join(j.dir, fmt.Sprint(c.Rank())) }

func (j *scrJob) file(c comm.Comm) string { return filepath.Join(j.folder(c), "data") }

func (j *scrJob) prefix(c comm.Comm) string { return filepath.Join(j.folder(c), "rs.") }

func (j *scrJob) lose(c comm.Comm) error {
	if err := os.RemoveAll(j.folder(c)); err != nil {
		return err
	}
	return os.Mkdir(j.folder(c), 0o777)
}

// write writes the file of a rank, as a solver does.
func (j *scrJob) write(_ context.Context, c comm.Comm, clock func() error) error {
	if err := os.MkdirAll(j.folder(c), 0o777); err != nil {
		return err
	}
	if err := clock(); err != nil {
		return err
	}
	return writeBlocks(j.file(c), j.data[c.Rank()], j.sync)
}

func writeBlocks(name string, data []byte, sync bool) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	for len(data) > 0 {
		n, err := f.Write(data[:min(len(data), 1<<20)])
		if err != nil {
			return err
		}
		data = data[n:]
	}
	if sync {
		return f.Sync()
	}
	return nil
}

// randomParts returns n parts of random bytes, size in all.
func randomParts(size int64, n int) [][]byte {
	rng := rand.NewChaCha8([32]byte{3})
	parts := make([][]byte, n)
	for i := range parts {
		parts[i] = make([]byte, size/int64(n))
		_, _ = rng.Read(parts[i])
	}
	return parts
}
