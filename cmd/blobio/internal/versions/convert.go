package versions

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"blobio/internal/base/durable"
	"blobio/internal/base/vfs"
	"blobio/internal/cli"
	"blobio/versioned"
)

type versionsConvertFlags struct {
	key     versionsKey
	force   bool
	noSync  bool
	workers int
	asJSON  bool
}

func newVersionsConvert(e *cli.Env) *cobra.Command {
	var f versionsConvertFlags
	cmd := &cobra.Command{
		Use:   "convert ARRAY OUT",
		Short: "Convert all versions of an array to one netCDF file",
		Long: `Convert all versions of an array to one CDF-5 file. Each version is one record with its number,
commit time, generation, label and elements. If the length of the array changed, shorter
versions end with fill values, and version_length is their length. Levels and snapshots of a
hierarchy cannot be converted; use "dump" for them.

All chunks are verified. The file gets its final name only when it is complete. "blobio mount"
and "blobio serve" present the same bytes under the name ARRAY.nc, without writing a file.

JSON: {path, array, versions, bytes, seconds, mib_per_second}.`,
		Example: `  blobio versions convert store/rho rho.nc
  ncks -d version,-1 rho.nc                            # the newest
  blobio versions convert --key-file key store/secret secret.nc`,
		Args: cli.ExactArgs(2, "the directory of an array, and the name of the output"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), e, args[0], args[1])
		},
	}
	fl := cmd.Flags()
	f.key.add(cmd)
	fl.BoolVar(&f.force, "force", false, "replace an existing output")
	fl.BoolVar(&f.noSync, "no-sync", false, "do not wait until the output is on disk")
	cli.WorkersFlag(cmd, &f.workers, "number of concurrent readers and writers (default: number of CPUs)")
	cli.JSONFlag(cmd, &f.asJSON)
	return cmd
}

func (f *versionsConvertFlags) run(ctx context.Context, e *cli.Env, dir, name string) error {
	v, err := f.key.one(dir)
	if err != nil {
		return err
	}
	defer v.Close()
	file, err := v.NetCDF(0)
	if err != nil {
		return err
	}
	start := time.Now()
	out, err := durable.NewOutput(ctx, vfs.OS, name, durable.OutputOptions{Force: f.force, NoSync: f.noSync})
	if errors.Is(err, versioned.ErrExist) {
		return fmt.Errorf("the output %s %w", name, versioned.ErrExist)
	}
	if err != nil {
		return err
	}
	defer out.Discard()
	p := e.NewProgress()
	defer p.End()
	if err := file.WriteTo(ctx, out.File(), f.workers, func(done, total int64) { p.At("convert", done, total) }); err != nil {
		return err
	}
	if err := out.Commit(); err != nil {
		return err
	}
	n, took := len(v.Versions()), time.Since(start).Seconds()
	rate := float64(file.Size()) / (1 << 20) / max(took, 1e-9)
	return e.Tell(f.asJSON, map[string]any{"path": name, "array": v.Spec().Name, "versions": n, "bytes": file.Size(), "seconds": took, "mib_per_second": rate},
		"%s: %s of %s, %s in %.2f s, %.0f MiB/s", name, cli.Plural(n, "version"), v.Spec().Name, cli.HumanBytes(file.Size()), took, rate)
}
