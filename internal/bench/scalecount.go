package bench

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/e3smcases"
	"blobio/internal/dyn"
	"blobio/internal/verdict"
	"blobio/subfile"
)

// scaleCounts are what a rank of a write has to do with others, counted in a run of few ranks without a common heap:
// one flush of F h0, a subfile to a node. Create, Put, Flush and Close are in it; what another flush adds, and reading, are beside.
type scaleCounts struct {
	Ranks        int   `json:"ranks"`
	RanksPerNode int   `json:"ranks_per_node"`
	World        int64 `json:"world_collectives"`   // that all ranks take part in, of the rank that has most
	Subfile      int64 `json:"subfile_collectives"` // of the ranks of a subfile or node
	Sent         int64 `json:"bytes"`               // most that a rank gives to collectives, beside the data
	Gathered     int64 `json:"gathered"`            // most that a rank gets of the other ranks of its subfile by Allgather
	Told         int64 `json:"told"`                // what rank 0 gathers at Close, of all
	NextWorld    int64 `json:"next_world"`          // collectives of all ranks that a flush of the same puts adds, for another record
	NextSubfile  int64 `json:"next_subfile"`        // of a subfile's
	NextSent     int64 `json:"next_bytes"`
	OpenWorld    int64 `json:"open_world"` // collectives to open; to read what each rank wrote takes none
}

// tally counts for one rank.
type tally struct {
	world, sub           int64
	sent, gathered, told int64
}

// counted is a Comm that counts.
type counted struct {
	comm.Comm
	t     *tally
	world bool
}

func (c counted) tick(n int) {
	if c.world {
		c.t.world++
	} else {
		c.t.sub++
	}
	c.t.sent += int64(n)
}

func (c counted) Apart() bool { return true }

func (c counted) SharedMemory(ctx context.Context, n int) (comm.Memory, error) {
	c.tick(0)
	return comm.SharedMemory(ctx, c.Comm, n)
}

func (c counted) Barrier(ctx context.Context) error { c.tick(0); return c.Comm.Barrier(ctx) }

func (c counted) Bcast(ctx context.Context, root int, b []byte) ([]byte, error) {
	c.tick(len(b))
	return c.Comm.Bcast(ctx, root, b)
}

func (c counted) Gather(ctx context.Context, root int, b []byte) ([][]byte, error) {
	c.tick(len(b))
	all, err := c.Comm.Gather(ctx, root, b)
	for _, x := range all {
		c.t.told += int64(len(x))
	}
	return all, err
}

func (c counted) Allgather(ctx context.Context, b []byte) ([][]byte, error) {
	c.tick(len(b))
	all, err := c.Comm.Allgather(ctx, b)
	for _, x := range all {
		c.t.gathered += int64(len(x))
	}
	return all, err
}

func (c counted) AllreduceInt64(ctx context.Context, v []int64, op comm.Op) ([]int64, error) {
	c.tick(8 * len(v))
	return c.Comm.AllreduceInt64(ctx, v, op)
}

func (c counted) ExscanInt64(ctx context.Context, v []int64, op comm.Op) ([]int64, error) {
	c.tick(8 * len(v))
	return c.Comm.ExscanInt64(ctx, v, op)
}

func (c counted) Share(ctx context.Context, v any) ([]any, error) {
	return c.Comm.Share(ctx, v) // without a common heap nothing is sent
}

func (c counted) Split(ctx context.Context, color, key int) (comm.Comm, error) {
	c.tick(16)
	sub, err := c.Comm.Split(ctx, color, key)
	return counted{sub, c.t, false}, err
}

func (c counted) SplitNode(ctx context.Context) (comm.Comm, error) {
	c.tick(16)
	sub, err := c.Comm.SplitNode(ctx)
	return counted{sub, c.t, false}, err
}

// countScale counts by runs in a directory of its own below dir, which is removed: with one flush, two and three.
func countScale(ctx context.Context, dir string, ranks, perNode int, l blob.Layout) (n scaleCounts, err error) {
	own, err := os.MkdirTemp(dir, "blobio-scale-")
	if err != nil {
		return n, err
	}
	defer func() {
		if rerr := os.RemoveAll(own); err == nil {
			err = rerr
		}
	}()
	t, err := (&Job{Case: "F_h0", Ranks: ranks, Float: true, FileMem: true, Maps: MapSource{Ne: 4, Levels: 4}}).load()
	if err != nil {
		return n, err
	}
	name := filepath.Join(own, "x")
	if n, err = t.count(ctx, name, perNode, 1, l); err != nil {
		return n, err
	}
	few, err := t.count(ctx, name, perNode, 2, l)
	if err != nil {
		return n, err
	}
	many, err := t.count(ctx, name, perNode, 3, l)
	n.NextWorld, n.NextSubfile, n.NextSent = many.World-few.World, many.Subfile-few.Subfile, many.Sent-few.Sent
	return n, err
}

// count counts in one run with some flushes, each of one record; fixed variables are in the first. That of one flush is read, too.
func (t *task) count(ctx context.Context, name string, perNode int, flushes int64, l blob.Layout) (n scaleCounts, err error) {
	var mu sync.Mutex
	n = scaleCounts{Ranks: t.Ranks, RanksPerNode: perNode}
	err = comm.Run(ctx, t.Ranks, &comm.Options{RanksPerNode: perNode}, func(ctx context.Context, c comm.Comm) error {
		data, err := t.fill(c.Rank())
		if err != nil {
			return err
		}
		my := new(tally)
		o := t.options(l)
		o.Subfiles, o.Grouping = 0, subfile.ByNode
		o.Records = 0
		if l == blob.ProcessCentric {
			o.Records = flushes
		}
		alone := counted{comm.Isolate(c), my, true}
		w, err := blob.Create(ctx, alone, name, t.s, t.parts(c), o)
		if err != nil {
			return err
		}
		for rec := range flushes {
			for v, recs := range data {
				if rec > 0 && !t.c.Vars[v].Record {
					continue
				}
				if recs[0] == nil {
					err = putSame(w, t, v, rec)
				} else {
					err = dyn.Put(w, blob.VarID(v), rec, recs[0])
				}
				if err != nil {
					w.Abort()
					return err
				}
			}
			if err := w.Flush(ctx); err != nil {
				return err
			}
		}
		if err := w.Close(ctx); err != nil {
			return err
		}
		wrote := *my
		if flushes == 1 {
			if err := t.readBack(ctx, alone, name); err != nil {
				return err
			}
		}
		mu.Lock()
		defer mu.Unlock()
		n.World, n.Subfile, n.Sent = max(n.World, wrote.world), max(n.Subfile, wrote.sub), max(n.Sent, wrote.sent)
		n.Gathered, n.Told = max(n.Gathered, wrote.gathered), max(n.Told, wrote.told)
		n.OpenWorld = max(n.OpenWorld, my.world-wrote.world)
		return nil
	})
	return n, verdict.FirstCause(err)
}

// readBack opens a dataset and reads what a rank has of a variable of each map.
func (t *task) readBack(ctx context.Context, c comm.Comm, name string) error {
	r, err := blob.OpenComm(ctx, c, name, nil)
	if err != nil {
		return err
	}
	defer r.Close()
	for d, m := range t.maps {
		cv := &t.c.Vars[slices.IndexFunc(t.c.Vars, func(v e3smcases.Var) bool { return v.Map == d+1 })]
		file, _ := t.types(cv)
		if err := r.ReadRuns(ctx, cv.Name, 0, m.AppendReqs(nil, c.Rank()), cdf5.NewSlice(file, int(m.Count(c.Rank())))); err != nil {
			return err
		}
	}
	return nil
}

// putSame puts a variable that is not decomposed, which all ranks have: the values of record 0, as rank 0 does.
func putSame(w *blob.Writer, t *task, v int, rec int64) error {
	_, mem := t.types(&t.c.Vars[v])
	data := cdf5.NewSlice(mem, int(t.c.Elems(v)))
	if err := t.values.Fill(data, v, 0, t.c.Whole(v), 0); err != nil {
		return err
	}
	return dyn.Put(w, blob.VarID(v), rec, data)
}

// ScaleRow is the cost of one write by many ranks, by the counts of few.
type ScaleRow struct {
	Ranks     int     `json:"ranks"`
	Subfiles  int     `json:"subfiles"`
	Messages  float64 `json:"messages"`   // of a rank: ceil(log2) of its ranks for each collective
	Sent      float64 `json:"bytes"`      // of a rank, without data
	Table     int64   `json:"table"`      // bytes that a rank keeps of the ranks of its subfile
	FileOps   int64   `json:"file_ops"`   // of a subfile: create, allocate, writes, sync, close
	Writes    int64   `json:"writes"`     // of these, the writes of data
	Manifest  int64   `json:"manifest"`   // bytes that rank 0 gathers and writes
	WorldOps  int64   `json:"world_ops"`  // of the metadata server: files made, and the manifest
	DataBytes int64   `json:"data_bytes"` // of a subfile
}

// Extrapolate says what the counts mean for more ranks: a subfile to a node of perNode ranks, data bytes
// and maps of each rank, writes of a subfile, extents of the subfile in the manifest.
func (n *scaleCounts) Extrapolate(ranks, perNode int, rankBytes, writes int64, maps, extents int, l blob.Layout) ScaleRow {
	files := (ranks + perNode - 1) / perNode
	log := func(n int) float64 { return math.Ceil(math.Log2(float64(max(n, 2)))) }
	r := ScaleRow{Ranks: ranks, Subfiles: files, DataBytes: rankBytes * int64(perNode)}
	r.Messages = float64(n.World)*log(ranks) + float64(n.Subfile)*log(perNode)
	r.Sent = float64(n.Sent)
	r.Table = 32 * int64(maps) * int64(perNode)
	r.Writes = writes
	r.FileOps = r.Writes + 5 // create, reserve, header, sync, close
	r.Manifest = int64(files) * int64(8*extents+150)
	if l == blob.ProcessCentric {
		r.Manifest += int64(ranks) * 10 // places of blobs
		r.FileOps++                     // the end of the HDF5 file
	}
	r.Manifest *= 2 // its copy lies in the same file
	r.WorldOps = int64(files) + 2
	if files <= 64 {
		r.WorldOps += int64(files) // renamed
	}
	return r
}
