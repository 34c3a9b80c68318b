package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"blobio/comm"
	"blobio/internal/comm/verdict"
	"blobio/scr"
	"blobio/scr/redset"
)

// realSCR is SCR itself, which is installed together with its redset. As each rank has to count as a node it needs mounts, and so root.
var realSCR = Peer{"SCR", "scr"}

const opComplete = "complete"

// completes are the rows of a checkpoint that is complete in the caches of nodes of one rank each: ours, SCR's, which sums nothing, and
// SCR's where it is asked for the checksums of the files, as ours always makes.
func (s *session) completes(n int, scheme redset.Scheme, size int64) (list []runner) {
	dir := s.path("job")
	add := func(who string, run func(ctx context.Context) (Took, error)) {
		list = append(list, runner{
			row: &Row{Data: fmt.Sprintf("%d MiB of each rank, %v", size>>20, scheme), What: opComplete, Who: who, Ranks: n, As: "processes", Bytes: size * int64(n)},
			run: run, clear: func() error { return os.RemoveAll(dir) }})
	}
	w := Work{Op: opComplete, Job: Job{Ranks: n}, Path: dir, Scheme: scheme.String(), Bytes: size}
	add("blobio", func(ctx context.Context) (Took, error) { return s.worker(ctx, w, true) })
	if !s.box.Has(realSCR) || os.Geteuid() != 0 {
		return list
	}
	for crc, who := range []string{realSCR.Name, realSCR.Name + ", checksums of files"} {
		add(who, func(ctx context.Context) (Took, error) {
			out, err := s.box.run(ctx, n, "", nil, filepath.Join(s.box.dir, realSCR.prog), scheme.String(), dir, strconv.FormatInt(size, 10), failures(n), strconv.Itoa(crc))
			if err != nil {
				return Took{}, err
			}
			return decodeTook(out)
		})
	}
	return list
}

// failures is the number of ranks of n that may be lost at once, for schemes with a choice.
func failures(n int) string { return strconv.Itoa(min(2, max(1, n/2))) }

// complete takes two checkpoints and measures how long the application waits in Complete of the second. Neither is flushed.
func (k *Work) complete(ctx context.Context, e Engine) (took Took, err error) {
	prefix := filepath.Join(k.Path, "prefix")
	if err := os.MkdirAll(prefix, 0o777); err != nil {
		return took, err
	}
	err = e.Run(ctx, func(ctx context.Context, c comm.Comm) error {
		data := randomParts(k.Bytes, 1)[0]
		set, err := scr.LoadParams(scr.ParamSources{Environ: []string{
			"SCR_PREFIX=" + prefix, "SCR_CNTL_BASE=/local", "SCR_CACHE_BASE=/local", "SCR_CACHE_BYPASS=0", "SCR_CACHE_SIZE=1", "SCR_COPY_TYPE=" + k.Scheme,
			"SCR_SET_FAILURES=" + failures(c.Size()), "SCR_USER_NAME=bench", "SCR_JOB_ID=1", "SCR_FLUSH=0",
		}})
		if err != nil {
			return err
		}
		node := fmt.Sprint("node", c.Rank())
		x, err := scr.Open(ctx, c, &scr.Config{Params: set, Dir: prefix, Node: node, NodeRoot: filepath.Join(k.Path, node), Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
		if err != nil {
			return err
		}
		for i := range 2 {
			name := fmt.Sprint("ckpt.", i)
			if err := x.Start(ctx, name, scr.Checkpoint); err != nil {
				return err
			}
			file, err := x.Route(filepath.Join(name, fmt.Sprint("rank", c.Rank())))
			if err != nil {
				return err
			}
			if err := writeBlocks(file, data, false); err != nil {
				return err
			}
			if err := c.Barrier(ctx); err != nil {
				return err
			}
			start, cpu := time.Now(), cpuTime()
			if err := x.Complete(ctx, true); err != nil {
				return err
			}
			if err := c.Barrier(ctx); err != nil {
				return err
			}
			seconds := time.Since(start).Seconds()
			if cpu, err = comm.AllreduceOne(ctx, c, cpuTime()-cpu, comm.Sum); err != nil {
				return err
			}
			if c.Rank() == 0 {
				took = Took{Seconds: seconds, CPU: cpu}
			}
		}
		return nil // Close would flush
	})
	return took, verdict.FirstCause(err)
}
