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

func (p *places) base(id int32) string { return fmt.Sprintf("Ckpt%d-Rank%d.fti", id, p.rank) }

// final returns the name of a committed file, which FTI reads. FTI accepts any name with this prefix, so no other file may have
// the prefix.
func (p *places) final(level int, id int32) string { return filepath.Join(p.level(level), p.base(id)) }

// fresh returns the name of a complete file while other ranks may still lack a complete file.
func (p *places) fresh(k key) string {
	return filepath.Join(p.level(k.Level), fmt.Sprintf(".%s.%08x.new", p.base(k.ID), k.Stamp))
}

// partial returns the name of an incomplete file.
func (p *places) partial(level int) string {
	return durable.TempName(filepath.Join(p.level(level), fmt.Sprintf("Rank%d", p.rank)), "fti")
}

// spare returns the name of a replaced file that the next differential checkpoint updates.
func (p *places) spare(level int) string {
	return filepath.Join(p.level(level), fmt.Sprintf(".spare-Rank%d.fti", p.rank))
}

// set returns the prefix of the names of a checkpoint's redundancy files.
func (p *places) set(k key) string {
	return filepath.Join(p.level(k.Level), fmt.Sprintf("redset%d-%08x.", k.ID, k.Stamp))
}

var (
	ckptName = regexp.MustCompile(`^(\.?)Ckpt([0-9]+)-Rank([0-9]+)\.fti(\.[0-9a-f]{8}\.new)?$`)
	backup   = regexp.MustCompile(`^Ckpt[0-9]+-(?:Pcof|RSed)([0-9]+)\.fti$`)
	coded    = regexp.MustCompile(`^redset[0-9]+-[0-9a-f]{8}\.([0-9]+)\.(?:partner|rs)\.`)
	setName  = regexp.MustCompile(`^redset([0-9]+)-([0-9a-f]{8})\.`)
)

// parse parses the name of a file of this rank, fresh or final.
func (p *places) parse(name string) (id int32, fresh, ok bool) {
	m := ckptName.FindStringSubmatch(name)
	if m == nil || (m[1] == "") != (m[4] == "") || m[3] != strconv.Itoa(p.rank) {
		return 0, false, false
	}
	n, err := strconv.ParseInt(m[2], 10, 32)
	return int32(n), m[1] != "", err == nil
}

// isBackup reports whether name is one of FTI's redundancy files of this rank.
func (p *places) isBackup(name string) bool {
	m := backup.FindStringSubmatch(name)
	return m != nil && m[1] == strconv.Itoa(p.rank)
}

// isCoded reports whether name is this rank's copy or parity of a checkpoint.
func (p *places) isCoded(name string) bool {
	m := coded.FindStringSubmatch(name)
	return m != nil && m[1] == strconv.Itoa(p.rank)
}

// parseSet parses the name of a redundancy file.
func parseSet(level int, name string) (k key, ok bool) {
	m := setName.FindStringSubmatch(name)
	if m == nil {
		return key{}, false
	}
	id, err := strconv.ParseInt(m[1], 10, 32)
	stamp, err2 := strconv.ParseUint(m[2], 16, 32)
	return key{Level: level, ID: int32(id), Stamp: uint32(stamp)}, err == nil && err2 == nil
}
