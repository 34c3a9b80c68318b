package mesh

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"blobio/amr"
	"blobio/amr/blocks"
	"blobio/amr/cello"
	"blobio/blob"
	"blobio/internal/cli"
)

func New(e *cli.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "amr",
		Short: "Look at, check, convert, draw and make checkpoints of adaptive meshes",
		Long: `A checkpoint of an adaptive mesh holds blocks: the leaves of a forest of quadtrees or
octrees, and the blocks above them. Two forms are read and written:

  Cello   the checkpoint directories of Enzo-E and Cello: check.file_list, and
          HDF5 files with a group for each block (also without the real program)
  native  a dataset with a row for each block: one CDF-5 file that all netCDF tools
          read, or blobs of many ranks; smaller and faster

PATH is a checkpoint directory (or its check.file_list), or the name of a native
dataset. The content tells which.`,
		Example: `  blobio amr gen shock Check-00                  # a checkpoint to try things with
  blobio amr ls Check-00                         # levels, blocks, files, balance
  blobio amr check Check-00                      # can Enzo-E restart from it?
  blobio amr dump Check-00 B00_01                # a block
  blobio amr plot Check-00 -o blocks.png         # the blocks and the curve
  blobio amr plot Check-00 --field density -o density.png
  blobio amr stats Check-00                      # totals and extrema
  blobio amr convert Check-00 mesh.nc            # to the native form, and back:
  blobio amr convert --to cello --files 16 mesh.nc Check-16`,
	}
	cli.AsGroup(cmd)
	cmd.AddCommand(newAmrLs(e), newAmrDump(e), newAmrCheck(e), newAmrStats(e), newAmrDiff(e), cli.AsWriter(newAmrExtract(e)), cli.AsWriter(newAmrConvert(e)), cli.AsWriter(newAmrPlot(e)), cli.AsWriter(newAmrGen(e)))
	return cmd
}

// Hint says what to do about an error of the verbs of amr.
func Hint(cmd *cobra.Command, err error) string {
	switch {
	case errors.Is(err, blob.ErrExist) && cmd.Flags().Lookup("to") != nil && cmd.Flags().Lookup("to").Value.String() == formCello, errors.Is(err, blob.ErrExist) && cmd.Flags().Lookup("to") != nil && cmd.Flags().Lookup("to").Value.String() == formYT:
		return "a directory is never replaced: remove it, or take another name"
	case errors.Is(err, blob.ErrExist) && cmd.Flags().Lookup("force") != nil:
		return "--force replaces it"
	case errors.Is(err, blob.ErrChecksum) && cmd.Flags().Lookup("no-verify") != nil:
		return "blobio amr check lists all faults; --no-verify takes it as it is"
	case errors.Is(err, cello.ErrScrambled) && cmd.Flags().Lookup("accept-scrambled") != nil:
		return "the real program has put the cells of these blocks in the wrong places; --accept-scrambled takes them as they are"
	case cli.IsFormatError(err) && cmd.Name() != "check":
		return "blobio amr check lists all faults"
	case errors.Is(err, fs.ErrPermission):
		return "check the permissions of the file and its directory"
	}
	return ""
}

// amrMesh is an open checkpoint or dataset.
type amrMesh struct {
	path   string
	form   string // "cello", or the layout of the dataset
	meta   *amr.Meta
	blocks []amrBlock // in order
	files  []amrFile
	src    blocks.Source
	cello  *cello.Checkpoint // or
	native *blocks.Dataset
}

// amrBlock is a block as the tables say.
type amrBlock struct {
	index amr.Index
	file  int
	leaf  bool
	bytes int64
	cost  float64
}

type amrFile struct {
	name  string
	bytes int64 // of the file
}

func (m *amrMesh) close() {
	if m.cello != nil {
		m.cello.Close()
	}
	if m.native != nil {
		m.native.Close()
	}
}

// warn says what is known of the data that somebody may rely on.
func (m *amrMesh) warn(e *cli.Env, what string, t amrTrust) {
	if t.noVerify && m.meta.Unverified {
		fmt.Fprintf(e.Stderr, "blobio: warning: %s: not compared with its checksums: %s may hold damaged data\n", m.path, what)
	}
}

// refuseScrambled is the error of fields of a dataset that are marked, unless they are taken as they are.
func (m *amrMesh) refuseScrambled(t amrTrust) error {
	for i := range m.meta.Fields {
		if f := &m.meta.Fields[i]; f.Scrambled && m.native != nil && !t.scrambled {
			return fmt.Errorf("%s: field %s: %w", m.path, f.Name, cello.ErrScrambled)
		}
	}
	return nil
}

func (m *amrMesh) name(i int) string { return m.blocks[i].index.Name(m.meta.Rank, m.meta.Roots) }

func (m *amrMesh) indexes() []amr.Index {
	out := make([]amr.Index, len(m.blocks))
	for i := range out {
		out[i] = m.blocks[i].index
	}
	return out
}

// weights are the bytes and the costs of the blocks.
func (m *amrMesh) weights() (bytes []int64, cost []float64) {
	for i := range m.blocks {
		bytes, cost = append(bytes, m.blocks[i].bytes), append(cost, m.blocks[i].cost)
	}
	return bytes, cost
}

// tree is the structure of the mesh; blocks that are there twice are an error.
func (m *amrMesh) tree() (*amr.Tree, error) {
	t := amr.NewTree(&m.meta.Geometry)
	for i := range m.blocks {
		if err := t.Add(m.blocks[i].index); err != nil {
			return nil, err
		}
	}
	return t, nil
}

const (
	formCello = "cello" // amrMesh.form of a checkpoint directory
	formYT    = "yt"    // an output only
)

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// amrTrust says what is taken as it is.
type amrTrust struct {
	scrambled bool // fields whose cells are in the wrong places
	noVerify  bool // data that are not compared with their checksums
}

func (t *amrTrust) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&t.noVerify, "no-verify", false, "do not compare data with checksums: rescues what is left of damaged data")
}

// openAmr opens a checkpoint or dataset: lists, headers and tables only.
func openAmr(ctx context.Context, path string) (*amrMesh, error) {
	return openAmrAs(ctx, path, amrTrust{})
}

// openAmrAs is openAmr with some trust.
func openAmrAs(ctx context.Context, path string, t amrTrust) (*amrMesh, error) {
	name, isCello, err := amrPath(ctx, path)
	if err != nil {
		return nil, err
	}
	if isCello {
		return openCello(ctx, name, t)
	}
	d, err := blocks.Open(ctx, name, &blocks.OpenOptions{NoVerify: t.noVerify})
	if errors.Is(err, blob.ErrNotFormat) {
		var fe *blocks.FormatError
		if errors.As(err, &fe) && fe.Pkg == "blocks" {
			return nil, cli.WithHint(fmt.Errorf("%s is a dataset, but not one of AMR blocks", name), "blobio ls shows it")
		}
		return nil, cli.WithHint(err, "want a checkpoint directory of Enzo-E, or a dataset of blocks as blobio amr convert makes it")
	}
	if err != nil {
		return nil, err
	}
	m := &amrMesh{path: name, meta: d.Meta(), src: d, native: d, form: d.Reader().Layout().String()}
	for _, f := range d.Reader().Files() {
		m.files = append(m.files, amrFile{filepath.Base(f.Name), f.Size})
	}
	files := 1
	if n, _ := d.Reader().Subfiles(); n > 1 {
		files = n
	}
	for i, x := range d.Blocks() {
		m.blocks = append(m.blocks, amrBlock{x.Index, -1, x.Leaf, d.Bytes(i), x.Cost})
		if files == 1 {
			m.blocks[i].file = 0
		}
	}
	if files > 1 {
		return m, m.findFiles(ctx)
	}
	return m, nil
}

// findFiles finds the subfile of each block: that of the rank which has its row.
func (m *amrMesh) findFiles(ctx context.Context) error {
	r := m.native.Reader()
	for b, err := range r.Blobs(ctx, "block_level", 0) {
		if err != nil {
			return err
		}
		for _, q := range b.Runs {
			for i := q.Offset; i < q.Offset+q.Length && i < int64(len(m.blocks)); i++ {
				m.blocks[i].file = b.Subfile
			}
		}
	}
	return nil
}

// findBlock is the number of a block that is named by its number or by its name; a name that
// several blocks have wants "name@level".
func (m *amrMesh) findBlock(word string) (int, error) {
	name, level, hasLevel := strings.Cut(word, "@")
	if strings.HasPrefix(name, "B") {
		found := -1
		for i := range m.blocks {
			if m.name(i) != name || hasLevel && fmt.Sprint(m.blocks[i].index.Level()) != level {
				continue
			}
			if found >= 0 {
				return 0, cli.Usagef("blocks %d and %d are both called %s: say %s@LEVEL, or the number", found, i, name, name)
			}
			found = i
		}
		if found < 0 {
			return 0, cli.WithHint(fmt.Errorf("%s: no block %q", m.path, word), "blobio amr ls --blocks shows them")
		}
		return found, nil
	}
	var i int
	if n, err := fmt.Sscanf(word, "%d", &i); n != 1 || err != nil || fmt.Sprint(i) != word {
		return 0, cli.Usagef("block %q, want a name (B01_10) or a number along the curve", word)
	}
	if i < 0 || i >= len(m.blocks) {
		return 0, cli.Usagef("block %d of %d", i, len(m.blocks))
	}
	return i, nil
}
