package fti

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"blobio/ffformat"
	"blobio/internal/base/durable"
	"blobio/internal/base/vfs"
	"blobio/internal/cli"
)

type ffRepairFlags struct {
	bad           string
	layout        string
	checkpoint    int32
	dry           bool
	workers       int
	force, noSync bool
	asJSON        bool
}

func newFFRepair(e *cli.Env) *cobra.Command {
	var f ffRepairFlags
	cmd := &cobra.Command{
		Use:   "repair IN OUT | STORE",
		Short: "Repair a damaged checkpoint file, or the seal of a store",
		Long: `Write the intact variables of a damaged checkpoint file to a new file. The input does not
change. These are repaired:

  file block          if it is lost, truncated, damaged or followed by other bytes
  checksum            replaced with the value that FTI's reader expects, if FTI's writer
                      stored a different one (shrunk variables, since v1.3)
  records             a field that contradicts all other fields and the hash of the chunk
  variables           variables with damaged or lost bytes are dropped; --bad zero keeps
                      them with zeros for the bad chunks, --bad keep without changes
All other variables are verified and written. If nothing is wrong, there is no output.

A damaged or lost file of FTI's POSIX mode is restored from the copy of its partner (Pcof), or
from the other files and the parity (RSed) of its group. IN is the name of the lost file. All
input is compared with FTI's checksums first.

A store is a directory of checkpoints of many ranks. Its seal is a file that lists the
committed checkpoints. repair restores a lost or damaged seal from the slots, the directories
that hold one checkpoint each. It uses a slot only if the slot has one file for each rank, all
files are of one checkpoint, and every byte is intact. The files do not change. A damaged
seal is kept as checkpoints.damaged. A checkpoint that was complete but not yet committed may
reappear, because only the seal lists commits.

Exit codes: 0 nothing is lost, 1 variables are damaged or slots cannot be used, 2 could
not run.

For a store, JSON is {store, written, checkpoints, left}.`,
		Example: `  blobio ff repair -n Ckpt7-Rank0.fti                    # print the steps, change nothing
  blobio ff repair Ckpt7-Rank0.fti mended/Ckpt7-Rank0.fti
  blobio ff repair --bad zero torn.fti all-variables.fti
  blobio ff repair -n store                              # list the checkpoints found
  blobio ff repair store`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && (f.dry || isDir(args[0])) {
				return nil
			}
			return cli.ExactArgs(2, "an input and an output, or a store")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && isDir(args[0]) {
				return f.store(cmd, e, args[0])
			}
			out := ""
			if len(args) == 2 {
				out = args[1]
			}
			return f.run(cmd, e, args[0], out)
		},
	}
	fl := cmd.Flags()
	cli.ChoiceFlag(cmd, &f.bad, "bad", "drop", "variables with bad bytes: drop, zero (fill bad chunks with zeros) or keep (unchanged)", "drop", "zero", "keep")
	cli.ChoiceFlag(cmd, &f.layout, "layout", "any", "layout of the input, if known", append([]string{"any"}, ffLayouts()...)...)
	fl.Int32Var(&f.checkpoint, "checkpoint", 0, "number of the checkpoint, if it is lost")
	fl.BoolVarP(&f.dry, "dry-run", "n", false, "print what would be done, change nothing")
	cli.WorkersFlag(cmd, &f.workers, "number of chunks read in parallel (default: number of CPUs)")
	fl.BoolVar(&f.force, "force", false, "replace an existing output; for a store, replace even an intact seal")
	fl.BoolVar(&f.noSync, "no-sync", false, "do not wait until the output is on disk")
	cli.JSONFlag(cmd, &f.asJSON, ffRepaired{})
	return cmd
}

// The JSON output types for a repair.
type (
	ffRepaired struct {
		In      string     `json:"in"`
		Out     string     `json:"out,omitempty"`
		Sound   bool       `json:"sound"`
		Written bool       `json:"written"`
		Actions []ffAction `json:"actions"`
		Good    []int32    `json:"good"`
		Bad     []ffBad    `json:"bad"`
	}
	ffAction struct {
		Offset *int64 `json:"offset,omitempty"`
		Field  string `json:"field,omitempty"`
		Msg    string `json:"message"`
	}
	ffBad struct {
		Var    int32            `json:"variable"`
		Bytes  int64            `json:"bytes"`
		Lost   int64            `json:"bad_bytes"`
		Ranges []ffformat.Range `json:"ranges"`
		Fate   string           `json:"fate"`
		Error  string           `json:"error"`
	}
)

func (f *ffRepairFlags) run(cmd *cobra.Command, e *cli.Env, in, out string) error {
	ctx := cmd.Context()
	if f.checkpoint < 0 {
		return cli.Usagef("--checkpoint %d, want a positive number", f.checkpoint)
	}
	if done, err := f.rebuildPosix(ctx, e, in, out); done {
		return err
	}
	file, err := openFF(in)
	if err != nil {
		return err
	}
	defer file.Close()
	if !f.dry && sameFile(file.path, out) {
		return cli.Usagef("input and output are the same file %s, but repair does not change the input", in)
	}
	p := e.NewProgress()
	defer p.End()
	o := &ffformat.Options{Layout: ffLayout(f.layout), CkptID: f.checkpoint, DryRun: f.dry, Workers: f.workers,
		Progress: func(done, total int64) { p.At("repair", done, total) }}
	if f.bad != "drop" {
		o.Bad = f.bad
	}
	var rep *ffformat.RepairReport
	if f.dry {
		rep, err = ffformat.Repair(ctx, file, file.size, in, nil, o)
	} else {
		err = cli.WriteOutput(ctx, vfs.OS, out, durable.OutputOptions{Force: f.force, NoSync: f.noSync}, func(dst vfs.File) (bool, error) {
			rep, err = ffformat.Repair(ctx, file, file.size, in, dst, o)
			return err == nil && rep.File != nil, err
		})
	}
	p.End()
	if err != nil {
		if errors.Is(err, ffformat.ErrMissing) && rep != nil {
			return cli.WithHint(err, "--bad keep keeps these variables unchanged, --bad zero keeps them with zeros; ff check lists all faults")
		}
		return err
	}
	return f.report(e, in, out, rep)
}

func (f *ffRepairFlags) report(e *cli.Env, in, out string, rep *ffformat.RepairReport) error {
	d := &ffRepaired{In: in, Out: out, Sound: rep.Sound, Written: rep.File != nil, Actions: []ffAction{}, Good: append([]int32{}, rep.Good...), Bad: []ffBad{}}
	for _, a := range rep.Actions {
		x := ffAction{nil, a.Field, a.Msg}
		if a.Offset >= 0 {
			x.Offset = &a.Offset
		}
		d.Actions = append(d.Actions, x)
	}
	for _, b := range rep.Bad {
		d.Bad = append(d.Bad, ffBad{b.ID, b.Size, b.Bytes, append([]ffformat.Range{}, b.Lost...), b.Fate, cli.ErrorText(b.Err)})
	}
	if len(rep.Bad) > 0 {
		e.Code = cli.Findings
	}
	if f.asJSON {
		return e.PrintJSON(d)
	}
	for _, a := range rep.Actions {
		a.File = ""
		at := ""
		if a.Offset >= 0 {
			at = fmt.Sprintf("%#x: ", a.Offset)
		}
		if a.Field != "" {
			at += a.Field + ": "
		}
		fmt.Fprintf(e.Out, "mended: %s%s\n", at, a.Msg)
	}
	for _, b := range d.Bad {
		what := fmt.Sprintf("%d of %d bytes are bad", b.Lost, b.Bytes)
		if len(b.Ranges) == 0 {
			what = "the records are damaged"
		}
		fmt.Fprintf(e.Out, "%s: variable %d: %s: %s\n", b.Fate, b.Var, what, b.Error)
	}
	switch {
	case rep.Sound:
		fmt.Fprintf(e.Out, "%s: nothing to repair, no output\n", in)
	case rep.File == nil:
		fmt.Fprintf(e.Out, "%s: %s good, %d damaged; nothing was written (--dry-run)\n", in, cli.Plural(len(rep.Good), "variable"), len(rep.Bad))
	default:
		kept := 0
		for _, b := range rep.Bad {
			kept += bit(b.Fate != "dropped")
		}
		fmt.Fprintf(e.Out, "%s: %s", out, cli.Plural(len(rep.Good)+kept, "variable"))
		if kept > 0 {
			fmt.Fprintf(e.Out, " (%d of them damaged)", kept)
		}
		fmt.Fprintf(e.Out, ", %s\n", cli.HumanBytes(rep.File.Size))
	}
	return nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
