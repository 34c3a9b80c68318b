package dataset

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"blobio/blob"
	"blobio/internal/cli"
	"blobio/internal/view/zarr"
)

// zarrSuffix in an output's name means a Zarr directory, like --zarr.
const zarrSuffix = ".zarr"

type zarrFlags struct {
	on    bool
	chunk int64
	sums  bool
}

func (z *zarrFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.BoolVar(&z.on, "zarr", false, "write a Zarr 3 directory (implied if OUT ends in "+zarrSuffix+")")
	fl.Var(cli.SizeFlag(&z.chunk), "chunk", "maximum bytes of a chunk before compression (default 8M for zarr, 4M for netCDF-4)")
	fl.BoolVar(&z.sums, "crc32c", false, "zarr: append a checksum to each chunk")
}

// zarrOnly are flags for Zarr output only; zarrToo are other flags that apply to Zarr output. All other flags are errors with
// Zarr output, never ignored.
var (
	zarrOnly = []string{"zarr", "crc32c"}
	zarrToo  = []string{"compress", "chunk", "vars", "dimension", "no-coords", "records", "force", "no-sync", "json", "allow-missing", "memory", "workers", "no-verify"}
)

// wantsZarr reports whether the output is a Zarr directory. It returns an error for flags that do not match the kind of output.
func (f *convertFlags) wantsZarr(cmd *cobra.Command, out string) (wants bool, err error) {
	wants = f.zarr.on || strings.HasSuffix(filepath.Clean(out), zarrSuffix)
	cmd.LocalNonPersistentFlags().VisitAll(func(fl *pflag.Flag) {
		only := slices.Contains(zarrOnly, fl.Name)
		switch {
		case !fl.Changed || err != nil:
		case wants && !only && !slices.Contains(zarrToo, fl.Name):
			err = cli.Usagef("--%s does not apply to a Zarr output", fl.Name)
		case !wants && only:
			err = cli.Usagef("--%s is for Zarr: give --zarr, or an output name that ends in %s", fl.Name, zarrSuffix)
		}
	})
	return wants, err
}

func (f *convertFlags) runZarr(ctx context.Context, e *cli.Env, in, out string) error {
	codecs, err := zarr.ParseCodecs(f.compress)
	if err != nil {
		return cli.AsUsage(err)
	}
	codecs.CRC32C = f.zarr.sums
	if n := f.zarr.chunk; n != 0 && (n < zarr.MinChunk || n > zarr.MaxChunk) {
		return cli.Usagef("--chunk %d, want %s to %s", n, cli.HumanBytes(zarr.MinChunk), cli.HumanBytes(zarr.MaxChunk))
	}
	o := &zarr.WriteOptions{Options: zarr.Options{ChunkBytes: f.zarr.chunk, Codecs: codecs}, Force: f.force, NoSync: f.noSync,
		Memory: f.source.memory, Workers: f.source.workers}
	if err := o.Validate(); err != nil {
		return cli.AsUsage(err)
	}
	r, err := f.source.open(ctx, e, in)
	if err != nil {
		return err
	}
	defer r.Close()
	vars, part, err := f.choose(ctx, r)
	if err != nil {
		return err
	}
	src, err := r.View(vars, part)
	if err != nil {
		return err
	}
	if f.records != "" && src.Records() != r.Records() {
		return cli.Usagef("--records and --dimension both select records: give only one of them")
	}
	if o.Records, err = parseRecords(f.records, src.Records()); err != nil {
		return err
	}
	if _, err := os.Lstat(out); err == nil && !f.force && e.Root() {
		return fmt.Errorf("the output %s %w", out, blob.ErrExist)
	}
	p := e.NewProgress()
	o.Progress = func(done, total int64) { p.At("convert", done, total) }
	start := time.Now()
	err = zarr.Write(ctx, e.Comm(), src, out, o)
	took := time.Since(start)
	p.End()
	if err != nil || !e.Root() {
		return err
	}
	records := src.Records()
	if o.Records != nil {
		records = o.Records.End - o.Records.First
	}
	w := written{In: r.Base(), Out: out, Layout: "zarr", Vars: len(src.Schema().Vars()), Records: records}
	if _, w.Bytes, err = cli.TreeSize(out); err != nil {
		return err
	}
	return f.told(ctx, e, r, &w, took, "Zarr 3 directory, "+cli.Plural(records, "record")+", "+cli.HumanBytes(w.Bytes))
}
