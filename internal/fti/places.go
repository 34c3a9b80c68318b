package fti

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"

	"blobio/internal/base/durable"
)

// places holds the directories of a run and makes the names of a rank's files in them.
type places struct {
	rank                int
	local, global, meta string // directories of the run; local is on the node
}

func newPlaces(c *Config, rank int) *places {
	local := c.LocalDir
	if c.LocalTest {
		local = filepath.Join(local, fmt.Sprintf("node%d", rank/c.NodeSize))
	}
	return &places{rank, filepath.Join(local, c.ExecID), filepath.Join(c.GlobalDir, c.ExecID), filepath.Join(c.MetaDir, c.ExecID)}
}

// level returns the directory of a level's checkpoints.
func (p *places) level(level int) string {
	if level == levels {
		return filepath.Join(p.global, "l4")
	}
	return filepath.Join(p.local, fmt.Sprintf("l%d", level))
}

// archive returns the directory of older checkpoints of level 4.
func (p *places) archive() string { return filepath.Join(p.global, "l4_archive") }

// topology returns the path of the file with the names of the nodes.
func (p *places) topology() string { return filepath.Join(p.meta, "Topology.fti") }

// names returns the path of a rank's file of names.
func (p *places) names(rank int) string {
	return filepath.Join(p.meta, fmt.Sprintf("Names-Rank%d.txt", rank))
}

// diffDir returns FTI's directory of differential checkpoints of level 4.
func (p *places) diffDir() string { return filepath.Join(p.global, "dCP") }

// diffFile returns the path of the differential checkpoint that FTI writes on this rank.
func (p *places) diffFile() string {
	return filepath.Join(p.diffDir(), fmt.Sprintf("dCPFile-Rank%d.fti", p.rank))
}

// kind is the kind of a file of a rank.
type kind string

const (
	ckpt   kind = "Rank" // the checkpoint file
	copied kind = "Pcof" // level 2: a copy of the checkpoint file of another rank
	parity kind = "RSed" // level 3: parity of the checkpoint files of a group
)

// backupOf returns the kind of the files that protect the checkpoint files of a level.
func backupOf(level int) kind {
	if level == 2 {
		return copied
	}
	return parity
}

func (p *places) base(id int32, f kind) string { return fmt.Sprintf("Ckpt%d-%s%d.fti", id, f, p.rank) }

// final returns the name of a committed file, which FTI reads. FTI accepts any name with this prefix, so no other file may have
// the prefix.
func (p *places) final(k key, f kind) string { return filepath.Join(p.level(k.Level), p.base(k.ID, f)) }

// fresh returns the name of a complete file while other ranks may still lack a complete file.
func (p *places) fresh(k key, f kind) string {
	return filepath.Join(p.level(k.Level), fmt.Sprintf(".%s.%08x.new", p.base(k.ID, f), k.Stamp))
}

// partial returns the name of an incomplete file.
func (p *places) partial(level int, f kind) string {
	return durable.TempName(filepath.Join(p.level(level), fmt.Sprintf("%s%d", f, p.rank)), "fti")
}

// spare returns the name of a replaced file that the next differential checkpoint updates.
func (p *places) spare(level int) string {
	return filepath.Join(p.level(level), fmt.Sprintf(".spare-Rank%d.fti", p.rank))
}

var fileName = regexp.MustCompile(`^(\.?)Ckpt([0-9]+)-(Rank|Pcof|RSed)([0-9]+)\.fti(?:\.([0-9a-f]{8})\.new)?$`)

// named is what the name of a file says.
type named struct {
	id    int32
	kind  kind
	fresh bool
	stamp uint32 // of a fresh name
}

// parse parses the name of a file of this rank, fresh or final.
func (p *places) parse(name string) (n named, ok bool) {
	m := fileName.FindStringSubmatch(name)
	if m == nil || (m[1] == "") != (m[5] == "") || m[4] != strconv.Itoa(p.rank) {
		return n, false
	}
	id, err := strconv.ParseInt(m[2], 10, 32)
	stamp, _ := strconv.ParseUint(m[5], 16, 32) // empty in a final name
	return named{int32(id), kind(m[3]), m[1] != "", uint32(stamp)}, err == nil
}
