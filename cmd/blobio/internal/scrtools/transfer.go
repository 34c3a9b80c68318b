package scrtools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"blobio/internal/base/fault"
	"blobio/internal/cli"
	"blobio/internal/scr/prefixdir"
	"blobio/internal/scr/transfer"
	"blobio/scr/kvtree"
)

type scrTransfer struct {
	file    string
	prefix  string
	shared  bool
	status  bool
	command string
	add     []string
	once    bool
	asJSON  bool
	bw      int64
	cpu     float64
	files   int
	poll    time.Duration
}

func newScrTransfer(e *cli.Env) *cobra.Command {
	var f scrTransfer
	cmd := &cobra.Command{
		Use:   "transfer CONTROL",
		Short: "Copy files from a node's cache to the prefix directory in the background",
		Long: `Copy files from the cache of a node to the prefix directory. The transfer file in the control
directory of the node lists the files. CONTROL is this file, or the directory. One process on
each node runs beside the program and may outlive it. If COMMAND in the transfer file is RUN, the
process copies the files under FILES, within the limits of the transfer file and of the flags.
If COMMAND is STOP, the process waits; if COMMAND is EXIT, it ends. Files with a checksum are
verified. A copy gets its final name only when it is complete and durable. If the process
is killed, start it again to copy the remaining files.

transfer writes only below the prefix directory: --prefix, SCR_PREFIX, or the working directory.
The control directory and the prefix directory must belong to the user or to root, and no other
user may have write access. With --shared, the group of the prefix directory may have write
access, and others if the directory is sticky.

--status only reports the progress of the copies. --add and --command only change the transfer
file. --add adds a copy to its list, and --command sets its COMMAND.

Exit codes: 0 good, 1 a file could not be copied (--once, --status), 2 could not run.

--json needs --status.`,
		Example: `  blobio scr transfer --prefix /p/sim /dev/shm/user1/scr.1145655 &   # the process of a node
  blobio scr transfer --prefix /p/sim --bw 200M --cpu 5 /dev/shm/user1/scr.1145655 &
  blobio scr transfer --status /dev/shm/user1/scr.1145655
  blobio scr transfer --command exit /dev/shm/user1/scr.1145655

  # list two copies, then make them now
  blobio scr transfer --add /ssd/a=/p/sim/a --add /ssd/b=/p/sim/b --command run ctl
  blobio scr transfer --once --prefix /p/sim ctl`,
		Args: cli.ExactArgs(1, "a control directory, or a transfer file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd, args[0]); err != nil {
				return err
			}
			switch {
			case f.status:
				return scrTransferStatus(e, cmd.Context(), &f)
			case len(f.add) > 0 || f.command != "":
				return f.change(cmd.Context())
			}
			return scrTransferServe(e, cmd.Context(), &f)
		},
	}
	fl := cmd.Flags()
	fl.BoolVar(&f.status, "status", false, "report the progress of the copies")
	cli.ChoiceFlag(cmd, &f.command, "command", "", "set COMMAND in the transfer file: run, stop (wait) or exit", "run", "stop", "exit")
	fl.StringArrayVar(&f.add, "add", nil, "add the copy of a file to the transfer file, `FROM=TO` (repeatable)")
	fl.StringVar(&f.prefix, "prefix", "", "write only below this `DIR` (default: SCR_PREFIX, or the working directory)")
	fl.BoolVar(&f.shared, "shared", false, "accept a prefix directory in which its group can write, or a sticky one in which others can write (also: BLOBIO_SHARED=1)")
	fl.BoolVar(&f.once, "once", false, "end when there is nothing left to copy")
	fl.Var(cli.SizeFlag(&f.bw), "bw", "maximum bytes per second (default: the limit in the transfer file)")
	fl.Float64Var(&f.cpu, "cpu", 0, "maximum share of a core, in percent (default: the limit in the transfer file)")
	fl.IntVar(&f.files, "files", 1, "number of files copied in parallel")
	fl.DurationVar(&f.poll, "poll", time.Second, "time between reads of the transfer file")
	cli.JSONFlag(cmd, &f.asJSON, map[string]any{"file": "", "command": "", "state": "", "done": true, "failed": true, "bw": 0, "percent": 0, "files": []scrTransferItem{}})
	return cmd
}

// check interprets the flags.
func (f *scrTransfer) check(cmd *cobra.Command, control string) error {
	changes := len(f.add) > 0 || f.command != ""
	switch {
	case f.status && changes:
		return cli.Usagef("--status cannot be combined with --add or --command")
	case f.asJSON && !f.status:
		return cli.Usagef("--json needs --status")
	case f.files < 1 || f.files > 1024:
		return cli.Usagef("--files %d, want 1 to 1024", f.files)
	case !(f.cpu >= 0 && f.cpu < 1e6):
		return cli.Usagef("--cpu %v, want a percentage", f.cpu)
	case f.poll < time.Millisecond:
		return cli.Usagef("--poll %v, want at least 1ms", f.poll)
	}
	if f.status || changes {
		if err := cli.NotGiven(cmd, "applies only to the process that copies", "prefix", "shared", "once", "bw", "cpu", "files", "poll"); err != nil {
			return err
		}
	}
	f.file = control
	if info, err := os.Stat(control); err == nil && info.IsDir() {
		f.file = filepath.Join(control, transfer.FileName)
	} else if errors.Is(err, fs.ErrNotExist) && filepath.Ext(control) != filepath.Ext(transfer.FileName) {
		return cli.WithHint(err, "CONTROL must be a control directory or a transfer file")
	}
	return notTransfer(f.file)
}

// notTransfer returns an error if a file is of another kind and must not become a transfer file. A damaged transfer file is
// allowed.
func notTransfer(name string) error {
	t, err := kvtree.ReadFile(nil, name, nil)
	switch {
	case errors.Is(err, kvtree.ErrNotFormat):
		return cli.WithHint(err, "not a transfer file, so the file was not changed")
	case err != nil || t.Len() == 0:
		return nil // the caller reports or repairs the damage
	}
	for _, key := range []string{"FILES", "COMMAND", "STATE", "FLAG", "BW", "PERCENT"} {
		if t.Get(key) != nil {
			return nil
		}
	}
	return cli.WithHint(fmt.Errorf("%s is a key/value file, but not a transfer file", name), "blobio scr print shows the file")
}

// change lists copies and sets the command.
func (f *scrTransfer) change(ctx context.Context) error {
	var items []transfer.Item
	for _, a := range f.add {
		from, to, ok := strings.Cut(a, "=")
		if !ok || from == "" || to == "" {
			return cli.Usagef("--add %q, want FROM=TO", a)
		}
		from, err := filepath.Abs(from)
		if err != nil {
			return err
		}
		if to, err = filepath.Abs(to); err != nil {
			return err
		}
		info, err := os.Stat(from)
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is not a file", from)
		}
		items = append(items, transfer.Item{Src: from, Dst: to, Size: info.Size(), Meta: true})
	}
	if err := transfer.MakeControl(nil, f.file); err != nil { // a run may start later
		return err
	}
	return transfer.UpdateFile(ctx, nil, f.file, false, func(t *transfer.File) error {
		for _, i := range items {
			t.Put(i)
			t.Done, t.Failed = false, false
		}
		if f.command != "" {
			t.Command = transfer.Command(strings.ToUpper(f.command))
		}
		return nil
	})
}

func scrTransferServe(e *cli.Env, ctx context.Context, f *scrTransfer) error {
	prefix, err := filepath.Abs(cmp.Or(f.prefix, os.Getenv("SCR_PREFIX"), "."))
	if err != nil {
		return err
	}
	o := transfer.ServeOptions{File: f.file, Prefix: prefix, Shared: f.shared || os.Getenv(prefixdir.EnvShared) == "1", Once: f.once, Rate: float64(f.bw), CPU: f.cpu, Files: f.files, Poll: f.poll}
	err = transfer.Serve(ctx, o)
	var failed *transfer.FailedError
	switch {
	case errors.Is(err, fault.ErrInUse):
		return cli.WithHint(err, "another process serves the transfer file; --command exit ends that process")
	case errors.As(err, &failed):
		e.Code = cli.Findings
		for _, i := range failed.Items {
			fmt.Fprintln(e.Out, i.Src+": "+i.Error)
		}
		return nil
	}
	return err
}

// scrTransferItem describes a file in a transfer file for JSON.
type scrTransferItem struct {
	Source      string `json:"source"`
	Destination string `json:"destination"`
	Size        int64  `json:"size"`
	Written     int64  `json:"written"`
	Whole       bool   `json:"whole"`
	CRC         string `json:"crc,omitempty"`
	Error       string `json:"error,omitempty"`
}

func scrTransferStatus(e *cli.Env, ctx context.Context, f *scrTransfer) error {
	if _, err := os.Stat(f.file); err != nil {
		return cli.WithHint(err, "no transfer file in this directory")
	}
	if err := transfer.CheckControl(nil, f.file); err != nil {
		return err
	}
	t, err := transfer.ReadFile(ctx, nil, f.file, false)
	if err != nil {
		return err
	}
	items := []scrTransferItem{}
	var written, size int64
	for _, i := range t.Items {
		x := scrTransferItem{Source: i.Src, Destination: i.Dst, Size: i.Size, Written: i.Written, Whole: i.Whole() && (i.Size > 0 || t.Done), Error: i.Error}
		if i.HasCRC {
			x.CRC = fmt.Sprintf("%08x", i.CRC)
		}
		if i.Error != "" {
			e.Code = cli.Findings
		}
		written, size = written+i.Written, size+i.Size
		items = append(items, x)
	}
	if t.Failed {
		e.Code = cli.Findings
	}
	if f.asJSON {
		return e.PrintJSON(map[string]any{"file": f.file, "command": t.Command, "state": t.State, "done": t.Done, "failed": t.Failed, "bw": t.BW, "percent": t.Percent, "files": items})
	}
	tab := e.NewTable("", ">WRITTEN", ">SIZE", "FROM", "TO", "")
	for _, i := range items {
		note := i.Error
		if i.Whole {
			note = "done"
		}
		tab.Row(cli.HumanBytes(i.Written), cli.HumanBytes(i.Size), i.Source, i.Destination, note)
	}
	if len(items) > 0 {
		tab.Flush()
		fmt.Fprintln(e.Out)
	}
	orNone := func(s string) string {
		if s == "" {
			return "none"
		}
		return s
	}
	fmt.Fprintf(e.Out, "%s: %s of %s in %s; command %s, state %s", f.file, cli.HumanBytes(written), cli.HumanBytes(size), cli.Plural(len(items), "file"), orNone(string(t.Command)), orNone(string(t.State)))
	switch {
	case t.Done:
		fmt.Fprint(e.Out, ", done")
	case t.Failed:
		fmt.Fprint(e.Out, ", failed")
	}
	if t.BW > 0 {
		fmt.Fprintf(e.Out, ", at most %s/s", cli.HumanBytes(int64(min(t.BW, 1<<62))))
	}
	if t.Percent > 0 {
		fmt.Fprintf(e.Out, ", at most %g %% of a core", t.Percent)
	}
	fmt.Fprintln(e.Out)
	return nil
}
