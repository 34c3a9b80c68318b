package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/scr"
)

// solver solves the heat equation on a rod of cells. The cells are distributed to ranks, each on its own node.
type solver struct {
	Dir   string // base directory: nodes/ holds the private disks, prefix/ is the parallel file system
	Ranks int
	Cells int // number of cells of each rank
	Steps int
	Every int // number of steps between checkpoints
	Nodes []string
	Pause time.Duration // pause after each step, to leave time for kills
	Say   func(format string, args ...any)
	Log   *slog.Logger // logger of the library
}

func (v *solver) prefix() string { return filepath.Join(v.Dir, "prefix") }

// settings returns the SCR settings that a job script would set as environment variables.
func (v *solver) settings() (*scr.Params, error) {
	return scr.LoadParams(scr.ParamSources{Environ: []string{
		"SCR_PREFIX=" + v.prefix(),
		"SCR_CNTL_BASE=/local", "SCR_CACHE_BASE=/local", "SCR_CACHE_SIZE=2", "SCR_CACHE_BYPASS=0",
		"SCR_COPY_TYPE=XOR", "SCR_SET_SIZE=4",
		"SCR_FLUSH=4", // every fourth checkpoint goes to the parallel file system
		fmt.Sprint("SCR_CHECKPOINT_INTERVAL=", v.Every),
		"SCR_USER_NAME=example", "SCR_JOB_ID=1", "SCR_LOG_ENABLE=1", "SCR_LOG_SYSLOG_ENABLE=0",
	}})
}

// run solves the equation from the newest checkpoint and writes the temperatures to the file result.
func (v *solver) run(ctx context.Context) error {
	if err := os.MkdirAll(v.prefix(), 0o777); err != nil {
		return err
	}
	return comm.Run(ctx, v.Ranks, &comm.Options{RanksPerNode: 1, DeadlockAfter: -1}, func(ctx context.Context, c comm.Comm) error {
		set, err := v.settings()
		if err != nil {
			return err
		}
		node := v.Nodes[c.Rank()]
		s, err := scr.Open(ctx, c, &scr.Config{
			Params: set, Dir: v.prefix(),
			Node: node, NodeRoot: filepath.Join(v.Dir, "nodes", node),
			NoCacheSync: true, // the example kills processes and removes disks, but power never fails
			Logger:      v.Log,
		})
		if err != nil {
			return err
		}
		return v.rank(ctx, c, s)
	})
}

// rank runs the solver on one rank.
func (v *solver) rank(ctx context.Context, c comm.Comm, s *scr.Session) error {
	t := v.initial(c.Rank())
	step, err := v.restart(ctx, c, s, t)
	if err != nil {
		return err
	}
	if c.Rank() == 0 {
		v.Say("at step %d", step)
	}
	for step < v.Steps {
		if err := v.advance(ctx, c, t); err != nil {
			return err
		}
		step++
		time.Sleep(v.Pause)
		need, err := s.NeedCheckpoint(ctx)
		if err != nil {
			return err
		}
		if need {
			if err := v.checkpoint(ctx, c, s, t, step); err != nil {
				return err
			}
		}
		stop, why, err := s.ShouldExit(ctx)
		if err != nil {
			return err
		}
		if stop {
			return fmt.Errorf("stopped at step %d: %s", step, why)
		}
	}
	if err := v.result(ctx, c, t); err != nil {
		return err
	}
	return s.Close(ctx)
}

// initial returns the initial state: a hot spot in the middle of each rank's part.
func (v *solver) initial(rank int) []float64 {
	t := make([]float64, v.Cells)
	for i := range t {
		x := float64(i)/float64(v.Cells) - 0.5
		t[i] = 100 * float64(rank+1) * math.Exp(-40*x*x)
	}
	return t
}

// advance computes one explicit time step. The temperature at the ends of the rod is 0.
func (v *solver) advance(ctx context.Context, c comm.Comm, t []float64) error {
	left, right, err := v.neighbours(ctx, c, t)
	if err != nil {
		return err
	}
	was := left
	for i := range t {
		next := right
		if i+1 < len(t) {
			next = t[i+1]
		}
		was, t[i] = t[i], t[i]+0.25*(was-2*t[i]+next)
	}
	return nil
}

const tagHalo = 1

// neighbours sends the outermost cells of this rank to the neighbouring ranks, and returns the cells received from them.
func (v *solver) neighbours(ctx context.Context, c comm.Comm, t []float64) (left, right float64, err error) {
	cell := func(x float64) []byte { return binary.LittleEndian.AppendUint64(nil, math.Float64bits(x)) }
	r := c.Rank()
	if r > 0 {
		if err := c.Send(ctx, r-1, tagHalo, cell(t[0])); err != nil {
			return 0, 0, err
		}
	}
	if r+1 < c.Size() {
		if err := c.Send(ctx, r+1, tagHalo, cell(t[len(t)-1])); err != nil {
			return 0, 0, err
		}
	}
	recv := func(from int) (float64, error) {
		b, err := c.Recv(ctx, from, tagHalo)
		if err != nil {
			return 0, err
		}
		if len(b) != 8 {
			return 0, fmt.Errorf("halo of %d bytes", len(b))
		}
		return math.Float64frombits(binary.LittleEndian.Uint64(b)), nil
	}
	if r > 0 {
		if left, err = recv(r - 1); err != nil {
			return 0, 0, err
		}
	}
	if r+1 < c.Size() {
		if right, err = recv(r + 1); err != nil {
			return 0, 0, err
		}
	}
	return left, right, nil
}

// base returns the base name of a rank's blob dataset in a checkpoint. The dataset has two files, one subfile and the
// manifest.
func base(step, rank int) string { return fmt.Sprintf("step%d/heat%d", step, rank) }

const subfile, manifest = ".0000", ".manifest"

// checkpoint writes this rank's part of the rod as a blob dataset, to the path that SCR returns.
func (v *solver) checkpoint(ctx context.Context, c comm.Comm, s *scr.Session, t []float64, step int) error {
	if err := s.Start(ctx, fmt.Sprintf("step%d", step), scr.Checkpoint); err != nil {
		return err
	}
	err := v.write(ctx, c, s, t, step)
	if cerr := s.Complete(ctx, err == nil); cerr != nil {
		return errors.Join(err, cerr)
	}
	if c.Rank() == 0 {
		v.Say("checkpoint at step %d", step)
	}
	return err
}

func (v *solver) write(ctx context.Context, c comm.Comm, s *scr.Session, t []float64, step int) error {
	name, err := s.Route(base(step, c.Rank()) + subfile)
	if err != nil {
		return err
	}
	if _, err := s.Route(base(step, c.Rank()) + manifest); err != nil {
		return err
	}
	schema := blob.NewSchema()
	cell := schema.Dim("cell", int64(v.Ranks*v.Cells))
	schema.GlobalAtt("step", int32(step))
	d := schema.Decomp(cell)
	heat := schema.Var("temperature", cdf5.Double, []blob.DimID{cell}, blob.Decomposed(d), blob.Att("units", "K"))
	if err := schema.Err(); err != nil {
		return err
	}
	parts := []blob.Part{{Decomp: d, Runs: v.part(c.Rank())}}
	w, err := blob.Create(ctx, comm.Self(), strings.TrimSuffix(name, subfile), schema, parts, nil)
	if err != nil {
		return err
	}
	if err := blob.Put(w, heat, 0, t); err != nil {
		w.Abort()
		return err
	}
	return w.Close(ctx)
}

func (v *solver) part(rank int) []decomp.Req {
	return []decomp.Req{{Offset: int64(rank * v.Cells), Length: int64(v.Cells)}}
}

// restart reads the newest checkpoint into t and returns its step. If there is no checkpoint, it returns 0.
func (v *solver) restart(ctx context.Context, c comm.Comm, s *scr.Session, t []float64) (int, error) {
	for {
		r, ok, err := s.HaveRestart(ctx)
		if err != nil || !ok {
			return 0, err
		}
		if _, err := s.StartRestart(ctx); err != nil {
			return 0, err
		}
		var step int
		_, err = fmt.Sscanf(r.Name, "step%d", &step)
		if err == nil {
			err = v.read(ctx, c, s, t, step)
		}
		if cerr := s.CompleteRestart(ctx, err == nil); cerr == nil {
			return step, nil
		} else if !errors.Is(cerr, scr.ErrInvalid) {
			return 0, cerr
		}
		// Some rank could not read the checkpoint. Try the next older checkpoint.
		copy(t, v.initial(c.Rank()))
	}
}

func (v *solver) read(ctx context.Context, c comm.Comm, s *scr.Session, t []float64, step int) error {
	name, err := s.Route(base(step, c.Rank()) + subfile)
	if err != nil {
		return err
	}
	if _, err := s.Route(base(step, c.Rank()) + manifest); err != nil {
		return err
	}
	r, err := blob.Open(ctx, strings.TrimSuffix(name, subfile), nil)
	if err != nil {
		return err
	}
	defer r.Close()
	return r.ReadRuns(ctx, "temperature", 0, v.part(c.Rank()), t)
}

// result writes the temperatures of all ranks to the file result.
func (v *solver) result(ctx context.Context, c comm.Comm, t []float64) error {
	b := make([]byte, 0, 8*len(t))
	for _, x := range t {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	parts, err := c.Gather(ctx, 0, b)
	if err != nil {
		return err
	}
	if c.Rank() == 0 {
		var all []byte
		for _, p := range parts {
			all = append(all, p...)
		}
		name := filepath.Join(v.Dir, "result")
		if err = os.WriteFile(name+".tmp", all, 0o666); err == nil {
			err = os.Rename(name+".tmp", name)
		}
	}
	return comm.Agree(ctx, c, err)
}

// done reports whether the file result exists.
func (v *solver) done() (bool, error) {
	_, err := os.Stat(filepath.Join(v.Dir, "result"))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
