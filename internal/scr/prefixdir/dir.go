package prefixdir

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/scr/record"
)

// Generation is a generation of SCR's file formats.
type Generation uint8

// The generations. This library writes C.
const (
	_    Generation = iota
	GenA            // SCR before 1.1.8
	GenB            // SCR 1.1.8 to 2.0
	GenC            // SCR 3
)

// String returns the letter.
func (g Generation) String() string {
	if g > GenC {
		return fmt.Sprintf("Generation(%d)", uint8(g))
	}
	return "?ABC"[g : g+1]
}

// Dataset is the record of a dataset.
type Dataset = record.Dataset

// Names of files and folders in the prefix directory.
const (
	MetaDir       = ".scr" // the folder of all metadata
	indexName     = "index.scr"
	flushName     = "flush.scr"
	haltName      = "halt.scr"
	nodesName     = "nodes.scr"
	appConfName   = "app.conf"
	summaryName   = "summary.scr"
	indexLock     = "index.lock"
	damagedSuffix = ".damaged"
)

// Dir is a prefix directory. The fields of Folder may be set before the first use.
type Dir struct {
	*Folder
	Index    IndexFile
	Flush    FlushFile
	Halt     HaltFile
	Nodes    NodesFile
	AppConf  TreeFile // settings that the application made through the library, as a tree NAME/value/...
	Datasets Datasets
}

// Open returns the prefix directory at a path. It accesses no file. A nil fsys means the operating system's file system.
func Open(fsys vfs.FS, prefix string) *Dir {
	f := &Folder{FS: vfs.OrOS(fsys), Path: prefix}
	f.NoLock = f.FS != vfs.OS
	file := func(name string) TreeFile { return TreeFile{f, name} }
	d := &Dir{Folder: f, Flush: FlushFile{file(flushName)}, Halt: HaltFile{file(haltName)}, Nodes: NodesFile{file(nodesName)},
		AppConf: file(appConfName), Datasets: Datasets{f}}
	d.Index = IndexFile{TreeFile: file(indexName), datasets: &d.Datasets, location: time.Local}
	return d
}

// Prerun removes the flush file and the nodes file. A new allocation must call Prerun, because its caches are empty.
func (d *Dir) Prerun() error { return errors.Join(d.Flush.remove(), d.Nodes.remove()) }

func checkID(id int) error {
	if id < 1 || int64(id) > 1<<31-1 {
		return fault.Usage("dataset %d", id)
	}
	return nil
}

// checkName returns an error if name cannot be the name of a dataset. As in SCR, any text without NUL is a valid name, because only
// generation A uses it as the name of a folder.
func checkName(name string) error {
	if name == "" || strings.Contains(name, "\x00") {
		return fault.Usage("name of a dataset is %.80q, want a text without NUL", name)
	}
	return nil
}
