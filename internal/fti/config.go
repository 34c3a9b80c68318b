package fti

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// FTI_Checkpoint takes levels 1 to 4, and 5 to 8 for differential checkpoints of level 1 to 4.
const (
	levels    = 4
	diffShift = 4 // FTI_L1_DCP - FTI_L1
)

// Config is a configuration file of FTI.
type Config struct {
	LocalDir, GlobalDir, MetaDir string

	NodeSize  int  // number of ranks on a node
	GroupSize int  // number of nodes in a group; levels 2 and 3 spread over a group
	LocalTest bool // simulate nodes: every NodeSize consecutive ranks are one node
	Mode      int  // ckpt_io, which blobio ignores
	KeepLast  bool // FTI_Finalize keeps the last checkpoint, at level 4
	KeepL4    bool // FTI archives older checkpoints of level 4
	Diff      bool // allow differential checkpoints
	BlockSize int  // block size of differential checkpoints in bytes
	MaxVarID  int64

	Every       [levels + 1]int64 // minutes between two snapshots of a level; 0: no snapshots
	EveryDiff   int64             // minutes between two differential snapshots at level 4
	FastForward int64             // factor by which simulated minutes pass faster
	MaxSync     int64             // number of iterations between two clock readings

	Failure int    // 0: a new run; 1: a restart; 2: a restart from the checkpoint that a finished run kept
	ExecID  string // name of the run

	Warnings []error // settings that have no effect
}

// maxConfig is the maximum size of a configuration file in bytes.
const maxConfig = 1 << 20

// maxVarID is the default of the maximum number of a variable.
const maxVarID = 100 * 1024

// maxNames is the maximum size of a file of names in bytes.
const maxNames = 64 << 20

// ParseConfig reads a configuration file for a run of this number of ranks. Errors are of type *fault.FormatError and contain name.
// Their class is ErrUnsupported for settings that only FTI supports, else ErrUsage.
func ParseConfig(text []byte, name string, ranks int) (*Config, error) {
	f := &fields{name: name, values: map[string]string{}}
	settings(text, func(s setting) { f.values[s.section+":"+s.key] = s.value })
	f.without("basic:head", f.whole("basic:head", 0) != 0, "dedicated processes (heads) are not supported, want 0")
	for level := 2; level <= levels; level++ {
		key := fmt.Sprintf("basic:inline_l%d", level)
		f.without(key, f.whole(key, 1) == 0, "checkpoints are finished by the ranks themselves, as there are no heads, want 1")
	}
	f.without("basic:enable_staging", f.yes("basic:enable_staging"), "staging is not supported, want 0")
	f.without("basic:h5_single_file_enable", f.yes("basic:h5_single_file_enable"), "HDF5 files are not supported, want 0")
	mode := f.whole("basic:ckpt_io", 1)
	if mode < 1 || mode > 6 {
		mode = 1
	}
	f.without("basic:ckpt_io", mode == 5, "HDF5 files are not supported, want 3 (FTI-FF)")
	c := &Config{
		LocalDir: f.dir("basic:ckpt_dir"), GlobalDir: f.dir("basic:glbl_dir"), MetaDir: f.dir("basic:meta_dir"),
		Mode: int(mode), NodeSize: int(f.between("basic:node_size", -1, 1, 1<<24)), GroupSize: int(max(1, f.between("basic:group_size", 1, -1, 1<<24))),
		LocalTest: f.between("advanced:local_test", -1, 0, 1) == 1, KeepLast: f.between("basic:keep_last_ckpt", 0, 0, 1) == 1, KeepL4: f.yes("basic:keep_l4_ckpt"),
		Diff: f.yes("basic:enable_dcp"), MaxVarID: f.between("basic:max_var_id", maxVarID, 0, math.MaxInt64),
		EveryDiff: max(0, f.whole("basic:dcp_l4", 0)), FastForward: f.between("advanced:fast_forward", 1, 1, 10),
		MaxSync: max(0, f.whole("basic:max_sync_intv", 0)),
		Failure: int(f.whole("restart:failure", 0)), ExecID: f.values["restart:exec_id"],
	}
	if c.MaxSync == 0 {
		c.MaxSync = 512
	}
	if c.MaxVarID > math.MaxInt32 {
		f.warn("basic:max_var_id", "%d, want at most %d: %d is used", c.MaxVarID, math.MaxInt32, maxVarID)
		c.MaxVarID = maxVarID
	}
	f.between("basic:verbosity", -1, 1, 3) // FTI demands it
	f.between("advanced:block_size", -1, 1, 2048)
	c.differential(f)
	for level := 1; level <= levels; level++ {
		c.Every[level] = max(0, f.whole(fmt.Sprintf("basic:ckpt_l%d", level), 0))
	}
	f.topology(c, ranks)
	switch {
	case c.Failure == 3:
		f.warn("restart:failure", "3: a restart on another number of ranks needs HDF5 files, which are not supported: a new run begins")
		c.Failure = 0
	case c.Failure < 0 || c.Failure > 3:
		f.fail("restart:failure", fault.ErrUsage, "%d, want 0, 1 or 2", c.Failure)
	case c.Failure != 0 && (c.ExecID == "" || c.ExecID == "." || c.ExecID == ".." || strings.ContainsAny(c.ExecID, `/\`)):
		f.fail("restart:exec_id", fault.ErrUsage, "%.80q, want the name of the run to restart", c.ExecID)
	}
	if f.err != nil {
		return nil, f.err
	}
	c.Warnings = f.warnings
	return c, nil
}

// differential reads the settings of differential checkpoints. Like FTI it ignores enable_dcp if one of them is absent or wrong.
func (c *Config) differential(f *fields) {
	if !c.Diff {
		return
	}
	setting := func(key string, low, high int64) int64 {
		n := f.whole(key, -1)
		if n < low || n > high {
			f.warn(key, "%.80s, want %d to %d: checkpoints are not differential", cmp.Or(f.values[key], "absent"), low, high)
			c.Diff = false
		}
		return n
	}
	setting("basic:dcp_mode", 1, 2) // FTI's hash: MD5, CRC-32
	if size := setting("basic:dcp_block_size", 512, 1<<16-1); c.Diff {
		c.BlockSize = int(size)
	}
}

// topology checks the number of ranks against the nodes and groups.
func (f *fields) topology(c *Config, ranks int) {
	if f.err != nil {
		return
	}
	nodes := ranks / c.NodeSize
	switch {
	case ranks%c.NodeSize != 0:
		f.fail("basic:node_size", fault.ErrUsage, "%d, want a divisor of the number of ranks, %d", c.NodeSize, ranks)
	case nodes%c.GroupSize != 0:
		f.fail("basic:group_size", fault.ErrUsage, "%d, want a divisor of the number of nodes, %d", c.GroupSize, nodes)
	case c.GroupSize < 2 && max(c.Every[2], c.Every[3]) > 0:
		f.fail("basic:group_size", fault.ErrUsage, "%d, want at least 2: levels 2 and 3 need another node", c.GroupSize)
	}
}

// SetRestart returns the text of a configuration file with another failure state and run name. The rest stays unchanged.
func SetRestart(text []byte, failure int, execID string) []byte {
	want := map[string]string{"failure": strconv.Itoa(failure), "exec_id": execID}
	found := map[string]bool{}
	var out []byte
	last := 0
	settings(text, func(s setting) {
		v, ok := want[s.key]
		if s.section != "restart" || !ok {
			return
		}
		out = append(append(append(out, text[last:s.from]...), ' '), v...)
		if last = s.to; last < len(text) && (text[last] == '#' || text[last] == ';') {
			out = append(out, ' ')
		}
		found[s.key] = true
	})
	out = append(out, text[last:]...)
	if len(found) == len(want) {
		return out
	}
	if len(out) > 0 && out[len(out)-1] != '\n' {
		out = append(out, '\n')
	}
	out = append(out, "[Restart]\n"...)
	for _, key := range []string{"failure", "exec_id"} {
		if !found[key] {
			out = fmt.Appendf(out, "%s = %s\n", key, want[key])
		}
	}
	return out
}

// configFile is the configuration file of a run.
type configFile struct {
	fs   vfs.FS
	path string
}

// read returns the text. It resolves a symbolic link, so that note replaces the file and not the link.
func (c *configFile) read() ([]byte, error) {
	if c.fs == vfs.OS {
		if at, err := filepath.EvalSymlinks(c.path); err == nil {
			c.path = at
		}
	}
	return vfs.ReadFile(c.fs, c.path, maxConfig)
}

// note writes the state and the name of the run to the file, unless they are there.
func (c *configFile) note(failure int, execID string) error {
	text, err := vfs.ReadFile(c.fs, c.path, maxConfig)
	if err != nil {
		return err
	}
	want := SetRestart(text, failure, execID)
	if bytes.Equal(want, text) {
		return vfs.SyncParent(c.fs, c.path) // a crash may have come between the rename and the sync
	}
	return durable.Replace(c.fs, c.path, want, durable.ReplaceOptions{Sync: true, SyncDir: true})
}
