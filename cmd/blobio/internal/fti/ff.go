package fti

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"blobio/blob"
	"blobio/ffformat"
	"blobio/ffformat/ffstore"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/cli"
)

func New(e *cli.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ff",
		Short: "Inspect, check, compare, convert and repair FTI-FF checkpoint files",
		Long: `FTI-FF is the checkpoint file format of the Fault Tolerance Interface. There is one file for
each rank, which holds the variables of the program in containers. Files of all versions can
be read. The layout (A to F, v1.1 to the newest) is detected by content.

A store is a directory in which blobio keeps checkpoints of many ranks. Verbs that read one
file accept store for rank 0 of the newest checkpoint, store@7 for rank 0 of checkpoint 7,
and store@7/3 for rank 3 of checkpoint 7. "ff ls" and "ff check" process the whole store.

Files of FTI's POSIX mode (ckpt_io = 1, the default of FTI) contain no metadata. Their metadata
are in META/<id>/l<level>/sector*-group*.fti. blobio searches for metadata beside the files and
in META below their parent directories. "ff repair" restores lost files from the copies of
partners (Pcof, level 2) or from parity (RSed, level 3).

Only blobio writes files with fast hashes (XXH3 instead of MD5), and FTI refuses them.
"ff convert --hash md5" makes a file that FTI can read.`,
		Example: `  blobio ff ls Ckpt7-Rank0.fti                   # variables, containers, map
  blobio ff check --notes l1/*.fti               # can FTI restart from them?
  blobio ff dump --var 2 --type f8 Ckpt7-Rank0.fti
  blobio ff diff Ckpt6-Rank0.fti Ckpt7-Rank0.fti
  blobio ff diff store@6/0 store@7/0             # two checkpoints of rank 0
  blobio ff repair torn.fti whole.fti`,
	}
	cli.AsGroup(cmd)
	cmd.AddCommand(newFFLs(e), newFFDump(e), newFFCheck(e), newFFDiff(e), newFFConvert(e), newFFRepair(e))
	return cmd
}

// ffLayouts returns the names of the layouts for flags.
func ffLayouts() (names []string) {
	for l := ffformat.LayoutA; l <= ffformat.LayoutF; l++ {
		names = append(names, l.String())
	}
	return names
}

func ffLayout(name string) ffformat.Layout {
	for l := ffformat.LayoutA; l <= ffformat.LayoutF; l++ {
		if l.String() == name {
			return l
		}
	}
	return 0
}

// ffVersions names the FTI versions that write each layout.
var ffVersions = map[ffformat.Layout]string{ffformat.LayoutA: "v1.1", ffformat.LayoutB: "v1.2", ffformat.LayoutC0: "before v1.3", ffformat.LayoutC: "v1.3",
	ffformat.LayoutD: "v1.4", ffformat.LayoutE: "v1.5 and v1.6", ffformat.LayoutF: "after v1.6"}

func ffHash(f *ffformat.File) string {
	if f.Hash == ffformat.Fast {
		return "fast"
	}
	return "md5"
}

// ffFile is an open checkpoint file.
type ffFile struct {
	vfs.File
	path  string
	size  int64
	posix *ffformat.PosixFile // the file in FTI's POSIX mode; set after a reader is opened
	bad   error               // error in the metadata; set after a reader is opened for the variables
}

// openFF opens a file, or the file at a position in a store (rank 0 by default).
func openFF(path string) (*ffFile, error) {
	if p, ok := parseFFPlace(path); ok {
		files, err := p.files(false)
		if err != nil {
			return nil, err
		}
		path = files[0]
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, fmt.Errorf("%s is a directory, want a checkpoint file", path)
	}
	f, err := vfs.OS.Open(path)
	if err != nil {
		return nil, err
	}
	return &ffFile{File: f, path: path, size: info.Size()}, nil
}

// reader decodes the file; lenient accepts damaged files.
func (f *ffFile) reader(lenient bool) (*ffformat.Reader, error) {
	return ffformat.NewReader(f, f.size, f.path, &ffformat.Options{Lenient: lenient})
}

// openFFReader opens a file to read its variables. It checks the same metadata as "ff ls". If lenient is set, damage is stored in
// bad; otherwise damage is an error. A file of FTI's POSIX mode is first read completely.
func openFFReader(ctx context.Context, path string, lenient bool) (*ffFile, *ffformat.Reader, error) {
	f, err := openFF(path)
	if err != nil {
		return nil, nil, err
	}
	r, err := f.reader(lenient)
	if err != nil {
		if f.posix, err = posixOf(f.path, err); err == nil {
			if r, err = f.posix.NewReader(ctx, f, f.size, f.path, lenient); err == nil {
				f.bad = r.File().Damaged
			}
		}
	} else if f.bad, err = f.metadata(ctx); err == nil && !lenient {
		err = f.bad
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, r, nil
}

// metadata returns the joined errors in the metadata of an FTI-FF file, or nil. err is set if the metadata cannot be read.
func (f *ffFile) metadata(ctx context.Context) (bad, err error) {
	list, err := ffFindings(ctx, f, &ffformat.Options{Quick: true})
	var all []error
	for _, x := range list {
		if x.Severity >= ffformat.Error {
			all = append(all, x.AsError())
		}
	}
	return errors.Join(all...), err
}

// ffPaths expands directories, and checkpoints of a store, to their files.
func ffPaths(path string) (files []string, isDir bool, err error) {
	if p, ok := parseFFPlace(path); ok {
		files, err := p.files(true)
		return files, p.all, err
	}
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return []string{path}, false, err
	}
	list, err := os.ReadDir(path)
	if err != nil {
		return nil, true, err
	}
	if files = ffIn(path, list); len(files) == 0 {
		left := ffMostEntries
		files = ffBelow(path, list, 4, &left)
	}
	if len(files) == 0 {
		return nil, true, fmt.Errorf("%s: neither this directory nor a directory of FTI below it (Local/node*/<id>/l*, Global/<id>/l4) has a file that ends in .fti", path)
	}
	return files, true, nil
}

var (
	// checkpointName matches checkpoints, their copies, and parity files.
	checkpointName = regexp.MustCompile(`^(Ckpt[0-9]+-(Rank|Pcof|RSed)|dCPFile-Rank)[0-9]+\.fti$`)
	// metaName matches other FTI files that also end in .fti.
	metaName = regexp.MustCompile(`^(sector[0-9]+-group[0-9]+|Topology|Checkpoint)\.fti$`)
)

// ffIn lists the checkpoint files among directory entries.
func ffIn(path string, list []fs.DirEntry) (files []string) {
	for _, x := range list {
		if strings.HasSuffix(x.Name(), ".fti") && !strings.HasPrefix(x.Name(), ".") && !metaName.MatchString(x.Name()) {
			if at := filepath.Join(path, x.Name()); !isConfig(at) {
				files = append(files, at)
			}
		}
	}
	return files
}

// isConfig reports whether a file is an FTI configuration, which often also ends in .fti.
func isConfig(path string) bool {
	if checkpointName.MatchString(filepath.Base(path)) {
		return false
	}
	b, err := vfs.ReadStream(path, 4096)
	if err != nil {
		return false
	}
	for line := range strings.Lines(strings.ToLower(string(b))) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' && line[0] != ';' {
			return line[0] == '[' && line[len(line)-1] == ']'
		}
	}
	return false
}

// ffLevels are the directories of an FTI run that hold checkpoints.
var ffLevels = []string{"l1", "l2", "l3", "l4", "l4_archive", "dCP"}

// ffMostEntries is the maximum number of directory entries examined in a search for FTI files.
const ffMostEntries = 100_000

// ffBelow lists the checkpoint files in FTI's directories below a directory, down to the given depth. It does not follow links.
func ffBelow(path string, list []fs.DirEntry, depth int, left *int) (files []string) {
	for _, x := range list {
		if *left--; *left < 0 {
			return files
		}
		if !x.IsDir() || strings.HasPrefix(x.Name(), ".") {
			continue
		}
		dir := filepath.Join(path, x.Name())
		in, err := os.ReadDir(dir)
		if err != nil {
			continue // no permission to read
		}
		if slices.Contains(ffLevels, x.Name()) {
			files = append(files, ffIn(dir, in)...)
		} else if depth > 1 {
			files = append(files, ffBelow(dir, in, depth-1, left)...)
		}
	}
	return files
}

// ffFindings returns the findings of a file. The error is set if the file cannot be read.
func ffFindings(ctx context.Context, f *ffFile, o *ffformat.Options) (list []ffformat.Finding, err error) {
	for x := range ffformat.Check(ctx, f, f.size, f.path, o) {
		if errors.Is(x.Err, fs.ErrPermission) {
			return nil, x.Err
		}
		list = append(list, x)
	}
	if len(list) == 1 && errors.Is(list[0].Err, ffformat.ErrNotFormat) {
		p, err := ffformat.FindPosix(f.path)
		if err != nil {
			return append(list, fault.Of(fault.Error, "", err)), ctx.Err()
		}
		if p != nil {
			return p.Check(ctx, f, f.size, f.path, o.Quick)
		}
	}
	return list, ctx.Err()
}

// ffVars parses a list of variable ids and checks that they exist.
func ffVars(list []string, files ...*ffformat.File) ([]int32, error) {
	var ids []int32
	have := map[int32]bool{}
	var names []string
	for _, f := range files {
		for _, v := range f.Vars() {
			if !have[v.ID] {
				names = append(names, strconv.Itoa(int(v.ID)))
			}
			have[v.ID] = true
		}
	}
	for _, s := range list {
		id, err := strconv.ParseInt(s, 10, 32)
		if err != nil {
			return nil, cli.Usagef("variable %q, want a number", s)
		}
		if !have[int32(id)] {
			const most = 20
			more := ""
			if len(names) > most {
				names, more = names[:most], ", ..."
			}
			return nil, fmt.Errorf("%[2]s has no variable %[1]d, the variables are %[3]s%[4]s", id, files[0].Name, strings.Join(names, ", "), more)
		}
		if !slices.Contains(ids, int32(id)) {
			ids = append(ids, int32(id))
		}
	}
	return ids, nil
}

// ffVarsFlag adds --vars.
func ffVarsFlag(cmd *cobra.Command, p *[]string, usage string) {
	cmd.Flags().StringSliceVarP(p, "vars", "v", nil, usage)
}

// sameFile reports whether two names refer to one file, which must not be read and replaced at once.
func sameFile(a, b string) bool {
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}

const ffRebuildHint = "blobio ff repair restores the seal of a store from its files; with -n it only lists the checkpoints"

// Hint returns advice about a damaged file, or a store with a lost or damaged seal.
func Hint(cmd *cobra.Command, err error) (hint string, known bool) {
	if !cli.IsFormatError(err) && !errors.Is(err, blob.ErrMissing) && !errors.Is(err, blob.ErrNotCommitted) {
		return "", false
	}
	var fe *ffformat.FormatError
	switch {
	case errors.As(err, &fe) && filepath.Base(fe.File) == sealName:
		_, serr := os.Stat(fe.File)
		if cmd.Name() == "repair" || serr == nil && errors.Is(err, ffstore.ErrNotCommitted) {
			return "", true // no hint: no file is left from which to rebuild
		}
		return ffRebuildHint, true
	case cmd.Name() == "check", cmd.Name() == "repair", errors.Is(err, blob.ErrNotFormat), !cli.IsFormatError(err):
		return "", true
	}
	return "blobio ff check lists all faults, ff repair saves the intact variables", true
}
