package scr

import (
	"path"
	"strconv"
	"strings"

	"blobio/internal/base/vfs"
)

// scratch is the folders in the control directory for what a restart in place has to unpack: each rank has one.
type scratch struct{ *job }

// scratchPrefix begins their names.
const scratchPrefix = "restart."

// dir is the folder of this rank.
func (sc *scratch) dir() string {
	return path.Join(sc.p.job.Control, scratchPrefix+strconv.Itoa(sc.c.Rank()))
}

// clear removes the folder of this rank.
func (sc *scratch) clear() { sc.remove(sc.dir()) }

func (sc *scratch) remove(dir string) {
	if err := vfs.RemoveAll(sc.fs, dir); err != nil {
		sc.log.Warn("scr: delete", "folder", dir, "err", err)
	}
}

// clearLeft removes those that killed runs have left on this node. Its first rank calls it.
func (sc *scratch) clearLeft() {
	list, err := sc.fs.ReadDir(sc.p.job.Control)
	if err != nil {
		return // what is wrong there others will tell
	}
	for _, e := range list {
		if rank, ok := strings.CutPrefix(e.Name(), scratchPrefix); ok && e.IsDir() {
			if _, err := strconv.ParseUint(rank, 10, 31); err == nil {
				sc.remove(path.Join(sc.p.job.Control, e.Name()))
			}
		}
	}
}
