package bench

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"blobio/comm"
	"blobio/internal/verdict"
	"blobio/internal/vfs"
	"blobio/scr"
	"blobio/scr/config"
	"blobio/scr/redset"
)

// scrRanks is the number of ranks, all of one set, each on a node of its own.
const scrRanks = 4

// scrJob is one file for each rank, written from memory.
type scrJob struct {
	dir  string
	data [][]byte // by rank
	sync bool
}

// scr measures the protection of files by redset, and what a flush costs the application.
func (s *session) scr(ctx context.Context) error {
	size := int64(256 << 20)
	if s.Quick {
		size = 1 << 20
	}
	if err := s.room(3 * scrRanks * size); err != nil {
		return err
	}
	data := randomParts(size*scrRanks, scrRanks)
	for _, sync := range s.syncs() {
		for _, o := range []redset.Options{{Scheme: redset.XOR}, {Scheme: redset.Partner}, {Scheme: redset.RS, K: 2}} {
			j := &scrJob{dir: s.path("set"), data: data, sync: sync}
			if err := s.race(ctx, true, s.redundancy(j, o)...); err != nil {
				return err
			}
			if err := s.sweep(); err != nil {
				return err
			}
		}
		if err := s.race(ctx, true, s.flushes(data, sync)...); err != nil {
			return err
		}
	}
	return nil
}

func (j *scrJob) row(what, who string) *Row {
	size := int64(len(j.data[0]))
	if j.sync {
		what += " and fsync"
	}
	return &Row{Data: fmt.Sprintf("%d MiB of each rank", size>>20), What: what, Who: who, Ranks: scrRanks, Sync: j.sync, Bytes: size * scrRanks}
}

// redundancy are the rows of one scheme. A run of a rebuild finds what the run before it has left, a whole set.
func (s *session) redundancy(j *scrJob, o redset.Options) []runner {
	who := o.Scheme.String()
	encode := func(apart bool) func(context.Context) (Took, error) {
		return func(ctx context.Context) (Took, error) {
			if _, err := j.each(ctx, j.write); err != nil {
				return Took{}, err
			}
			return j.each(ctx, func(ctx context.Context, c comm.Comm, clock func() error) error {
				if apart {
					c = comm.Isolate(c)
				}
				set, err := redset.New(ctx, c, o)
				if err != nil {
					return err
				}
				if err := clock(); err != nil {
					return err
				}
				return set.Encode(ctx, vfs.OS, []string{j.file(c)}, j.prefix(c))
			})
		}
	}
	rebuild := func(o *redset.RecoverOptions) func(context.Context) (Took, error) {
		return func(ctx context.Context) (Took, error) {
			return j.each(ctx, func(ctx context.Context, c comm.Comm, clock func() error) error {
				if c.Rank() == 1 {
					if err := j.lose(c); err != nil {
						return err
					}
				}
				if err := clock(); err != nil {
					return err
				}
				_, err := redset.Recover(ctx, c, vfs.OS, j.prefix(c), o)
				return err
			})
		}
	}
	clear := func() error { return os.RemoveAll(j.dir) }
	raw := s.rawWrites(rawWriting{writers: writers(), sync: j.sync})
	one := func(r *Row) *Row { r.Bytes /= scrRanks; return r }
	return []runner{
		{row: j.row("write the files", who), clear: clear, run: func(ctx context.Context) (Took, error) { return j.each(ctx, j.write) }, bound: raw},
		{row: j.row("encode, by messages", who), clear: clear, run: encode(true), bound: raw},
		{row: j.row("encode", who), clear: clear, run: encode(false), bound: raw},
		{row: one(j.row("rebuild a rank, verify all", who)), run: rebuild(nil), bound: raw},
		{row: one(j.row("copy the file of a rank", who)), run: func(ctx context.Context) (Took, error) { return j.each(ctx, j.copy) }, bound: raw},
		{row: one(j.row("rebuild a rank, its data only", who)), run: rebuild(&redset.RecoverOptions{DataOnly: true}), bound: raw},
	}
}

func (j *scrJob) folder(c comm.Comm) string { return filepath.Join(j.dir, fmt.Sprint(c.Rank())) }
func (j *scrJob) file(c comm.Comm) string   { return filepath.Join(j.folder(c), "data") }
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

// copy copies the file of rank 0 to a fresh one by plain reads and writes.
func (j *scrJob) copy(_ context.Context, c comm.Comm, clock func() error) error {
	if c.Rank() != 0 {
		return clock()
	}
	in, err := os.Open(j.file(c))
	if err != nil {
		return err
	}
	defer in.Close()
	to := filepath.Join(j.folder(c), "copy")
	_ = os.Remove(to)
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer out.Close()
	if err := clock(); err != nil {
		return err
	}
	// Without the methods of files the kernel copies nothing by itself.
	if _, err = io.CopyBuffer(struct{ io.Writer }{out}, struct{ io.Reader }{in}, make([]byte, 256<<10)); err == nil && j.sync {
		err = out.Sync()
	}
	return err
}

// each runs f on all ranks and measures from where all have called clock to the end of the last.
func (j *scrJob) each(ctx context.Context, f func(ctx context.Context, c comm.Comm, clock func() error) error) (took Took, err error) {
	err = comm.Run(ctx, scrRanks, &comm.Options{DeadlockAfter: -1}, func(ctx context.Context, c comm.Comm) error {
		var start time.Time
		var cpu float64
		err := f(ctx, c, func() error {
			err := c.Barrier(ctx)
			start, cpu = time.Now(), cpuTime()
			return err
		})
		if err != nil {
			return err
		}
		if err := c.Barrier(ctx); err != nil {
			return err
		}
		if c.Rank() == 0 {
			took = Took{Seconds: time.Since(start).Seconds(), CPU: cpuTime() - cpu}
		}
		return nil
	})
	return took, verdict.FirstCause(err)
}

// flushes are the rows of a checkpoint in the cache (XOR) that is not flushed, flushed while the application waits, or in
// the background. The time is that from Start until the checkpoint is where it is to be; the phase "complete" is what the
// application waits for in Complete.
func (s *session) flushes(data [][]byte, sync bool) []runner {
	var list []runner
	for _, way := range []struct{ who, flush, async string }{{"no flush", "0", "0"}, {"flush", "1", "0"}, {"flush in the background", "1", "1"}} {
		j := &scrJob{dir: s.path("job"), data: data, sync: sync}
		row := j.row("checkpoint", way.who)
		list = append(list, runner{row: row,
			clear: func() error { return os.RemoveAll(j.dir) },
			run:   func(ctx context.Context) (Took, error) { return j.flushed(ctx, way.flush, way.async) }})
	}
	return list
}

func (j *scrJob) flushed(ctx context.Context, flush, async string) (took Took, err error) {
	prefix := filepath.Join(j.dir, "prefix")
	if err := os.MkdirAll(prefix, 0o777); err != nil {
		return took, err
	}
	err = comm.Run(ctx, scrRanks, &comm.Options{RanksPerNode: 1, DeadlockAfter: -1}, func(ctx context.Context, c comm.Comm) error {
		set, err := config.Load(config.Sources{Environ: []string{
			"SCR_PREFIX=" + prefix, "SCR_CNTL_BASE=/local", "SCR_CACHE_BASE=/local", "SCR_CACHE_BYPASS=0", "SCR_COPY_TYPE=XOR",
			"SCR_USER_NAME=bench", "SCR_JOB_ID=1", "SCR_FLUSH=" + flush, "SCR_FLUSH_ASYNC=" + async, "SCR_FLUSH_ASYNC_BW=0",
		}})
		if err != nil {
			return err
		}
		node := fmt.Sprint("node", c.Rank())
		x, err := scr.Open(ctx, c, &scr.Config{Params: set, Dir: prefix, Node: node, NodeRoot: filepath.Join(j.dir, node),
			NoCacheSync: !j.sync, NoSync: !j.sync, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
		if err != nil {
			return err
		}
		if err := c.Barrier(ctx); err != nil {
			return err
		}
		start := time.Now()
		if err := x.Start(ctx, "ckpt", scr.Checkpoint); err != nil {
			return err
		}
		name, err := x.Route(fmt.Sprintf("ckpt/rank%d", c.Rank()))
		if err != nil {
			return err
		}
		if err := writeBlocks(name, j.data[c.Rank()], false); err != nil {
			return err
		}
		if err := c.Barrier(ctx); err != nil {
			return err
		}
		written := time.Now()
		if err := x.Complete(ctx, true); err != nil {
			return err
		}
		complete := time.Since(written).Seconds()
		if err := x.WaitFlush(ctx, ""); err != nil {
			return err
		}
		if c.Rank() == 0 {
			took.Seconds = time.Since(start).Seconds()
			took.Phases = map[string]float64{"write": written.Sub(start).Seconds(), "complete": complete}
		}
		if flush == "0" {
			return nil // Close would flush
		}
		return x.Close(ctx)
	})
	return took, verdict.FirstCause(err)
}
