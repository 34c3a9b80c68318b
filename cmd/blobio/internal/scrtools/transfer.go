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

// scrTransfer are the flags of "scr transfer".
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
		Short: "Copy files in the background, as the transfer file of a node says",
		Long: `Copy files from the cache of a node to the prefix directory, as the transfer file in the
node's control directory says. CONTROL is that file, or the directory. One process per node
does this beside the run, and may outlive it. While the file's COMMAND is RUN it copies
what FILES lists, within the limits of the file and those given here; on STOP it waits; on
EXIT it ends. Each file is compared with its checksum, if there is one, and gets its name
when it is whole and durable. If the process is killed, start it again: it continues with
what is missing.

Nothing is written outside the prefix directory: --prefix, SCR_PREFIX, or the working
directory. Control and prefix directory must belong to the user or to root, and
nobody else may write there (--shared: the group of the prefix directory may, and others if
it is sticky).

--status only reports how far the copies are. --add and --command only change the file:
they list a copy, and set the process's command.

Exit codes: 0 good, 1 a file could not be copied (--once, --status), 2 could not run.

--json goes with --status.`,
		Example: `  blobio scr transfer --prefix /p/sim /dev/shm/user1/scr.1145655 &   # the process of a node
  blobio scr transfer --prefix /p/sim --bw 200M --cpu 5 /dev/shm/user1/scr.1145655 &
  blobio scr transfer --status /dev/shm/user1/scr.1145655
  blobio scr transfer --command exit /dev/shm/user1/scr.1145655

  # a list of two copies, worked off now
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
	fl.BoolVar(&f.status, "status", false, "report how far the copies are")
	cli.ChoiceFlag(cmd, &f.command, "command", "", "set the command of the process", "run", "stop", "exit")
	fl.StringArrayVar(&f.add, "add", nil, "list the copy of a file, `FROM=TO`; may be repeated")
	fl.StringVar(&f.prefix, "prefix", "", "write only below this `DIR` (default: SCR_PREFIX, or the working directory)")
	fl.BoolVar(&f.shared, "shared", false, "the prefix directory may be writable by its group, and by others if it is sticky (also: BLOBIO_SHARED=1)")
	fl.BoolVar(&f.once, "once", false, "end when there is nothing to do now")
	fl.Var(cli.SizeFlag(&f.bw), "bw", "copy at most this many bytes per second (default: the limit in the transfer file)")
	fl.Float64Var(&f.cpu, "cpu", 0, "use at most this share of a core, in percent (default: the limit in the transfer file)")
	fl.IntVar(&f.files, "files", 1, "files copied at once")
	fl.DurationVar(&f.poll, "poll", time.Second, "how often to look at the transfer file")
	cli.JSONFlag(cmd, &f.asJSON, map[string]any{"file": "", "command": "", "state": "", "done": true, "failed": true, "bw": 0, "percent": 0, "files": []scrTransferItem{}})
	return cmd
}

// check makes sense of the flags.
func (f *scrTransfer) check(cmd *cobra.Command, control string) error {
	changes := len(f.add) > 0 || f.command != ""
	switch {
	case f.status && changes:
		return cli.Usagef("--status does not go with --add and --command")
	case f.asJSON && !f.status:
		return cli.Usagef("--json is for --status")
	case f.files < 1 || f.files > 1024:
		return cli.Usagef("--files %d, want 1 to 1024", f.files)
	case !(f.cpu >= 0 && f.cpu < 1e6):
		return cli.Usagef("--cpu %v, want percent", f.cpu)
	case f.poll < time.Millisecond:
		return cli.Usagef("--poll %v, want at least 1ms", f.poll)
	}
	if f.status || changes {
		if err := cli.NotGiven(cmd, "is for the process that copies", "prefix", "shared", "once", "bw", "cpu", "files", "poll"); err != nil {
			return err
		}
	}
	f.file = control
	if info, err := os.Stat(control); err == nil && info.IsDir() {
		f.file = filepath.Join(control, transfer.FileName)
	} else if errors.Is(err, fs.ErrNotExist) && filepath.Ext(control) != filepath.Ext(transfer.FileName) {
		return cli.WithHint(err, "want a control directory, or a transfer file in one")
	}
	return notTransfer(f.file)
}

// notTransfer says that a file is something else, which must not be made a transfer file. A damaged one may be.
func notTransfer(name string) error {
	t, err := kvtree.ReadFile(nil, name, nil)
	switch {
	case errors.Is(err, kvtree.ErrNotFormat):
		return cli.WithHint(err, "this is not a transfer file; it was not changed")
	case err != nil || t.Len() == 0:
		return nil // it is reported, or mended, where it is used
	}
	for _, key := range []string{"FILES", "COMMAND", "STATE", "FLAG", "BW", "PERCENT"} {
		if t.Get(key) != nil {
			return nil
		}
	}
	return cli.WithHint(fmt.Errorf("%s is a key/value file, but not a transfer file", name), "blobio scr print shows it")
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
			return fmt.Errorf("%s is no file", from)
		}
		items = append(items, transfer.Item{Src: from, Dst: to, Size: info.Size(), Meta: true})
	}
	if err := transfer.MakeControl(nil, f.file); err != nil { // a run may come later
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
		return cli.WithHint(err, "another process serves it; --command exit ends that one")
	case errors.As(err, &failed):
		e.Code = cli.Findings
		for _, i := range failed.Items {
			fmt.Fprintln(e.Out, i.Src+": "+i.Error)
		}
		return nil
	}
	return err
}

// scrTransferItem is a file in a transfer file, as JSON has it.
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
		return cli.WithHint(err, "nothing was given to a transfer process here")
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
