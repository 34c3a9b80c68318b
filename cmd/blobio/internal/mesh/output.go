package mesh

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"blobio/amr"
	"blobio/amr/blocks"
	"blobio/amr/cello"
	"blobio/blob"
	"blobio/cmd/blobio/internal/dataset"
	"blobio/cmd/blobio/internal/decomps"
	"blobio/internal/cli"
)

// amrOutput is where convert and gen write to, and how.
type amrOutput struct {
	to        string
	files     int
	cut       string
	enzoFloat string
	ghosts    bool // gen: make them; convert: see amrConvertFlags
	ranks     int
	subfiles  int
	force     bool
	noSync    bool
	workers   int
	asJSON    bool
}

// Forms of outputs.
var amrForms = map[string]blocks.Form{"canonical": blocks.Canonical, "variable-centric": blocks.VariableCentric, "process-centric": blocks.ProcessCentric}

func (o *amrOutput) add(cmd *cobra.Command, def string) {
	fl := cmd.Flags()
	forms := []string{formCello, "canonical", "variable-centric", "process-centric"}
	if def != formCello {
		forms = append(forms, formYT)
	}
	cli.ChoiceFlag(cmd, &o.to, "to", def, "form of the output", forms...)
	fl.IntVar(&o.files, "files", 0, "cello: number of files")
	cli.ChoiceFlag(cmd, &o.cut, "cut", "blocks", "cello: what is divided evenly among the files", "blocks", "bytes", "cost")
	cli.ChoiceFlag(cmd, &o.enzoFloat, "enzo-float", "auto", "cello: type of the attributes enzo_*, as in the program that will restart", "auto", "f32", "f64")
	fl.IntVar(&o.ranks, "ranks", 0, "blobs: number of ranks (default 1)")
	fl.IntVar(&o.subfiles, "subfiles", 0, "blobs: number of subfiles (default 1)")
	fl.BoolVar(&o.force, "force", false, "replace the output if it is there (not a checkpoint directory)")
	fl.BoolVar(&o.noSync, "no-sync", false, "do not wait until the output is on the disk")
	cli.WorkersFlag(cmd, &o.workers, "concurrent readers and writers (default: number of CPUs)")
	if def == formCello {
		fl.BoolVar(&o.ghosts, "ghosts", false, "fields with their ghost zones")
	}
	cli.JSONFlag(cmd, &o.asJSON)
}

// check refuses flags that do not belong to the form, and outputs that are there.
func (o *amrOutput) check(cmd *cobra.Command, out string) error {
	of := map[string]string{"files": formCello, "cut": formCello, "enzo-float": formCello, "ranks": "blobs", "subfiles": "blobs"}
	for _, name := range []string{"files", "cut", "enzo-float", "ranks", "subfiles"} {
		is := o.to
		if o.to == "variable-centric" || o.to == "process-centric" {
			is = "blobs"
		}
		if cmd.Flags().Changed(name) && of[name] != is {
			return cli.Usagef("--%s does not belong to --to %s", name, o.to)
		}
	}
	switch {
	case o.files < 0 || cmd.Flags().Changed("files") && o.files == 0:
		return cli.Usagef("--files %d, want a positive number", o.files)
	case o.ranks < 0 || o.subfiles < 0:
		return cli.Usagef("--ranks %d --subfiles %d, want positive numbers", o.ranks, o.subfiles)
	case decomps.CheckRanks(o.ranks) != nil:
		return decomps.CheckRanks(o.ranks)
	case o.subfiles > max(o.ranks, 1):
		return cli.Usagef("--subfiles %d for %s", o.subfiles, cli.Plural(max(o.ranks, 1), "rank"))
	case o.force && o.isDir():
		return cli.Usagef("--force is not for directories: remove it, or take another name")
	}
	if o.isDir() {
		if exists(out) {
			return fmt.Errorf("the output %s %w", out, blob.ErrExist)
		}
		return nil
	}
	if o.force {
		if info, err := os.Stat(out); err == nil && info.IsDir() {
			return fmt.Errorf("%s is a directory, the output wants the name of a file", out)
		}
		return nil
	}
	return dataset.IsFree(out, o.to != "canonical")
}

// isDir says that the output is a directory.
func (o *amrOutput) isDir() bool {
	return o.to == formCello || o.to == formYT
}

// celloOptions are those of a checkpoint directory.
func (o *amrOutput) celloOptions() cello.Options {
	c := cello.Options{Files: o.files, Ghosts: o.ghosts,
		Cut:       map[string]cello.Cut{"blocks": cello.CutCount, "bytes": cello.CutBytes, "cost": cello.CutCost}[o.cut],
		EnzoFloat: map[string]amr.Type{"f32": amr.Float32, "f64": amr.Float64}[o.enzoFloat]}
	if o.noSync {
		c.Durability = cello.DurableNone
	}
	return c
}

// write writes the blocks of a source.
func (o *amrOutput) write(ctx context.Context, e *cli.Env, verb string, src blocks.Source, out string) error {
	return o.writeAs(ctx, e, verb, src, out, o.celloOptions(), nil)
}

// writeAs is write with options of a checkpoint, and another order of a dataset.
func (o *amrOutput) writeAs(ctx context.Context, e *cli.Env, verb string, src blocks.Source, out string, c cello.Options, order amr.Ordering) error {
	p := e.NewProgress()
	defer p.End()
	size := blockBytes(ctx, src)
	progress := func(done, total int64) { p.At(verb, done*size, total*size) }
	var err error
	if o.to == formCello {
		if c.Ordering == nil {
			c.Ordering = order
		}
		err = blocks.ToCello(ctx, src, out, &blocks.CelloOptions{Cello: c, Workers: o.workers, Progress: progress})
	} else {
		b := &blocks.Options{Form: amrForms[o.to], Ordering: order, Force: o.force, Workers: o.workers, Progress: progress, Ranks: o.ranks, Subfiles: o.subfiles}
		if o.noSync {
			b.Durability = blob.DurableNone
		}
		err = blocks.Convert(ctx, src, out, b)
	}
	if err == nil {
		err = ctx.Err()
	}
	// A directory may not be there: then it is out.partial, with files of others in it.
	if errors.Is(err, blob.ErrExist) && (!o.isDir() || exists(out)) {
		err = fmt.Errorf("the output %s %w", out, blob.ErrExist)
	}
	return err
}

// blockBytes is about what a block has, for the progress bar.
func blockBytes(ctx context.Context, src blocks.Source) int64 {
	n := int64(1)
	if list, err := src.Heads(ctx, 0, 1); err == nil {
		for _, f := range list[0].Fields {
			n += src.Meta().FieldBytes(f.Spec, f.Ghosts)
		}
	}
	return n
}

// warnUnfit says that Enzo-E cannot restart from what was written.
func (o *amrOutput) warnUnfit(e *cli.Env, m *amrMesh) {
	if m.cello == nil || m.cello.Dump() {
		return
	}
	for _, d := range m.cello.Unfit() {
		fmt.Fprintf(e.Stderr, "blobio: warning: %s: Enzo-E cannot restart from this: %s: %s; it %s\n", m.path, d.Field, d.Msg, d.Effect)
	}
}

// report tells what was written.
func (o *amrOutput) report(ctx context.Context, e *cli.Env, out string, took time.Duration) error {
	m, err := openAmr(ctx, out)
	if err != nil {
		return err
	}
	defer m.close()
	var size int64
	for _, f := range m.files {
		size += f.bytes
	}
	leaves := 0
	for i := range m.blocks {
		if m.blocks[i].leaf {
			leaves++
		}
	}
	rate := float64(size) / (1 << 20) / max(took.Seconds(), 1e-9)
	if o.asJSON {
		o.warnUnfit(e, m)
		return e.PrintJSON(map[string]any{"path": out, "form": m.form, "blocks": len(m.blocks), "leaves": leaves, "files": len(m.files), "bytes": size,
			"seconds": took.Seconds(), "mib_per_second": rate})
	}
	form := "Cello checkpoint"
	if m.cello != nil && m.cello.Dump() {
		form = "Cello dump"
	}
	if m.form != formCello {
		form = "blocks, " + m.form
	}
	o.warnUnfit(e, m)
	fmt.Fprintf(e.Out, "%s: %s, %s (%d leaves), %s, %s in %.2f s, %.0f MiB/s\n", out, form, cli.Plural(len(m.blocks), "block"), leaves, cli.Plural(len(m.files), "file"), cli.HumanBytes(size), took.Seconds(), rate)
	return nil
}
