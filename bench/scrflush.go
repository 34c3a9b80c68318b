package bench

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"blobio/comm"
	"blobio/scr"
	"blobio/scr/config"
)

// SCRFlushRow is one way of flushing. Times are in seconds, one of each run.
type SCRFlushRow struct {
	Name     string
	Complete []float64 // Complete of a checkpoint, the flush included as far as the application waits for it
	Total    []float64 // from Start until the checkpoint is in the prefix directory
}

// SCRFlush measures what a flush costs the application: Complete without a flush, with one that it waits for, and with
// one in the background, in turns. The ranks write Size bytes each, in a node directory of their own.
func SCRFlush(ctx context.Context, o SCROptions) ([]*SCRFlushRow, error) {
	if o.Size == 0 {
		o.Size = 256 << 20
	}
	if o.Ranks == 0 {
		o.Ranks = 4
	}
	if o.Runs == 0 {
		o.Runs = 5
	}
	rows := []*SCRFlushRow{{Name: "no flush"}, {Name: "synchronous"}, {Name: "in the background"}}
	for run := 0; run <= o.Runs; run++ {
		for i, row := range rows {
			complete, total, err := scrFlushOnce(ctx, o, i)
			if err != nil {
				return nil, err
			}
			if o.Log != nil {
				o.Log(fmt.Sprintf("%s: Complete %.3f s, total %.3f s", row.Name, complete, total))
			}
			if run > 0 { // the first one warms up
				row.Complete, row.Total = append(row.Complete, complete), append(row.Total, total)
			}
		}
	}
	return rows, nil
}

func scrFlushOnce(ctx context.Context, o SCROptions, kind int) (complete, total float64, err error) {
	dir, err := os.MkdirTemp(o.Dir, "scrflush")
	if err != nil {
		return 0, 0, err
	}
	defer os.RemoveAll(dir)
	prefix := filepath.Join(dir, "prefix")
	if err := os.Mkdir(prefix, 0o777); err != nil {
		return 0, 0, err
	}
	flush, async := "1", "0"
	switch kind {
	case 0:
		flush = "0"
	case 2:
		async = "1"
	}
	data := make([]byte, 4<<20)
	for i := range data {
		data[i] = byte(i * 7)
	}
	err = comm.Run(ctx, o.Ranks, &comm.Options{RanksPerNode: 1, DeadlockAfter: -1}, func(ctx context.Context, c comm.Comm) error {
		set, err := config.Load(config.Sources{Environ: []string{
			"SCR_PREFIX=" + prefix, "SCR_CNTL_BASE=/local", "SCR_CACHE_BASE=/local", "SCR_CACHE_BYPASS=0", "SCR_COPY_TYPE=XOR",
			"SCR_USER_NAME=bench", "SCR_JOB_ID=1", "SCR_FLUSH=" + flush, "SCR_FLUSH_ASYNC=" + async, "SCR_FLUSH_ASYNC_BW=0",
		}})
		if err != nil {
			return err
		}
		node := fmt.Sprint("node", c.Rank())
		s, err := scr.Open(ctx, c, &scr.Config{Params: set, Dir: prefix, Node: node, NodeRoot: filepath.Join(dir, node),
			NoCacheSync: !o.Sync, NoSync: !o.Sync, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
		if err != nil {
			return err
		}
		if err := c.Barrier(ctx); err != nil {
			return err
		}
		began := time.Now()
		if err := s.Start(ctx, "ckpt", scr.Checkpoint); err != nil {
			return err
		}
		name, err := s.Route(fmt.Sprintf("ckpt/rank%d", c.Rank()))
		if err != nil {
			return err
		}
		if err := writeFile(name, data, o.Size); err != nil {
			return err
		}
		if err := c.Barrier(ctx); err != nil {
			return err
		}
		at := time.Now()
		if err := s.Complete(ctx, true); err != nil {
			return err
		}
		done := time.Since(at)
		if err := s.WaitFlush(ctx, ""); err != nil {
			return err
		}
		if c.Rank() == 0 {
			complete, total = done.Seconds(), time.Since(began).Seconds()
		}
		if kind == 0 {
			return nil // Close would flush
		}
		return s.Close(ctx)
	})
	return complete, total, err
}

func writeFile(name string, data []byte, size int64) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	for left := size; left > 0; {
		n, err := f.Write(data[:min(int64(len(data)), left)])
		if err != nil {
			f.Close()
			return err
		}
		left -= int64(n)
	}
	return f.Close()
}

// PrintSCRFlush prints the rows as a table, with the two ratios that there are marks for.
func PrintSCRFlush(w io.Writer, rows []*SCRFlushRow) error {
	tw := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	fmt.Fprintln(tw, "| flush\t| Complete, ms, median (min to max)\t| until it is in the prefix directory, ms\t|")
	fmt.Fprintln(tw, "|---\t|---\t|---\t|")
	for _, r := range rows {
		fmt.Fprintf(tw, "| %s\t| %s\t| %s\t|\n", r.Name, msRange(r.Complete), msRange(r.Total))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	none, sync, async := rows[0], rows[1], rows[2]
	cost := median(sync.Complete) - median(none.Complete)
	extra := median(async.Complete) - median(none.Complete)
	_, err := fmt.Fprintf(w, "\nWhat Complete takes longer with a background flush, over what it takes longer with a synchronous one: %.1f %% (mark: under 5 %%). Total time: %.2f of the synchronous (mark: at most 1.10).\n",
		100*extra/cost, median(async.Total)/median(sync.Total))
	return err
}

func msRange(v []float64) string {
	return fmt.Sprintf("%.0f (%.0f to %.0f)", median(v)*1e3, slices.Min(v)*1e3, slices.Max(v)*1e3)
}
