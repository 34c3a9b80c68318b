package mesh

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"blobio/amr/cello"
	"blobio/blob"
	"blobio/cmd/blobio/internal/dataset"
	"blobio/comm"
	"blobio/internal/amr"
	"blobio/internal/base/par"
	"blobio/internal/cli"
)

// amrOutput holds the output flags of convert and gen.
type amrOutput struct {
	to        string
	files     int
	cut       string
	enzoFloat string
	force     bool
	noSync    bool
	workers   int
	asJSON    bool
}

func (o *amrOutput) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.IntVar(&o.files, "files", 0, "cello: number of files")
	cli.ChoiceFlag(cmd, &o.cut, "cut", "blocks", "cello: quantity that is divided evenly among the files", "blocks", "bytes", "cost")
	cli.ChoiceFlag(cmd, &o.enzoFloat, "enzo-float", "auto", "cello: type of the attributes enzo_*, as in the program that will restart", "auto", "f32", "f64")
	fl.BoolVar(&o.noSync, "no-sync", false, "do not wait until the output is on disk")
	cli.WorkersFlag(cmd, &o.workers, "number of concurrent readers and writers (default: number of CPUs)")
	cli.JSONFlag(cmd, &o.asJSON)
}

// check rejects flags that do not belong to the form, and existing outputs.
func (o *amrOutput) check(cmd *cobra.Command, out string) error {
	for _, name := range []string{"files", "cut", "enzo-float", "order", "for-enzo-e"} {
		if cmd.Flags().Changed(name) && o.to != formCello {
			return cli.Usagef("--%s does not apply to --to %s", name, o.to)
		}
	}
	if f := cmd.Flags().Lookup("grids"); f != nil && f.Changed && o.to != formNetCDF {
		return cli.Usagef("--grids does not belong to --to %s", o.to)
	}
	switch {
	case o.files < 0 || cmd.Flags().Changed("files") && o.files == 0:
		return cli.Usagef("--files %d, want a positive number", o.files)
	case o.force && o.to != formNetCDF:
		return cli.Usagef("--force does not replace directories: remove the directory, or give another name")
	}
	if o.to != formNetCDF {
		if exists(out) {
			return fmt.Errorf("the output %s %w", out, blob.ErrExist)
		}
		return nil
	}
	if o.force {
		if info, err := os.Stat(out); err == nil && info.IsDir() {
			return fmt.Errorf("the output %s is a directory, want the name of a file", out)
		}
		return nil
	}
	return dataset.IsFree(out, false)
}

// celloOptions returns the options of a checkpoint directory.
func (o *amrOutput) celloOptions() cello.Options {
	c := cello.Options{Files: o.files,
		Cut:       o.cut,
		EnzoFloat: map[string]amr.Type{"f32": amr.Float32, "f64": amr.Float64}[o.enzoFloat]}
	if o.noSync {
		c.NoSync = true
	}
	return c
}

// given is an amr.Ordering that consists of a list of indices.
type given []amr.Index

// Name implements amr.Ordering.
func (given) Name() string { return "order_given" }

// Order implements amr.Ordering.
func (g given) Order(*amr.Tree) []amr.Index { return g }

// counted is a source that counts the blocks read from it.
type counted struct {
	cello.Source
	tell func()
}

func (s counted) Block(ctx context.Context, i int) (*amr.Block, error) {
	s.tell()
	return s.Source.Block(ctx, i)
}

// amrSource holds the n blocks that a verb writes; share returns the part of each worker.
type amrSource struct {
	verb  string
	meta  *amr.Meta
	n     int
	share func(rank, ranks int) cello.Source
}

// write writes the blocks of a source as a checkpoint.
func (o *amrOutput) write(ctx context.Context, e *cli.Env, s amrSource, out string, c cello.Options) error {
	m, n := s.meta, s.n
	p := e.NewProgress()
	defer p.End()
	size, done := int64(1), atomic.Int64{} // approximate bytes per block, for the progress bar
	for i := range m.Fields {
		size += m.FieldBytes(&m.Fields[i], c.Ghosts)
	}
	if c.Files == 0 {
		c.Files = max(m.Files, 1) // as many files as the input has
	}
	err := comm.Run(ctx, min(par.Workers(o.workers), n), nil, func(ctx context.Context, w comm.Comm) error {
		src := counted{s.share(w.Rank(), w.Size()), func() { p.At(s.verb, done.Add(1)*size, int64(n)*size) }}
		return cello.WriteFrom(ctx, w, out, m, src, &c)
	})
	if r := (*comm.RankError)(nil); errors.As(err, &r) && r.Err != nil {
		err = r.Err // users do not know the numbers of workers
	}
	if err == nil {
		err = ctx.Err()
	}
	// If out does not exist, the error is about out.partial, which contains foreign files, and
	// stays unchanged.
	if errors.Is(err, blob.ErrExist) && exists(out) {
		err = fmt.Errorf("the output %s %w", out, blob.ErrExist)
	}
	return err
}

// warnUnfit warns that Enzo-E cannot restart from the output.
func (o *amrOutput) warnUnfit(e *cli.Env, m *amrMesh) {
	if m.Dump() {
		return
	}
	for _, d := range m.Unfit() {
		fmt.Fprintf(e.Stderr, "blobio: warning: %s: Enzo-E cannot restart from the output: %s: %s; Enzo-E %s\n", m.path, d.Field, d.Msg, d.Effect)
	}
}

// report prints a description of a written checkpoint.
func (o *amrOutput) report(ctx context.Context, e *cli.Env, out string, took time.Duration) error {
	m, err := openAmr(ctx, out, amrTrust{})
	if err != nil {
		return err
	}
	defer m.Close()
	var size int64
	_, bytes := m.files()
	for _, n := range bytes {
		size += n
	}
	leaves := 0
	for _, b := range m.Blocks() {
		if b.Leaf {
			leaves++
		}
	}
	form := "Cello checkpoint"
	if m.Dump() {
		form = "Cello dump"
	}
	o.warnUnfit(e, m)
	return o.print(e, &amrWritten{Path: out, Form: formCello, kind: form, Blocks: len(m.Blocks()), Leaves: leaves, Files: len(bytes), Bytes: size}, took)
}

// amrWritten describes a written mesh.
type amrWritten struct {
	kind    string  // Form in words
	Blocks  int     `json:"blocks"`
	Bytes   int64   `json:"bytes"`
	Files   int     `json:"files"`
	Form    string  `json:"form"`
	Leaves  int     `json:"leaves"`
	Rate    float64 `json:"mib_per_second"`
	Path    string  `json:"path"`
	Seconds float64 `json:"seconds"`
}

// print prints the description.
func (o *amrOutput) print(e *cli.Env, w *amrWritten, took time.Duration) error {
	w.Seconds = took.Seconds()
	w.Rate = float64(w.Bytes) / (1 << 20) / max(w.Seconds, 1e-9)
	if o.asJSON {
		return e.PrintJSON(w)
	}
	fmt.Fprintf(e.Out, "%s: %s, %s (%d leaves), %s, %s in %.2f s, %.0f MiB/s\n", w.Path, w.kind, cli.Plural(w.Blocks, "block"), w.Leaves, cli.Plural(w.Files, "file"), cli.HumanBytes(w.Bytes), w.Seconds, w.Rate)
	return nil
}
