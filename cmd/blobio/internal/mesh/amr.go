package mesh

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"blobio/amr/cello"
	"blobio/blob"
	"blobio/internal/amr"
	"blobio/internal/cli"
)

func New(e *cli.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "amr",
		Short: "Inspect, check, convert, draw and generate checkpoints of adaptive meshes",
		Long: `A checkpoint of an adaptive mesh holds blocks: the leaves of a forest of quadtrees or octrees,
and the blocks above the leaves. A checkpoint of Enzo-E or Cello is a directory with the file
check.file_list, and HDF5 files with a group for each block. PATH is such a directory, or its
check.file_list.

convert writes another checkpoint, or a netCDF file for "blobio ls", "blobio dump" and all
netCDF tools.`,
		Example: `  blobio amr gen shock Check-00                  # generate a checkpoint for tests
  blobio amr ls Check-00                         # levels, blocks, files, balance
  blobio amr check Check-00                      # find errors
  blobio amr check --for-enzo-e Check-00         # can Enzo-E restart from it?
  blobio amr dump Check-00 B00_01                # print a block
  blobio amr plot Check-00 -o blocks.png         # the blocks and the curve
  blobio amr ls --stats Check-00                 # totals and extrema
  blobio amr convert Check-00 mesh.nc            # for netCDF tools
  blobio amr convert --to cello --files 16 Check-00 Check-16`,
	}
	cli.AsGroup(cmd)
	cmd.AddCommand(newAmrLs(e), newAmrDump(e), newAmrCheck(e), newAmrDiff(e), cli.AsWriter(newAmrExtract(e)), cli.AsWriter(newAmrConvert(e)), cli.AsWriter(newAmrPlot(e)), cli.AsWriter(newAmrGen(e)))
	return cmd
}

// Hint returns advice about an error of an amr verb.
func Hint(cmd *cobra.Command, err error) string {
	to := cmd.Flags().Lookup("to")
	switch {
	case errors.Is(err, blob.ErrExist) && to != nil && to.Value.String() != formNetCDF:
		return "blobio does not replace directories: remove the directory, or give another name"
	case errors.Is(err, blob.ErrExist) && cmd.Flags().Lookup("force") != nil:
		return "--force replaces the output"
	case errors.Is(err, blob.ErrChecksum) && cmd.Flags().Lookup("no-verify") != nil:
		return "blobio amr check lists all faults; --no-verify reads the data without verifying checksums"
	case errors.Is(err, cello.ErrScrambled) && cmd.Flags().Lookup("accept-scrambled") != nil:
		return "the program that wrote these blocks put cells in the wrong places; --accept-scrambled reads the cells unchanged"
	case cli.IsFormatError(err) && cmd.Name() != "check":
		return "blobio amr check lists all faults"
	case errors.Is(err, fs.ErrPermission):
		return "check the permissions of the file and of its directory"
	}
	return ""
}

// amrMesh is an open checkpoint.
type amrMesh struct {
	*cello.Checkpoint
	path string // directory of the checkpoint
}

// warn prints a warning about data that the user may trust wrongly.
func (m *amrMesh) warn(e *cli.Env, what string, t amrTrust) {
	if t.noVerify && m.Meta().Unverified {
		fmt.Fprintf(e.Stderr, "blobio: warning: %s was not compared with its checksums: %s may contain damaged data\n", m.path, what)
	}
}

func (m *amrMesh) indexes() []amr.Index {
	out := make([]amr.Index, len(m.Blocks()))
	for i, b := range m.Blocks() {
		out[i] = b.Index
	}
	return out
}

// files returns the names of the files and their lengths.
func (m *amrMesh) files() (names []string, bytes []int64) {
	for _, name := range m.Files() {
		name += ".h5"
		n := int64(0)
		if info, err := os.Stat(filepath.Join(m.path, name)); err == nil {
			n = info.Size()
		}
		names, bytes = append(names, name), append(bytes, n)
	}
	return names, bytes
}

// Forms of checkpoints.
const (
	formCello  = "cello"
	formNetCDF = "canonical" // output only
	formYT     = "yt"        // output only
)

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// amrTrust lists what is accepted unchecked.
type amrTrust struct {
	scrambled bool // fields with cells in wrong positions
	noVerify  bool // data whose checksums are not compared
}

func (t *amrTrust) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&t.noVerify, "no-verify", false, "read data without verifying checksums, to rescue damaged data")
}

// openAmr opens a checkpoint: lists and headers only.
func openAmr(ctx context.Context, path string, t amrTrust) (*amrMesh, error) {
	dir, err := amrPath(path)
	if err != nil {
		return nil, err
	}
	k, err := cello.Open(ctx, dir, &cello.OpenOptions{AcceptScrambled: t.scrambled, NoVerify: t.noVerify})
	if err != nil {
		return nil, err
	}
	return &amrMesh{k, dir}, nil
}

// findBlock returns the index of a block given by index or name. If several blocks share the name, "name@level" is required.
func (m *amrMesh) findBlock(word string) (int, error) {
	name, level, hasLevel := strings.Cut(word, "@")
	if strings.HasPrefix(name, "B") {
		found := -1
		for i, b := range m.Blocks() {
			if b.Name != name || hasLevel && fmt.Sprint(b.Level) != level {
				continue
			}
			if found >= 0 {
				return 0, cli.Usagef("blocks %d and %d have the same name %s: give %s@LEVEL, or the number", found, i, name, name)
			}
			found = i
		}
		if found < 0 {
			return 0, cli.WithHint(fmt.Errorf("%s: no block %q", m.path, word), "blobio amr ls --blocks lists all blocks")
		}
		return found, nil
	}
	i, err := strconv.Atoi(word)
	if err != nil {
		return 0, cli.Usagef("block %q, want a name (B01_10) or a number along the curve", word)
	}
	if n := len(m.Blocks()); i < 0 || i >= n {
		return 0, cli.Usagef("block %d of %d", i, n)
	}
	return i, nil
}
