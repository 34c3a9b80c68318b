package mounts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/internal/base/diary"
	"blobio/internal/cli"
	"blobio/internal/view/mount"
)

type mountFlags struct {
	format       string
	onlyDatasets bool
	allowOther   bool
	noVerify     bool
	missing      bool
	fill         string
	memory       int64
	workers      int
	log          string
	daemon       bool
	ready        bool
}

// leastMemory is the minimum memory of a mount.
const leastMemory = 16 << 20

// NewMount makes the verb.
func NewMount(e *cli.Env) *cobra.Command {
	var f mountFlags
	cmd := &cobra.Command{
		Use:   "mount DIR MOUNTPOINT",
		Short: "Mount datasets as ordinary netCDF files",
		Long: `Mount a directory at a mount point, read only. In the mount, each dataset is one ordinary
netCDF file with its base name, in the same folder. Nothing is converted in advance. The bytes
are computed when a program reads them, and equal the output of "blobio convert". Other files
are passed through.

A Cello checkpoint and an array of a store of versions are directories. Beside each directory
there is a netCDF file NAME.nc (NAME: the directory), equal to the output of
"blobio amr convert --grids" or "blobio versions convert".

While a directory is mounted, datasets appear when committed, change when replaced and
disappear when removed. An open file grows as its writer commits. Otherwise its content never
changes. If the content is no longer available, reads fail. A read of damaged data fails with
an input/output error, and mount writes a line with file, offset and cause to stderr or to the
file of --log. Repeated errors of the same kind are only counted. Unread output on stderr does
not block the mount.

The mount ends with ctrl-C, or with "fusermount3 -u MOUNTPOINT". After a kill -9, programs get
an error until the next mount at the same mount point. mount requires Linux with /dev/fuse, and
fusermount3 unless root mounts (Debian: apt install fuse3).`,
		Example: `  blobio mount run /mnt/run &
  ncdump -h /mnt/run/F_h0.nc
  blobio mount --format cdf2 run /mnt/run          # for programs that do not read CDF-5
  blobio mount --daemon --log run.log run /mnt/run
  fusermount3 -u /mnt/run`,
		Args: cli.ExactArgs(2, "a directory and a mount point"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), e, args[0], args[1]) },
	}
	fl := cmd.Flags()
	cli.ChoiceFlag(cmd, &f.format, "format", "cdf5", "format of the files", "cdf5", "cdf2", "cdf1")
	fl.BoolVar(&f.onlyDatasets, "only-datasets", false, "hide all other files, and the directories of checkpoints and arrays")
	fl.BoolVar(&f.allowOther, "allow-other", false, "give other users access, within the permissions of the files (needs user_allow_other in /etc/fuse.conf, unless root mounts)")
	fl.BoolVar(&f.noVerify, "no-verify", false, "read data without verifying checksums, to rescue damaged data")
	cli.AllowMissingFlag(cmd, &f.missing)
	cli.FillFlag(cmd, &f.fill)
	fl.Var(cli.SizeFlag(&f.memory), "memory", "memory limit of cached data and read-ahead data, such as 256M or 1G (default 256M)")
	cli.WorkersFlag(cmd, &f.workers, "number of concurrent reads of each dataset (default: the number of CPUs)")
	fl.StringVar(&f.log, "log", "", "append errors to this file (default with --daemon: MOUNTPOINT.log)")
	fl.BoolVar(&f.daemon, "daemon", false, "run in the background; return when the mount is ready")
	fl.BoolVar(&f.ready, "ready", false, "")
	_ = fl.MarkHidden("ready")
	return cli.AsService(cmd)
}

var formats = map[string]cdf5.Version{"cdf5": cdf5.CDF5, "cdf2": cdf5.CDF2, "cdf1": cdf5.CDF1}

func (f *mountFlags) run(ctx context.Context, e *cli.Env, dir, at string) error {
	if f.memory != 0 && f.memory < leastMemory {
		return cli.Usagef("--memory %s, want at least %s", cli.HumanBytes(f.memory), cli.HumanBytes(leastMemory))
	}
	if f.daemon {
		return f.detach(e, dir, at)
	}
	out := io.Writer(e.Stderr)
	if f.log != "" {
		log, err := os.OpenFile(f.log, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666)
		if err != nil {
			return err
		}
		defer log.Close()
		out = log
	}
	o := &mount.Options{Version: formats[f.format], OnlyDatasets: f.onlyDatasets, AllowOther: f.allowOther, Memory: f.memory, Workers: f.workers, AllowMissing: f.missing, ZeroFill: f.fill == "zero",
		Log: diary.New(out, func() string { return time.Now().Format(time.RFC3339) + " blobio mount: " })}
	defer o.Log.Flush()
	cli.OutliveReaders()
	if f.noVerify {
		o.Verify = blob.VerifyNever
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP) // handle a closing terminal before the mount is visible
	defer stop()
	m, err := mount.New(dir, at, o)
	if err != nil {
		return cli.WithHint(err, "") // without the usual hint for an existing name, which is about datasets
	}
	if f.ready {
		if err := tellReady(); err != nil {
			return errors.Join(err, m.Unmount(ctx))
		}
	} else {
		fmt.Fprintf(e.Out, "%s is shown at %s (ctrl-C ends it)\n", cli.Plain(dir), cli.Plain(at))
		if err := e.Out.Flush(); err != nil {
			return errors.Join(err, m.Unmount(ctx))
		}
	}
	ended := make(chan struct{})
	go func() {
		m.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		// Wait only briefly for programs with open files.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer cancel()
		return m.Unmount(ctx)
	}
}

// grace is how long programs may keep files open after an interrupt.
const grace = 3 * time.Second

// child returns the command line of the background process. Its paths do not depend on the working directory.
func (f *mountFlags) child(dir, at, log string) ([]string, error) {
	args := []string{"mount", "--ready", "--format", f.format, "--fill", f.fill, "--log", log}
	for name, on := range map[string]bool{"--only-datasets": f.onlyDatasets, "--allow-other": f.allowOther, "--no-verify": f.noVerify, "--allow-missing": f.missing} {
		if on {
			args = append(args, name)
		}
	}
	if f.memory != 0 {
		args = append(args, fmt.Sprintf("--memory=%d", f.memory))
	}
	if f.workers != 0 {
		args = append(args, fmt.Sprintf("--workers=%d", f.workers))
	}
	args = append(args, "--")
	for _, name := range []string{dir, at} {
		abs, err := filepath.Abs(name)
		if err != nil {
			return nil, err
		}
		args = append(args, abs)
	}
	return args, nil
}
