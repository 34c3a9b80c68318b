package fti

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"blobio/ffformat"
	"blobio/internal/base/durable"
	"blobio/internal/base/vfs"
	"blobio/internal/cli"
)

type ffConvertFlags struct {
	layout, hash  string
	blockSize     int64
	checkpoint    int32
	workers       int
	compact       bool
	force, noSync bool
	asJSON        bool
}

func newFFConvert(e *cli.Env) *cobra.Command {
	var f ffConvertFlags
	cmd := &cobra.Command{
		Use:   "convert IN OUT",
		Short: "Convert a checkpoint file to another layout or other hashes",
		Long: `Convert a checkpoint to other hashes, or to the layout of another FTI version, so that this
version can restart from the checkpoint. Containers do not change. All data are verified. A
damaged file is not converted (use "ff repair").

A file of FTI's POSIX mode becomes an FTI-FF file of layout F, or of the layout of --layout.

The output is a file of level 1 or 4. Sizes of partner files (levels 2 and 3) are dropped.
Layout E holds less than 2 GiB.

Variables that shrink or grow leave many containers and dead space. --compact writes one block
with one container for each variable, without dead space.`,
		Example: `  blobio ff convert --layout A Ckpt7-Rank0.fti old/Ckpt7-Rank0.fti   # for FTI v1.1
  blobio ff convert --hash md5 fast.fti Ckpt7-Rank0.fti              # readable by FTI
  blobio ff convert --compact dCPFile-Rank0.fti small.fti            # without dead space`,
		Args: cli.ExactArgs(2, "an input and an output"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, e, args[0], args[1])
		},
	}
	fl := cmd.Flags()
	f.layout, f.hash = "same", "same"
	cli.ChoiceFlag(cmd, &f.layout, "layout", "same", "layout of the output: same, A (FTI v1.1), B (v1.2), C0, C (v1.3), D (v1.4), E (v1.5, v1.6) or F (newer)",
		append([]string{"same"}, ffLayouts()...)...)
	cli.ChoiceFlag(cmd, &f.hash, "hash", "same", "hashes of the output: same, md5 (required by FTI) or fast (readable only by blobio, layout F)", "same", "md5", "fast")
	fl.Var(cli.SizeFlag(&f.blockSize), "block-size", "--hash fast: size of a hashed block in bytes (default 16K)")
	fl.Int32Var(&f.checkpoint, "checkpoint", 0, "number of the checkpoint, if the input does not store it (layouts A, B, C0)")
	cli.WorkersFlag(cmd, &f.workers, "number of chunks copied in parallel (default: number of CPUs)")
	fl.BoolVar(&f.force, "force", false, "replace an existing output")
	fl.BoolVar(&f.noSync, "no-sync", false, "do not wait until the output is on disk")
	cli.JSONFlag(cmd, &f.asJSON, ffConverted{})
	fl.BoolVar(&f.compact, "compact", false, "write one container for each variable, without dead space")
	return cmd
}

// ffConverted describes the output of a conversion for JSON.
type ffConverted struct {
	In         string  `json:"in"`
	Out        string  `json:"out"`
	Layout     string  `json:"layout"`
	Hash       string  `json:"hash"`
	FTI        string  `json:"fti"`
	Vars       int     `json:"variables"`
	Containers int     `json:"containers"`
	Bytes      int64   `json:"bytes"`
	Dead       int64   `json:"dead"`
	Seconds    float64 `json:"seconds"`
	Rate       float64 `json:"mib_per_second"`
}

// options sets the options that the output shares with the input.
func (f *ffConvertFlags) options(in *ffformat.File) (*ffformat.Options, error) {
	o := &ffformat.Options{Layout: ffLayout(f.layout), CkptID: f.checkpoint, Workers: f.workers}
	if o.Layout == 0 {
		o.Layout = in.Layout
	}
	fast := f.hash == "fast" || f.hash == "same" && in.Hash == ffformat.Fast
	if fast && o.Layout != ffformat.LayoutF {
		if f.layout == "same" {
			o.Layout = ffformat.LayoutF
		} else if f.hash == "fast" {
			return nil, cli.Usagef("--hash fast needs layout F, found %s", f.layout)
		} else {
			return nil, cli.Usagef("%s has fast hashes, which layout %s does not support: give --hash md5", in.Name, f.layout)
		}
	}
	switch {
	case fast:
		o.Hash, o.BlockSize = ffformat.Fast, int(min(f.blockSize, 1<<30))
		if f.blockSize == 0 && in.Hash == ffformat.Fast {
			o.BlockSize = in.BlockSize
		}
	case f.blockSize != 0:
		return nil, cli.Usagef("--block-size is for --hash fast")
	}
	if f.checkpoint < 0 {
		return nil, cli.Usagef("--checkpoint %d, want a positive number", f.checkpoint)
	}
	return o, nil
}

func (f *ffConvertFlags) run(cmd *cobra.Command, e *cli.Env, in, out string) error {
	ctx := cmd.Context()
	file, r, err := openFFReader(ctx, in, false)
	if err != nil {
		return err
	}
	defer file.Close()
	o, err := f.options(r.File())
	if err != nil {
		return err
	}
	if sameFile(file.path, out) {
		return cli.Usagef("input and output are the same file, %s", in)
	}
	stage, write := "convert", ffformat.Convert
	if f.compact {
		stage, write = "compact", ffformat.Compact
	}
	p := e.NewProgress()
	defer p.End()
	o.Progress = func(done, total int64) { p.At(stage, done, total) }
	start := time.Now()
	var made *ffformat.File
	err = cli.WriteOutput(ctx, vfs.OS, out, durable.OutputOptions{Force: f.force, NoSync: f.noSync}, func(dst vfs.File) (bool, error) {
		made, err = write(ctx, r, dst, o)
		return err == nil, err
	})
	p.End()
	if err != nil {
		return err
	}
	took := time.Since(start).Seconds()
	made.Name = out
	d := describeFF(made, false)
	was := ""
	if f.compact {
		was = fmt.Sprintf(" (was %s)", cli.HumanBytes(file.size))
	}
	x := ffConverted{in, out, d.Layout, d.Hash, d.FTI, len(d.Vars), d.nContainers, d.Bytes, d.Empty + d.Gap, took, float64(d.Bytes) / (1 << 20) / took}
	return e.Tell(f.asJSON, x, "%s: %s%s, %s in %s, %d bytes in %.2f s, %.0f MiB/s", out, d.summary(), was,
		cli.Plural(x.Vars, "variable"), cli.Plural(x.Containers, "container"), x.Bytes, x.Seconds, x.Rate)
}
